//! Resource quantities as the API server writes them: `0.5` is `500m`, `1.5Gi` is `1536Mi`.

use serde_json::Value;

/// How a quantity was spelled, which decides how it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Decimal,
    Binary,
    Exponent,
}

const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

/// Brings a quantity into the server's spelling. What is no quantity, or too large for this crate, stays.
pub(crate) fn canonicalize(value: &mut Value) {
    if let Some(text) = text(value).and_then(|text| canonical(&text)) {
        *value = Value::from(text);
    }
}

/// A quantity in thousandths; `None` if it is none, or too large for this crate.
pub(crate) fn amount(value: &Value) -> Option<i128> {
    read(&text(value)?).map(|(_, thousandths)| thousandths)
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn canonical(text: &str) -> Option<String> {
    let (style, thousandths) = read(text)?;
    let style = if style == Style::Binary && thousandths.abs() < 1_024_000 { Style::Decimal } else { style };
    Some(if style == Style::Binary { binary(thousandths) } else { decimal(thousandths, style) })
}

/// How a quantity is spelled, and how much it is: in thousandths, rounded away from zero, since the server keeps no more.
fn read(text: &str) -> Option<(Style, i128)> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, suffix) = rest.split_at_checked(end)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let (style, power) = style(suffix)?;
    let digits = format!("0{whole}{fraction}");
    let mut mantissa = digits.parse::<i128>().ok()?.checked_mul(sign)?;
    let mut ten = -i32::try_from(fraction.len()).ok()?;
    if style == Style::Binary {
        mantissa = mantissa.checked_mul(1 << (10 * power))?;
    } else {
        ten += power;
    }
    Some((style, scaled(mantissa, ten + 3)?))
}

fn style(suffix: &str) -> Option<(Style, i32)> {
    if let Some((_, power)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some((Style::Decimal, *power));
    }
    if let Some(power) = BINARY.iter().position(|name| *name == suffix) {
        return Some((Style::Binary, i32::try_from(power).ok()?));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    Some((Style::Exponent, exponent.parse().ok()?))
}

/// Multiplies by a power of ten; what is lost rounds away from zero.
fn scaled(value: i128, ten: i32) -> Option<i128> {
    let factor = 10_i128.checked_pow(ten.unsigned_abs());
    match (ten >= 0, factor) {
        (true, factor) => value.checked_mul(factor?),
        (false, Some(factor)) => Some(value / factor + value.signum() * i128::from(value % factor != 0)),
        (false, None) => Some(value.signum()),
    }
}

fn decimal(thousandths: i128, style: Style) -> String {
    let (mut value, mut power) = (thousandths, -3);
    if value == 0 {
        return "0".to_owned();
    }
    while value % 1000 == 0 && power < 18 {
        value /= 1000;
        power += 3;
    }
    match DECIMAL.iter().find(|(_, of)| *of == power) {
        Some((suffix, _)) if style == Style::Decimal => format!("{value}{suffix}"),
        _ if power == 0 => value.to_string(),
        _ => format!("{value}e{power}"),
    }
}

fn binary(thousandths: i128) -> String {
    let mut value = thousandths / 1000 + thousandths.signum() * i128::from(thousandths % 1000 != 0);
    let mut power = 0;
    while value % 1024 == 0 && power + 1 < BINARY.len() {
        value /= 1024;
        power += 1;
    }
    format!("{value}{}", BINARY.get(power).unwrap_or(&""))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    #[test]
    fn quantities_are_written_as_the_server_does() {
        for (given, written) in [
            (json!(0.5), "500m"),
            (json!(".5"), "500m"),
            (json!(1), "1"),
            (json!("1000"), "1k"),
            (json!("1.5Gi"), "1536Mi"),
            (json!("0.5Ki"), "512"),
            (json!("1500000000"), "1500M"),
            (json!("1e3"), "1e3"),
            (json!("1e4"), "10e3"),
            (json!("+0.0001"), "1m"),
            (json!("-1500m"), "-1500m"),
            (json!("128Mi"), "128Mi"),
            (json!("0"), "0"),
            (json!("1n"), "1m"),
            (json!(" 1 "), "1"),
        ] {
            let mut value: Value = given.clone();
            super::canonicalize(&mut value);
            assert_eq!(value, json!(written), "{given}");
        }
    }
}
