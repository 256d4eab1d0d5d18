//! Integer-or-percentage values and what they come to (S6.1).

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

/// Which way a percentage is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// Towards more pods: surge.
    Up,
    /// Towards fewer pods: unavailability.
    Down,
}

impl IntOrPercent {
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
        let product = i128::from(percent) * i128::from(total);
        let quotient = match round {
            Round::Up => product.div_euclid(100) + i128::from(product.rem_euclid(100) != 0),
            Round::Down => product.div_euclid(100),
        };
        Ok(i64::try_from(quotient).unwrap_or(if quotient < 0 { min } else { max }).clamp(min, max))
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
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.is_empty() || !unsigned.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}
