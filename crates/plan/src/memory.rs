//! Whether a newer operator was here: a field of the spec, or memory on a ReplicaSet, that this one does not
//! know.
//!
//! A newer operator may run an older revision on purpose, or hold a rollout at a step. An operator that
//! ignored the field behind that decision would undo it. Such an operator changes sizes with
//! `spec.replicas` and nothing else, until it is upgraded or the field is removed.

use serde_json::Value;

use crate::keys::ROLLOUT;
use crate::observed::{Observed, ReplicaSet};
use crate::sets::Sets;

/// The highest version of the annotation [`ROLLOUT`] that this operator reads. It has no memory yet.
const VERSION_KNOWN: i64 = 0;

/// What a newer operator left, in a sentence with the fix; `None` if there is nothing.
pub(crate) fn newer(observed: &Observed, sets: &Sets<'_>) -> Option<String> {
    if !observed.flavour.has_safeguards() {
        return None;
    }
    if let Some(field) = &observed.workload.unknown_field {
        return Some(format!(
            "{field} is newer than this operator: upgrade the operator, or remove the field"
        ));
    }
    let (set, version) = sets.all.iter().find_map(|set| Some((set, newer_version(set)?)))?;
    Some(format!(
        "ReplicaSet {} has the annotation {ROLLOUT} in version {version}, which is newer than this operator: \
         upgrade the operator, or remove the annotation",
        set.name
    ))
}

/// The version of the memory on a ReplicaSet, if it is too high. What cannot be read counts as absent.
fn newer_version(set: &ReplicaSet) -> Option<i64> {
    let text = set.annotations.get(ROLLOUT)?;
    let memory: Value = serde_json::from_str(text).ok()?;
    memory.get("version")?.as_i64().filter(|version| *version > VERSION_KNOWN)
}
