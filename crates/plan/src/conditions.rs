//! Conditions and their setter (S9.7, S9.8).

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::keys::{condition, reason};
use crate::selector::null_as_default;

/// One entry of `status.conditions`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "null_as_default")]
    pub status: String,
    /// One word for machines; foreign conditions may have none.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// A sentence for people.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When it was last looked at with a result; absent in foreign conditions.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient",
        serialize_with = "seconds"
    )]
    pub last_update_time: Option<Timestamp>,
    /// When `status` last changed.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient",
        serialize_with = "seconds"
    )]
    pub last_transition_time: Option<Timestamp>,
    /// Fields of foreign conditions that we do not know.
    #[serde(flatten)]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

impl Condition {
    /// A condition as of now, in whole seconds as the API stores times.
    #[must_use]
    pub fn new(kind: &str, status: &str, reason: &str, message: String, now: Timestamp) -> Self {
        let now = whole_seconds(now);
        Self {
            kind: kind.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message,
            last_update_time: Some(now),
            last_transition_time: Some(now),
            extra: serde_json::Map::new(),
        }
    }
}

/// Sets a condition: nothing happens when status and reason are as they were; a changed one
/// moves to the end and keeps its transition time when the status is the same (S9.7).
pub fn set_condition(conditions: &mut Vec<Condition>, mut new: Condition) {
    if let Some(old) = conditions.iter().find(|old| old.kind == new.kind) {
        if old.status == new.status && old.reason == new.reason {
            return;
        }
        if old.status == new.status {
            new.last_transition_time = old.last_transition_time;
        }
    }
    conditions.retain(|old| old.kind != new.kind);
    conditions.push(new);
}

/// Available, always present after a status was computed (S9.8).
pub(crate) fn refresh_available(conditions: &mut Vec<Condition>, available: bool, now: Timestamp) {
    let (status, reason, message) = if available {
        ("True", reason::MINIMUM_REPLICAS_AVAILABLE, "Deployment has minimum availability.")
    } else {
        ("False", reason::MINIMUM_REPLICAS_UNAVAILABLE, "Deployment does not have minimum availability.")
    };
    set_condition(conditions, Condition::new(condition::AVAILABLE, status, reason, message.to_owned(), now));
}

/// The time without its fraction, as `metav1.Time` stores it.
#[must_use]
pub fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

/// Garbage in a time counts as absent: it may come from anybody.
fn lenient<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let value = Option::<serde_json::Value>::deserialize(deserializer)?;
    Ok(value.as_ref().and_then(serde_json::Value::as_str).and_then(|text| text.parse().ok()))
}

fn seconds<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serializer.collect_str(&whole_seconds(*time)),
        None => serializer.serialize_none(),
    }
}
