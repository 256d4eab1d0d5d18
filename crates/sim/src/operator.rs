//! One operator process: its cache, its queue, and the pass that it is in.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use dispatch::index::{Index, Key, Placed, Sight};
use dispatch::ledger::Ledger;
use dispatch::memory::Memory;
use dispatch::next::Scheduled;
use dispatch::queue::Queue;
use jiff::Timestamp;
use plan::{Flavour, Workload};

use crate::history::History;
use crate::link::{Brain, Ended, Link, Sent, Shared, Wire, lock};
use crate::view::View;

/// One of the two watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Watch {
    Workloads,
    Sets,
}

/// How far a watch has come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    pub(crate) version: u64,
    pub(crate) is_synced: bool,
    /// A delivery is on its way.
    pub(crate) is_due: bool,
}

struct Running {
    key: Key,
    future: Pin<Box<dyn Future<Output = Ended> + Send>>,
    wire: Shared<Wire>,
    view: Shared<Option<View>>,
}

/// One operator process.
pub(crate) struct Operator {
    pub(crate) brain: Shared<Brain>,
    queue: Queue<Key>,
    pub(crate) workloads: Cursor,
    pub(crate) sets: Cursor,
    running: Option<Running>,
    /// When it wants to be woken, if that is arranged for.
    pub(crate) alarm: Option<u64>,
}

/// What polling a pass came to.
pub(crate) enum Polled {
    Sends(Sent),
    Ended(Key, Box<Ended>),
    Idle,
}

impl Operator {
    pub(crate) fn new(flavour: Flavour, now: Instant, wall: Timestamp) -> Self {
        let sight = if flavour.set_labels().is_some() { Sight::ByLabel } else { Sight::Whole };
        let brain = Brain {
            flavour,
            index: Index::new(sight),
            ledger: Ledger::default(),
            memory: Memory::default(),
            now,
            wall,
            watches_pods: false,
            events: Vec::new(),
            told: Vec::new(),
            woken: Vec::new(),
        };
        Self {
            brain: Arc::new(Mutex::new(brain)),
            queue: Queue::new(now),
            workloads: Cursor::default(),
            sets: Cursor::default(),
            running: None,
            alarm: None,
        }
    }

    pub(crate) fn cursor(&mut self, watch: Watch) -> &mut Cursor {
        match watch {
            Watch::Workloads => &mut self.workloads,
            Watch::Sets => &mut self.sets,
        }
    }

    pub(crate) fn set_clocks(&self, now: Instant, wall: Timestamp) {
        let mut brain = lock(&self.brain);
        brain.now = now;
        brain.wall = wall;
    }

    /// Lists anew, as the cluster was at a version.
    pub(crate) fn list(&mut self, watch: Watch, history: &History, version: u64, now: Instant) {
        let mut brain = lock(&self.brain);
        let woken = match watch {
            Watch::Workloads => {
                let listed = history.workloads_at(version);
                let listed = listed.iter().map(|entry| Workload::clone(&entry.workload));
                brain.index.reset_workloads(None, listed, now)
            }
            Watch::Sets => {
                let listed = history.sets_at(version);
                let placed = |entry: &&crate::history::SetVersion| Placed {
                    namespace: entry.namespace.clone(),
                    set: entry.set.clone(),
                };
                brain.index.reset_sets(None, listed.iter().map(placed))
            }
        };
        drop(brain);
        self.queue.wake(woken, now);
        let cursor = self.cursor(watch);
        cursor.version = version;
        cursor.is_synced = true;
    }

    /// Reads on, up to a version.
    pub(crate) fn read(&mut self, watch: Watch, history: &History, through: u64, now: Instant) {
        let shared = self.brain.clone();
        let mut brain = lock(&shared);
        match watch {
            Watch::Workloads => {
                for entry in history.workloads_after(self.workloads.version) {
                    if entry.is_deleted {
                        let key = Key::of(&entry.workload);
                        let woken = brain.index.delete_workload(key, &entry.workload.resource_version);
                        self.queue.wake(woken, now);
                        continue;
                    }
                    let woken = brain.index.workload_came(Workload::clone(&entry.workload), now);
                    self.queue.heed(woken, now);
                }
            }
            Watch::Sets => {
                for entry in history.sets_after(self.sets.version) {
                    let (namespace, set) = (entry.namespace.clone(), entry.set.clone());
                    if entry.is_deleted || !entry.is_marked {
                        let woken = brain.index.delete_set(&namespace, &set.uid, &set.resource_version);
                        self.queue.wake(woken, now);
                    } else {
                        let woken = brain.index.set_came(Placed { namespace, set });
                        self.queue.heed(woken, now);
                    }
                }
            }
        }
        self.cursor(watch).version = through;
    }

    /// Pods changed while they are watched.
    pub(crate) fn wake_all(&mut self, now: Instant) {
        let keys: Vec<Key> = lock(&self.brain).index.keys().cloned().collect();
        self.queue.wake(keys, now);
    }

    /// When it has something to do next.
    pub(crate) fn next_due(&mut self, now: Instant) -> Option<Instant> {
        if self.running.is_some() || !self.workloads.is_synced || !self.sets.is_synced {
            return None;
        }
        if self.queue.depth() > 0 { Some(now) } else { self.queue.next_due() }
    }

    /// Takes a key and starts a pass, if one is due.
    pub(crate) fn start(&mut self, now: Instant) {
        if self.running.is_some() || !self.workloads.is_synced || !self.sets.is_synced {
            return;
        }
        let Some(key) = self.queue.take(now) else { return };
        let wire = Shared::<Wire>::default();
        let view = Shared::<Option<View>>::default();
        let flavour = lock(&self.brain).flavour;
        let link = Link {
            key: key.clone(),
            flavour,
            brain: self.brain.clone(),
            wire: wire.clone(),
            view: view.clone(),
        };
        let future = Box::pin(link.pass());
        self.running = Some(Running { key, future, wire, view });
    }

    /// Whether it is in a pass.
    pub(crate) fn is_busy(&self) -> bool {
        self.running.is_some()
    }

    /// What its pass has been told, if it is in one.
    pub(crate) fn reply(&mut self, reply: crate::link::Reply) {
        if let Some(running) = &self.running {
            lock(&running.wire).reply = Some(reply);
        }
    }

    /// Lets its pass go on as far as it can.
    pub(crate) fn poll(&mut self) -> Polled {
        let Some(running) = &mut self.running else { return Polled::Idle };
        let mut context = Context::from_waker(Waker::noop());
        match running.future.as_mut().poll(&mut context) {
            Poll::Pending => lock(&running.wire).sent.take().map_or(Polled::Idle, Polled::Sends),
            Poll::Ready(ended) => {
                let key = running.key.clone();
                debug_assert!(lock(&running.view).is_none(), "the view goes with the pass");
                self.running = None;
                Polled::Ended(key, Box::new(ended))
            }
        }
    }

    /// Its pass is over.
    pub(crate) fn finish(&mut self, key: &Key, ended: &Ended, now: Instant) -> Scheduled {
        let next = &ended.next;
        let woken = std::mem::take(&mut lock(&self.brain).woken);
        self.queue.wake(woken, now);
        if ended.outcome.as_ref().is_some_and(|outcome| outcome.writes > 0) {
            self.queue.rest(key, 0, now);
        }
        let scheduled = next.apply(&mut self.queue, key, now);
        self.queue.done(key);
        scheduled
    }
}
