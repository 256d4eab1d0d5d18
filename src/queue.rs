//! The work queue with somebody who waits for it; the machine is [`dispatch::queue`].

use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dispatch::next::{Next, Scheduled};
use dispatch::queue::{Cause, Queue as State};
use tokio::sync::Notify;

use crate::clock;

/// A queue of keys that many tasks share.
pub(crate) struct Queue<K> {
    state: Mutex<State<K>>,
    wake: Notify,
    is_paused: AtomicBool,
}

/// How a queue stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Keys that could be worked on, were there a worker.
    pub(crate) depth: usize,
    /// Keys that have come to be worked on since the start.
    pub(crate) added: u64,
    /// For how long all keys in work have been so, together.
    pub(crate) unfinished: Duration,
    /// For how long the one has that has been so the longest.
    pub(crate) longest: Duration,
}

impl<K: Clone + Eq + Hash + Ord> Queue<K> {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State::new(clock::now())),
            wake: Notify::new(),
            is_paused: AtomicBool::new(false),
        }
    }

    /// Something happened that concerns these keys.
    pub(crate) fn wake(&self, keys: impl IntoIterator<Item = K>) {
        self.lock().wake(keys, clock::now());
        self.wake.notify_one();
    }

    /// The same, as soon as what happened makes sense of it; see [`State::heed`].
    pub(crate) fn heed(&self, events: impl IntoIterator<Item = (K, Cause)>) {
        self.lock().heed(events, clock::now());
        self.wake.notify_one();
    }

    /// The key in work has written; see [`State::rest`].
    pub(crate) fn rest(&self, key: &K, others: usize) {
        self.lock().rest(key, others, clock::now());
    }

    /// Until when a key may wait for more; see [`State::rests_until`].
    pub(crate) fn rests_until(&self, key: &K) -> Option<Instant> {
        self.lock().rests_until(key, clock::now())
    }

    /// A pass over this key ended so; says when it comes again, and releases it.
    pub(crate) fn schedule(&self, key: &K, next: &Next) -> Scheduled {
        let mut state = self.lock();
        let scheduled = next.apply(&mut state, key, clock::now());
        state.done(key);
        drop(state);
        self.wake.notify_one();
        scheduled
    }

    /// The next key, and how long it has waited for a worker; `None` once the queue is closed.
    pub(crate) async fn pop(&self) -> Option<(K, Duration)> {
        loop {
            let woken = self.wake.notified();
            tokio::pin!(woken);
            woken.as_mut().enable();
            let next_due = {
                let mut state = self.lock();
                if state.is_closed() {
                    return None;
                }
                if self.is_paused() {
                    None
                } else if let Some(taken) = state.take_waited(clock::now()) {
                    let hand_on = !state.is_empty();
                    drop(state);
                    if hand_on {
                        // Somebody else watches the clock and the rest of the queue now.
                        self.wake.notify_one();
                    }
                    return Some(taken);
                } else {
                    state.next_due()
                }
            };
            match next_due {
                None => woken.await,
                Some(due) => {
                    tokio::select! {
                        () = woken => {}
                        () = tokio::time::sleep_until(due.into()) => {}
                    }
                }
            }
        }
    }

    /// No more keys; workers end.
    pub(crate) fn close(&self) {
        self.lock().close();
        self.wake.notify_waiters();
    }

    /// Keys are collected, and given to nobody.
    pub(crate) fn pause(&self) {
        self.is_paused.store(true, Ordering::SeqCst);
    }

    /// Keys are given out again.
    pub(crate) fn resume(&self) {
        self.is_paused.store(false, Ordering::SeqCst);
        self.wake.notify_one();
    }

    fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::SeqCst)
    }

    /// A worker that took this key did nothing with it: it comes again.
    pub(crate) fn put_back(&self, key: &K) {
        let mut state = self.lock();
        state.wake([key.clone()], clock::now());
        state.done(key);
        drop(state);
        self.wake.notify_one();
    }

    /// For how long the next key has been due, and nobody took it.
    pub(crate) fn overdue(&self) -> Duration {
        if self.is_paused() {
            return Duration::ZERO;
        }
        let due = self.lock().next_due();
        due.map_or(Duration::ZERO, |due| clock::now().saturating_duration_since(due))
    }

    /// How it stands at this moment.
    pub(crate) fn reading(&self) -> Reading {
        let (state, now) = (self.lock(), clock::now());
        let in_work = state.in_work();
        let ages = in_work.values().map(|since| now.saturating_duration_since(*since));
        Reading {
            // Who stands by collects keys for the day that it takes over; none of them waits for it.
            depth: if self.is_paused() { 0 } else { state.depth_at(now) },
            added: state.added(),
            unfinished: ages.clone().sum(),
            longest: ages.max().unwrap_or_default(),
        }
    }

    /// Looks at the machine itself. Held briefly.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&State<K>) -> T) -> T {
        look(&self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
