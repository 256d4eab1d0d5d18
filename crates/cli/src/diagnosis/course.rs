//! What the controller does, in sentences, and which command leads out of where the rollout is.

use plan::Why;
use plan::keys::{MANAGED_LABEL, MANAGED_VALUE};

use super::facts::Facts;

/// What the controller does or waits for.
pub(super) fn sentence(why: &Why) -> String {
    match why {
        Why::Converged => "The controller has nothing left to do, and its status follows.".to_owned(),
        Why::Deleting => {
            "The controller does nothing more, since somebody deleted the Deployment.".to_owned()
        }
        Why::Paused => "The controller waits for the end of the pause.".to_owned(),
        Why::RollingBack
        | Why::Stepping
        | Why::WaitingForAvailable { .. }
        | Why::WaitingForTermination
        | Why::WaitingForOldPods { .. }
        | Why::Blocked(_) => format!("The controller is {why}."),
        Why::Resting(words) => format!("{}.", capitalized(words)),
        Why::BlockedBy { why, words } => format!("{} {}.", sentence(why), capitalized(words)),
        Why::Instead { why, words } if **why == Why::Converged => format!("{}.", capitalized(words)),
        Why::Instead { why, words } => format!("{}. {}", capitalized(words), sentence(why)),
        Why::Beside { why, namespace, orphans } => format!(
            "{} ReplicaSets that fit the selector belong to nobody. To hand them over: `kubectl label replicaset {} \
             -n {namespace} {MANAGED_LABEL}={MANAGED_VALUE}`.",
            sentence(why),
            orphans.join(" ")
        ),
    }
}

/// A text that begins a sentence. The name of a field or of a Deployment stays as it is.
pub(super) fn capitalized(text: &str) -> String {
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_name = first.contains(['.', '/', '-']) || text.starts_with("deployment \"");
    let mut letters = text.chars();
    match letters.next() {
        Some(letter) if !is_name => letter.to_uppercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

/// The way back, if there is one. The first revision has none, so its user changes it: the image of the container that
/// is named, or whatever the events show.
pub(super) fn back(facts: &Facts<'_>, container: &str) -> String {
    let deployment = facts.deployment;
    if facts.revisions.len() > 1 {
        deployment.command("undo")
    } else if container.is_empty() {
        format!("kubectl describe {} -n {}", deployment.full_name(), deployment.namespace())
    } else {
        format!("{} {container}=IMAGE", deployment.command("set image"))
    }
}
