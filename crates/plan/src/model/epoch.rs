//! An epoch of the operator: as long as one process leads, and is in charge of a Deployment, without a break.

use std::fmt;

/// What the shell knows of itself, and the cluster does not (HO-1). No two epochs are ever the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// What no other process has, drawn when it starts.
    pub process: u64,
    /// The number of its term of leadership.
    pub term: u64,
    /// The number of the Deployment's stay in its shard.
    pub stay: u64,
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { process, term, stay } = self;
        write!(f, "{process:x}-{term}-{stay}")
    }
}
