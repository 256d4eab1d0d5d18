//! Uids as keys: 16 bytes instead of 36 and an allocation.

use std::fmt;

/// `metadata.uid` of an object.
///
/// The API server's are UUIDs in lower case. Whatever else somebody may use is kept as it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Uid {
    Uuid([u8; 16]),
    Other(Box<str>),
}

/// Where a UUID has its hyphens.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];
const UUID_LENGTH: usize = 36;

impl From<&str> for Uid {
    fn from(text: &str) -> Self {
        uuid(text).map_or_else(|| Self::Other(text.into()), Self::Uuid)
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid(bytes) => f.write_str(&uuid_text(bytes)),
            Self::Other(text) => f.write_str(text),
        }
    }
}

/// The bytes of a text that [`uuid_text`] would write just so.
pub(crate) fn uuid(text: &str) -> Option<[u8; 16]> {
    let is_hyphenated = |(at, byte): (usize, u8)| HYPHENS.contains(&at) == (byte == b'-');
    if text.len() != UUID_LENGTH || !text.bytes().enumerate().all(is_hyphenated) {
        return None;
    }
    from_hex(text.bytes().filter(|byte| *byte != b'-'))
}

pub(crate) fn uuid_text(bytes: &[u8; 16]) -> String {
    let mut text = Vec::with_capacity(UUID_LENGTH);
    for byte in bytes {
        if HYPHENS.contains(&text.len()) {
            text.push(b'-');
        }
        text.extend(hex(*byte));
    }
    String::from_utf8(text).unwrap_or_default()
}

/// The bytes of exactly this many lower-case hexadecimal digits.
pub(crate) fn from_hex<const N: usize>(mut digits: impl Iterator<Item = u8>) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    for byte in &mut bytes {
        *byte = nibble(digits.next()?)? << 4 | nibble(digits.next()?)?;
    }
    digits.next().is_none().then_some(bytes)
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// Two lower-case digits.
pub(crate) fn hex(byte: u8) -> [u8; 2] {
    let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
    [digit(byte >> 4), digit(byte & 15)]
}
