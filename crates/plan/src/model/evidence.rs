//! What the pods of a ReplicaSet showed when the engine read them: what a failure policy decides by (FP-4).

use jiff::Timestamp;

/// What the pods of one ReplicaSet showed. What nobody has read is no evidence, for or against a revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// `metadata.uid` of the ReplicaSet.
    pub uid: String,
    /// When the reading began.
    pub read: Timestamp,
    /// Of each pod.
    pub restarts: Vec<Restarts>,
    /// Causes that keep pods from being ready, and how many pods each.
    pub stuck: Vec<(String, i64)>,
}

impl Evidence {
    /// How many pods are not ready for this cause.
    pub(crate) fn stuck_by(&self, cause: &str) -> i64 {
        self.stuck.iter().find(|(known, _)| known == cause).map_or(0, |(_, pods)| *pods)
    }
}

/// Restarts of the container of a pod that has the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restarts {
    /// `metadata.creationTimestamp` of the pod.
    pub created: Timestamp,
    /// How often, since the pod exists.
    pub count: i64,
    /// When a container of it ended last.
    pub last: Option<Timestamp>,
}
