//! The cache of a shard: it holds some namespaces only, which come and go.

use std::collections::BTreeSet;
use std::time::Instant;

use plan::Workload;

use super::heads::Placed;
use super::key::Key;
use super::namespace::Namespace;
use super::newest::Extent;
use super::{Index, Sight};
use crate::packed::Packed;
use crate::territory::{Change, Kind, Meaning, Territory, Ticket};
use crate::uid::Uid;

/// A list of a kind in one namespace.
#[derive(Debug)]
pub struct Listed<T> {
    /// What there is,
    pub items: Vec<T>,
    /// as of this version.
    pub version: u64,
}

impl Index {
    /// An empty cache that holds no namespace before one is taken in.
    #[must_use]
    pub fn of_shard(sight: Sight) -> Self {
        Self { territory: Some(Territory::default()), ..Self::watched(sight, Extent::Cluster) }
    }

    /// Whether objects of this namespace are kept.
    #[must_use]
    pub fn admits(&self, namespace: &str) -> bool {
        self.territory.as_ref().is_none_or(|territory| territory.admits(namespace))
    }

    /// Whether all of this namespace is in the cache, so that a reconcile may start from it.
    #[must_use]
    pub fn covers(&self, namespace: &str) -> bool {
        self.territory.as_ref().is_none_or(|territory| territory.covers(namespace))
    }

    /// A namespace belongs to this operator from now on. Before a reconcile it has to be listed; see
    /// [`Self::unlisted`].
    pub fn take_in(&mut self, namespace: &str) {
        if let Some(territory) = &mut self.territory {
            territory.take_in(namespace);
        }
    }

    /// A namespace belongs to this operator no longer. Returns which Deployments are gone by that.
    pub fn let_go(&mut self, namespace: &str) -> Vec<Key> {
        if let Some(territory) = &mut self.territory {
            territory.let_go(namespace);
        }
        let keys = self.keys_in(namespace);
        self.namespaces.remove(namespace);
        keys
    }

    /// The namespaces that have to be listed.
    #[must_use]
    pub fn unlisted(&self) -> Vec<Ticket> {
        self.territory.as_ref().map(Territory::unlisted).unwrap_or_default()
    }

    /// A watch of the whole cluster is about to list.
    pub fn begin(&mut self, kind: Kind) {
        if let Some(territory) = &mut self.territory {
            territory.begin(kind);
        }
    }

    /// The lists of one namespace have come, which were begun after the ticket was given. Returns which Deployments to
    /// look at; nothing if the lists are of no use any more.
    pub fn fill(
        &mut self,
        ticket: &Ticket,
        workloads: Listed<impl Into<Packed<Workload>>>,
        sets: Listed<impl Into<Packed<Placed>>>,
        now: Instant,
    ) -> Option<Vec<Key>> {
        let namespace = ticket.namespace.as_str();
        if !self.territory.as_ref()?.takes(ticket) {
            return None;
        }
        if let Some(told) = self.territory.as_mut()?.fill(Kind::Workloads, namespace, workloads.version) {
            for key in self.keys_in(namespace) {
                self.drop_workload(&key);
            }
            for workload in workloads.items {
                self.put_workload(workload.into(), now);
            }
            told.into_iter().for_each(|change| _ = self.carry_out(change));
        }
        if let Some(told) = self.territory.as_mut()?.fill(Kind::Sets, namespace, sets.version) {
            // A ReplicaSet that no longer exists has left the watch as by a list, and a reconcile asks why.
            let mut gone = self.sets_in(namespace);
            for placed in sets.items {
                let placed = placed.into();
                gone.remove(&placed.head().uid);
                self.replace_set(placed);
            }
            gone.iter().for_each(|uid| _ = self.drop_set(namespace, uid));
            told.into_iter().for_each(|change| _ = self.carry_out(change));
        }
        self.territory.as_mut()?.filled(namespace);
        Some(self.keys_in(namespace))
    }

    /// Carries a change out, unless the namespace is foreign or its list is awaited.
    pub(super) fn observe(&mut self, change: Change) -> Vec<Key> {
        let change = match &mut self.territory {
            None => Some(change),
            Some(territory) => territory.observe(change),
        };
        match change {
            Some(change) => self.carry_out(change),
            None => Vec::new(),
        }
    }

    fn carry_out(&mut self, change: Change) -> Vec<Key> {
        match change {
            Change::Workload(workload, now) => self.update_workload(workload, now),
            Change::WorkloadGone { key, .. } => {
                self.drop_workload(&key);
                vec![key]
            }
            Change::Set(placed) => self.put_set(placed),
            Change::SetGone { namespace, uid, .. } => self.drop_set(&namespace, &Uid::from(uid.as_str())),
        }
    }

    /// Whether the list of the whole cluster that comes now counts for a namespace.
    pub(super) fn counts(&self, kind: Kind, namespace: &str) -> bool {
        let meaning = |territory: &Territory| territory.meaning(kind, namespace);
        self.territory.as_ref().map(meaning).is_none_or(|meaning| meaning == Meaning::Counts)
    }

    /// The list of the cluster has come. Returns which Deployments to look at beside those that it changed.
    pub(super) fn was_reset(&mut self, kind: Kind) -> Vec<Key> {
        let whole = self.territory.as_mut().map(|territory| territory.reset(kind)).unwrap_or_default();
        whole.iter().flat_map(|namespace| self.keys_in(namespace)).collect()
    }

    pub(super) fn keys_in(&self, namespace: &str) -> Vec<Key> {
        let known = self.namespaces.get(namespace);
        let names = known.into_iter().flat_map(Namespace::names).cloned();
        names.map(|name| Key { namespace: namespace.to_owned(), name }).collect()
    }

    pub(super) fn sets_in(&self, namespace: &str) -> BTreeSet<Uid> {
        let known = self.namespaces.get(namespace);
        known.into_iter().flat_map(|known| known.sets.keys()).cloned().collect()
    }
}

#[cfg(test)]
mod tests;
