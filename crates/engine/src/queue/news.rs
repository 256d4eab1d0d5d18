//! What happened to keys, and how soon a reconcile follows.

use std::hash::Hash;
use std::time::Instant;

use super::{FAILURES_MANY, Queue};

/// What happened to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Something: a reconcile follows immediately if nothing happened just before, else when the events that arrive
    /// together are over.
    Changed,
    /// Some of what it asked for is there, and more is about to follow: it is looked at when the events
    /// that arrive together are over.
    Advanced,
    /// Somebody edited it and waits for it: a reconcile follows immediately, unless it cools down.
    Edited,
    /// What it asked for is there, and nothing more is about to follow: a reconcile follows immediately.
    Settled,
    /// What its status reported is not true any more: a reconcile follows immediately, and waits for nothing until that
    /// is reported.
    TakenBack,
}

impl<K: Clone + Eq + Hash + Ord> Queue<K> {
    /// As [`Self::requeue`], as soon as what happened makes sense of it.
    pub fn heed(&mut self, events: impl IntoIterator<Item = (K, Cause)>, now: Instant) {
        for (key, cause) in events {
            let item = self.item(&key);
            if matches!(cause, Cause::Settled | Cause::TakenBack) {
                item.cooldown = None;
            }
            item.is_urgent |= cause == Cause::TakenBack;
            if cause == Cause::Changed || item.cools_down(now) || item.failures() >= FAILURES_MANY {
                self.requeue([key], now);
            } else if cause == Cause::Advanced {
                self.gather(key, now);
            } else {
                self.add_now(key, now);
            }
        }
    }

    pub(super) fn add_now(&mut self, key: K, now: Instant) {
        self.item(&key).due = None;
        self.add(key, now);
    }

    /// Whether the key in work is there for bad news, which nothing may hold up.
    #[must_use]
    pub fn is_hurried(&self, key: &K) -> bool {
        self.items.get(key).and_then(|item| item.work).is_some_and(|work| work.is_hurried)
    }

    /// The status has not reported the bad news yet for which the key is in work.
    pub(crate) fn hurry_again(&mut self, key: &K) {
        self.item(key).hurry_again();
    }
}
