//! Which set is to run, read from the Deployment and the memory of its ReplicaSets: computed here once more, so that
//! a mistake of the planner does not excuse itself (FP-1, FP-6, FP-11).

use plan::keys::{HASH_LABEL, REVISION, ROLLOUT};
use plan::{FailureAction, ReplicaSet, Workload};
use serde_json::Value;

/// What is to run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Running<'a> {
    /// This set.
    Set(&'a ReplicaSet),
    /// Nobody knows: the pin names no set.
    Missing,
    /// What runs stays: the declared revision failed, and somebody has to act.
    Held,
}

fn revision(set: &ReplicaSet) -> Option<i64> {
    set.annotations.get(REVISION)?.parse().ok()
}

/// The memory of a set that is about its revision.
fn memory(set: &ReplicaSet) -> Option<Value> {
    let memory: Value = serde_json::from_str(set.annotations.get(ROLLOUT)?).ok()?;
    (memory.get("revision")?.as_i64() == revision(set)).then_some(memory)
}

fn says(set: &ReplicaSet, verdict: &str) -> bool {
    memory(set).is_some_and(|memory| memory.get("verdict").and_then(Value::as_str) == Some(verdict))
}

/// What is to run of these sets, of which `declared` is the one of the template.
pub(crate) fn running<'a>(
    workload: &Workload,
    sets: impl Iterator<Item = &'a ReplicaSet>,
    declared: &'a ReplicaSet,
) -> Running<'a> {
    let sets: Vec<_> = sets.collect();
    if let Some(pin) = workload.pin_in_force() {
        let pinned = sets.into_iter().find(|set| set.labels.get(HASH_LABEL) == Some(&pin.hash));
        return pinned.map_or(Running::Missing, Running::Set);
    }
    // One that is declared anew is about to get another revision, and to be tried.
    let is_highest = sets.iter().all(|set| set.uid == declared.uid || revision(set) < revision(declared));
    let Some(memory) = memory(declared).filter(|_| is_highest && says(declared, "Failed")) else {
        return Running::Set(declared);
    };
    let action = workload.failure_policy.as_ref().map(|policy| policy.action);
    let is_aborted = memory.get("aborted") == Some(&Value::Bool(true));
    // Without a policy, a verdict counts only where somebody asks to abort.
    let is_judged = action.is_some() || workload.annotations.contains_key(plan::keys::ABORT);
    if !is_judged || !(is_aborted || matches!(action, Some(FailureAction::Pause | FailureAction::Revert))) {
        return Running::Set(declared);
    }
    let good = sets.into_iter().filter(|set| set.uid != declared.uid && !set.deleting && says(set, "Good"));
    match good.max_by_key(|set| revision(set)) {
        Some(good) if is_aborted || action == Some(FailureAction::Revert) => Running::Set(good),
        _ => Running::Held,
    }
}
