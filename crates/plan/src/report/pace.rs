//! A status that changes only counters waits half a second, so that further changes have a moment to arrive. In a
//! rollout each pod changes the counters several times, and each write costs the server as much as a step of the
//! rollout. While the operator is busy, the status waits one second. The first report of a scaling waits for its
//! counters, and on rollwright.dev also the first report of a rollout.
//!
//! The operator writes immediately what somebody waits for: a rollout that becomes complete or stops being complete, a
//! changed condition, the outcome of a rollback, lost pods. A status that waits is not lost: the next plan computes it
//! again, and the Deployment is requeued for the time when it may be written.

use std::time::Duration;

use jiff::Timestamp;

use crate::course::view::View;
use crate::decide::decisions::Decisions;
use crate::model::action::StatusWrite;
use crate::model::conditions::Condition;
use crate::model::durations::{STATUS_WAITS, STATUS_WAITS_BUSY};
use crate::model::keys::condition;
use crate::model::observed::{Observed, ReplicaSet};
use crate::model::status::Status;
use crate::report::assemble::is_followed;
use crate::report::requeue::earliest;
use crate::report::{Due, Report};

/// The report without its status write, if that may wait, and when to requeue.
pub(crate) fn paced(report: Report, decisions: &Decisions<'_>) -> Report {
    let until = waits(&report, decisions);
    let report = if until.is_some() { Report { write: None, status_waits: true, ..report } } else { report };
    let requeue = earliest(&report, decisions, until.flatten());
    Report { requeue, ..report }
}

/// `Some` if the status write waits; until then, if nothing else requeues.
fn waits(report: &Report, decisions: &Decisions<'_>) -> Option<Option<Timestamp>> {
    let View { observed, now, .. } = decisions.view;
    // A report with events does not wait.
    let write = report.write.as_ref().filter(|_| report.news.is_empty())?;
    if is_creation_news(decisions) {
        return None;
    }
    // Another reconcile follows immediately, with counters to report.
    let is_joined = observed.options.joins_reports && is_followed(decisions, report.due);
    if is_joined && keeps_records(write, observed) && keeps_completeness(write, observed) {
        // On a busy server, reconciles that follow each other take seconds.
        return end_of_wait(observed, now).is_none_or(|until| until > now).then_some(None);
    }
    waits_until(write, decisions).filter(|until| *until > now).map(Some)
}

/// Until when a status may wait; `None` if it may not.
fn waits_until(write: &StatusWrite, decisions: &Decisions<'_>) -> Option<Timestamp> {
    let View { observed, now, .. } = decisions.view;
    // The status reports a pause immediately: the user who set it waits for nothing else.
    let may_join =
        observed.options.joins_reports && !observed.workload.paused || keeps_progress(write, observed);
    let awaits_counters = may_join && is_in_step(decisions) && is_first_report(write, observed);
    if !awaits_counters && !may_wait(write, observed) {
        return None;
    }
    end_of_wait(observed, now)
}

/// Until when a status that waits may do so, counted from when it first waited.
fn end_of_wait(observed: &Observed, now: Timestamp) -> Option<Timestamp> {
    // A time in the future means that the clock was set back: then nothing waits, or it could be for hours.
    let since = observed.options.status_waits_since.filter(|since| *since <= now)?;
    since.checked_add(time_to_wait(observed)).ok()
}

/// How long it waits for more. The progress deadline starts with a status, so no status waits for more than a tenth
/// of it.
fn time_to_wait(observed: &Observed) -> Duration {
    let wait = if observed.options.is_busy { STATUS_WAITS_BUSY } else { STATUS_WAITS };
    let deadline =
        observed.workload.progress_deadline_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    deadline.map_or(wait, |seconds| wait.min(Duration::from_secs(seconds) / 10))
}

/// Whether ReplicaSets have pods to make or to delete, or get them by this reconcile.
fn is_in_step(decisions: &Decisions<'_>) -> bool {
    let is_served = decisions.view.observed.sets.iter().all(ReplicaSet::is_served);
    let creates = decisions.creation.as_ref().is_some_and(|creation| creation.set.size > 0);
    !is_served || creates || is_followed(decisions, Due::AtOnce)
}

/// Whether this is the first report of a generation, with nothing in it that only this reconcile knows.
fn is_first_report(write: &StatusWrite, observed: &Observed) -> bool {
    write.status.observed_generation != observed.workload.status.observed_generation
        && reports_sets_alone(write, observed)
        && keeps_completeness(write, observed)
}

/// Whether Progressing stays as it is. On apps/v1 a report that changes it does not wait for the counters.
fn keeps_progress(write: &StatusWrite, observed: &Observed) -> bool {
    let kind = condition::PROGRESSING;
    write.status.condition(kind) == observed.workload.status.condition(kind)
}

/// Whether a ReplicaSet is created, and only this status can report it. The next reconcile recognizes a ReplicaSet that
/// no status has reported by its revision: it is above the one in the status, if that has one (S4.4). On apps/v1 the
/// status never has.
fn is_creation_news(decisions: &Decisions<'_>) -> bool {
    let shown = decisions.view.workload().status.ours.revision;
    let is_shown_by_revision = decisions.view.observed.flavour.has_status_extras();
    decisions.creation.as_ref().is_some_and(|creation| {
        !is_shown_by_revision || shown.is_some_and(|shown| shown >= creation.revision)
    })
}

/// Whether nothing but counters and texts changes, and the rollout continues as before.
fn may_wait(write: &StatusWrite, observed: &Observed) -> bool {
    let (workload, next) = (&observed.workload, &write.status);
    keeps_records(write, observed)
        && keeps_completeness(write, observed)
        && keeps_conditions(next, &workload.status)
        && next.ours.revision == workload.status.ours.revision
        && next.ours.target == workload.status.ours.target
        && next.ours.bake == workload.status.ours.bake
        && place(next) == place(&workload.status)
}

/// Among its steps: a promotion that somebody waits for shows there.
fn place(status: &Status) -> (Option<i64>, Option<Timestamp>) {
    status.ours.rollout.as_ref().map_or((None, None), |rollout| (rollout.step, rollout.rest_start_time))
}

/// Whether the rollout is as complete as the status reports.
fn keeps_completeness(write: &StatusWrite, observed: &Observed) -> bool {
    let workload = &observed.workload;
    let is_complete = |status: &Status| status.is_complete(workload.replicas, workload.generation);
    is_complete(&write.status) == is_complete(&workload.status)
}

/// Whether the next plan can compute from the cluster all that is written.
fn keeps_records(write: &StatusWrite, observed: &Observed) -> bool {
    let (stored, next) = (&observed.workload.status, &write.status);
    reports_sets_alone(write, observed)
        && next.observed_generation == stored.observed_generation
        && next.ours.selector == stored.ours.selector
}

/// Whether nothing is written that is known to this reconcile alone.
fn reports_sets_alone(write: &StatusWrite, observed: &Observed) -> bool {
    let (stored, next) = (&observed.workload.status, &write.status);
    let begins_again =
        next.ours.marks.zip(stored.ours.marks).is_some_and(|(next, known)| next.begin_again(&known));
    write.revision_annotation.is_none()
        && !begins_again
        && next.collision_count == stored.collision_count
        && next.ours.collisions == stored.ours.collisions
        && next.ours.rollback == stored.ours.rollback
}

/// Whether the same conditions have the same statuses. A status has one condition of a type.
fn keeps_conditions(next: &Status, stored: &Status) -> bool {
    let is_kept =
        |one: &Condition| stored.condition(&one.kind).is_some_and(|known| known.status == one.status);
    next.conditions.len() == stored.conditions.len() && next.conditions.iter().all(is_kept)
}
