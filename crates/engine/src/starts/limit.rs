//! How many rollouts may be under way: as many as the cluster can serve without taking longer for each.
//!
//! It works like congestion control. The number grows while a rollout gets its first pods about as soon as
//! the quickest one did. It shrinks when a rollout takes longer, or when the server refuses requests
//! because it is busy. The operator's own writes alone do not show the load: the API server answers them
//! long before the ReplicaSet controller, which has its own queue, creates the pods.

use std::time::{Duration, Instant};

use crate::durations::{SLOTS_BREATH, SLOTS_REMEMBERED, SLOTS_TOLERANCE};

/// Enough that a server of two cores never waits, so the first pods of a rollout come sooner than with 16,
/// for a tenth more writes.
const START: usize = 64;
/// A server that refuses requests gets no more than this at the least.
const LEAST: usize = 4;
/// A bound for what starts together after an idle time, whatever was measured before.
const MOST: usize = 512;
/// The limit grows by one for this many rollouts that are served soon, until it was too large for the first time.
const BRISK: usize = 4;

/// The limit, and what it was learned from.
#[derive(Debug)]
pub(crate) struct Limit {
    rollouts: usize,
    /// Whether it stays as it is.
    is_fixed: bool,
    /// Whether it was too large before: then it grows by one in a round.
    is_known: bool,
    /// Rollouts served soon, since it grew last.
    credit: usize,
    /// How long the quickest took, and since when that is so.
    quickest: Option<(Duration, Instant)>,
    /// When it was lowered last.
    lowered: Option<Instant>,
}

impl Default for Limit {
    fn default() -> Self {
        Self { rollouts: START, is_fixed: false, is_known: false, credit: 0, quickest: None, lowered: None }
    }
}

impl Limit {
    /// Always this number, at least one.
    pub(crate) fn fixed(rollouts: usize) -> Self {
        let rollouts = rollouts.max(1);
        Self { rollouts, is_fixed: true, ..Self::default() }
    }

    pub(super) fn rollouts(&self) -> usize {
        self.rollouts
    }

    /// A rollout that began then has the first pods that it asked for. `is_reached`: whether others wait.
    pub(super) fn served(&mut self, begun: Instant, now: Instant, is_reached: bool) {
        if self.is_fixed {
            return;
        }
        let took = now.saturating_duration_since(begun);
        if took > self.quickest(took, now) * 3 / 2 + SLOTS_TOLERANCE {
            // A rollout that began before the limit was lowered shows only how long rollouts took then.
            if self.lowered.is_none_or(|lowered| lowered < begun) {
                self.lower((self.rollouts * 3 / 4).max(START.min(self.rollouts)), now);
            }
        } else if is_reached {
            self.grow();
        }
    }

    /// The server refused a request for being busy.
    pub(super) fn refused(&mut self, now: Instant) {
        if !self.is_fixed && self.lowered.is_none_or(|lowered| lowered + SLOTS_BREATH <= now) {
            self.lower((self.rollouts / 2).max(LEAST.min(self.rollouts)), now);
        }
    }

    fn quickest(&mut self, took: Duration, now: Instant) -> Duration {
        let known =
            self.quickest.map_or((took, now), |(known, since)| match since + SLOTS_REMEMBERED <= now {
                true => (known + known / 4, now),
                false => (known, since),
            });
        let quickest = if took < known.0 { (took, now) } else { known };
        self.quickest = Some(quickest);
        quickest.0
    }

    fn grow(&mut self) {
        self.credit += 1;
        let round = if self.is_known { self.rollouts } else { BRISK };
        if self.rollouts < MOST && self.credit >= round {
            self.rollouts += 1;
            self.credit = 0;
        }
    }

    fn lower(&mut self, to: usize, now: Instant) {
        (self.rollouts, self.is_known, self.credit) = (to, true, 0);
        self.lowered = Some(now);
    }
}
