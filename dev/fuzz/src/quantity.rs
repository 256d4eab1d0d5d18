//! Resource quantities (S16.7), by what must not change them.

use plan::equality::nanos;

use crate::input;

/// Decimal suffixes and their powers of ten.
const SUFFIXES: [(&str, &str); 9] = [
    ("n", "e-9"),
    ("u", "e-6"),
    ("m", "e-3"),
    ("k", "e3"),
    ("M", "e6"),
    ("G", "e9"),
    ("T", "e12"),
    ("P", "e15"),
    ("E", "e18"),
];

/// Text of a quantity.
pub(crate) fn run(data: &[u8]) {
    let text = input::text(data);
    let of = |text: String| nanos(&text);
    let Some(value) = nanos(&text) else { return };
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(&text);
    let magnitude = value.abs();
    assert_eq!(of(format!("-{unsigned}")), Some(-magnitude), "{text}");
    assert_eq!(of(format!("+{unsigned}")), Some(magnitude), "{text}");
    assert_eq!(of(format!("0{unsigned}")), Some(magnitude), "{text}");
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let longer = if number.contains('.') { format!("{number}0") } else { format!("{number}.0") };
    assert_eq!(of(format!("{longer}{suffix}")), Some(magnitude), "{text}");
    if let Some((_, exponent)) = SUFFIXES.iter().find(|(name, _)| *name == suffix) {
        assert_eq!(of(format!("{number}{exponent}")), Some(magnitude), "{text}");
    }
}
