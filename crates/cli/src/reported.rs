//! What the operator reports of a blocked rollout in the status (rollwright.dev): for those who may not list pods,
//! and without another request.

use api::Blocker;
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

/// Adds the first of them to what a command reports of a rollout that has not ended.
pub(crate) fn added_to(message: &str, deployment: &Value) -> String {
    match blockers(deployment).first() {
        Some(first) => format!("{} ({}: {})", message, clean(&first.cause), sentence(first)),
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
