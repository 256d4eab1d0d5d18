//! When a key comes again, if nothing happens before.

use std::hash::Hash;
use std::time::{Duration, Instant};

use crate::durations::DEADLINE_AGAIN;
use crate::reconcile::{Outcome, ReconcileError};
use jiff::Timestamp;
use plan::Requeue;

use crate::queue::Queue;
use crate::waits::{Reason, Wait};

/// When a key comes again, if nothing happens before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// When something happens.
    Nothing,
    /// The reconcile went well. At this time, for this reason.
    After(Wait),
    /// After its backoff.
    Failed(ReconcileError),
    /// When what it waits for is there, or at the end of the wait. Nothing was done.
    Wait(Wait),
}

/// What was made of it, for logs and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduled {
    /// The reconcile went well.
    Fine,
    /// Nothing was done: it has to wait.
    Waits,
    /// The Deployment is left to another controller.
    Yielded,
    /// No retry would help (S14.3).
    GivenUp,
    /// The key is tried again after this delay, having failed this often in a row.
    Retry(Duration, u32),
}

impl Next {
    /// What follows from the outcome of a reconcile that began then, by both clocks: its times are by the wall clock as
    /// it was then, which may have been set since.
    #[must_use]
    pub fn after(outcome: Outcome, timestamp: Timestamp, begun: Instant) -> Self {
        let reason = match (outcome.error, outcome.requeue) {
            (Some(error), _) => return Self::Failed(error),
            (None, Requeue::OnChange) => return Self::Nothing,
            (None, Requeue::Again | Requeue::Deadline(_)) => Reason::Deadline,
            (None, Requeue::StatusPaced(_)) => Reason::StatusPaced,
            (None, Requeue::NamesTaken(_)) => Reason::NamesTaken,
        };
        let delay = outcome.requeue.time().map(|time| time.duration_since(timestamp));
        let delay = delay.and_then(|delay| Duration::try_from(delay).ok()).unwrap_or(DEADLINE_AGAIN);
        Self::After(Wait { until: begun + delay, reason })
    }

    /// The same, or at the end of this wait if that comes first.
    #[must_use]
    pub(crate) fn or(self, wait: Wait) -> Self {
        match self {
            Self::Nothing => Self::After(wait),
            Self::After(known) if wait.until < known.until => Self::After(wait),
            other => other,
        }
    }

    /// Applies this to the queue.
    pub fn apply<K: Clone + Eq + Hash + Ord>(
        &self,
        queue: &mut Queue<K>,
        key: &K,
        now: Instant,
    ) -> Scheduled {
        match self {
            Self::Nothing => {
                queue.succeeded(key);
                Scheduled::Fine
            }
            Self::After(wait) => {
                queue.succeeded(key);
                queue.wait(key.clone(), *wait);
                Scheduled::Fine
            }
            Self::Wait(wait) => {
                let wait = Wait { until: wait.until.max(now), ..*wait };
                if wait.reason == Reason::Rival {
                    queue.succeeded(key);
                    queue.wait(key.clone(), wait);
                    return Scheduled::Yielded;
                }
                queue.wait(key.clone(), wait);
                Scheduled::Waits
            }
            // S14.3
            Self::Failed(error) if !error.retry => {
                queue.succeeded(key);
                Scheduled::GivenUp
            }
            Self::Failed(_) => {
                let (delay, count) = queue.add_failed(key.clone(), now);
                Scheduled::Retry(delay, count)
            }
        }
    }
}

#[cfg(test)]
mod tests;
