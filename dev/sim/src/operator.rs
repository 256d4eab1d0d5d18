//! One operator process: its cache, its queue, and the pass that it is in.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use ::engine::index::{Index, Key, Placed, Sight};
use ::engine::next::{Next, Scheduled};
use ::engine::pass::Outcome;
use ::engine::{Engine, Settings};
use jiff::Timestamp;
use plan::{Flavour, Workload};

use crate::history::History;
use crate::link::{Ended, Link, Sent, Shared, Surroundings, Wire, lock};
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
    future: Pin<Box<dyn Future<Output = Next> + Send>>,
    wire: Shared<Wire>,
    view: Shared<Option<View>>,
    outcome: Shared<Option<Outcome>>,
}

/// One operator process.
pub(crate) struct Operator {
    engine: Arc<Engine>,
    pub(crate) surroundings: Shared<Surroundings>,
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
        let settings = Settings { starts: false, rests: false, force: true, ..Settings::default() };
        let surroundings =
            Surroundings { now, wall, watches_pods: false, events: Vec::new(), told: Vec::new() };
        Self {
            engine: Arc::new(Engine::new(flavour, settings, Index::new(sight), now)),
            surroundings: Arc::new(Mutex::new(surroundings)),
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
        let mut surroundings = lock(&self.surroundings);
        surroundings.now = now;
        surroundings.wall = wall;
    }

    /// Lists anew, as the cluster was at a version.
    pub(crate) fn list(&mut self, watch: Watch, history: &History, version: u64, now: Instant) {
        match watch {
            Watch::Workloads => {
                let listed = history.workloads_at(version);
                let listed = listed.iter().map(|entry| Workload::clone(&entry.workload));
                self.engine.workloads_listed(None, listed, now);
            }
            Watch::Sets => {
                let listed = history.sets_at(version);
                let placed = |entry: &&crate::history::SetVersion| Placed {
                    namespace: entry.namespace.clone(),
                    set: entry.set.clone(),
                };
                self.engine.sets_listed(None, listed.iter().map(placed), now);
            }
        }
        let cursor = self.cursor(watch);
        cursor.version = version;
        cursor.is_synced = true;
    }

    /// Reads on, up to a version.
    pub(crate) fn read(&mut self, watch: Watch, history: &History, through: u64, now: Instant) {
        let engine = &self.engine;
        match watch {
            Watch::Workloads => {
                for entry in history.workloads_after(self.workloads.version) {
                    let workload = &entry.workload;
                    if entry.is_deleted {
                        engine.workload_gone(Key::of(workload), &workload.resource_version, now);
                    } else {
                        engine.workload_came(Workload::clone(workload), now);
                    }
                }
            }
            Watch::Sets => {
                for entry in history.sets_after(self.sets.version) {
                    let (namespace, set) = (entry.namespace.clone(), entry.set.clone());
                    if entry.is_deleted || !entry.is_marked {
                        engine.set_gone(&namespace, &set.uid, &set.resource_version, now);
                    } else {
                        engine.set_came(Placed { namespace, set }, now);
                    }
                }
            }
        }
        self.cursor(watch).version = through;
    }

    /// Pods changed while they are watched.
    pub(crate) fn wake_all(&mut self, now: Instant) {
        let keys: Vec<Key> = self.engine.cache().keys().cloned().collect();
        self.engine.wake(keys, now);
    }

    /// When it has something to do next.
    pub(crate) fn next_due(&mut self, now: Instant) -> Option<Instant> {
        if self.running.is_some() || !self.workloads.is_synced || !self.sets.is_synced {
            return None;
        }
        let queue = &mut self.engine.state().queue;
        if queue.depth() > 0 { Some(now) } else { queue.next_due() }
    }

    /// Takes a key and starts a pass, if one is due.
    pub(crate) fn start(&mut self, now: Instant) {
        if self.running.is_some() || !self.workloads.is_synced || !self.sets.is_synced {
            return;
        }
        let Some(key) = self.engine.state().queue.take(now) else { return };
        let wire = Shared::<Wire>::default();
        let view = Shared::<Option<View>>::default();
        let outcome = Shared::<Option<Outcome>>::default();
        let link = Link {
            flavour: self.engine.flavour(),
            surroundings: self.surroundings.clone(),
            wire: wire.clone(),
            view: view.clone(),
            outcome: outcome.clone(),
        };
        let (engine, of) = (self.engine.clone(), key.clone());
        let future = Box::pin(async move { engine.attempt(&link, &of).await });
        self.running = Some(Running { key, future, wire, view, outcome });
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
            Poll::Ready(next) => {
                let ended =
                    Ended { next, outcome: lock(&running.outcome).take(), view: lock(&running.view).take() };
                let key = running.key.clone();
                self.running = None;
                Polled::Ended(key, Box::new(ended))
            }
        }
    }

    /// Its pass is over.
    pub(crate) fn finish(&mut self, key: &Key, ended: &Ended, now: Instant) -> Scheduled {
        self.engine.schedule(key, &ended.next, now)
    }
}
