//! Times in objects.

use jiff::Timestamp;
use serde_json::Value;

/// A time as objects carry it: whole seconds.
pub(crate) fn stamp(now: Timestamp) -> Value {
    let seconds = Timestamp::from_second(now.as_second()).unwrap_or(now);
    Value::from(seconds.to_string())
}
