//! Whether a key may be worked on now; and if not, what it waits for, and until when.

use std::fmt;
use std::time::Instant;

use crate::ledger::Readiness;

/// What a key waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// More events that arrive together.
    Gathering,
    /// The cache, which does not show the last write yet.
    CacheBehind,
    /// The end of a moment after its own write.
    Cooldown,
    /// A slot to begin a rollout.
    Queued,
    /// The end of its backoff after a failure.
    BackingOff,
    /// The end of the time for which the server asked to be spared (`Retry-After`).
    ServerBusy,
    /// The silence of another controller that writes the same status.
    Rival,
    /// The next try with a name for its ReplicaSet: all are taken (NS-1), or the last one is (apps/v1).
    NamesTaken,
    /// The time when a status may be written that was held back.
    StatusPaced,
    /// The end of its progress deadline.
    Deadline,
    /// Its time to find out what blocks its rollout.
    Look,
    /// The lists of a start. Until they come, nothing shows the pods of an edited Deployment.
    Lists,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Gathering,
        Self::CacheBehind,
        Self::Cooldown,
        Self::Queued,
        Self::BackingOff,
        Self::ServerBusy,
        Self::Rival,
        Self::NamesTaken,
        Self::StatusPaced,
        Self::Deadline,
        Self::Look,
        Self::Lists,
    ];

    /// Its name in metrics and on the debug page.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gathering => "gathering",
            Self::CacheBehind => "cache_behind",
            Self::Cooldown => "cooldown",
            Self::Queued => "queued",
            Self::BackingOff => "backing_off",
            Self::ServerBusy => "server_busy",
            Self::Rival => "rival",
            Self::NamesTaken => "names_taken",
            Self::StatusPaced => "status_paced",
            Self::Deadline => "deadline",
            Self::Look => "look",
            Self::Lists => "lists",
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
    /// The key comes again then at the latest.
    pub until: Instant,
    /// What it waits for.
    pub reason: Reason,
}

/// Whether a key may be worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing keeps it.
    Now,
    /// Not now.
    Wait(Wait),
}

/// What is known at a moment of what may keep a key. The ladder learns it bit by bit; what it does not
/// know yet keeps nothing.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The moment.
    pub now: Instant,
    /// What the queue has it wait for: more events, its cooldown, its backoff, or a time that its last attempt named.
    pub due: Option<Wait>,
    /// Until when the server asked to be spared.
    pub spared_until: Option<Instant>,
    /// Until when it is left to another controller.
    pub rival_until: Option<Instant>,
    /// Whether the cache shows its last write.
    pub cache: Readiness,
    /// Until when it may cool down after its last write.
    pub cooldown_until: Option<Instant>,
    /// Whether all that it waits for is there, so that there is no use in a cooldown.
    pub is_settled: bool,
    /// When it asks again for a slot, if it would begin a rollout and has none.
    pub queued_until: Option<Instant>,
}

impl Facts {
    /// Nothing is known.
    #[must_use]
    pub fn at(now: Instant) -> Self {
        Self {
            now,
            due: None,
            spared_until: None,
            rival_until: None,
            cache: Readiness::Ready,
            cooldown_until: None,
            is_settled: false,
            queued_until: None,
        }
    }

    /// May this key be worked on now? Where several reasons keep it, the first in the order of the ladder is
    /// named: the others are looked at again when it ends.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let behind = match self.cache {
            Readiness::Wait(until) => Some(until),
            Readiness::Ready | Readiness::Overdue => None,
        };
        let reasons = [
            (Reason::ServerBusy, self.spared_until),
            (Reason::Rival, self.rival_until),
            (Reason::CacheBehind, behind),
            (Reason::Cooldown, self.cooldown_until.filter(|_| !self.is_settled)),
            (Reason::Queued, self.queued_until),
        ];
        let waits = reasons.into_iter().map(|(reason, until)| until.map(|until| Wait { until, reason }));
        let mut waits = std::iter::once(self.due).chain(waits).flatten();
        waits.find(|wait| wait.until > self.now).map_or(Standing::Now, Standing::Wait)
    }
}

#[cfg(test)]
mod tests;
