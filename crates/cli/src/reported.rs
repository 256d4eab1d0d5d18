//! What the operator reports of a blocked rollout in the status (rollwright.dev): for those who may not list pods,
//! and without another request.

use api::{Blocker, Condition, ConditionStatus};
use plan::keys::{condition, reason};
use serde_json::Value;

use crate::read;
use crate::rollout;
use crate::terminal::clean;

/// What blocks the rollout, heaviest first; nothing if the status is about an earlier generation.
pub(crate) fn blockers(deployment: &Value) -> Vec<Blocker> {
    if !rollout::is_observed(deployment) {
        return Vec::new();
    }
    read::status(deployment).blockers.unwrap_or_default()
}

/// The first of them in a sentence: `2 of 4 pods cannot pull the image ...`.
pub(crate) fn sentence(blocker: &Blocker) -> String {
    let count = |number: Option<i32>| number.unwrap_or_default();
    let message = clean(blocker.message.as_deref().unwrap_or_default());
    format!("{} of {} pods {message}", count(blocker.pods), count(blocker.total_pods))
}

/// What the API server refuses, in one word and in its own words. A change with a refused ReplicaSet does not count as
/// observed; other conditions of before the last change mean nothing for it.
pub(crate) fn refusal(deployment: &Value) -> Option<(String, String)> {
    let status = read::status(deployment);
    let is_known = |known: &&Condition| known.reason.as_deref() == Some(reason::REPLICA_SET_CREATE_ERROR);
    let of_pods = || {
        let failure = status.condition(condition::REPLICA_FAILURE)?;
        (failure.status == ConditionStatus::True && rollout::is_observed(deployment)).then_some(failure)
    };
    let condition = status.condition(condition::PROGRESSING).filter(is_known).or_else(of_pods)?;
    let words = |text: &Option<String>| clean(text.as_deref().unwrap_or_default());
    Some((words(&condition.reason), words(&condition.message)))
}

/// Adds what hinders a rollout to what a command reports of one that has not ended.
pub(crate) fn added_to(message: &str, deployment: &Value) -> String {
    let first = blockers(deployment).into_iter().next();
    let cause = first.map(|first| (clean(&first.cause), sentence(&first)));
    match cause.or_else(|| refusal(deployment)) {
        Some((cause, words)) => format!("{message} ({cause}: {words})"),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_heaviest_one_is_told_while_the_status_is_of_this_generation() {
        let blocker =
            json!({"cause": "ImagePull", "pods": 2, "totalPods": 4, "message": "cannot pull\u{1b}[2J"});
        let mut deployment = json!({
            "metadata": {"generation": 2},
            "status": {"observedGeneration": 2, "blockers": [blocker, {"cause": "CrashLoop"}]},
        });
        let told = added_to("Waiting...", &deployment);
        assert!(told.starts_with("Waiting... (ImagePull: 2 of 4 pods cannot pull"), "{told}");
        assert!(!told.contains('\u{1b}'), "{told}");
        deployment["metadata"]["generation"] = json!(3);
        assert_eq!(added_to("Waiting...", &deployment), "Waiting...");
    }
}
