//! Which ReplicaSet runs, and why, as a value. `course.rs` decides it.

use crate::course::stage::Stage;
use crate::model::keys::reason;

/// Which ReplicaSet runs, and why.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Situation {
    /// The declared one, no further than its step.
    Declared(Option<Stage>),
    /// The declared one, although it failed: somebody has to act (FP-6).
    Failed {
        /// One of [`reason::HELD`].
        reason: &'static str,
        /// Where the revision is among its steps, if it has any.
        stage: Option<Stage>,
    },
    /// The one at this index, which `spec.pin` names instead of the declared one (FP-11).
    Pinned(usize),
    /// None: `spec.pin` names one that is gone, and nothing is started in its place (FP-11).
    PinTargetMissing,
    /// The fallback, at this index, because the declared one failed (FP-6).
    Reverted(usize),
}

impl Situation {
    /// The same at a step, if the declared ReplicaSet runs and has any.
    pub(crate) fn at(self, step: Option<Stage>) -> Self {
        match self {
            Self::Declared(_) => Self::Declared(step),
            Self::Failed { reason, .. } => Self::Failed { reason, stage: step },
            other => other,
        }
    }

    /// Whether the declared ReplicaSet runs.
    pub(crate) fn is_declared(&self) -> bool {
        matches!(self, Self::Declared(_) | Self::Failed { .. })
    }

    /// Index of the ReplicaSet that runs; `None` when it is not there.
    pub(crate) fn run(&self, declared: Option<usize>) -> Option<usize> {
        match self {
            Self::Declared(_) | Self::Failed { .. } => declared,
            Self::Pinned(set) | Self::Reverted(set) => Some(*set),
            Self::PinTargetMissing => None,
        }
    }

    /// Where the declared ReplicaSet is among its steps, if it runs and has any.
    pub(crate) fn stage(&self) -> Option<&Stage> {
        match self {
            Self::Declared(stage) | Self::Failed { stage, .. } => stage.as_ref(),
            Self::Pinned(_) | Self::PinTargetMissing | Self::Reverted(_) => None,
        }
    }

    /// Why another ReplicaSet runs than the declared one, as the reason of the conditions Progressing and Stalled.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Declared(_) | Self::Failed { .. } => None,
            Self::Pinned(_) | Self::Reverted(_) => Some(reason::ROLLED_BACK),
            Self::PinTargetMissing => Some(reason::PIN_TARGET_MISSING),
        }
    }
}
