//! The work queue: first in, first out, each key once, never two workers on one key.
//!
//! It differs from client-go's in four ways. It never drops a key that keeps failing (deviation from
//! S14.2). It limits the delay of such a key to two minutes. A failure counts only once for each delay,
//! however many events requeue the key meanwhile. And events requeue a key that keeps failing once a second
//! at most, since they may be about its own writes.
//!
//! This is only the state machine: it waits for nothing, and every call passes the time to it.

mod item;
mod news;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::hash::Hash;
use std::mem;
use std::time::{Duration, Instant};

use crate::durations::{
    BACKOFF_BASE, BACKOFF_MAX, BUCKET_DEBT_MAX, BUCKET_INTERVAL, COALESCE, COOLDOWN, COOLDOWN_FOR_OTHERS,
    COOLDOWN_MAX, GATHER_MAX, HEED_AFTER,
};
use crate::waits::{Reason, Wait};

use item::{Cooldown, Failures, Gathering, InWork, Item};
pub use news::Cause;

/// After this many keys, or half of those that it knows, the queue forgets the idle ones.
const ITEMS_MANY: usize = 64;
/// From this many failures in a row on (that is, delays from 640 ms), an event does not requeue a key immediately. It
/// does so after [`HEED_AFTER`], or at the end of its delay if that is sooner.
const FAILURES_MANY: u32 = 8;
/// Retries of all keys together: one each [`BUCKET_INTERVAL`] once this many are used up (S14.1).
const BUCKET_SIZE: u32 = 100;

/// A queue of keys; see the module.
pub struct Queue<K> {
    ready: VecDeque<K>,
    items: HashMap<K, Item>,
    /// How many were worked on since the queue last forgot the idle ones.
    worked_on: usize,
    /// How many keys have come to be worked on so far.
    added: u64,
    /// Times at which keys become due. Those that disagree with the wait of their key are out of date.
    timers: BinaryHeap<Reverse<(Instant, K)>>,
    /// When the bucket is empty no more: the "theoretical arrival time" of a leaky bucket.
    bucket: Instant,
    is_closed: bool,
}

impl<K: Clone + Eq + Hash + Ord> Queue<K> {
    /// An empty queue.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self {
            ready: VecDeque::new(),
            items: HashMap::new(),
            worked_on: 0,
            added: 0,
            timers: BinaryHeap::new(),
            bucket: now,
            is_closed: false,
        }
    }

    fn item(&mut self, key: &K) -> &mut Item {
        self.items.entry(key.clone()).or_default()
    }

    /// Each time costs as much as what was worked on since the last time.
    fn forget_idle(&mut self, now: Instant) {
        if self.worked_on >= ITEMS_MANY.max(self.items.len() / 2) {
            self.items.retain(|_, item| !item.is_idle(now));
            self.items.shrink_to(2 * self.items.len());
            self.worked_on = 0;
        }
    }

    /// Something happened that concerns these keys.
    pub fn requeue(&mut self, keys: impl IntoIterator<Item = K>, now: Instant) {
        for key in keys {
            let item = self.item(&key);
            if let Some(failing) = item.failures.filter(|failing| failing.count >= FAILURES_MANY) {
                let due = failing.due.clamp(now + COALESCE, now + HEED_AFTER);
                self.delay(key, due, Reason::BackingOff);
            } else if item.is_quiet(now) {
                self.add_now(key, now);
            } else {
                self.gather(key, now);
            }
        }
    }

    /// Look at this key again at the end of its wait, or when something happens before.
    pub fn wait(&mut self, key: K, wait: Wait) {
        self.item(&key).hurry_again();
        self.delay(key, wait.until, wait.reason);
    }

    /// The key's attempt failed: it comes again, later each time. Returns the delay and how
    /// often it has failed in a row.
    pub fn add_failed(&mut self, key: K, now: Instant) -> (Duration, u32) {
        self.item(&key).hurry_again();
        let Failures { count, due } = self.next_attempt(&key, now);
        self.delay(key, due, Reason::BackingOff);
        (due.saturating_duration_since(now), count)
    }

    /// The key's attempt succeeded.
    pub fn succeeded(&mut self, key: &K) {
        if let Some(item) = self.items.get_mut(key) {
            item.failures = None;
        }
    }

    /// The key in work has written to the cluster. What happens within the next moment is looked at
    /// together, unless there is bad news; `others` are under way besides.
    pub fn cool_down(&mut self, key: &K, others: usize, now: Instant) {
        let item = self.item(key);
        if item.is_urgent {
            return;
        }
        let others = u32::try_from(others).unwrap_or(u32::MAX);
        let most = COOLDOWN.saturating_add(COOLDOWN_FOR_OTHERS.saturating_mul(others)).min(COOLDOWN_MAX);
        let cooldown = Cooldown { least: now + COOLDOWN, most: now + most };
        item.cooldown = Some(cooldown);
        if item.dirty.take().is_some() {
            self.delay(key.clone(), cooldown.least, Reason::Cooldown);
        }
    }

    /// Until when this key may continue to cool down, if what it waits for is not there yet.
    #[must_use]
    pub fn cooldown_until(&self, key: &K, now: Instant) -> Option<Instant> {
        self.items.get(key)?.cooldown.map(|cooldown| cooldown.most).filter(|most| *most > now)
    }

    /// The worker has finished this key. True if the key needs a worker again immediately.
    pub fn done(&mut self, key: &K) -> bool {
        let Some(item) = self.items.get_mut(key) else { return false };
        item.work = None;
        self.worked_on += 1;
        let again = item.dirty.is_some();
        if again {
            self.ready.push_back(key.clone());
        }
        again
    }

    /// No more keys.
    pub fn close(&mut self) {
        self.is_closed = true;
    }

    /// Whether there will be no more keys.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Whether there is nothing to do, now or later, except for what is in work.
    #[must_use]
    pub fn is_empty(&mut self) -> bool {
        self.ready.is_empty() && self.next_due().is_none()
    }

    /// Keys that could be worked on now, were there a worker.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.ready.len()
    }

    /// The same, those included that have become due since somebody looked.
    #[must_use]
    pub fn depth_at(&self, now: Instant) -> usize {
        let is_due = |item: &&Item| item.due.is_some_and(|wait| wait.until <= now);
        self.ready.len() + self.items.values().filter(is_due).count()
    }

    /// How many keys have come to be worked on since the start.
    #[must_use]
    pub fn added(&self) -> u64 {
        self.added
    }

    /// Since when each key in work has been so.
    #[must_use]
    pub fn in_work(&self) -> BTreeMap<&K, Instant> {
        self.items.iter().filter_map(|(key, item)| Some((key, item.work?.since))).collect()
    }

    /// What each key waits for that waits for a time.
    #[must_use]
    pub fn waiting(&self) -> BTreeMap<&K, Wait> {
        self.items.iter().filter_map(|(key, item)| Some((key, item.due?))).collect()
    }

    /// How often in a row this key has failed.
    #[must_use]
    pub fn failures(&self, key: &K) -> u32 {
        self.items.get(key).map_or(0, Item::failures)
    }

    fn add(&mut self, key: K, since: Instant) {
        let is_closed = self.is_closed;
        let item = self.item(&key);
        if is_closed || item.dirty.is_some() {
            return;
        }
        item.dirty = Some(since);
        item.gathering = None;
        let is_in_work = item.work.is_some();
        self.added = self.added.saturating_add(1);
        if !is_in_work {
            self.ready.push_back(key);
        }
    }

    /// The earlier of two times counts: what runs early looks at everything anyway, and reports again when it wants to
    /// run next.
    fn delay(&mut self, key: K, due: Instant, reason: Reason) {
        let item = self.item(&key);
        if item.dirty.is_some() || item.due.is_some_and(|known| known.until <= due) {
            return;
        }
        item.due = Some(Wait { until: due, reason });
        self.timers.push(Reverse((due, key)));
    }

    /// An event joins those of its key that wait for the end of them.
    fn gather(&mut self, key: K, now: Instant) {
        let item = self.item(&key);
        if item.dirty.is_some() {
            return;
        }
        if item.is_urgent {
            self.add_now(key, now);
            return;
        }
        let began = item.gathering.map_or(now, |gathering| gathering.began);
        let cooldown_end = item.cooldown.map_or(now, |cooldown| cooldown.least);
        let due = (now + COALESCE).min(began + GATHER_MAX).max(cooldown_end);
        if item.gathering.is_some_and(|gathering| item.is_due(gathering.due)) {
            // The gathering continues. (Else the key comes sooner for another reason.)
            item.due = None;
        }
        item.gathering = Some(Gathering { began, due });
        let reason = if due == cooldown_end { Reason::Cooldown } else { Reason::Gathering };
        self.delay(key, due, reason);
    }

    fn promote(&mut self, now: Instant) {
        while let Some(Reverse((due, _))) = self.timers.peek()
            && *due <= now
        {
            let Some(Reverse((due, key))) = self.timers.pop() else { return };
            if let Some(item) = self.items.get_mut(&key).filter(|item| item.is_due(due)) {
                item.due = None;
                self.add(key, due);
            }
        }
    }

    /// The next key, if there is one by now. It is in work until [`Self::done`].
    pub fn take(&mut self, now: Instant) -> Option<K> {
        self.take_waited(now).map(|(key, _)| key)
    }

    /// The same, and how long the key has waited for a worker.
    pub fn take_waited(&mut self, now: Instant) -> Option<(K, Duration)> {
        self.promote(now);
        self.forget_idle(now);
        let key = self.ready.pop_front()?;
        let item = self.item(&key);
        let since = item.dirty.take().unwrap_or(now);
        item.cooldown = item.cooldown.filter(|cooldown| cooldown.most > now);
        let is_hurried = mem::take(&mut item.is_urgent);
        item.work = Some(InWork { since: now, is_hurried });
        Some((key, now.saturating_duration_since(since)))
    }

    /// When the next delayed key comes, if there is none to take now.
    pub fn next_due(&mut self) -> Option<Instant> {
        loop {
            let Reverse((due, key)) = self.timers.peek()?;
            if self.items.get(key).is_some_and(|item| item.is_due(*due)) {
                return Some(*due);
            }
            self.timers.pop();
        }
    }

    fn next_attempt(&mut self, key: &K, now: Instant) -> Failures {
        let known = self.item(key).failures;
        if let Some(known) = known.filter(|known| now < known.due) {
            return known;
        }
        let count = known.map_or(0, |known| known.count).saturating_add(1);
        let factor = 1_u32.checked_shl(count - 1).unwrap_or(u32::MAX);
        let own = BACKOFF_BASE.saturating_mul(factor).min(BACKOFF_MAX);
        let failures = Failures { count, due: now + own.max(self.draw(now)) };
        self.item(key).failures = Some(failures);
        failures
    }

    /// Takes a token out of the bucket; returns how long to wait for it.
    fn draw(&mut self, now: Instant) -> Duration {
        let full = BUCKET_INTERVAL * BUCKET_SIZE;
        self.bucket = (self.bucket.max(now) + BUCKET_INTERVAL).min(now + full + BUCKET_DEBT_MAX);
        self.bucket.saturating_duration_since(now).saturating_sub(full)
    }
}

#[cfg(test)]
mod tests;
