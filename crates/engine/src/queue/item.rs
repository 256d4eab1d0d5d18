//! What the queue knows of one key.

use std::time::Instant;

use crate::durations::COALESCE;
use crate::waits::Wait;

/// What the queue knows of one key.
#[derive(Default)]
pub(super) struct Item {
    /// Since when it waits for a worker.
    pub(super) dirty: Option<Instant>,
    /// If it is in work.
    pub(super) work: Option<InWork>,
    /// Until when it is delayed, and why.
    pub(super) due: Option<Wait>,
    pub(super) failures: Option<Failures>,
    /// Events that have come, and have not led to a reconcile yet.
    pub(super) gathering: Option<Gathering>,
    /// Until when what happens to the key follows closely on what happened before.
    pub(super) lively: Option<Instant>,
    pub(super) cooldown: Option<Cooldown>,
    /// Whether there is bad news that the status has to report.
    pub(super) is_urgent: bool,
}

impl Item {
    /// Whether the item differs in nothing from that of an unknown key.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        let is_waiting = self.dirty.is_some() || self.due.is_some() || self.gathering.is_some();
        let is_worked_on = self.work.is_some() || self.failures.is_some() || self.is_urgent;
        let is_lively = self.lively.is_some_and(|until| until > now);
        let cools_down = self.cooldown.is_some_and(|cooldown| cooldown.most > now);
        !is_waiting && !is_worked_on && !is_lively && !cools_down
    }

    pub(super) fn failures(&self) -> u32 {
        self.failures.map_or(0, |failures| failures.count)
    }

    /// Whether the key heeds no event yet.
    pub(super) fn cools_down(&self, now: Instant) -> bool {
        self.cooldown.is_some_and(|cooldown| cooldown.least > now)
    }

    pub(super) fn is_due(&self, at: Instant) -> bool {
        self.due.is_some_and(|wait| wait.until == at)
    }

    /// Whether nothing has happened to the key just before. Now something has.
    pub(super) fn is_quiet(&mut self, now: Instant) -> bool {
        let before = self.lively.replace(now + COALESCE);
        before.is_none_or(|until| until <= now) && !self.cools_down(now) && self.gathering.is_none()
    }

    /// The status has not reported the bad news yet for which the key is in work.
    pub(super) fn hurry_again(&mut self) {
        self.is_urgent |= self.work.is_some_and(|work| work.is_hurried);
    }
}

/// One key in work.
#[derive(Clone, Copy)]
pub(super) struct InWork {
    pub(super) since: Instant,
    /// For bad news.
    pub(super) is_hurried: bool,
}

/// Events of one key.
#[derive(Clone, Copy)]
pub(super) struct Gathering {
    pub(super) began: Instant,
    pub(super) due: Instant,
}

/// What follows a write.
#[derive(Clone, Copy)]
pub(super) struct Cooldown {
    /// Until then the key heeds no event.
    pub(super) least: Instant,
    /// Until then it may wait for more.
    pub(super) most: Instant,
}

#[derive(Clone, Copy)]
pub(super) struct Failures {
    pub(super) count: u32,
    pub(super) due: Instant,
}
