//! A status that only counts on is written once a second at most: in a rollout each pod changes
//! the counters several times, and each write costs the server as much as a step of the rollout.
//!
//! What somebody waits for is written at once: that a generation has been observed, that the
//! rollout is complete, that a condition turned, what came of a rollback. What was held back is
//! not lost: the next plan computes it anew, and the pass comes again when it may be written.

use jiff::Timestamp;

use crate::action::{Action, Plan, Planned, StatusWrite, Wake};
use crate::conditions::Condition;
use crate::observed::Observed;
use crate::status::Status;

/// Takes the status write out of a plan if it may wait and the last one is too recent.
pub(crate) fn hold_back(plan: &mut Plan, observed: &Observed, now: Timestamp) {
    let Some(until) = observed.options.status_rests_until.filter(|until| *until > now) else { return };
    let is_held = |planned: &Planned| match &planned.action {
        Action::WriteStatus(write) => planned.events.is_empty() && may_wait(write, observed),
        _ => false,
    };
    let planned = plan.actions.len();
    plan.actions.retain(|planned| !is_held(planned));
    if plan.actions.len() < planned {
        plan.wake = by(plan.wake, until);
    }
}

/// Whether nothing but counters and texts changes, and the rollout goes on.
fn may_wait(write: &StatusWrite, observed: &Observed) -> bool {
    let (stored, next) = (&observed.workload.status, &write.status);
    let is_complete = next.is_complete(observed.workload.replicas, observed.workload.generation);
    write.revision_annotation.is_none()
        && !is_complete
        && next.observed_generation == stored.observed_generation
        && next.collision_count == stored.collision_count
        && turns(next).eq(turns(stored))
        && next.ours.revision == stored.ours.revision
        && next.ours.selector == stored.ours.selector
        && next.ours.rollback == stored.ours.rollback
        && next.ours.collisions == stored.ours.collisions
}

/// What a status says yes and no to.
fn turns(status: &Status) -> impl Iterator<Item = (&str, &str)> {
    let mut turns: Vec<_> = status.conditions.iter().map(turn).collect();
    turns.sort_unstable();
    turns.into_iter()
}

fn turn(condition: &Condition) -> (&str, &str) {
    (&condition.kind, &condition.status)
}

/// The earlier of the two.
fn by(wake: Wake, until: Timestamp) -> Wake {
    match wake {
        Wake::OnChange => Wake::At(until),
        Wake::At(time) => Wake::At(time.min(until)),
        Wake::Again => Wake::Again,
    }
}
