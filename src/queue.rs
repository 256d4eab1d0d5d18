//! The work queue: first in, first out, each key once, never two workers on one key.
//!
//! As client-go's, with four differences: a key that keeps failing is never dropped
//! (deviation from S14.2), its delay is capped at two minutes, a failure counts only once per
//! delay, however many events wake the key meanwhile, and events wake a key that keeps failing
//! once a second at most: its own writes may be what the events tell of.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// An event is acted upon this much later, so that a burst of them makes one pass.
const COALESCE: Duration = Duration::from_millis(3);
/// Delay after the first failure of a key; doubled with each further one (S14.1).
const BACKOFF_BASE: Duration = Duration::from_millis(5);
/// Longest delay between two attempts.
const BACKOFF_MAX: Duration = Duration::from_secs(120);
/// From this many failures in a row on (that is, delays from 640 ms), an event does not wake a
/// key at once but after [`HEED_AFTER`], or at the end of its delay if that is sooner.
const FAILURES_MANY: u32 = 8;
const HEED_AFTER: Duration = Duration::from_secs(1);
/// Retries of all keys together: one each 100 ms once a burst of 100 is used up (S14.1).
const BUCKET_INTERVAL: Duration = Duration::from_millis(100);
const BUCKET_BURST: u32 = 100;
/// No retry waits longer than this for the others: after an outage that failed thousands of
/// passes, all are tried within that time.
const BUCKET_DEBT_MAX: Duration = Duration::from_secs(30);

/// A queue of keys; see the module.
pub(crate) struct Queue<K> {
    state: Mutex<State<K>>,
    wake: Notify,
}

struct State<K> {
    ready: VecDeque<K>,
    dirty: HashSet<K>,
    processing: HashSet<K>,
    /// When each delayed key is due. Entries of `timers` that disagree are out of date.
    due: HashMap<K, Instant>,
    timers: BinaryHeap<Reverse<(Instant, K)>>,
    failures: HashMap<K, Failures>,
    /// When the bucket is empty no more: the "theoretical arrival time" of a leaky bucket.
    bucket: Instant,
    is_closed: bool,
}

struct Failures {
    count: u32,
    due: Instant,
}

impl<K: Clone + Eq + Hash + Ord> Queue<K> {
    pub(crate) fn new() -> Self {
        let state = State {
            ready: VecDeque::new(),
            dirty: HashSet::new(),
            processing: HashSet::new(),
            due: HashMap::new(),
            timers: BinaryHeap::new(),
            failures: HashMap::new(),
            bucket: Instant::now(),
            is_closed: false,
        };
        Self { state: Mutex::new(state), wake: Notify::new() }
    }

    /// Something happened that concerns these keys.
    pub(crate) fn wake(&self, keys: impl IntoIterator<Item = K>) {
        let now = Instant::now();
        let mut state = self.lock();
        for key in keys {
            let due = state.heed(&key, now);
            state.delay(key, due);
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Look at this key again after a while, or when something happens before.
    pub(crate) fn add_after(&self, key: K, delay: Duration) {
        self.lock().delay(key, Instant::now() + delay);
        self.wake.notify_one();
    }

    /// The key's attempt failed: it comes again, later each time. Returns the delay and how
    /// often it has failed in a row.
    pub(crate) fn add_failed(&self, key: K) -> (Duration, u32) {
        let now = Instant::now();
        let mut state = self.lock();
        let (due, count) = state.next_attempt(&key, now);
        state.delay(key, due);
        drop(state);
        self.wake.notify_one();
        (due.saturating_duration_since(now), count)
    }

    /// The key's attempt succeeded.
    pub(crate) fn forget(&self, key: &K) {
        self.lock().failures.remove(key);
    }

    /// The next key, or `None` once the queue is closed.
    pub(crate) async fn pop(&self) -> Option<K> {
        loop {
            let woken = self.wake.notified();
            tokio::pin!(woken);
            woken.as_mut().enable();
            let next_due = {
                let mut state = self.lock();
                if state.is_closed {
                    return None;
                }
                state.promote(Instant::now());
                if let Some(key) = state.take() {
                    let hand_on = !state.ready.is_empty() || !state.due.is_empty();
                    drop(state);
                    if hand_on {
                        // Somebody else watches the clock and the rest of the queue now.
                        self.wake.notify_one();
                    }
                    return Some(key);
                }
                state.next_due()
            };
            match next_due {
                None => woken.await,
                Some(due) => {
                    tokio::select! {
                        () = woken => {}
                        () = tokio::time::sleep_until(due) => {}
                    }
                }
            }
        }
    }

    /// The worker is through with this key.
    pub(crate) fn done(&self, key: &K) {
        let mut state = self.lock();
        state.processing.remove(key);
        if state.dirty.contains(key) {
            state.ready.push_back(key.clone());
            drop(state);
            self.wake.notify_one();
        }
    }

    /// No more keys; workers end.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.wake.notify_waiters();
    }

    /// Keys that could be worked on now, were there a worker.
    pub(crate) fn depth(&self) -> usize {
        self.lock().ready.len()
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + Eq + Hash + Ord> State<K> {
    fn add(&mut self, key: K) {
        if self.is_closed || !self.dirty.insert(key.clone()) || self.processing.contains(&key) {
            return;
        }
        self.ready.push_back(key);
    }

    /// The earlier of two times counts: what runs early looks at everything anyway, and says
    /// anew when it wants to run next.
    fn delay(&mut self, key: K, due: Instant) {
        if self.dirty.contains(&key) || self.due.get(&key).is_some_and(|known| *known <= due) {
            return;
        }
        self.due.insert(key.clone(), due);
        self.timers.push(Reverse((due, key)));
    }

    /// When an event that happens now is acted upon.
    fn heed(&self, key: &K, now: Instant) -> Instant {
        match self.failures.get(key) {
            Some(failing) if failing.count >= FAILURES_MANY => {
                failing.due.clamp(now + COALESCE, now + HEED_AFTER)
            }
            _ => now + COALESCE,
        }
    }

    fn promote(&mut self, now: Instant) {
        while let Some(Reverse((due, _))) = self.timers.peek()
            && *due <= now
        {
            let Some(Reverse((due, key))) = self.timers.pop() else { return };
            if self.due.get(&key) == Some(&due) {
                self.due.remove(&key);
                self.add(key);
            }
        }
    }

    fn take(&mut self) -> Option<K> {
        let key = self.ready.pop_front()?;
        self.dirty.remove(&key);
        self.processing.insert(key.clone());
        Some(key)
    }

    fn next_due(&mut self) -> Option<Instant> {
        loop {
            let Reverse((due, key)) = self.timers.peek()?;
            if self.due.get(key) == Some(due) {
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
        let full = BUCKET_INTERVAL * BUCKET_BURST;
        self.bucket = (self.bucket.max(now) + BUCKET_INTERVAL).min(now + full + BUCKET_DEBT_MAX);
        self.bucket.saturating_duration_since(now).saturating_sub(full)
    }
}

#[cfg(test)]
mod tests;
