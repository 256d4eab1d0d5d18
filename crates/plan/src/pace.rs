//! A status that only counts on is written once a second at most: in a rollout each pod changes
//! the counters several times, and each write costs the server as much as a step of the rollout.
//! Beside a step that changes them again it waits longer. One that has no counters yet is joined with
//! the one that has, a moment later.
//!
//! What somebody waits for is written at once: that a generation has been observed, that the
//! rollout is complete, that a condition turned, what came of a rollback. What was held back is
//! not lost: the next plan computes it anew, and the pass comes again when it may be written.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::action::{Action, Plan, Planned, StatusWrite, Wake};
use crate::keys::REVISION;
use crate::observed::Observed;
use crate::revision;
use crate::status::Status;

/// A status that can wait is written so long after the one before.
const REST: SignedDuration = SignedDuration::from_secs(1);
/// The same if the plan takes a step: its counters are out of date at once, and what the sets report
/// of the step brings the next pass.
const REST_BESIDE_STEP: SignedDuration = SignedDuration::from_secs(2);

/// Takes the status write out of a plan if it may wait.
pub(crate) fn hold_back(plan: &mut Plan, observed: &Observed, now: Timestamp) {
    let Some(index) = plan.actions.iter().position(|planned| status_of(planned).is_some()) else { return };
    let Some(write) = plan.actions.get(index).and_then(status_of) else { return };
    if is_creation_told_now(plan, observed) {
        return;
    }
    let keeps_all = keeps_records(write, observed) && keeps_completeness(write, observed);
    if observed.options.joins_reports && is_early(plan, index) && keeps_all {
        plan.actions.remove(index);
        return;
    }
    // One of the future tells that the clock was set back: then nothing rests, lest it be for hours.
    let written = observed.options.status_written.filter(|written| *written <= now);
    let rest = if plan.actions.iter().any(is_step) { REST_BESIDE_STEP } else { REST };
    let until = written.and_then(|written| written.checked_add(rest).ok()).filter(|until| *until > now);
    if let Some(until) = until.filter(|_| may_wait(write, observed)) {
        plan.actions.remove(index);
        plan.wake = by(plan.wake, until);
    }
}

/// The status that is written, if nothing is said of it.
fn status_of(planned: &Planned) -> Option<&StatusWrite> {
    match &planned.action {
        Action::WriteStatus(write) if planned.events.is_empty() => Some(write),
        _ => None,
    }
}

/// Whether the plan creates a set, and only its own status can say so: the next pass knows a set
/// that nobody has told of by its revision, which is above the one in the status (S4.4). On apps/v1
/// the status has none.
fn is_creation_told_now(plan: &Plan, observed: &Observed) -> bool {
    let created = plan.actions.iter().find_map(|planned| match &planned.action {
        Action::CreateReplicaSet(set) => Some(set),
        _ => None,
    });
    created.is_some_and(|set| {
        let revision = revision::parse(set.annotations.get(REVISION).map(String::as_str)).or_zero();
        observed.workload.status.ours.revision.is_none_or(|told| told >= revision)
    })
}

/// Whether sets are changed after it, which brings another pass at once, with counters to report.
fn is_early(plan: &Plan, index: usize) -> bool {
    plan.actions.iter().skip(index + 1).any(is_step)
}

fn is_step(planned: &Planned) -> bool {
    matches!(planned.action, Action::UpdateReplicaSet(_))
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

/// The earlier of the two.
fn by(wake: Wake, until: Timestamp) -> Wake {
    match wake {
        Wake::OnChange => Wake::At(until),
        Wake::At(time) => Wake::At(time.min(until)),
        Wake::Again => Wake::Again,
    }
}
