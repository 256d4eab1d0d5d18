//! The status of a Deployment: its counters and how they are computed (S9.1–S9.6).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::conditions::{Condition, refresh_available, set_condition};
use crate::draft::Draft;
use crate::keys::condition;
use crate::selector::null_as_default;

/// `status`, as stored. Counts are pods unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// The generation that the rest belongs to (S9.1).
    #[serde(deserialize_with = "null_as_default")]
    pub observed_generation: i64,
    /// Pods of all sets that are not terminating (S9.2).
    #[serde(deserialize_with = "null_as_default")]
    pub replicas: i64,
    /// Those of the new set.
    #[serde(deserialize_with = "null_as_default")]
    pub updated_replicas: i64,
    /// Ready pods of all sets.
    #[serde(deserialize_with = "null_as_default")]
    pub ready_replicas: i64,
    /// Available pods of all sets.
    #[serde(deserialize_with = "null_as_default")]
    pub available_replicas: i64,
    /// Pods that the sets should have and that are not available (S9.3).
    #[serde(deserialize_with = "null_as_default")]
    pub unavailable_replicas: i64,
    /// Terminating pods, if all sets say so (S9.4).
    pub terminating_replicas: Option<i64>,
    /// How often a name was taken by somebody else's set (S4.15).
    pub collision_count: Option<i32>,
    /// Conditions, ours and foreign ones, in the order of their last change (S9.7).
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<Condition>,
    /// What only our kind has.
    #[serde(flatten)]
    pub ours: Ours,
}

/// Status fields of our kind; all empty on apps/v1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ours {
    /// Revision of the new ReplicaSet.
    pub revision: Option<i64>,
    /// `spec.selector` as text, for the scale subresource.
    pub selector: Option<String>,
    /// min(`replicas`, `spec.replicas`): surge never shows as current size.
    pub scale_replicas: Option<i64>,
    /// `ready/desired`, for the printer column.
    pub ready: Option<String>,
    /// Container names, for the printer column.
    pub containers: Option<String>,
    /// Container images, for the printer column.
    pub images: Option<String>,
    /// The last rollback.
    pub rollback: Option<RollbackRecord>,
}

/// `status.rollback`: what came of the last `spec.rollbackTo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RollbackRecord {
    /// The revision asked for; 0 is the previous one.
    pub requested: i64,
    /// The revision rolled back to; 0 when there was none.
    pub revision: i64,
    /// `RolledBack`, `RevisionNotFound`, `TemplateUnchanged` or `Refused`.
    pub result: String,
    /// When, in RFC 3339.
    pub time: String,
    /// The rollbacks of the last ten minutes, oldest first, at most three.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recent: Vec<RecentRollback>,
}

/// One rollback of the last ten minutes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RecentRollback {
    /// When, in RFC 3339.
    pub time: String,
    /// Fingerprint of the template that was replaced.
    pub from: String,
    /// Fingerprint of the template that was put back.
    pub to: String,
}

impl Status {
    /// Reads a stored status; what is missing is zero, what is malformed is an error.
    ///
    /// # Errors
    /// When a field has the wrong type.
    pub fn read(value: &Value) -> Result<Self, serde_json::Error> {
        if value.is_null() { Ok(Self::default()) } else { Self::deserialize(value) }
    }

    /// The status as JSON, with explicit nulls where a field is to go away (merge patch).
    #[must_use]
    pub fn to_json(&self, with_ours: bool) -> Value {
        let mut value = json!({
            "observedGeneration": self.observed_generation,
            "replicas": self.replicas,
            "updatedReplicas": self.updated_replicas,
            "readyReplicas": self.ready_replicas,
            "availableReplicas": self.available_replicas,
            "unavailableReplicas": self.unavailable_replicas,
            "terminatingReplicas": self.terminating_replicas,
            "collisionCount": self.collision_count,
            "conditions": self.conditions,
        });
        if with_ours
            && let (Some(members), Ok(Value::Object(ours))) =
                (value.as_object_mut(), serde_json::to_value(&self.ours))
        {
            members.extend(ours);
        }
        value
    }

    /// The condition of a type.
    #[must_use]
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// Whether all pods are new and available and the rest is up to date (S9.10).
    #[must_use]
    pub fn is_complete(&self, replicas: i64, generation: i64) -> bool {
        self.updated_replicas == replicas
            && self.replicas == replicas
            && self.available_replicas == replicas
            && self.observed_generation >= generation
    }
}

/// Counters and the condition Available, computed from the sets (S9.1–S9.8).
///
/// Sizes are those noted by [`Draft::note_sizes`]; statuses are as the sets report them.
pub(crate) fn calculate(draft: &Draft<'_>) -> Status {
    let workload = draft.workload;
    let sum = |field: fn(&crate::observed::SetStatus) -> i64| -> i64 {
        draft.sets.iter().map(|set| field(&set.seen.status)).sum()
    };
    let available = sum(|status| status.available);
    let mut status = Status {
        observed_generation: workload.generation,
        replicas: sum(|status| status.replicas),
        updated_replicas: draft.new_set().map_or(0, |set| set.seen.status.replicas),
        ready_replicas: sum(|status| status.ready),
        available_replicas: available,
        // S9.3: against the sizes of the sets, not against R.
        unavailable_replicas: draft.noted_size.saturating_sub(available).max(0),
        terminating_replicas: terminating(draft),
        collision_count: draft.status.collision_count,
        conditions: draft.status.conditions.clone(),
        ours: draft.status.ours.clone(),
    };
    refresh_available(&mut status.conditions, available >= draft.min_available(), draft.now);
    if draft.observed.flavour.has_status_extras() {
        status.ours = ours(draft, &status);
    }
    status
}

/// S9.4: absent when a set that was ever synced does not report its count.
fn terminating(draft: &Draft<'_>) -> Option<i64> {
    if !draft.observed.options.terminating_replicas {
        return None;
    }
    let mut total = 0;
    for set in &draft.sets {
        match set.seen.status.terminating {
            Some(count) => total += count,
            None if set.seen.status.observed_generation == 0 => {}
            None => return None,
        }
    }
    Some(total)
}

fn ours(draft: &Draft<'_>, status: &Status) -> Ours {
    let workload = draft.workload;
    Ours {
        revision: draft.new_revision().or(status.ours.revision),
        selector: workload.selector.as_ref().map(ToString::to_string),
        scale_replicas: Some(status.replicas.min(workload.replicas)),
        ready: Some(format!("{}/{}", status.ready_replicas, workload.replicas)),
        containers: Some(workload.template.containers.clone()),
        images: Some(workload.template.images.clone()),
        rollback: status.ours.rollback.clone(),
    }
}

/// ReplicaFailure follows the sets, the new one first (S9.14).
pub(crate) fn refresh_replica_failure(draft: &Draft<'_>, conditions: &mut Vec<Condition>) {
    let of_new = draft.new_set().and_then(|set| set.seen.status.failure.as_ref());
    let of_any = || draft.sets.iter().find_map(|set| set.seen.status.failure.as_ref());
    match of_new.or_else(of_any) {
        None => conditions.retain(|entry| entry.kind != condition::REPLICA_FAILURE),
        Some(failure) => set_condition(
            conditions,
            Condition {
                kind: condition::REPLICA_FAILURE.to_owned(),
                status: failure.status.clone(),
                reason: failure.reason.clone(),
                message: failure.message.clone(),
                last_update_time: failure.last_transition_time,
                last_transition_time: failure.last_transition_time,
                extra: serde_json::Map::new(),
            },
        ),
    }
}
