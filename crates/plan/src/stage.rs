//! Where a rollout is among its steps, as a value (SP-3, SP-5). `walk.rs` decides it.

use jiff::Timestamp;

use crate::position::Fresh;

/// What the steps come to in a reconcile.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Walked {
    /// What a revision remembers from the start that this reconcile declares.
    pub(crate) fresh: Fresh,
    /// Where the declared revision is, if it runs and has steps.
    pub(crate) stage: Option<Stage>,
}

/// A rollout at a step, or on its way there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stage {
    /// The step, from 0.
    pub(crate) step: usize,
    /// The step that ends the rollout.
    pub(crate) end: usize,
    /// How many pods of the running set there may be.
    pub(crate) ceiling: i64,
    /// Index of the set that keeps the others.
    pub(crate) keep: usize,
    /// Indices of all other sets in the order in which they lose pods (SP-3).
    pub(crate) order: Vec<usize>,
    /// Whether the sizes are those of the step, at R or at the R of before (SP-7).
    pub(crate) is_at_rest: bool,
    /// What it waits for, once the step is reached.
    pub(crate) rest: Option<Resting>,
}

/// The wait at a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Resting {
    /// Since when; `None` if the step was not reached before.
    pub(crate) since: Option<Timestamp>,
    pub(crate) until: Until,
}

/// What ends the wait at a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Until {
    /// Somebody promotes the revision.
    Promoted,
    /// This time.
    Time(Timestamp),
    /// There are replicas again.
    Replicas,
}

impl Resting {
    /// When it ends by itself.
    pub(crate) fn time(&self) -> Option<Timestamp> {
        match self.until {
            Until::Time(time) => Some(time),
            Until::Promoted | Until::Replicas => None,
        }
    }
}
