//! PA-1: while paused, nothing rolls.

use plan::{Action, Purpose};

use crate::checks::{Accepted, Verdict};

/// No set is created and no old set is cut by a rollout.
pub(super) fn nothing_rolls(write: &Accepted<'_>) -> Verdict {
    if !write.view().workload.paused {
        return Ok(());
    }
    match write.action() {
        Some(Action::CreateReplicaSet(set)) => Err(format!("{} was created while paused", set.name)),
        Some(Action::UpdateReplicaSet(update)) if update.purpose == Purpose::ScaleDownOld => {
            Err(format!("{} was cut while paused", update.target.name))
        }
        Some(Action::RollBack(_)) => Err("rolled back while paused".to_owned()),
        _ => Ok(()),
    }
}
