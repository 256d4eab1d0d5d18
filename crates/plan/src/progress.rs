//! How the rollout goes: complete, progressing, or past its deadline (S9.9–S9.16).

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};

use crate::action::Wake;
use crate::bug::{Bug, has};
use crate::conditions::{Condition, drop_condition, set_condition};
use crate::counters;
use crate::draft::Draft;
use crate::keys::{condition, reason};
use crate::status::Status;
use crate::why::Why;

/// Whether the rollout was complete when the status was last written (S9.10).
pub(crate) fn is_stored_complete(draft: &Draft<'_>) -> bool {
    draft.status.is_complete(draft.workload.replicas, draft.workload.generation)
}

/// Status of a pass that rolls out (S9.9–S9.15).
pub(crate) fn report(draft: &mut Draft<'_>) {
    let status = calculate(draft);
    explain(draft, &status);
    let deadline = draft.workload.progress_deadline_seconds;
    let wake = deadline.map(|deadline| wake(draft, deadline, &status));
    if !draft.write_status(status)
        && let Some(wake) = wake
    {
        draft.wake = wake;
    }
}

/// A step was taken whose outcome the status is to show, and upstream's does not yet (S9.3).
pub(crate) fn note_step(draft: &mut Draft<'_>) {
    if draft.observed.options.tells_steps {
        let before = calculate(draft).into_owned();
        draft.on_the_way.push(before);
    }
    draft.size_before_step.get_or_insert(draft.noted_size);
    draft.note_sizes();
}

/// The status of a rollout as of the sizes noted last.
fn calculate<'a>(draft: &Draft<'a>) -> Cow<'a, Status> {
    let mut status = counters::calculate(draft);
    match draft.workload.progress_deadline_seconds {
        // S9.9
        None => drop_condition(&mut status, condition::PROGRESSING),
        Some(deadline) => estimate(draft, deadline, &mut status),
    }
    counters::refresh_replica_failure(draft, &mut status);
    status
}

/// Status of a pass that does not roll out: counters and Available only (S9.16).
pub(crate) fn report_without_estimate(draft: &mut Draft<'_>) {
    let status = counters::calculate(draft);
    draft.write_status(status);
}

/// The condition Progressing (S9.11).
fn estimate(draft: &Draft<'_>, deadline: i64, status: &mut Cow<'_, Status>) {
    let old = draft.status.condition(condition::PROGRESSING);
    let is_done = status.replicas == status.updated_replicas
        && old.is_some_and(|old| old.reason == reason::NEW_REPLICA_SET_AVAILABLE);
    if is_done {
        return;
    }
    let subject = match draft.new_name() {
        Some(set) => format!("ReplicaSet \"{set}\""),
        None => format!("Deployment \"{}\"", draft.workload.name),
    };
    let condition = |status: &str, reason: &str, message: String| {
        Condition::new(condition::PROGRESSING, status, reason, message, draft.now)
    };
    if status.is_complete(draft.workload.replicas, draft.workload.generation) {
        let message = format!("{subject} has successfully progressed.");
        let done = condition("True", reason::NEW_REPLICA_SET_AVAILABLE, message);
        set_condition(&mut status.to_mut().conditions, done);
    } else if is_progressing(&draft.status, status) {
        let mut moving = condition("True", reason::REPLICA_SET_UPDATED, format!("{subject} is progressing."));
        // S9.11b: replaced even when the reason is the same, so that its time moves on.
        if let Some(old) = old.filter(|old| old.status == "True") {
            moving.last_transition_time = old.last_transition_time;
        }
        let conditions = &mut status.to_mut().conditions;
        conditions.retain(|entry| entry.kind != condition::PROGRESSING);
        conditions.push(moving);
    } else if is_timed_out(old, deadline, draft.now) {
        let message = format!("{subject} has timed out progressing.");
        let late = condition("False", reason::PROGRESS_DEADLINE_EXCEEDED, message);
        set_condition(&mut status.to_mut().conditions, late);
    }
}

/// Whether something got better from one status to the next (S9.11b).
#[must_use]
pub fn is_progressing(old: &Status, new: &Status) -> bool {
    new.updated_replicas > old.updated_replicas
        || new.replicas - new.updated_replicas < old.replicas - old.updated_replicas
        || new.ready_replicas > old.ready_replicas
        || new.available_replicas > old.available_replicas
}

/// Whether the deadline has passed without progress (S9.12).
#[must_use]
pub fn is_timed_out(progressing: Option<&Condition>, deadline: i64, now: Timestamp) -> bool {
    let Some(condition) = progressing else { return false };
    match condition.reason.as_str() {
        reason::NEW_REPLICA_SET_AVAILABLE => false,
        reason::PROGRESS_DEADLINE_EXCEEDED => true,
        _ => after_deadline(condition, deadline).is_some_and(|end| end < now),
    }
}

/// When the deadline passes that began with a condition's last update.
///
/// A condition without a readable time is as old as time itself, as upstream's zero time.
fn after_deadline(condition: &Condition, deadline: i64) -> Option<Timestamp> {
    let began = condition.last_update_time.unwrap_or(Timestamp::MIN);
    began.checked_add(SignedDuration::from_secs(deadline)).ok()
}

/// When to look again although nothing changes: just after the deadline (S9.15).
#[must_use]
pub fn wake_after(
    status: &Status,
    (replicas, generation): (i64, i64),
    deadline: i64,
    now: Timestamp,
) -> Wake {
    if has(Bug::DeadlineNotAwaited) {
        return Wake::OnChange;
    }
    let Some(condition) = status.condition(condition::PROGRESSING) else { return Wake::OnChange };
    if status.is_complete(replicas, generation) || condition.reason == reason::PROGRESS_DEADLINE_EXCEEDED {
        return Wake::OnChange;
    }
    let Some(end) = after_deadline(condition, deadline) else { return Wake::OnChange };
    if end.duration_since(now) < SignedDuration::from_secs(1) {
        return Wake::Again;
    }
    end.checked_add(SignedDuration::from_secs(1)).map_or(Wake::OnChange, Wake::At)
}

fn wake(draft: &Draft<'_>, deadline: i64, status: &Status) -> Wake {
    wake_after(status, (draft.workload.replicas, draft.workload.generation), deadline, draft.now)
}

/// Why the rollout is where it is, if no step said so already.
fn explain(draft: &mut Draft<'_>, status: &Status) {
    if draft.why != Why::Converged {
        return;
    }
    let desired = draft.workload.replicas;
    let available = draft.new_set().map_or(0, |set| set.seen.status.available);
    let failure = status.condition(condition::REPLICA_FAILURE).filter(|failure| failure.status == "True");
    draft.why = if status.is_complete(desired, draft.workload.generation) {
        Why::Converged
    } else if let Some(failure) = failure {
        Why::Blocked(format!("{}: {}", failure.reason, failure.message))
    } else if draft.created.is_some() {
        Why::Stepping
    } else if status.replicas > status.updated_replicas && available >= desired {
        Why::WaitingForOldPods { old: status.replicas - status.updated_replicas }
    } else {
        let set = draft.new_name().unwrap_or("the new ReplicaSet").to_owned();
        Why::WaitingForAvailable { set, available, desired }
    };
}
