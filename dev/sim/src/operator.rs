//! One operator process: its cache, its queue, and the attempts that it is in.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use ::engine::index::{Index, Key, Placed, Sight};
use ::engine::next::{Next, Scheduled};
use ::engine::reconcile::Outcome;
use ::engine::rivalry::Sighting;
use ::engine::{Engine, Looking, Settings};
use diagnosis::Words;
use jiff::Timestamp;
use plan::{Flavour, Workload};

use crate::conduct::Conduct;
use crate::fleet::Fleet;
use crate::history::{History, WorkloadVersion};
use crate::link::{Ended, Link, Sent, Shared, Surroundings, Wire, lock};
use crate::scenario::Scenario;
use crate::subject::{Subject, Which, called};
use crate::tenant::TENANT;
use crate::view::View;

/// The operator looks what blocks a rollout that has not moved for so long.
pub(crate) const BLOCKED_AFTER: Duration = Duration::from_secs(10);

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
    /// The newest version of an object that it has shown. A list does not show the version that it is of.
    pub(crate) newest: u64,
    /// The same of objects that are not the tenant's.
    pub(crate) newest_other: u64,
    pub(crate) is_synced: bool,
    /// A delivery is on its way.
    pub(crate) is_due: bool,
}

/// The newest version of what a watch shows, and of what is not the tenant's.
struct Newest(u64, u64);

impl Newest {
    fn of<'a>(shown: impl Iterator<Item = (u64, &'a str)>) -> Self {
        shown.fold(Self(0, 0), |Self(all, others), (version, namespace)| {
            Self(all.max(version), if namespace == TENANT { others } else { others.max(version) })
        })
    }
}

impl Cursor {
    fn saw(&mut self, Newest(all, others): Newest) {
        (self.newest, self.newest_other) = (self.newest.max(all), self.newest_other.max(others));
    }
}

/// An attempt that waits for an answer, or for another attempt.
struct Running {
    key: Key,
    future: Pin<Box<dyn Future<Output = Next> + Send>>,
    wire: Shared<Wire>,
    view: Shared<Option<View>>,
    outcome: Shared<Option<Outcome>>,
    /// Whether a request of it is under way.
    is_asking: bool,
}

/// One operator process.
pub(crate) struct Operator {
    engine: Arc<Engine>,
    pub(crate) surroundings: Shared<Surroundings>,
    pub(crate) workloads: Cursor,
    pub(crate) sets: Cursor,
    running: BTreeMap<u64, Running>,
    /// How many attempts may run, and how many have begun.
    workers: usize,
    begun: u64,
    pub(crate) conduct: Conduct,
    /// When it wants to run again, if that is arranged for.
    pub(crate) alarm: Option<u64>,
}

/// What polling a reconcile came to.
pub(crate) enum Polled {
    Sends(Sent),
    Ended(Key, Box<Ended>),
    Idle,
}

impl Operator {
    pub(crate) fn new(
        process: u64,
        flavour: Flavour,
        scenario: &Scenario,
        now: Instant,
        wall: Timestamp,
    ) -> Self {
        let sight = if flavour.set_labels().is_some() { Sight::ByLabel } else { Sight::Whole };
        let jobs = Settings { runs_jobs: !scenario.lacks_jobs, ..Settings::default() };
        let plain = Settings { starts: false, cooldowns: false, force: true, ..jobs };
        let looking = Looking { after: BLOCKED_AFTER, words: Words::Withheld, engines: 1 };
        let shared = |fleet: &Fleet| {
            // Every other one is always busy, so that both paces are played.
            let busy_at = if scenario.salt.is_multiple_of(2) { 0 } else { plain.busy_at };
            Settings { slots: fleet.limit, looking: Some(looking), busy_at, ..jobs }
        };
        let settings = scenario.fleet.as_ref().map_or(plain, shared);
        let surroundings = Surroundings {
            process,
            now,
            wall,
            watches_pods: BTreeSet::new(),
            events: Vec::new(),
            told: Vec::new(),
            notes: Vec::new(),
            forgotten: Vec::new(),
            is_watch_broken: false,
        };
        let engine = Engine::new(flavour, settings, Index::new(sight), now);
        engine.await_lists(now);
        Self {
            engine: Arc::new(engine),
            surroundings: Arc::new(Mutex::new(surroundings)),
            workloads: Cursor::default(),
            sets: Cursor::default(),
            running: BTreeMap::new(),
            workers: scenario.fleet.as_ref().map_or(1, |fleet| fleet.workers.max(1)),
            begun: 0,
            conduct: Conduct::default(),
            alarm: None,
        }
    }

    pub(crate) fn cursor(&mut self, watch: Watch) -> &mut Cursor {
        match watch {
            Watch::Workloads => &mut self.workloads,
            Watch::Sets => &mut self.sets,
        }
    }

    pub(crate) fn set_clocks(&self, now: Instant, wall: Timestamp, is_watch_broken: bool) {
        let mut surroundings = lock(&self.surroundings);
        surroundings.now = now;
        surroundings.wall = wall;
        surroundings.is_watch_broken = is_watch_broken;
    }

    /// Lists again, as the cluster was at a version.
    pub(crate) fn list(&mut self, watch: Watch, history: &History, version: u64, now: Instant) {
        let newest = match watch {
            Watch::Workloads => {
                let listed = history.workloads_at(version);
                let newest = Newest::of(listed.iter().map(|it| (it.version, it.workload.namespace.as_str())));
                for entry in &listed {
                    self.sees(entry, now);
                }
                let listed = listed.iter().map(|entry| Workload::clone(&entry.workload));
                self.engine.workloads_listed(None, listed, now);
                newest
            }
            Watch::Sets => {
                let listed = history.sets_at(version);
                let placed = |entry: &&crate::history::SetVersion| Placed {
                    namespace: entry.namespace.clone(),
                    set: entry.set.clone(),
                };
                self.engine.sets_listed(None, listed.iter().map(placed), now);
                Newest::of(listed.iter().map(|it| (it.version, it.namespace.as_str())))
            }
        };
        let cursor = self.cursor(watch);
        cursor.version = version;
        cursor.saw(newest);
        cursor.is_synced = true;
        if self.has_lists() && self.engine.awaits_lists() {
            self.engine.lists_came(now);
        }
    }

    /// Reads on, up to a version.
    pub(crate) fn read(&mut self, watch: Watch, history: &History, through: u64, now: Instant) {
        let engine = &self.engine;
        let newest = match watch {
            Watch::Workloads => {
                for entry in history.workloads_after(self.workloads.version) {
                    self.sees(entry, now);
                    let workload = &entry.workload;
                    if entry.is_deleted {
                        engine.workload_gone(Key::of(workload), &workload.resource_version, now);
                    } else {
                        engine.workload_came(Workload::clone(workload), now);
                    }
                }
                let read = history.workloads_after(self.workloads.version).iter();
                Newest::of(read.map(|it| (it.version, it.workload.namespace.as_str())))
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
                let read = history.sets_after(self.sets.version).iter();
                Newest::of(read.map(|it| (it.version, it.namespace.as_str())))
            }
        };
        let cursor = self.cursor(watch);
        cursor.version = through;
        cursor.saw(newest);
    }

    /// A status was seen, and who wrote it.
    fn sees(&self, entry: &WorkloadVersion, now: Instant) {
        if let Some(writer) = entry.writer.clone().filter(|_| !entry.is_deleted) {
            let sighting = Sighting::new(&entry.workload, Some(writer));
            self.engine.saw_status(&Key::of(&entry.workload), sighting, now);
        }
    }

    /// Rollouts that wait begin, if there is room.
    pub(crate) fn grant_slots(&self, now: Instant) {
        self.engine.grant_slots(now);
    }

    /// Whether a Deployment comes again by itself, or does not concern it.
    pub(crate) fn comes(&self, subject: &Subject<'_>) -> bool {
        let key = Key { namespace: subject.namespace.clone(), name: subject.name.clone() };
        let queue = &self.engine.state().queue;
        queue.depth() > 0 || queue.waiting().contains_key(&key) || self.engine.cache().uid_of(&key).is_none()
    }

    /// The Deployment that a ReplicaSet of this namespace belongs to.
    pub(crate) fn owner(&self, namespace: &str, uid: &str) -> Option<Which> {
        self.engine.cache().key_of(namespace, uid).map(|key| called(&key.namespace, &key.name))
    }

    /// Pods of these Deployments changed while they are watched.
    pub(crate) fn requeue(&mut self, of: &[Which], now: Instant) {
        let is_meant = |key: &Key| of.contains(&called(&key.namespace, &key.name));
        let keys: Vec<Key> = self.engine.cache().keys().filter(is_meant).collect();
        self.engine.requeue(keys, now);
    }

    /// When it has something to do next.
    pub(crate) fn next_due(&mut self, now: Instant) -> Option<Instant> {
        if !self.may_take() {
            return None;
        }
        let queue = &mut self.engine.state().queue;
        if queue.depth() > 0 { Some(now) } else { queue.next_due() }
    }

    /// Whether one more attempt may run.
    pub(crate) fn may_start(&self) -> bool {
        self.has_worker() && self.has_lists()
    }

    fn has_lists(&self) -> bool {
        self.workloads.is_synced && self.sets.is_synced
    }

    /// Whether a key may be taken. Before the lists of its start have come, the engine picks.
    fn may_take(&self) -> bool {
        self.has_worker() && (self.has_lists() || self.engine.awaits_lists())
    }

    /// Whether a worker has nothing to do.
    pub(crate) fn has_worker(&self) -> bool {
        self.running.len() < self.workers
    }

    /// Takes a key and starts an attempt, if one is due. Its number.
    pub(crate) fn start(&mut self, now: Instant) -> Option<(u64, Which)> {
        if !self.may_take() {
            return None;
        }
        let key = self.engine.state().queue.take(now)?;
        self.begun += 1;
        let (attempt, of) = (self.begun, called(&key.namespace, &key.name));
        let wire = Shared::<Wire>::default();
        let view = Shared::<Option<View>>::default();
        let outcome = Shared::<Option<Outcome>>::default();
        let link = Link {
            of,
            attempt,
            flavour: self.engine.flavour(),
            surroundings: self.surroundings.clone(),
            wire: wire.clone(),
            view: view.clone(),
            outcome: outcome.clone(),
        };
        let (engine, taken) = (self.engine.clone(), key.clone());
        let future = Box::pin(async move { engine.attempt(&link, &taken).await });
        self.running.insert(attempt, Running { key, future, wire, view, outcome, is_asking: false });
        Some((attempt, of))
    }

    /// Hands an attempt the reply that it waits for.
    pub(crate) fn reply(&mut self, attempt: u64, reply: crate::link::Reply) {
        if let Some(running) = self.running.get_mut(&attempt) {
            lock(&running.wire).reply = Some(reply);
            running.is_asking = false;
        }
    }

    /// The attempts that wait for another one, such as for a list that they share.
    pub(crate) fn blocked(&self) -> Vec<u64> {
        let blocked = self.running.iter().filter(|(_, running)| !running.is_asking);
        blocked.map(|(attempt, _)| *attempt).collect()
    }

    /// Lets an attempt continue until it has to wait.
    pub(crate) fn poll(&mut self, attempt: u64) -> Polled {
        let Some(running) = self.running.get_mut(&attempt) else { return Polled::Idle };
        let mut context = Context::from_waker(Waker::noop());
        match running.future.as_mut().poll(&mut context) {
            Poll::Pending => {
                let sent = lock(&running.wire).sent.take();
                running.is_asking |= sent.is_some();
                sent.map_or(Polled::Idle, Polled::Sends)
            }
            Poll::Ready(next) => {
                let (outcome, view) = (lock(&running.outcome).take(), lock(&running.view).take());
                let key = running.key.clone();
                self.running.remove(&attempt);
                Polled::Ended(
                    key.clone(),
                    Box::new(Ended { of: called(&key.namespace, &key.name), next, outcome, view }),
                )
            }
        }
    }

    /// Its reconcile is over.
    pub(crate) fn finish(&mut self, key: &Key, ended: &Ended, now: Instant) -> Scheduled {
        self.engine.schedule(key, &ended.next, now)
    }
}
