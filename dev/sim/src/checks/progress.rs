//! PD-1: a deadline is reported when it has passed, and not before. WA-1: in a rollout nothing
//! goes back and forth.

use jiff::{SignedDuration, Timestamp};
use plan::keys::{condition, reason};
use plan::{Action, Flavour, ReplicaSet, UpdateReplicaSet, Workload};

use crate::checks::{Accepted, Verdict, steps};
use crate::shown::{after, is_held_back, is_judged, may_be_late};
use crate::truth::Truth;

/// So much later than its deadline a stuck rollout may be reported.
const SLACK: SignedDuration = SignedDuration::from_secs(10);

/// The status of a rollout that has just begun does not report that its time is over.
pub(super) fn starts_anew(write: &Accepted<'_>) -> Verdict {
    let Some(Action::WriteStatus(status)) = write.action() else { return Ok(()) };
    let is_late = |one: &plan::Condition| one.reason == reason::PROGRESS_DEADLINE_EXCEEDED;
    let view = write.view();
    // A ReplicaSet that is created while the one before has shown nothing yet finds the condition that
    // it would set, with its old time, as upstream does (S9.7); docs/internals/invariants.md has a seed.
    let before = view.workload.status.condition(condition::PROGRESSING);
    let is_inherited = write.flavour == Flavour::AppsV1
        && before.is_some_and(|before| before.reason == reason::NEW_REPLICA_SET_CREATED);
    // The outcome of a rollback that took the new template away again is about the generation before.
    let is_about_it = status.status.observed_generation == view.workload.generation;
    let has_begun =
        view.is_created && is_about_it && !is_inherited && view.workload.progress_deadline_seconds.is_some();
    if has_begun && status.status.condition(condition::PROGRESSING).is_some_and(is_late) {
        return Err("the rollout has just begun, and its deadline has passed".to_owned());
    }
    Ok(())
}

/// In a rollout, no old ReplicaSet gets pods.
pub(super) fn old_sets_shrink(write: &Accepted<'_>) -> Verdict {
    let Some(Action::UpdateReplicaSet(update)) = write.action() else { return Ok(()) };
    let view = write.view();
    let is_new = view.running_set().is_some_and(|new| new.set.uid == update.target.uid);
    let is_odd = update.size_to > update.size_from && !is_new && !view.is_held() && !view.is_scaling();
    if is_odd && !steps::may_grow(write, update) {
        return Err(format!(
            "old set {} from {} to {}",
            update.target.name, update.size_from, update.size_to
        ));
    }
    Ok(())
}

/// FP-10: on the way back only what runs grows, whatever the size of the Deployment does.
pub(super) fn only_one_grows(write: &Accepted<'_>) -> Option<Verdict> {
    let view = write.view();
    let (update, _) = resized(write).filter(|_| view.is_reverted())?;
    let is_running = view.running_set().is_some_and(|running| running.set.uid == update.target.uid);
    let text = || format!("{} from {} to {}", update.target.name, update.size_from, update.size_to);
    Some(if update.size_to > update.size_from && !is_running { Err(text()) } else { Ok(()) })
}

/// FP-10: while a failure is held, the failed ReplicaSet does not grow as long as another one has pods. Its pods go
/// first, and nothing else grows but what follows R in its place, or an only one with pods to R (S8.3).
pub(super) fn failed_set_yields(write: &Accepted<'_>) -> Option<Verdict> {
    let view = write.view();
    let (update, grows) = resized(write).filter(|_| view.is_held())?;
    let failed = view.new_set()?;
    let is_failed = update.target.uid == failed.set.uid;
    let others = || view.owned().filter(|other| other.set.uid != failed.set.uid && other.set.size > 0);
    let largest = others().map(|other| other.set.size).max();
    let is_only = failed.size == 0 && others().count() == 1 && update.size_to == view.workload.replicas;
    let wrong = match (is_failed, grows) {
        (true, true) if largest.is_some() => "it failed, and another one has pods",
        (false, true) if !(view.is_stale() || view.workload.paused || largest.is_none() || is_only) => {
            "nothing rolls out"
        }
        (false, true) if largest.is_some_and(|largest| update.size_from < largest) => "another one is larger",
        (false, false) if failed.size > 0 => "the one that failed keeps its pods",
        _ => return Some(Ok(())),
    };
    let name = &update.target.name;
    Some(Err(format!("{name} from {} to {}, although {wrong}", update.size_from, update.size_to)))
}

/// A ReplicaSet that gets another size, and whether it grows.
fn resized<'a>(write: &'a Accepted<'_>) -> Option<(&'a UpdateReplicaSet, bool)> {
    let Some(Action::UpdateReplicaSet(update)) = write.action() else { return None };
    (update.size_to != update.size_from).then_some((update, update.size_to > update.size_from))
}

/// Where nothing goes wrong with operators, a revision that makes no progress under a policy fails in time (FP-3): pods
/// that come and go are none.
pub(crate) fn fails_in_time(truth: &Truth, now: Timestamp) -> Verdict {
    let (Some(workload), Some(shown)) = (truth.workload.as_deref(), truth.shown.as_ref()) else {
        return Ok(());
    };
    let (Some(policy), Some(deadline)) = (&workload.failure_policy, workload.progress_deadline_seconds)
    else {
        return Ok(());
    };
    let Some(declared) = truth.new_set().map(|new| &*new.set) else { return Ok(()) };
    let sets: Vec<&ReplicaSet> = truth.owned().map(|owned| &*owned.set).collect();
    let is_open = policy.deadline && !shown.is_done && is_judged(workload, &sets, declared);
    let is_able = may_be_late(workload, declared)
        && !is_held_back(workload, &sets, declared)
        && !steps::stops_clock(&workload.status);
    let end = after(shown.stirred, deadline);
    if is_open && is_able && end.checked_add(SLACK).is_ok_and(|end| end < now) {
        return Err(format!(
            "{} has shown nothing new since {}, and did not fail",
            declared.name, shown.stirred
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
