//! The engine's queue with somebody who waits for it; the machine is [`engine::queue`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::index::Key;
use engine::next::{Next, Scheduled};
use engine::waits::Reason;
use engine::{Engine, State};
use tokio::sync::Notify;

use crate::clock;

/// The way to the engine's queue, for the watches that feed it and the workers that it feeds.
pub(crate) struct Queue {
    pub(super) engine: Arc<Engine>,
    changed: Notify,
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

impl Queue {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Self { engine, changed: Notify::new(), is_paused: AtomicBool::new(false) }
    }

    /// Brings the engine news, and has a worker look what follows from it.
    pub(crate) fn feed<T>(&self, news: impl FnOnce(&Engine, Instant) -> T) -> T {
        let result = news(&self.engine, clock::now());
        self.nudge();
        result
    }

    /// Has a worker look at the queue.
    pub(crate) fn nudge(&self) {
        self.changed.notify_one();
    }

    /// Something happened that concerns these keys.
    pub(crate) fn requeue(&self, keys: impl IntoIterator<Item = Key>) {
        self.feed(|engine, now| engine.requeue(keys, now));
    }

    /// An attempt at this key ended so; returns when it comes again, and releases it.
    pub(crate) fn schedule(&self, key: &Key, next: &Next) -> Scheduled {
        self.feed(|engine, now| engine.schedule(key, next, now))
    }

    /// The next key, and how long it has waited for a worker; `None` once the queue is closed.
    pub(crate) async fn pop(&self) -> Option<(Key, Duration)> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let next_due = {
                let mut state = self.engine.state();
                let queue = &mut state.queue;
                if queue.is_closed() {
                    return None;
                }
                if self.is_paused() {
                    None
                } else if let Some(taken) = queue.take_waited(clock::now()) {
                    let hand_on = !queue.is_empty();
                    drop(state);
                    if hand_on {
                        // Somebody else watches the clock and the rest of the queue now.
                        self.changed.notify_one();
                    }
                    return Some(taken);
                } else {
                    queue.next_due()
                }
            };
            match next_due {
                None => changed.await,
                Some(due) => {
                    tokio::select! {
                        () = changed => {}
                        () = tokio::time::sleep_until(due.into()) => {}
                    }
                }
            }
        }
    }

    /// No more keys; workers end.
    pub(crate) fn close(&self) {
        self.engine.state().queue.close();
        self.changed.notify_waiters();
    }

    /// Keys are collected, and given to nobody.
    pub(crate) fn pause(&self) {
        self.is_paused.store(true, Ordering::SeqCst);
    }

    /// Keys are given out again.
    pub(crate) fn resume(&self) {
        self.is_paused.store(false, Ordering::SeqCst);
        self.changed.notify_one();
    }

    fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::SeqCst)
    }

    /// A worker that took this key did nothing with it: it comes again.
    pub(crate) fn put_back(&self, key: &Key) {
        self.feed(|engine, now| engine.put_back(key, now));
    }

    /// For how long the next key has been due, and nobody took it.
    pub(crate) fn overdue(&self) -> Duration {
        if self.is_paused() {
            return Duration::ZERO;
        }
        let due = self.engine.state().queue.next_due();
        due.map_or(Duration::ZERO, |due| clock::now().saturating_duration_since(due))
    }

    /// How it stands at this moment.
    pub(crate) fn reading(&self) -> Reading {
        let now = clock::now();
        self.read(|state| {
            let queue = &state.queue;
            let ages = queue.in_work().into_values().map(|since| now.saturating_duration_since(since));
            let ages: Vec<Duration> = ages.collect();
            Reading {
                // Who stands by collects keys for the day that it takes over; none of them waits for it.
                depth: if self.is_paused() { 0 } else { queue.depth_at(now) },
                added: queue.added(),
                unfinished: ages.iter().sum(),
                longest: ages.into_iter().max().unwrap_or_default(),
            }
        })
    }

    /// How many keys wait for each reason.
    pub(crate) fn waiting(&self) -> [(Reason, usize); Reason::ALL.len()] {
        self.read(|state| {
            let waiting = state.waits(clock::now());
            Reason::ALL.map(|reason| (reason, waiting.values().filter(|wait| wait.reason == reason).count()))
        })
    }

    /// Looks at the state itself. Held briefly.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.engine.state())
    }
}

#[cfg(test)]
mod tests;
