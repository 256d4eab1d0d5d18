//! Variations of an input, from a seed: what a normal test tries in the place of libFuzzer.

/// What is likely to be a border of something.
const TOKENS: &[&str] = &[
    "0",
    "-1",
    "+1",
    "2147483647",
    "2147483648",
    "-2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551616",
    "1e400",
    "1.5",
    "\u{ff17}",
    "\u{663}",
    "%",
    "100%",
    ",",
    "\n",
    "null",
    "true",
    "{}",
    "[]",
    "\"\"",
    "[[[[[[[[",
    "{\"a\":",
    "\\u0000",
    "\\ud800",
    "\u{feff}",
    "\u{202e}",
    "Ki",
    "e2147483647",
    "E-2147483648",
    "\"replicas\":",
    "\"status\":",
    "\"metadata\":",
    "\"conditions\":",
];

/// A generator of numbers: xorshift64.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The same seed rolls the same numbers.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `end`; 0 when there is none.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or(0) % end.max(1)
    }
}

/// An input with one to four changes, partly taken from another one.
#[must_use]
pub fn vary(input: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut varied = input.to_vec();
    for _ in 0..=dice.below(4) {
        change(&mut varied, other, dice);
    }
    varied
}

fn change(varied: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    let at = dice.below(varied.len() + 1);
    let end = at + dice.below(16.min(varied.len() - at) + 1);
    match dice.below(6) {
        0 => {
            if let Some(byte) = varied.get_mut(at) {
                *byte ^= 1 << dice.below(8);
            }
        }
        1 => {
            varied.drain(at..end);
        }
        2 => {
            let copy = varied[at..end].to_vec();
            varied.splice(at..at, copy);
        }
        3 => {
            let from = dice.below(other.len() + 1);
            let to = from + dice.below(64.min(other.len() - from) + 1);
            varied.splice(at..end, other[from..to].iter().copied());
        }
        4 => varied.insert(at, u8::try_from(dice.below(256)).unwrap_or(0)),
        _ => {
            let token = TOKENS[dice.below(TOKENS.len())];
            varied.splice(at..end, token.bytes());
        }
    }
}
