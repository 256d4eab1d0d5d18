//! What blocks a rollout: found out by the engine, and stored in the status. Only a failure policy decides by it.

use jiff::Timestamp;

/// One cause, and in how many pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocker {
    /// What it is, in one word.
    pub cause: String,
    /// The container that it is about; empty if it is about whole pods.
    pub container: String,
    /// The reason that Kubernetes gives; empty if it gives none.
    pub reason: String,
    /// The pods that have it.
    pub pods: i64,
    /// The pods that were looked at.
    pub of: i64,
    /// What the pods do, in words that follow "2 of 4 pods".
    pub message: String,
    /// When it was first reported.
    pub since: Option<Timestamp>,
}

impl Blocker {
    /// What it is known by.
    #[must_use]
    pub fn key(&self) -> (&str, &str, &str) {
        (&self.cause, &self.container, &self.reason)
    }

    /// The blocker in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let Self { pods, of, message, .. } = self;
        format!("{pods} of {of} pods {message}")
    }
}

/// What was found out about the pods of a ReplicaSet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// The ReplicaSet; `None` if the rollout has none yet.
    pub set: Option<String>,
    /// What blocks, heaviest first; empty if nothing does.
    pub blockers: Vec<Blocker>,
}
