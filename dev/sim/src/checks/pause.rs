//! PA-1: while paused, nothing rolls.

use plan::{Action, Purpose};

use crate::checks::{Accepted, Verdict};

/// No set is created and no old set is cut by a rollout.
pub(super) fn nothing_rolls(write: &Accepted<'_>) -> Verdict {
    if !write.view().workload.paused {
        return Ok(());
    }
    match write.action() {
        Some(Action::UpdateReplicaSet(update)) if judges(update) => {
            Err(format!("{} was judged while paused", update.target.name))
        }
        Some(Action::CreateReplicaSet(set)) => Err(format!("{} was created while paused", set.name)),
        Some(Action::UpdateReplicaSet(update)) if update.purpose == Purpose::ScaleDownOld => {
            Err(format!("{} was cut while paused", update.target.name))
        }
        Some(Action::RollBack(_)) => Err("rolled back while paused".to_owned()),
        _ => Ok(()),
    }
}

/// FP-2: whether a failure is written; one that somebody asks for is not judged.
fn judges(update: &plan::UpdateReplicaSet) -> bool {
    let memory = update.annotations.get(plan::keys::ROLLOUT);
    memory.is_some_and(|text| text.contains("\"Failed\"") && !text.contains("\"aborted\""))
}
