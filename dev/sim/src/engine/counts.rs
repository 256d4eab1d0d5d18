//! What is counted in a run.

/// What is held up, by how many troubles.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    pub(crate) workloads: u32,
    pub(crate) sets: u32,
    pub(crate) controllers: u32,
    pub(crate) restarts: u32,
    /// Answers to writes.
    pub(crate) answers: u32,
    /// Watches that are known to be broken.
    pub(crate) broken: u32,
}

/// What operators did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests that reached the server.
    pub requests: u64,
    /// Those that looked at pods.
    pub looks: u64,
    /// Writes that were accepted.
    pub writes: u64,
    /// ReplicaSets created.
    pub creations: u64,
    /// ReplicaSets deleted.
    pub deletions: u64,
    /// When the last request arrived, in nanoseconds.
    pub last_request: u64,
    /// Events of the simulator.
    pub events: u64,
    /// Write requests that were sent.
    pub sent_writes: u64,
}
