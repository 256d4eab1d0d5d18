//! PA-1: while paused, nothing rolls.

use plan::keys::ROLLOUT;
use plan::{Action, Purpose, UpdateReplicaSet};

use crate::checks::{Accepted, Verdict};

/// No ReplicaSet is created and no old ReplicaSet is cut by a rollout.
pub(super) fn nothing_rolls(write: &Accepted<'_>) -> Verdict {
    if !write.view().workload.paused {
        return Ok(());
    }
    match write.action() {
        Some(Action::UpdateReplicaSet(update)) if judges(write, update) => {
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

/// FP-2: whether a failure is written that was not there; one that somebody asks for is not judged.
fn judges(write: &Accepted<'_>, update: &UpdateReplicaSet) -> bool {
    let has_failed = |memory: &str| memory.contains("\"Failed\"") && !memory.contains("\"aborted\"");
    let memory = update.annotations.get(ROLLOUT);
    let stored = write.before.and_then(|before| before.annotation(ROLLOUT));
    memory.is_some_and(|text| has_failed(text)) && !stored.is_some_and(has_failed)
}

/// FP-11: where the pinned ReplicaSet is gone, nothing starts, and nothing is cut; only sizes follow R.
pub(super) fn nothing_replaces(write: &Accepted<'_>) -> Option<Verdict> {
    let view = write.view();
    if !view.lacks_pinned() || view.workload.deleting {
        return None;
    }
    Some(match write.action() {
        Some(Action::CreateReplicaSet(set)) => {
            Err(format!("{} was created, and the pin names none", set.name))
        }
        Some(Action::RollBack(_)) => Err("rolled back, and the pin names no ReplicaSet".to_owned()),
        Some(Action::UpdateReplicaSet(update)) if update.size_to != update.size_from => {
            let (name, sizes) = (&update.target.name, (update.size_from, update.size_to));
            let starts = sizes.0 == 0;
            if starts || update.purpose == Purpose::ScaleDownOld || !view.is_stale() {
                Err(format!("{name} went from {} to {}, and the pin names none", sizes.0, sizes.1))
            } else {
                Ok(())
            }
        }
        _ => Ok(()),
    })
}
