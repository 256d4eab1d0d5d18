//! A status that only counts on is written once a second at most: in a rollout each pod changes
//! the counters several times, and each write costs the server as much as a step of the rollout.
//! Beside a step that changes them again it waits longer. One that has no counters yet is joined with
//! the one that has, a moment later.
//!
//! What somebody waits for is written at once: that a generation has been observed, that the
//! rollout is complete, that a condition turned, what came of a rollback. What was held back is
//! not lost: the next plan computes it anew, and the pass comes again when it may be written.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use crate::action::StatusWrite;
use crate::assemble::is_followed;
use crate::decisions::Decisions;
use crate::observed::Observed;
use crate::report::{Due, Report};
use crate::status::Status;

/// A status that can wait is written so long after the one before.
const REST: SignedDuration = SignedDuration::from_secs(1);
/// The same if the plan takes a step: its counters are out of date at once, and what the sets report
/// of the step brings the next pass.
const REST_BESIDE_STEP: SignedDuration = SignedDuration::from_secs(2);

/// The report without its status write, if that may wait.
pub(crate) fn paced(report: Report, decisions: &Decisions<'_>) -> Report {
    let Decisions { observed, now, .. } = decisions;
    // What has news to tell does not wait.
    let Some(write) = report.write.as_ref().filter(|_| report.news.is_empty()) else { return report };
    if is_creation_told_now(decisions) {
        return report;
    }
    // Another pass follows at once, with counters to report.
    let is_joined = observed.options.joins_reports && is_followed(decisions, report.due);
    if is_joined && keeps_records(write, observed) && keeps_completeness(write, observed) {
        return Report { write: None, ..report };
    }
    // A time in the future means that the clock was set back: then nothing rests, lest it be for hours.
    let written = observed.options.status_written.filter(|written| written <= now);
    let rest = if is_followed(decisions, Due::AtOnce) { REST_BESIDE_STEP } else { REST };
    let until = written.and_then(|written| written.checked_add(rest).ok()).filter(|until| until > now);
    match until.filter(|_| may_wait(write, observed)) {
        Some(until) => Report { write: None, wake: report.wake.or_at(until), ..report },
        None => report,
    }
}

/// Whether a set is created, and only this status can say so: the next pass knows a set that nobody has
/// told of by its revision, which is above the one in the status (S4.4). On apps/v1 the status has
/// none.
fn is_creation_told_now(decisions: &Decisions<'_>) -> bool {
    let told = decisions.observed.workload.status.ours.revision;
    decisions.creation.as_ref().is_some_and(|creation| told.is_none_or(|told| told >= creation.revision))
}

/// Whether nothing but counters and texts changes, and the rollout goes on as it did.
fn may_wait(write: &StatusWrite, observed: &Observed) -> bool {
    let (workload, next) = (&observed.workload, &write.status);
    keeps_records(write, observed)
        && keeps_completeness(write, observed)
        && turns(next) == turns(&workload.status)
        && next.ours.revision == workload.status.ours.revision
}

/// Whether the rollout is as complete as it was told to be.
fn keeps_completeness(write: &StatusWrite, observed: &Observed) -> bool {
    let workload = &observed.workload;
    let is_complete = |status: &Status| status.is_complete(workload.replicas, workload.generation);
    is_complete(&write.status) == is_complete(&workload.status)
}

/// Whether the next plan can compute from the cluster all that is written.
fn keeps_records(write: &StatusWrite, observed: &Observed) -> bool {
    let (stored, next) = (&observed.workload.status, &write.status);
    write.revision_annotation.is_none()
        && next.observed_generation == stored.observed_generation
        && next.collision_count == stored.collision_count
        && next.ours.collisions == stored.ours.collisions
        && next.ours.rollback == stored.ours.rollback
        && next.ours.selector == stored.ours.selector
}

/// What a status says yes and no to.
fn turns(status: &Status) -> BTreeMap<&str, &str> {
    status.conditions.iter().map(|condition| (&*condition.kind, &*condition.status)).collect()
}
