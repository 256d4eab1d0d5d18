//! UM-7: a promise with a time is kept. A status shows since when a step waits, and its user can compute the rest. The
//! operator looks again by then, whatever else it waits for.

use ::engine::waits::Reason;
use jiff::{SignedDuration, Timestamp};
use plan::Workload;

use crate::checks::Verdict;
use crate::conduct::Waiting;
use crate::engine::{MILLISECOND, Time};
use crate::shown::after;
use crate::walk;

/// Times in a status are whole seconds.
pub(crate) const ROUNDING: SignedDuration = SignedDuration::from_secs(1);

/// When the time ends of the step at which the rollout rests, by this status (SP-5).
pub(crate) fn due(workload: &Workload) -> Option<Timestamp> {
    let status = &workload.status;
    let is_current = status.observed_generation == workload.generation;
    if !is_current || workload.paused || workload.deleting || workload.replicas == 0 {
        return None;
    }
    let record = status.ours.rollout.as_ref()?;
    let step = usize::try_from(record.step? - 1).ok()?;
    let seconds = walk::seconds(walk::steps(workload)?.get(step)?)?;
    Some(after(record.rest_start_time?, seconds))
}

/// A reconcile that went well has left this wait: it ends when that time has run out. What else keeps one waiting has
/// checks of its own.
pub(crate) fn is_kept(wait: &Waiting, due: Time) -> Verdict {
    let Waiting { reason, until, .. } = *wait;
    let is_late = matches!(reason, Reason::StatusPaced | Reason::Deadline | Reason::Look) && until > due;
    if !is_late {
        return Ok(());
    }
    let late = (until - due) / MILLISECOND;
    Err(format!("a time runs out that the status shows, and it waits for {reason}, {late} ms too long"))
}
