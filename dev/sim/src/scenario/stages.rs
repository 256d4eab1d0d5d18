//! The steps of a rollout as a scenario has them: `spec.strategy.rollingUpdate.steps`, and what promotions name.

use serde::{Deserialize, Serialize};

use super::{Probe, Share};

/// One of `spec.strategy.rollingUpdate.steps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// `updated`.
    pub updated: Share,
    /// Whether `approval` is `Required`.
    pub approval: bool,
    /// `waitSeconds`.
    pub wait: Option<i64>,
    /// `gate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Probe>,
}

/// The step that a promotion names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// The step of a number of pods, or of a percentage.
    Of(Share),
    /// The end.
    All,
}
