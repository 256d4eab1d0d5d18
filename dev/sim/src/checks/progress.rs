//! PD-1: a deadline is reported when it has passed, and not before. WA-1: in a rollout nothing
//! goes back and forth.

use jiff::{SignedDuration, Timestamp};
use plan::keys::{condition, reason};
use plan::{Action, Flavour, Workload};

use crate::checks::{Accepted, Verdict};

/// So much later than its deadline a stuck rollout may be reported.
const SLACK: SignedDuration = SignedDuration::from_secs(10);

/// The status of a rollout that has just begun does not say that its time is over.
pub(super) fn starts_anew(write: &Accepted<'_>) -> Verdict {
    let Some(Action::WriteStatus(status)) = write.action() else { return Ok(()) };
    let is_late = |one: &plan::Condition| one.reason == reason::PROGRESS_DEADLINE_EXCEEDED;
    let view = write.view();
    // A set that is created while the one before has shown nothing yet finds the condition that
    // it would set, with its old time, as upstream does (S9.7); docs/internals/invariants.md has a seed.
    let before = view.workload.status.condition(condition::PROGRESSING);
    let is_inherited = write.flavour == Flavour::AppsV1
        && before.is_some_and(|before| before.reason == reason::NEW_REPLICA_SET_CREATED);
    let has_begun = view.is_created && !is_inherited && view.workload.progress_deadline_seconds.is_some();
    if has_begun && status.status.condition(condition::PROGRESSING).is_some_and(is_late) {
        return Err("the rollout has just begun, and its deadline has passed".to_owned());
    }
    Ok(())
}

/// In a rollout, no old set gets pods; on the way back, not even with another size (FP-10).
pub(super) fn old_sets_shrink(write: &Accepted<'_>) -> Verdict {
    let Some(Action::UpdateReplicaSet(update)) = write.action() else { return Ok(()) };
    let view = write.view();
    let is_new = view.running_set().is_some_and(|new| new.set.uid == update.target.uid);
    if update.size_to > update.size_from
        && !is_new
        && !view.is_held()
        && (!view.is_scaling() || view.is_reverted())
    {
        return Err(format!(
            "old set {} from {} to {}",
            update.target.name, update.size_from, update.size_to
        ));
    }
    Ok(())
}

/// Where nothing goes wrong with operators, a rollout that stands still is reported in time.
pub(crate) fn is_told(workload: &Workload, now: Timestamp) -> Verdict {
    let status = &workload.status;
    let is_about_it = status.observed_generation == workload.generation && !workload.paused;
    let (Some(deadline), Some(known)) =
        (workload.progress_deadline_seconds, status.condition(condition::PROGRESSING))
    else {
        return Ok(());
    };
    let waits = [reason::REPLICA_SET_UPDATED, reason::NEW_REPLICA_SET_CREATED, reason::FOUND_NEW_REPLICA_SET];
    if !is_about_it || !waits.contains(&known.reason.as_str()) {
        return Ok(());
    }
    let end =
        known.last_update_time.and_then(|time| time.checked_add(SignedDuration::from_secs(deadline)).ok());
    match end.and_then(|end| end.checked_add(SLACK).ok()) {
        Some(end) if end < now => {
            Err(format!("nothing has moved since {:?}, and nobody says so", known.last_update_time))
        }
        _ => Ok(()),
    }
}
