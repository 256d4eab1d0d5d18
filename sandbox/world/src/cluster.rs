//! Everything that others do in a cluster, run plainly: immediately, in order, by one clock.
//!
//! The sandbox runs this by the wall clock. The simulator calls the parts itself and lets each
//! lag behind as it likes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use crate::chance::{Chance, First};
use crate::garbage_collector::GarbageCollector;
use crate::job_controller::JobController;
use crate::kubelet::{Conventions, Kubelets, Policy, homeless};
use crate::log::Expired;
use crate::replica_set_controller::ReplicaSetController;
use crate::resource::Resource;
use crate::store::Store;
use crate::store::key::Key;

/// The name of the only node, as in the tests' cluster.
pub const NODE_NAME: &str = "fake-node";

/// Pause of the garbage collector after a refusal.
const RETRY: Duration = Duration::from_secs(1);

/// Somebody's next look at an object, as the kind decides who that is.
#[derive(Clone, Debug, Default)]
struct Due {
    times: BTreeSet<(Timestamp, Key)>,
    by_key: BTreeMap<Key, Timestamp>,
}

impl Due {
    fn set(&mut self, key: &Key, at: Option<Timestamp>) {
        if let Some(before) = self.by_key.remove(key) {
            self.times.remove(&(before, key.clone()));
        }
        if let Some(at) = at {
            self.by_key.insert(key.clone(), at);
            self.times.insert((at, key.clone()));
        }
    }

    fn first(&self) -> Option<Timestamp> {
        self.times.first().map(|(at, _)| *at)
    }

    fn pop(&mut self, now: Timestamp) -> Option<Key> {
        if self.first()? > now {
            return None;
        }
        let (_, key) = self.times.pop_first()?;
        self.by_key.remove(&key);
        Some(key)
    }
}

/// The controllers and kubelets of a cluster, and when each has to look again.
pub struct Controllers {
    sets: ReplicaSetController,
    jobs: JobController,
    kubelets: Kubelets,
    collector: GarbageCollector,
    policy: Box<dyn Policy + Send>,
    chance: Box<dyn Chance + Send>,
    pods: BTreeSet<Key>,
    due: Due,
    collector_again: Option<Timestamp>,
    version: u64,
}

impl Default for Controllers {
    fn default() -> Self {
        Self::new(Box::new(Conventions::default()), Box::new(First))
    }
}

impl Controllers {
    /// Controllers that have just started, in a cluster of one node.
    #[must_use]
    pub fn new(policy: Box<dyn Policy + Send>, chance: Box<dyn Chance + Send>) -> Self {
        Self {
            sets: ReplicaSetController::new(),
            jobs: JobController::new(),
            kubelets: Kubelets::new(&[NODE_NAME]),
            collector: GarbageCollector::new(),
            policy,
            chance,
            pods: BTreeSet::new(),
            due: Due::default(),
            collector_again: None,
            version: 0,
        }
    }

    /// The kubelets.
    pub fn kubelets(&mut self) -> &mut Kubelets {
        &mut self.kubelets
    }

    /// Has pods looked at although nothing about them changed: for example, their node is back.
    pub fn look_at(&mut self, pods: impl IntoIterator<Item = Key>) {
        self.pods.extend(pods);
    }

    /// A container of a running pod ends and is started again.
    pub fn restart(&mut self, pod: &Key, now: Timestamp) {
        self.kubelets.restart(pod, now);
        self.look_at([pod.clone()]);
    }

    /// When something has to be done next without an event.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        self.due.first().into_iter().chain(self.collector_again).min()
    }

    /// The oldest version from which they still have to read the log.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Lets time pass up to a moment: everything that falls due on the way is done at its time.
    pub fn advance_to(&mut self, store: &mut Store, now: Timestamp) {
        self.settle(store);
        while let Some(next) = self.next_due().filter(|next| *next <= now) {
            store.set_now(store.now().max(next));
            self.settle(store);
        }
        store.set_now(store.now().max(now));
    }

    /// Does everything that can be done without time passing.
    pub fn settle(&mut self, store: &mut Store) {
        if self.collector_again.is_some_and(|again| again <= store.now()) {
            self.collector_again = None;
        }
        while let Some(key) = self.due.pop(store.now()) {
            match key.resource {
                Resource::ReplicaSets => self.step_set(store, &key),
                Resource::Jobs => self.step_job(store, &key),
                _ => _ = self.pods.insert(key),
            }
        }
        loop {
            self.catch_up(store);
            while let Some(key) = self.sets.next_changed() {
                self.step_set(store, &key);
            }
            while let Some(key) = self.jobs.next_changed() {
                self.step_job(store, &key);
            }
            while let Some(key) = self.pods.pop_first() {
                self.step_pod(store, &key);
            }
            self.collect(store);
            if self.version == store.version() {
                return;
            }
        }
    }

    fn collect(&mut self, store: &mut Store) {
        let waiting: Vec<Key> = self.collector.waiting().cloned().collect();
        for key in waiting {
            if self.collector.step(store, &key).is_err() {
                let again = store.now().saturating_add(RETRY).unwrap_or(Timestamp::MAX);
                self.collector_again.get_or_insert(again);
            }
        }
    }

    fn step_set(&mut self, store: &mut Store, key: &Key) {
        let step = self.sets.step(store, key, &mut *self.chance);
        if !step.waits {
            self.due.set(key, step.again);
        }
    }

    fn step_job(&mut self, store: &mut Store, key: &Key) {
        let step = self.jobs.step(store, key);
        if key.resource == Resource::Jobs {
            self.due.set(key, step.again);
        }
    }

    fn step_pod(&mut self, store: &mut Store, key: &Key) {
        let step = self.kubelets.step(store, key, &mut *self.policy);
        self.due.set(key, step.again);
    }

    fn catch_up(&mut self, store: &Store) {
        let through = store.version();
        if through == self.version {
            return;
        }
        if self.read(store, through).is_err() {
            self.sets.relist(store);
            self.jobs.relist(store);
            self.collector.relist(store);
            self.pods.extend(store.list(Resource::Pods, None).map(Key::of));
        }
        self.version = through;
    }

    fn read(&mut self, store: &Store, through: u64) -> Result<(), Expired> {
        for change in store.changes(Resource::Pods, self.version)? {
            self.pods.insert(Key::of(&change.object));
        }
        // A node that takes pods again.
        if store.changes(Resource::Nodes, self.version)?.next().is_some() {
            self.pods.extend(homeless(store));
        }
        self.sets.observe_sets(store, through)?;
        self.sets.observe_pods(store, through)?;
        self.jobs.observe(store, through)?;
        self.collector.observe(store, through)
    }
}

/// A store and the controllers over it.
pub struct Cluster {
    /// The objects.
    pub store: Store,
    /// Those who act on them.
    pub controllers: Controllers,
}

impl Cluster {
    /// An empty cluster with plain controllers at a time.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self { store: Store::new(now), controllers: Controllers::default() }
    }

    /// Lets time pass up to a moment.
    pub fn advance_to(&mut self, now: Timestamp) {
        self.controllers.advance_to(&mut self.store, now);
    }

    /// Does everything that can be done without time passing.
    pub fn settle(&mut self) {
        self.controllers.settle(&mut self.store);
    }

    /// When something has to be done next without an event.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        self.controllers.next_due()
    }
}
