//! What a user sets against a bad revision: `spec.pin` and `spec.failurePolicy` (rollwright.dev only).

use crate::model::intstr::IntOrPercent;

/// `spec.pin`: the ReplicaSet that runs, whatever the template is (FP-11).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pin {
    /// Its label `pod-template-hash`.
    pub pod_template_hash: String,
    /// The fingerprint of the template that the pin is for; `None` if it is for any.
    pub template_fingerprint: Option<String>,
    /// Why, in the words of who made it.
    pub reason: Option<String>,
}

/// `spec.failurePolicy`: when a rollout fails, and what follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailurePolicy {
    /// What follows.
    pub action: FailureAction,
    /// Whether it fails when its progress deadline passes.
    pub deadline: bool,
    /// How often a container of a pod restarts before the revision fails; `None`: it does not fail by that.
    pub restarts: Option<i64>,
    /// For how many seconds pods must be stuck before it fails; `None`: it does not fail by that.
    pub stuck_seconds: Option<i64>,
    /// How many of its pods must have restarted, or be stuck: a number, or a percentage of them, rounded up.
    pub min_pods: IntOrPercent,
    /// For how long a revision must serve, once it is complete, to be good.
    pub bake_seconds: i64,
}

/// What follows when a rollout fails (FP-6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailureAction {
    /// Nothing, as on apps/v1.
    #[default]
    Continue,
    /// Nothing is rolled out before somebody acts.
    Stop,
    /// The newest good revision runs.
    Revert,
}

impl FailureAction {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Continue, Self::Stop, Self::Revert];
}
