//! What the watches bring, into the cache and the queue.

use std::time::Instant;

use plan::Workload;
use plan::template::Json;

use crate::index::{Key, Listed, Placed};
use crate::packed::Packed;
use crate::rivalry::{Rivalry, Sighting};
use crate::state::Engine;
use crate::territory::{Kind, Ticket};

impl Engine {
    /// Requeues these keys.
    pub fn requeue(&self, keys: impl IntoIterator<Item = Key>, now: Instant) {
        self.state().queue.requeue(keys, now);
    }

    /// All Deployments there are were listed, or all of a namespace (S2.1).
    pub fn workloads_listed(
        &self,
        namespace: Option<&str>,
        listed: impl IntoIterator<Item: Into<Packed<Workload>>>,
        now: Instant,
    ) {
        let requeued = self.cache().reset_workloads(namespace, listed, now);
        self.requeue(requeued, now);
    }

    /// The server's data was restored from a backup of this version: what refers to later ones is forgotten.
    pub fn restored(&self, kind: Kind, namespace: Option<&str>, version: u64) {
        self.cache().falls_to(kind, namespace, version);
        self.state().entries.values_mut().for_each(|entry| entry.rivalry = Rivalry::default());
        self.start_over();
    }

    /// All ReplicaSets that are watched were listed, or all of a namespace (S2.2).
    pub fn sets_listed(
        &self,
        namespace: Option<&str>,
        listed: impl IntoIterator<Item: Into<Packed<Placed>>>,
        now: Instant,
    ) {
        let requeued = self.cache().reset_sets(namespace, listed);
        self.requeue(requeued, now);
    }

    /// A Deployment was added or changed (S2.1).
    pub fn workload_came(&self, workload: impl Into<Packed<Workload>>, now: Instant) {
        let workload = workload.into();
        let requeued = self.cache().workload_came(workload, now);
        let mut state = self.state();
        requeued.iter().for_each(|(key, _)| state.early.changed(key));
        state.queue.heed(requeued, now);
    }

    /// A Deployment is gone, or cannot be understood any more (S2.1).
    pub fn workload_gone(&self, key: Key, version: &str, now: Instant) {
        let requeued = self.cache().delete_workload(key, version);
        self.requeue(requeued, now);
    }

    /// A ReplicaSet was added or changed (S2.2, S2.3).
    pub fn set_came(&self, placed: impl Into<Packed<Placed>>, now: Instant) {
        let placed = placed.into();
        let requeued = self.cache().set_came(placed);
        self.state().queue.heed(requeued, now);
    }

    /// A ReplicaSet left the watch (S2.4).
    pub fn set_gone(&self, namespace: &str, uid: &str, version: &str, now: Instant) {
        let requeued = self.cache().set_left(namespace, uid, version);
        self.state().queue.heed(requeued, now);
    }

    /// A Deployment was seen with its template, which the cache does not keep.
    pub fn saw_template(&self, key: &Key, workload: &Workload, template: Json<'_>) {
        self.state().templates.saw(key, workload, template);
    }

    /// A Deployment's status was seen, and who wrote it.
    pub fn saw_status(&self, key: &Key, sighting: Sighting, now: Instant) {
        if let Some(entry) = self.state().known(key) {
            entry.saw(sighting, now);
        }
    }

    /// The lists of one namespace have come that a ticket asked for. False if they are of no use any
    /// more.
    pub fn filled(
        &self,
        ticket: &Ticket,
        workloads: Listed<impl Into<Packed<Workload>>>,
        sets: Listed<impl Into<Packed<Placed>>>,
        now: Instant,
    ) -> bool {
        let requeued = self.cache().fill(ticket, workloads, sets, now);
        let is_of_use = requeued.is_some();
        self.requeue(requeued.unwrap_or_default(), now);
        is_of_use
    }

    /// A namespace belongs to this operator no longer.
    pub fn let_go(&self, namespace: &str, now: Instant) {
        let gone = self.cache().let_go(namespace);
        self.requeue(gone, now);
    }

    /// Rollouts that wait begin when those under way wait for their pods; to be called every
    /// [`SLOTS_LOOK`](crate::durations::SLOTS_LOOK). Returns whether any does.
    pub fn grant_slots(&self, now: Instant) -> bool {
        let mut state = self.state();
        let granted = state.starts.grant(now);
        state.requeue(granted, now)
    }
}
