//! Why a key is not worked on at this moment, and until when.

use std::fmt;
use std::time::Instant;

/// What a key waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// More events of the same burst.
    Burst,
    /// The cache, which does not show the last write yet.
    CacheBehind,
    /// The end of a moment after its own write.
    Resting,
    /// Its turn to begin a rollout.
    Queued,
    /// The end of its backoff after a failure.
    BackingOff,
    /// The end of the time for which the server asked to be spared (`Retry-After`).
    ServerBusy,
    /// The silence of another controller that writes the same status.
    Rival,
    /// A time that the planner named: a deadline, `minReadySeconds`, or a status that may come later.
    Planned,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Burst,
        Self::CacheBehind,
        Self::Resting,
        Self::Queued,
        Self::BackingOff,
        Self::ServerBusy,
        Self::Rival,
        Self::Planned,
    ];

    /// Its name in metrics and on the debug page.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Burst => "burst",
            Self::CacheBehind => "cache_behind",
            Self::Resting => "resting",
            Self::Queued => "queued",
            Self::BackingOff => "backing_off",
            Self::ServerBusy => "server_busy",
            Self::Rival => "rival",
            Self::Planned => "planned",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How long a key waits at most, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// It comes again then at the latest.
    pub until: Instant,
    /// What it waits for.
    pub reason: Reason,
}
