//! What happened to keys, and how soon a reconcile follows.

use std::hash::Hash;
use std::time::Instant;

use super::{COALESCE, FAILURES_MANY, KEYS_MANY, Queue};

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
            if matches!(cause, Cause::Settled | Cause::TakenBack) {
                self.cooldowns.remove(&key);
            }
            if cause == Cause::TakenBack {
                self.urgent.insert(key.clone());
            }
            let cools_down = self.cooldowns.get(&key).is_some_and(|cooldown| cooldown.least > now);
            if cause == Cause::Changed || cools_down || self.failures(&key) >= FAILURES_MANY {
                self.requeue([key], now);
            } else if cause == Cause::Advanced {
                self.gather(key, now);
            } else {
                self.add_now(key, now);
            }
        }
    }

    /// Whether nothing has happened to this key just before. Now something has.
    pub(super) fn is_quiet(&mut self, key: &K, now: Instant) -> bool {
        if self.lively.len() >= self.lively_many {
            self.lively.retain(|_, until| *until > now);
            self.lively_many = KEYS_MANY.max(2 * self.lively.len());
        }
        let before = self.lively.insert(key.clone(), now + COALESCE);
        before.is_none_or(|until| until <= now)
            && self.cooldowns.get(key).is_none_or(|cooldown| cooldown.least <= now)
            && !self.gathering.contains_key(key)
    }

    pub(super) fn add_now(&mut self, key: K, now: Instant) {
        self.due.remove(&key);
        self.add(key, now);
    }

    /// Whether the key in work is there for bad news, which nothing may hold up.
    #[must_use]
    pub fn is_hurried(&self, key: &K) -> bool {
        self.processing.get(key).is_some_and(|work| work.is_hurried)
    }

    /// The status has not reported the bad news yet.
    pub(crate) fn hurry_again(&mut self, key: &K) {
        if self.is_hurried(key) {
            self.urgent.insert(key.clone());
        }
    }
}
