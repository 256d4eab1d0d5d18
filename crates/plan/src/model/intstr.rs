//! Integer-or-percentage values and what they come to (S6.1).

use std::fmt;

use serde::{Deserialize, Serialize};

/// An absolute number or a percentage of `spec.replicas`, as the API carries it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IntOrPercent {
    /// A number of pods.
    Int(i64),
    /// Text that should read `NN%`.
    Text(String),
}

/// The text is neither a number nor `NN%`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid value {0:?}: neither an integer nor a percentage such as \"25%\"")]
pub struct NotAPercentage(pub String);

impl fmt::Display for IntOrPercent {
    /// As in YAML.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// Which way a percentage is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// Towards more pods: surge.
    Up,
    /// Towards fewer pods: unavailability.
    Down,
}

impl IntOrPercent {
    /// A number of pods, 0 or more, or a percentage up to 100 %, as a word about a rollout has it.
    pub(crate) fn share(text: &str) -> Option<Self> {
        if let Some(percent) = percentage(text) {
            return (0..=100).contains(&percent).then(|| Self::Text(format!("{percent}%")));
        }
        signed_decimal(text).filter(|pods| (0..=i64::from(i32::MAX)).contains(pods)).map(Self::Int)
    }

    /// The number of pods meant at `total` replicas (S6.1), within 32 bits whatever is written.
    ///
    /// # Errors
    /// When a text is not of the form `NN%`.
    pub fn of(&self, total: i64, round: Round) -> Result<i64, NotAPercentage> {
        let (min, max) = (i64::from(i32::MIN), i64::from(i32::MAX));
        let text = match self {
            Self::Int(value) => return Ok((*value).clamp(min, max)),
            Self::Text(text) => text,
        };
        let percent = percentage(text).ok_or_else(|| NotAPercentage(text.clone()))?;
        // A product that does not fit is far out of bounds anyway.
        let product = percent.saturating_mul(total);
        let quotient = match round {
            Round::Up => product.div_euclid(100) + i64::from(product.rem_euclid(100) != 0),
            Round::Down => product.div_euclid(100),
        };
        Ok(quotient.clamp(min, max))
    }
}

/// Reads `NN%` as Go's `strconv.Atoi` reads the part before the sign.
fn percentage(text: &str) -> Option<i64> {
    let digits = text.strip_suffix('%')?;
    signed_decimal(digits)
}

/// A signed decimal of ASCII digits, as Go's `strconv.ParseInt(text, 10, 64)` takes it.
#[must_use]
pub fn signed_decimal(text: &str) -> Option<i64> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_digits_and_at_most_a_sign() {
        for (text, number) in [("0", 0), ("007", 7), ("+5", 5), ("-5", -5), ("-0", 0)] {
            assert_eq!(signed_decimal(text), Some(number), "{text:?}");
        }
        assert_eq!(signed_decimal(&i64::MIN.to_string()), Some(i64::MIN));
        for wrong in ["", "+", "-", "+-5", " 5", "5 ", "5_0", "0x5", "5.0", "٣", "9223372036854775808"] {
            assert_eq!(signed_decimal(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_percentage_is_rounded_and_stays_within_32_bits() {
        let of = |text: &str, total, round| IntOrPercent::Text(text.to_owned()).of(total, round);
        assert_eq!((of("25%", 10, Round::Up), of("25%", 10, Round::Down)), (Ok(3), Ok(2)));
        assert_eq!((of("-25%", 10, Round::Up), of("-25%", 10, Round::Down)), (Ok(-2), Ok(-3)));
        let (min, max) = (i64::from(i32::MIN), i64::from(i32::MAX));
        for round in [Round::Up, Round::Down] {
            assert_eq!(of("9223372036854775807%", max, round), Ok(max));
            assert_eq!(of("-9223372036854775808%", max, round), Ok(min));
            assert_eq!(of("100%", max, round), Ok(max));
        }
    }
}
