//! Resource quantities as numbers, for comparing them (S16.5f, S16.7).

/// A quantity in units of 10⁻⁹, rounded away from zero; `None` when it is not a quantity.
#[must_use]
pub fn nanos(text: &str) -> Option<i128> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, suffix) = rest.split_at_checked(end)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    // However many zeros somebody writes, they are not worth a digit.
    let fraction = fraction.trim_end_matches('0');
    let (binary, ten) = scale(suffix)?;
    let digits = format!("0{whole}{fraction}");
    let mantissa: i128 = digits.parse().ok()?;
    // value = mantissa × binary × 10^(ten − |fraction|), in units of 10⁻⁹
    let exponent = ten.saturating_add(9).saturating_sub(i32::try_from(fraction.len()).ok()?);
    let magnitude = shift(mantissa.checked_mul(binary)?, exponent);
    Some(if negative { -magnitude } else { magnitude })
}

/// Multiplies by a power of ten; divisions round up, and what is too large is capped.
fn shift(value: i128, exponent: i32) -> i128 {
    let power = 10_i128.checked_pow(exponent.unsigned_abs());
    match (exponent >= 0, power) {
        (true, Some(power)) => value.saturating_mul(power),
        (true, None) if value == 0 => 0,
        (true, None) => i128::MAX,
        (false, Some(power)) => value / power + i128::from(value % power != 0),
        (false, None) => i128::from(value != 0),
    }
}

/// A suffix as a binary factor and a power of ten.
fn scale(suffix: &str) -> Option<(i128, i32)> {
    let scale = match suffix {
        "" => (1, 0),
        "n" => (1, -9),
        "u" => (1, -6),
        "m" => (1, -3),
        "k" => (1, 3),
        "M" => (1, 6),
        "G" => (1, 9),
        "T" => (1, 12),
        "P" => (1, 15),
        "E" => (1, 18),
        "Ki" => (1 << 10, 0),
        "Mi" => (1 << 20, 0),
        "Gi" => (1 << 30, 0),
        "Ti" => (1 << 40, 0),
        "Pi" => (1 << 50, 0),
        "Ei" => (1 << 60, 0),
        exponent => (1, exponent.strip_prefix(['e', 'E'])?.parse().ok()?),
    };
    Some(scale)
}

#[cfg(test)]
mod tests {
    use super::nanos;

    #[test]
    fn equal_amounts_are_equal_numbers() {
        for (a, b) in [
            ("0.5", "500m"),
            ("1000m", "1"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("1e3", "1k"),
            ("0.5", "500m"),
            ("1E", "1e18"),
        ] {
            assert_eq!(nanos(a), nanos(b), "{a} {b}");
            assert!(nanos(a).is_some(), "{a}");
        }
        assert_ne!(nanos("1G"), nanos("1Gi"));
    }

    #[test]
    fn each_suffix_is_the_next_power() {
        let nanos = |text: &str| nanos(text).unwrap_or_default();
        assert_eq!((nanos("1n"), nanos("0e99"), nanos("0")), (1, 0, 0));
        for step in ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"].windows(2) {
            assert_eq!(nanos(&format!("1{}", step[1])), 1_000 * nanos(&format!("1{}", step[0])), "{step:?}");
        }
        for step in ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].windows(2) {
            assert_eq!(nanos(&format!("1{}", step[1])), 1_024 * nanos(&format!("1{}", step[0])), "{step:?}");
        }
    }

    #[test]
    fn rounds_up_and_caps_and_refuses() {
        assert_eq!(nanos("0.0000000001"), Some(1));
        assert_eq!(nanos("-0.0000000001"), Some(-1));
        assert_eq!(nanos("1e400"), Some(i128::MAX));
        // The ends of what an exponent can be; found by fuzzing.
        assert_eq!(nanos("1e2147483647"), Some(i128::MAX));
        assert_eq!(nanos("1.5e-2147483648"), Some(1));
        assert_eq!(nanos(&format!("1.{}", "0".repeat(60))), nanos("1"));
        for garbage in ["", "abc", "1.2.3", ".", "1Kib", "--1", "1e"] {
            assert_eq!(nanos(garbage), None, "{garbage}");
        }
    }
}
