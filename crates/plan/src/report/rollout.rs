//! What an action means for its rollout: reported to people by events and to machines by metrics, from the
//! same place.
//!
//! Nothing is remembered. A transition follows from the status that the reconcile started from and from the
//! one write that makes it true. That write has a precondition, so it succeeds once, whichever process
//! restarted in between.

use crate::model::action::{Action, Event, StatusWrite, UpdateReplicaSet};
use crate::model::conditions::Condition;
use crate::model::keys::{REVISION, REVISION_HISTORY, condition, reason};
use crate::model::observed::Workload;
use crate::model::record::Outcome;
use crate::model::revision::Revision;
use crate::model::status::Status;
use crate::model::why::Why;

/// A transition of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transition {
    /// The template got its ReplicaSet, or an older one was taken up again.
    Started,
    /// The condition Progressing became `NewReplicaSetAvailable`.
    Completed,
    /// The condition Progressing became `ProgressDeadlineExceeded`.
    DeadlineExceeded,
    /// The declared revision failed, and no status reported it as late before (FP-2; rollwright.dev only).
    Failed,
    /// Another template came before this one was through.
    Superseded,
    /// The template of an earlier revision came before this one was through.
    Cancelled,
    /// The template of an earlier revision came, before this one was through or after.
    RolledBack,
}

impl Transition {
    /// How a rollout ends by it, if it does.
    #[must_use]
    pub fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Completed => Some(Outcome::Succeeded),
            Self::DeadlineExceeded | Self::Failed => Some(Outcome::Failed),
            Self::Superseded => Some(Outcome::Superseded),
            Self::Cancelled => Some(Outcome::Cancelled),
            Self::Started | Self::RolledBack => None,
        }
    }

    /// Whether it shows that a change has failed. No change shows that twice.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Self::DeadlineExceeded | Self::Failed | Self::RolledBack)
    }
}

/// The transitions that an action brings once it has succeeded; `workload` is what it was decided from.
#[must_use]
pub fn transitions(workload: &Workload, action: &Action) -> Vec<Transition> {
    let mut transitions = Vec::new();
    match action {
        // The ReplicaSet has no pods while another one runs (FP-11).
        Action::CreateReplicaSet(_) if workload.pin_in_force().is_some() => {}
        Action::CreateReplicaSet(_) => {
            transitions.push(Transition::Started);
            if is_under_way(&workload.status) {
                transitions.push(Transition::Superseded);
            }
        }
        Action::UpdateReplicaSet(update) if takes_up_again(workload, update) => {
            transitions.push(Transition::Started);
            if is_under_way(&workload.status) {
                transitions.push(Transition::Cancelled);
            }
            // Late is late already: no rollout fails twice.
            let has_failed = |reason| {
                reason == reason::PROGRESS_DEADLINE_EXCEEDED || reason::NOT_ROLLED_OUT.contains(&reason)
            };
            // Without a deadline there is no condition Progressing.
            let stored = &workload.status;
            let is_failure = stored.ours.revision.is_some_and(|revision| stored.reports_failure(revision));
            if !is_failure && !reason_of(stored).is_some_and(has_failed) {
                transitions.push(Transition::RolledBack);
            }
        }
        Action::WriteStatus(write) => transitions.extend(of_status(workload, write)),
        _ => {}
    }
    transitions
}

fn of_status(workload: &Workload, write: &StatusWrite) -> Option<Transition> {
    if write.is_failure {
        return Some(Transition::Failed);
    }
    let stored = &workload.status;
    let (before, after) = (reason_of(stored), reason_of(&write.status)?);
    if before == Some(after) {
        return None;
    }
    match after {
        // Nothing was left to roll out when it was paused or queued.
        reason::NEW_REPLICA_SET_AVAILABLE if was_held(before) && is_through(stored, workload.replicas) => {
            None
        }
        reason::NEW_REPLICA_SET_AVAILABLE => Some(Transition::Completed),
        reason::PROGRESS_DEADLINE_EXCEEDED => Some(Transition::DeadlineExceeded),
        _ => None,
    }
}

/// Whether the ReplicaSet had a lower revision, and was not the current one (S5.5).
fn takes_up_again(workload: &Workload, update: &UpdateReplicaSet) -> bool {
    let Some(history) = update.annotations.get(REVISION_HISTORY) else { return false };
    let earlier = history.rsplit(',').next().unwrap_or_default();
    let annotated = || Revision::read(workload.annotations.get(REVISION).map(String::as_str)).number();
    let current = workload.status.ours.revision.or_else(annotated);
    update.annotations.contains_key(REVISION) && current.is_some_and(|current| current.to_string() != earlier)
}

/// Whether a rollout has begun, and neither ended nor missed its deadline.
fn is_under_way(stored: &Status) -> bool {
    match reason_of(stored) {
        None | Some(reason::NEW_REPLICA_SET_AVAILABLE | reason::PROGRESS_DEADLINE_EXCEEDED) => false,
        held if was_held(held) => !is_through(stored, stored.replicas),
        Some(_) => true,
    }
}

fn was_held(reason: Option<&str>) -> bool {
    matches!(reason, Some(reason::DEPLOYMENT_PAUSED | reason::DEPLOYMENT_RESUMED | reason::QUEUED))
}

fn is_through(stored: &Status, replicas: i64) -> bool {
    stored.is_complete(replicas, stored.observed_generation)
}

fn reason_of(status: &Status) -> Option<&str> {
    status.condition(condition::PROGRESSING).map(|condition: &Condition| condition.reason.as_str())
}

/// The events of a status write, once it has succeeded. Reasons are those of the condition.
pub(crate) fn events(workload: &Workload, write: &StatusWrite, set: Option<&str>, why: &Why) -> Vec<Event> {
    let status = &write.status;
    let revision =
        || status.ours.revision.map_or_else(String::new, |number| format!(" of revision {number}"));
    let event = match of_status(workload, write) {
        // A first rollout replaces nothing, so its end is worth no write (S12.1).
        Some(Transition::Completed) if status.ours.revision == Some(1) => None,
        Some(Transition::Completed) => {
            let set = set.map_or_else(String::new, |name| format!(": ReplicaSet {name} has taken over"));
            let message = format!("Rollout{} is complete{set}", revision());
            Some(Event::normal(reason::NEW_REPLICA_SET_AVAILABLE, message))
        }
        Some(Transition::DeadlineExceeded) => {
            let seconds = workload.progress_deadline_seconds.unwrap_or_default();
            let message = format!("Rollout{} has made no progress for {seconds} s: {why}", revision());
            Some(Event::warning(reason::PROGRESS_DEADLINE_EXCEEDED, message))
        }
        _ => None,
    };
    event.into_iter().collect()
}
