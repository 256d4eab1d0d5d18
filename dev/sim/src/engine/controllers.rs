//! The ReplicaSet controller, the kubelets and the garbage collector, each when it is due.

use world::Change;
use world::{Key, Resource};

use super::{Engine, Event, SECOND, Time};
use crate::actor::Actor;
use crate::tenant::TENANT;

impl Engine<'_> {
    pub(crate) fn run_controllers(&mut self) {
        self.controllers_due = false;
        if self.holds.controllers > 0 {
            return;
        }
        let through = self.store.version();
        // Nothing is compacted before these have seen it.
        _ = self.sets.observe_sets(&self.store, through);
        _ = self.sets.observe_pods(&self.store, through);
        _ = self.jobs.observe(&self.store, through);
        _ = self.collector.observe(&self.store, through);
        while let Some(key) = self.sets.next_changed() {
            self.step_set(&key);
        }
        while let Some(key) = self.jobs.next_changed() {
            self.step_job(&key);
        }
        let waiting: Vec<Key> = self.collector.waiting().cloned().collect();
        for key in waiting {
            _ = self.collector.step(&mut self.store, &key);
        }
        self.settle(Actor::Cluster);
        // Everybody who reads the log has read it so far; operators read the history instead.
        self.store.compact(through);
    }

    pub(super) fn step_set(&mut self, key: &Key) {
        if self.slow_set.as_ref() == Some(key) {
            return self.look_at(self.now + SECOND, key.clone());
        }
        let victims = match &mut self.tenant {
            Some(tenant) if key.namespace == TENANT => &mut tenant.dice,
            _ => &mut self.victims,
        };
        let step = self.sets.step(&mut self.store, key, victims);
        if step.refused.is_some() {
            self.coverage.hit("pod refused");
        }
        if let Some(again) = step.again {
            let time = self.time_of(again);
            self.look_at(time.max(self.now + 1), key.clone());
        }
        self.settle(Actor::SetController);
    }

    fn step_job(&mut self, key: &Key) {
        let step = self.jobs.step(&mut self.store, key);
        if let Some(again) = step.again.filter(|_| key.resource == Resource::Jobs) {
            let time = self.time_of(again);
            self.look_at(time.max(self.now + 1), key.clone());
        }
        self.settle(Actor::Cluster);
    }

    pub(super) fn step_pod(&mut self, key: &Key) {
        let step = self.kubelets.step(&mut self.store, key, &mut self.nature);
        if let Some(again) = step.again {
            let time = self.time_of(again).max(self.now + 1);
            self.look_at(time, key.clone());
        }
        self.settle(Actor::Cluster);
    }

    /// Every pod is looked at again.
    pub(crate) fn look_at_pods(&mut self) {
        let keys: Vec<Key> = self.store.list(Resource::Pods, None).map(Key::of).collect();
        for key in keys {
            self.look_at(self.now, key);
        }
    }

    /// An object needs a look by then, if that is sooner than planned.
    pub(crate) fn look_at(&mut self, time: Time, key: Key) {
        if self.looks.get(&key).is_none_or(|planned| *planned > time) {
            self.looks.insert(key.clone(), time);
            self.at(time, Event::Look(key));
        }
    }

    pub(super) fn look(&mut self, key: &Key) {
        if self.looks.get(key) != Some(&self.now) {
            // The object was looked at sooner.
            return;
        }
        self.looks.remove(key);
        match key.resource {
            Resource::Pods => self.step_pod(key),
            Resource::Jobs if self.holds.controllers == 0 => self.step_job(key),
            _ if self.holds.controllers == 0 => self.step_set(key),
            _ => self.look_at(self.now + SECOND, key.clone()),
        }
    }

    /// What the version of a ReplicaSet before this one was counted from.
    pub(super) fn last_basis(&self, change: &Change) -> u64 {
        let before = change.before.as_ref().map(|before| before.version().to_string());
        before.map_or(change.version, |version| self.history.basis(&version))
    }
}
