//! The status of a ReplicaSet.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::object::Object;
use crate::refusal::Refused;
use crate::replica_set_controller::pods::Census;
use crate::stamp::stamp;

const FAILURE: &str = "ReplicaFailure";

/// Why the size of a ReplicaSet could not be reached.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) reason: &'static str,
    pub(super) refused: Refused,
}

/// The status that a ReplicaSet should have; `None` when it has it.
pub(super) fn next(
    set: &Object,
    census: &Census<'_>,
    failure: Option<&Failure>,
    now: Timestamp,
) -> Option<Value> {
    if failure.is_none() && is_shown(set, census) {
        return None;
    }
    let mut status = Map::new();
    status.insert("replicas".to_owned(), Value::from(census.active.len()));
    status.insert("terminatingReplicas".to_owned(), Value::from(census.terminating));
    status.insert("observedGeneration".to_owned(), Value::from(set.generation()));
    let counts = [
        ("fullyLabeledReplicas", census.fully_labeled),
        ("readyReplicas", census.ready),
        ("availableReplicas", census.available),
    ];
    for (field, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        status.insert(field.to_owned(), Value::from(count));
    }
    let conditions = conditions(set, failure, now);
    if !conditions.is_empty() {
        status.insert("conditions".to_owned(), Value::Array(conditions));
    }
    let status = Value::Object(status);
    (**set.status != status).then_some(status)
}

/// Whether the stored status shows just what is counted.
fn is_shown(set: &Object, census: &Census<'_>) -> bool {
    let says = |field: &str, count: usize| {
        set.status_number(field).unwrap_or(0) == i64::try_from(count).unwrap_or(i64::MAX)
    };
    says("replicas", census.active.len())
        && says("fullyLabeledReplicas", census.fully_labeled)
        && says("readyReplicas", census.ready)
        && says("availableReplicas", census.available)
        && set.status_number("terminatingReplicas") == i64::try_from(census.terminating).ok()
        && set.status_number("observedGeneration") == Some(set.generation())
        && set.status.get("conditions").is_none()
}

/// A failure is reported once and not refreshed, and is gone with the first step that does not fail (S9.19).
fn conditions(set: &Object, failure: Option<&Failure>, now: Timestamp) -> Vec<Value> {
    let stored = set.status.get("conditions").and_then(Value::as_array);
    let mut conditions = stored.cloned().unwrap_or_default();
    let is_failure = |condition: &Value| condition.get("type").and_then(Value::as_str) == Some(FAILURE);
    match failure {
        None => conditions.retain(|condition| !is_failure(condition)),
        Some(failure) if !conditions.iter().any(is_failure) => conditions.push(json!({
            "type": FAILURE, "status": "True", "lastTransitionTime": stamp(now),
            "reason": failure.reason, "message": failure.refused.message,
        })),
        Some(_) => {}
    }
    conditions
}
