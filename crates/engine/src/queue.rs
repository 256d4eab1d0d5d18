//! The work queue: first in, first out, each key once, never two workers on one key.
//!
//! It differs from client-go's in four ways. It never drops a key that keeps failing (deviation from
//! S14.2). It limits the delay of such a key to two minutes. A failure counts only once for each delay,
//! however many events requeue the key meanwhile. And events requeue a key that keeps failing once a second
//! at most, since they may be about its own writes.
//!
//! This is only the state machine: it waits for nothing, and every call passes the time to it.

mod news;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::time::{Duration, Instant};

use crate::durations::{
    BACKOFF_BASE, BACKOFF_MAX, BUCKET_DEBT_MAX, BUCKET_INTERVAL, COALESCE, COOLDOWN, COOLDOWN_FOR_OTHERS,
    COOLDOWN_MAX, GATHER_MAX, HEED_AFTER,
};

use crate::waits::{Reason, Wait};

pub use news::Cause;

/// When this many keys are known to cool down, those that do so no more are forgotten.
const KEYS_MANY: usize = 64;
/// From this many failures in a row on (that is, delays from 640 ms), an event does not requeue a key immediately. It
/// does so after [`HEED_AFTER`], or at the end of its delay if that is sooner.
const FAILURES_MANY: u32 = 8;
/// Retries of all keys together: one each [`BUCKET_INTERVAL`] once this many are used up (S14.1).
const BUCKET_SIZE: u32 = 100;

/// A queue of keys; see the module.
pub struct Queue<K> {
    ready: VecDeque<K>,
    /// What waits for a worker, and since when.
    dirty: HashMap<K, Instant>,
    /// What is in work.
    processing: HashMap<K, InWork>,
    /// How many keys have come to be worked on so far.
    added: u64,
    /// Until when each delayed key waits, and why. Entries of `timers` that disagree are out of date.
    due: HashMap<K, Wait>,
    timers: BinaryHeap<Reverse<(Instant, K)>>,
    failures: HashMap<K, Failures>,
    /// Events that have come, and have not led to a reconcile yet.
    gathering: HashMap<K, Gathering>,
    /// Until when what happens to each key follows closely on what happened before.
    lively: HashMap<K, Instant>,
    /// When this many keys are known to be lively, those that are so no more are forgotten.
    lively_many: usize,
    cooldowns: HashMap<K, Cooldown>,
    /// Keys with bad news that the status has to report.
    urgent: HashSet<K>,
    /// When the bucket is empty no more: the "theoretical arrival time" of a leaky bucket.
    bucket: Instant,
    is_closed: bool,
}

/// One key in work.
struct InWork {
    since: Instant,
    /// For bad news.
    is_hurried: bool,
}

/// Events of one key.
#[derive(Clone, Copy)]
struct Gathering {
    began: Instant,
    due: Instant,
}

/// What follows a write.
#[derive(Clone, Copy)]
struct Cooldown {
    /// Until then the key heeds no event.
    least: Instant,
    /// Until then it may wait for more.
    most: Instant,
}

struct Failures {
    count: u32,
    due: Instant,
}

impl<K: Clone + Eq + Hash + Ord> Queue<K> {
    /// An empty queue.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self {
            ready: VecDeque::new(),
            dirty: HashMap::new(),
            processing: HashMap::new(),
            added: 0,
            due: HashMap::new(),
            timers: BinaryHeap::new(),
            failures: HashMap::new(),
            gathering: HashMap::new(),
            lively: HashMap::new(),
            lively_many: KEYS_MANY,
            cooldowns: HashMap::new(),
            urgent: HashSet::new(),
            bucket: now,
            is_closed: false,
        }
    }

    /// Something happened that concerns these keys.
    pub fn requeue(&mut self, keys: impl IntoIterator<Item = K>, now: Instant) {
        for key in keys {
            if let Some(failing) = self.failures.get(&key).filter(|failing| failing.count >= FAILURES_MANY) {
                let due = failing.due.clamp(now + COALESCE, now + HEED_AFTER);
                self.delay(key, due, Reason::BackingOff);
            } else if self.is_quiet(&key, now) {
                self.add_now(key, now);
            } else {
                self.gather(key, now);
            }
        }
    }

    /// Look at this key again at the end of its wait, or when something happens before.
    pub fn wait(&mut self, key: K, wait: Wait) {
        self.hurry_again(&key);
        self.delay(key, wait.until, wait.reason);
    }

    /// The key's attempt failed: it comes again, later each time. Returns the delay and how
    /// often it has failed in a row.
    pub fn add_failed(&mut self, key: K, now: Instant) -> (Duration, u32) {
        self.hurry_again(&key);
        let (due, count) = self.next_attempt(&key, now);
        self.delay(key, due, Reason::BackingOff);
        (due.saturating_duration_since(now), count)
    }

    /// The key's attempt succeeded.
    pub fn succeeded(&mut self, key: &K) {
        self.failures.remove(key);
    }

    /// The key in work has written to the cluster. What happens within the next moment is looked at
    /// together, unless there is bad news; `others` are under way besides.
    pub fn cool_down(&mut self, key: &K, others: usize, now: Instant) {
        if self.urgent.contains(key) {
            return;
        }
        let others = u32::try_from(others).unwrap_or(u32::MAX);
        let most = COOLDOWN.saturating_add(COOLDOWN_FOR_OTHERS.saturating_mul(others)).min(COOLDOWN_MAX);
        let cooldown = Cooldown { least: now + COOLDOWN, most: now + most };
        if self.cooldowns.len() >= KEYS_MANY {
            self.cooldowns.retain(|_, cooldown| cooldown.most > now);
        }
        self.cooldowns.insert(key.clone(), cooldown);
        if self.dirty.remove(key).is_some() {
            self.delay(key.clone(), cooldown.least, Reason::Cooldown);
        }
    }

    /// Until when this key may continue to cool down, if what it waits for is not there yet.
    #[must_use]
    pub fn cooldown_until(&self, key: &K, now: Instant) -> Option<Instant> {
        self.cooldowns.get(key).map(|cooldown| cooldown.most).filter(|most| *most > now)
    }

    /// The worker has finished this key. True if the key needs a worker again immediately.
    pub fn done(&mut self, key: &K) -> bool {
        self.processing.remove(key);
        let again = self.dirty.contains_key(key);
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
    pub fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.due.is_empty()
    }

    /// Keys that could be worked on now, were there a worker.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.ready.len()
    }

    /// The same, those included that have become due since somebody looked.
    #[must_use]
    pub fn depth_at(&self, now: Instant) -> usize {
        self.ready.len() + self.due.values().filter(|wait| wait.until <= now).count()
    }

    /// How many keys have come to be worked on since the start.
    #[must_use]
    pub fn added(&self) -> u64 {
        self.added
    }

    /// Since when each key in work has been so.
    #[must_use]
    pub fn in_work(&self) -> BTreeMap<&K, Instant> {
        self.processing.iter().map(|(key, work)| (key, work.since)).collect()
    }

    /// What each key waits for that waits for a time.
    #[must_use]
    pub fn waiting(&self) -> BTreeMap<&K, Wait> {
        self.due.iter().map(|(key, wait)| (key, *wait)).collect()
    }

    /// How often in a row this key has failed.
    #[must_use]
    pub fn failures(&self, key: &K) -> u32 {
        self.failures.get(key).map_or(0, |failures| failures.count)
    }

    fn add(&mut self, key: K, since: Instant) {
        if self.is_closed || self.dirty.contains_key(&key) {
            return;
        }
        self.dirty.insert(key.clone(), since);
        self.gathering.remove(&key);
        self.added = self.added.saturating_add(1);
        if !self.processing.contains_key(&key) {
            self.ready.push_back(key);
        }
    }

    /// The earlier of two times counts: what runs early looks at everything anyway, and reports again when it wants to
    /// run next.
    fn delay(&mut self, key: K, due: Instant, reason: Reason) {
        if self.dirty.contains_key(&key) || self.due.get(&key).is_some_and(|known| known.until <= due) {
            return;
        }
        self.due.insert(key.clone(), Wait { until: due, reason });
        self.timers.push(Reverse((due, key)));
    }

    /// An event joins those of its key that wait for the end of them.
    fn gather(&mut self, key: K, now: Instant) {
        if self.dirty.contains_key(&key) {
            return;
        }
        if self.urgent.contains(&key) {
            self.add_now(key, now);
            return;
        }
        let known = self.gathering.get(&key).copied();
        let began = known.map_or(now, |gathering| gathering.began);
        let cooldown_end = self.cooldowns.get(&key).map_or(now, |cooldown| cooldown.least);
        let due = (now + COALESCE).min(began + GATHER_MAX).max(cooldown_end);
        if known.is_some_and(|gathering| self.is_due(&key, gathering.due)) {
            // The gathering continues. (Else the key comes sooner for another reason.)
            self.due.remove(&key);
        }
        self.gathering.insert(key.clone(), Gathering { began, due });
        let reason = if due == cooldown_end { Reason::Cooldown } else { Reason::Gathering };
        self.delay(key, due, reason);
    }

    fn is_due(&self, key: &K, at: Instant) -> bool {
        self.due.get(key).is_some_and(|wait| wait.until == at)
    }

    fn promote(&mut self, now: Instant) {
        while let Some(Reverse((due, _))) = self.timers.peek()
            && *due <= now
        {
            let Some(Reverse((due, key))) = self.timers.pop() else { return };
            if self.is_due(&key, due) {
                self.due.remove(&key);
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
        let key = self.ready.pop_front()?;
        let since = self.dirty.remove(&key).unwrap_or(now);
        if self.cooldown_until(&key, now).is_none() {
            self.cooldowns.remove(&key);
        }
        let is_hurried = self.urgent.remove(&key);
        self.processing.insert(key.clone(), InWork { since: now, is_hurried });
        Some((key, now.saturating_duration_since(since)))
    }

    /// When the next delayed key comes, if there is none to take now.
    pub fn next_due(&mut self) -> Option<Instant> {
        loop {
            let Reverse((due, key)) = self.timers.peek()?;
            if self.is_due(key, *due) {
                return Some(*due);
            }
            self.timers.pop();
        }
    }

    fn next_attempt(&mut self, key: &K, now: Instant) -> (Instant, u32) {
        if let Some(known) = self.failures.get(key)
            && now < known.due
        {
            return (known.due, known.count);
        }
        let count = self.failures.get(key).map_or(0, |known| known.count).saturating_add(1);
        let factor = 1_u32.checked_shl(count - 1).unwrap_or(u32::MAX);
        let own = BACKOFF_BASE.saturating_mul(factor).min(BACKOFF_MAX);
        let due = now + own.max(self.draw(now));
        self.failures.insert(key.clone(), Failures { count, due });
        (due, count)
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
