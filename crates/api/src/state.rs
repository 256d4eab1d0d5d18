//! How a rollout stands, in the one or two words of the column STATUS of `kubectl get`.
//!
//! It follows from the rest of the status, and goes along with the writes of it.

use plan::keys::{condition, reason};
use plan::{Status, Workload};

/// The words, once the Deployment has this status. Those for apps/v1, which has no such column, are the same.
#[must_use]
pub fn state(workload: &Workload, status: &Status) -> String {
    let reason_of = |kind: &str| status.condition(kind).map(|known| known.reason.as_str());
    let holding = |kind: &str| status.condition(kind).filter(|known| known.status == "True");
    if workload.paused {
        return "Paused".to_owned();
    }
    if [condition::PROGRESSING, condition::RECONCILING].map(reason_of).contains(&Some(reason::QUEUED)) {
        return "Queued".to_owned();
    }
    if reason_of(condition::RECONCILING).is_some_and(|known| reason::RESTING.contains(&known)) {
        return "Resting".to_owned();
    }
    if reason_of(condition::STALLED) == Some(reason::HELD_AFTER_RESTART) {
        return "Held".to_owned();
    }
    match status.ours.target.as_ref().map(|target| target.reason.as_str()) {
        Some(reason::PINNED) => return "Pinned".to_owned(),
        Some(reason::REVERTED | reason::ABORTED) => return "Reverted".to_owned(),
        _ => {}
    }
    // One that has a step ahead may have all its pods (SP-8).
    let is_under_way = holding(condition::STALLED).or_else(|| holding(condition::RECONCILING)).is_some();
    if status.is_complete(workload.replicas, workload.generation) && !is_under_way {
        return "Complete".to_owned();
    }
    let cause = status.ours.blockers.first().map(|blocker| blocker.cause.as_str());
    let refusal =
        reason_of(condition::PROGRESSING).filter(|known| *known == reason::REPLICA_SET_CREATE_ERROR);
    let stalled = || holding(condition::STALLED).or_else(|| holding(condition::REPLICA_FAILURE));
    let stalled = || stalled().map(|known| known.reason.as_str());
    // A Rollwright Deployment is stalled then.
    let late =
        || reason_of(condition::PROGRESSING).filter(|known| *known == reason::PROGRESS_DEADLINE_EXCEEDED);
    if let Some(cause) = cause.or(refusal).or_else(stalled).or_else(late) {
        return format!("Blocked: {cause}");
    }
    // Old pods may be the ones that are not available; then there are more.
    let old = status.replicas.saturating_sub(status.updated_replicas);
    let done = status.available_replicas.saturating_sub(old).max(0);
    format!("Rolling {done}/{}", workload.replicas)
}

#[cfg(test)]
mod tests {
    use plan::{Blocker, Condition, Flavour};
    use serde_json::json;

    use super::*;
    use crate::decode::{self, Defaults};

    fn workload() -> Workload {
        let object = json!({"metadata": {"generation": 1}, "spec": {"replicas": 4, "template": {}}});
        decode::workload(Flavour::Rollwright, &object, Defaults::Apply).unwrap()
    }

    fn rolling() -> Status {
        Status {
            observed_generation: 1,
            replicas: 5,
            updated_replicas: 4,
            available_replicas: 4,
            ..Status::default()
        }
    }

    fn with(kind: &str, status: &str, reason: &str) -> Status {
        let time = "2026-04-01T12:00:00Z".parse().unwrap();
        let conditions = vec![Condition::new(kind, status, reason, String::new(), time)];
        Status { conditions, ..rolling() }
    }

    #[test]
    fn each_state_has_its_words() {
        let complete = Status { replicas: 4, ..rolling() };
        let mut blocked = with("Stalled", "True", "ProgressDeadlineExceeded");
        blocked.ours.blockers = vec![Blocker { cause: "ImagePull".to_owned(), ..Blocker::default() }];
        let cases = [
            (complete, "Complete"),
            (rolling(), "Rolling 3/4"),
            (blocked, "Blocked: ImagePull"),
            (with("Stalled", "True", "NewerSpec"), "Blocked: NewerSpec"),
            (with("ReplicaFailure", "True", "FailedCreate"), "Blocked: FailedCreate"),
            (with("ReplicaFailure", "False", "FailedCreate"), "Rolling 3/4"),
            (with("Progressing", "False", "ReplicaSetCreateError"), "Blocked: ReplicaSetCreateError"),
            (with("Progressing", "False", "ProgressDeadlineExceeded"), "Blocked: ProgressDeadlineExceeded"),
            (with("Progressing", "Unknown", "Queued"), "Queued"),
            (with("Reconciling", "True", "Queued"), "Queued"),
            (with("Reconciling", "True", "RestingAtStep"), "Resting"),
            (with("Stalled", "True", "HeldAfterRestart"), "Held"),
        ];
        for (status, words) in cases {
            assert_eq!(state(&workload(), &status), words);
            assert_eq!(state(&Workload { paused: true, ..workload() }, &status), "Paused");
        }
    }
}
