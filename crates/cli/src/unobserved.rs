//! Decides from the controller's signs of life whether an unobserved change waits in the queue. Pure.

use std::time::Duration;

use engine::durations::STUCK_AFTER;
use jiff::Timestamp;
use plan::Flavour;
use plan::durations::STATUS_WAITS_BUSY;

/// A controller with rollouts in its queue starts one every ten seconds at least, however slow the others are.
/// If it writes no status for longer than this, its queue is empty.
const QUIET: Duration = Duration::from_secs(25);
const _: () =
    assert!(QUIET.as_secs() > STATUS_WAITS_BUSY.as_secs() && QUIET.as_secs() > STUCK_AFTER.as_secs());
/// A controller that is known to be alive may be slow, or may have just begun to lead.
pub(crate) const IDLE: Duration = Duration::from_secs(60);

/// The cause of a rollout that waits in the queue, and the reason with which the operator itself reports it.
pub(crate) use plan::keys::reason::QUEUED;

/// What the Leases of the controller show together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leases {
    /// Each has a holder that renews it, and has had it for longer than [`IDLE`].
    Settled,
    /// Each has a holder that renews it.
    Live,
    /// None has.
    Dead,
    /// Some have, and nothing shows which of them counts for this Deployment.
    Mixed,
    /// There is none: the controller runs without an election, or not at all.
    Missing,
    /// The user may not look.
    Hidden,
}

/// What shows whether the controller is alive. All times are of the API server's clock.
#[derive(Clone, Debug)]
pub(crate) struct Signs {
    pub(crate) now: Timestamp,
    /// When somebody made the change that waits.
    pub(crate) changed: Timestamp,
    /// Whether the controller itself reports that the rollout waits.
    pub(crate) is_queued: bool,
    pub(crate) leases: Leases,
    /// When the controller last wrote the status of a Deployment in the same namespace.
    pub(crate) here: Option<Timestamp>,
    /// The same of any Deployment that the user may see.
    pub(crate) anywhere: Option<Timestamp>,
    /// Whether that was looked up for all Deployments of the cluster.
    pub(crate) is_whole: bool,
}

/// Why the controller has not observed a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unobserved {
    /// The controller is alive and will reconcile it.
    Waiting,
    /// The controller is alive and has nothing else to do, so it does not see this change.
    Unseen,
    /// There is no controller.
    Absent,
    /// Nothing that the user may read shows which.
    Unclear,
}

impl Unobserved {
    /// The state that the signs show.
    pub(crate) fn of(signs: &Signs) -> Self {
        let is_older = |time: Timestamp, limit| signs.now.duration_since(time).unsigned_abs() > limit;
        // An event before the change shows nothing about the time since.
        let has_sign = |time: Option<Timestamp>, limit| {
            time.is_some_and(|time| time >= signs.changed && !is_older(time, limit))
        };
        let is_elsewhere = signs.leases != Leases::Mixed && has_sign(signs.anywhere, QUIET);
        if has_sign(signs.here, QUIET) || is_elsewhere {
            return Self::Waiting;
        }
        let is_idle = |limit| {
            let is_silent = !has_sign(signs.here.max(signs.anywhere), limit);
            signs.is_whole && is_older(signs.changed, limit) && is_silent
        };
        match signs.leases {
            Leases::Settled if is_idle(IDLE) && !signs.is_queued => Self::Unseen,
            Leases::Settled | Leases::Live => Self::Waiting,
            Leases::Dead => Self::Absent,
            Leases::Missing if is_idle(QUIET) => Self::Absent,
            Leases::Missing | Leases::Mixed | Leases::Hidden => Self::Unclear,
        }
    }

    /// The same in a sentence without its full stop.
    pub(crate) fn sentence(self, flavour: Flavour, rollout: &str) -> String {
        let controller = controller(flavour);
        let unobserved = "The last change has not been observed";
        match self {
            Self::Waiting => {
                format!("{rollout} is waiting in the queue: {controller} has not observed this change yet")
            }
            Self::Unseen => format!("{unobserved}: {controller} runs, and does not see it"),
            Self::Absent => format!("{unobserved}: {controller} does not run, or does not see it"),
            Self::Unclear => format!(
                "{rollout} is waiting in the queue, or {controller} does not run or does not see this change: \
                 nothing that you may read shows which"
            ),
        }
    }
}

/// Who is in charge of these Deployments.
fn controller(flavour: Flavour) -> &'static str {
    if flavour.is_custom_resource() { "the operator" } else { "the controller of apps/v1" }
}

#[cfg(test)]
mod tests;
