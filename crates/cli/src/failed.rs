//! A declared revision that failed, so that nothing is rolled out: what the operator reports of it (FP-6;
//! rollwright.dev only).

use api::{ConditionStatus, DeploymentStatus};
use plan::keys::condition;
use plan::keys::reason::{HELD, HELD_AFTER_RESTART};

use crate::terminal::clean;

/// What the planner puts before its words about that.
const BLOCKED: &str = "blocked: ";

/// Why the declared revision failed and nothing is rolled out before somebody acts: in one word, and the same in a
/// sentence without its end.
pub(crate) fn held(status: &DeploymentStatus) -> Option<(&'static str, String)> {
    stalled(status, &HELD)
}

/// Why the rollout waits for a word after a restart of the operator, in a sentence without its end (HO-2).
pub(crate) fn after_restart(status: &DeploymentStatus) -> Option<String> {
    stalled(status, &[HELD_AFTER_RESTART]).map(|(_, words)| words)
}

/// The one of these reasons for which the rollout is stalled, and why, in a sentence without its end.
pub(crate) fn stalled(status: &DeploymentStatus, reasons: &[&'static str]) -> Option<(&'static str, String)> {
    let stalled = status.condition(condition::STALLED)?;
    let reason = reasons.iter().copied().find(|reason| stalled.reason.as_deref() == Some(reason))?;
    let message = stalled.message.as_deref().unwrap_or(reason);
    let words = message.strip_prefix(BLOCKED).unwrap_or(message).trim_end_matches('.');
    (stalled.status == ConditionStatus::True).then(|| (reason, clean(words)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cluster::Deployment;
    use crate::pinned::samples;

    #[test]
    fn what_is_held_is_read_from_the_condition() {
        let of = |deployment: &Deployment| held(&deployment.status());
        let words = samples::HELD.to_owned();
        assert_eq!(of(&samples::held("RolloutFailed")), Some(("RolloutFailed", words.clone())));
        assert_eq!(of(&samples::held("NoGoodRevision")), Some(("NoGoodRevision", words)));
        assert_eq!(of(&samples::held("RolledBack")), None);
        let mut over = samples::held("RolloutFailed");
        over.body["status"]["conditions"][1]["status"] = json!("False");
        assert_eq!(of(&over), None);
    }
}
