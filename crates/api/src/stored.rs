//! Numbers and times of a status as stored, where any writer may have put anything.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A count as stored, cut to 32 bits: a writer of the status may write any number, and sums of counts must
/// not overflow.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i32>, D::Error> {
    let stored = Option::<i64>::deserialize(deserializer)?;
    let bound = |value: i64| i32::try_from(value).unwrap_or(if value < 0 { i32::MIN } else { i32::MAX });
    Ok(stored.map(bound))
}

/// An invalid time counts as absent, because any writer may have written it. So does a time that the API
/// cannot write.
pub(crate) fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Time>, D::Error> {
    let value = Option::<Value>::deserialize(deserializer)?;
    Ok(value.as_ref().and_then(Value::as_str).and_then(read_time))
}

/// What is stored, if it can be read.
pub(crate) fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let stored = Option::<Value>::deserialize(deserializer)?;
    Ok(stored.and_then(|stored| T::deserialize(stored).ok()))
}

/// A time of the years that `metav1.Time` can hold.
pub(crate) fn read_time(text: &str) -> Option<Time> {
    const YEAR_0: Timestamp = Timestamp::constant(-62_167_219_200, 0);
    let time: Timestamp = text.parse().ok()?;
    (time >= YEAR_0).then_some(Time(time))
}
