//! The only cache: Deployments and ReplicaSets, namespace by namespace. Every change names the Deployments that it
//! concerns (S2.1–S2.6).
//!
//! A reconcile never scans a namespace: it finds the ReplicaSets of a Deployment by its uid, and orphans
//! have a small index of their own. The cache keeps no template and packs everything else. It is most of
//! the memory of an idle operator, mainly for old revisions that nothing reads.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use plan::Workload;

use crate::packed::Packed;
use crate::territory::{Change, Kind, Territory};
use crate::uid::Uid;
pub use heads::Placed;
pub use key::Key;
use namespace::Namespace;
pub use namespace::Stray;
pub use newest::{Extent, Newest};
pub use shard::Listed;
pub(crate) use snapshot::PackedSnapshot;
pub use snapshot::Snapshot;

mod arrival;
pub(crate) mod heads;
pub(crate) mod key;
mod namespace;
mod newest;
mod shard;
mod snapshot;

/// Whether ReplicaSets are watched by label, so that leaving the watch need not mean deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Leaving may mean that the label was removed.
    ByLabel,
    /// Leaving is deletion.
    Whole,
}

/// The cache of one flavour.
pub struct Index {
    sight: Sight,
    /// Everything by namespace: nothing is looked up without one.
    namespaces: BTreeMap<String, Namespace>,
    heeds_strays: bool,
    /// The namespaces that it holds; `None` for all that the watches show.
    territory: Option<Territory>,
    /// What the watch of Deployments has shown.
    pub newest_workload: Newest,
    /// What the watch of ReplicaSets has shown.
    pub newest_set: Newest,
}

impl Index {
    /// An empty cache of the whole cluster.
    #[must_use]
    pub fn new(sight: Sight) -> Self {
        Self::watched(sight, Extent::Cluster)
    }

    /// An empty cache.
    #[must_use]
    pub fn watched(sight: Sight, extent: Extent) -> Self {
        Self {
            sight,
            namespaces: BTreeMap::new(),
            heeds_strays: true,
            territory: None,
            newest_workload: Newest::new(extent),
            newest_set: Newest::new(extent),
        }
    }

    /// A Deployment was added or changed (S2.1).
    pub fn apply_workload(&mut self, workload: impl Into<Packed<Workload>>, now: Instant) -> Vec<Key> {
        let workload = workload.into();
        let head = workload.head();
        self.newest_workload.saw(&head.namespace, &head.resource_version);
        self.observe(Change::Workload(workload, now))
    }

    fn update_workload(&mut self, workload: Packed<Workload>, now: Instant) -> Vec<Key> {
        vec![self.put_workload(workload, now)]
    }

    /// Its name.
    fn put_workload(&mut self, workload: Packed<Workload>, now: Instant) -> Key {
        let head = workload.head();
        let key = Key { namespace: head.namespace.into_owned(), name: head.name.into_owned() };
        self.within(&key.namespace).put_workload(&key.name, workload, now);
        key
    }

    /// What is kept of a namespace, where something is about to be.
    fn within(&mut self, namespace: &str) -> &mut Namespace {
        self.namespaces.entry(namespace.to_owned()).or_default()
    }

    /// A Deployment is gone, or cannot be understood any more.
    pub fn delete_workload(&mut self, key: Key, version: &str) -> Vec<Key> {
        self.newest_workload.saw(&key.namespace, version);
        self.observe(Change::WorkloadGone { key, version: version.to_owned() })
    }

    fn drop_workload(&mut self, key: &Key) {
        if let Some(namespace) = self.namespaces.get_mut(&key.namespace) {
            namespace.drop_workload(&key.name);
        }
        self.tidy(&key.namespace);
    }

    /// A namespace without objects takes no room.
    fn tidy(&mut self, namespace: &str) {
        if self.namespaces.get(namespace).is_some_and(Namespace::is_empty) {
            self.namespaces.remove(namespace);
        }
    }

    /// All Deployments, or those of a namespace, were listed again: what is not among them was deleted meanwhile.
    pub fn reset_workloads(
        &mut self,
        namespace: Option<&str>,
        listed: impl IntoIterator<Item: Into<Packed<Workload>>>,
        now: Instant,
    ) -> Vec<Key> {
        let listable = self.listable(Kind::Workloads, namespace);
        let mut gone: BTreeSet<Key> = listable.iter().flat_map(|namespace| self.keys_in(namespace)).collect();
        let mut requeued = Vec::new();
        for workload in listed {
            let workload = workload.into();
            let head = workload.head();
            self.newest_workload.saw(&head.namespace, &head.resource_version);
            if !self.counts(Kind::Workloads, &head.namespace) {
                continue;
            }
            let key = self.put_workload(workload, now);
            gone.remove(&key);
            requeued.push(key);
        }
        for key in gone {
            self.drop_workload(&key);
            requeued.push(key);
        }
        requeued.extend(self.was_reset(Kind::Workloads));
        requeued
    }

    /// A ReplicaSet was added or changed (S2.2, S2.3).
    pub fn apply_set(&mut self, placed: impl Into<Packed<Placed>>) -> Vec<Key> {
        let placed = placed.into();
        let head = placed.head();
        self.newest_set.saw(&head.namespace, &head.resource_version);
        self.observe(Change::Set(placed))
    }

    /// Takes over a version that a live read or a write returned, ahead of the watch.
    pub fn put_set(&mut self, placed: impl Into<Packed<Placed>>) -> Vec<Key> {
        let placed = placed.into();
        let head = placed.head();
        if !self.admits(&head.namespace) {
            return Vec::new();
        }
        let known = self.namespaces.get(&*head.namespace);
        if known.is_some_and(|known| known.has_newer_set(&head)) {
            return Vec::new();
        }
        self.replace_set(placed)
    }

    fn replace_set(&mut self, placed: Packed<Placed>) -> Vec<Key> {
        let namespace = placed.head().namespace.into_owned();
        let requeued = self.within(&namespace).put_set(placed);
        requeued.into_iter().map(|name| Key { namespace: namespace.clone(), name }).collect()
    }

    /// A ReplicaSet left the watch (S2.4).
    pub fn delete_set(&mut self, namespace: &str, uid: &str, version: &str) -> Vec<Key> {
        self.newest_set.saw(namespace, version);
        let (namespace, uid, version) = (namespace.to_owned(), uid.to_owned(), version.to_owned());
        self.observe(Change::SetGone { namespace, uid, version })
    }

    fn drop_set(&mut self, namespace: &str, uid: &Uid) -> Vec<Key> {
        let watches_strays = self.heeds_strays && self.sight == Sight::ByLabel;
        let Some(known) = self.namespaces.get_mut(namespace) else { return Vec::new() };
        let left = known.drop_set(uid);
        if let Some((owner, Some(stray))) = left.as_ref().filter(|_| watches_strays) {
            known.strays.entry(owner.clone()).or_default().push(stray.clone());
        }
        self.tidy(namespace);
        left.map(|(name, _)| Key { namespace: namespace.to_owned(), name }).into_iter().collect()
    }

    /// All ReplicaSets, or those of a namespace, were listed again: what is not among them left the watch meanwhile.
    /// What is among them counts as it is, even if its version is lower: the cluster may come from a backup.
    pub fn reset_sets(
        &mut self,
        namespace: Option<&str>,
        listed: impl IntoIterator<Item: Into<Packed<Placed>>>,
    ) -> Vec<Key> {
        let listable = self.listable(Kind::Sets, namespace);
        let uids = |namespace: String| {
            let uids = self.sets_in(&namespace);
            (namespace, uids)
        };
        let mut gone: BTreeMap<String, BTreeSet<Uid>> = listable.into_iter().map(uids).collect();
        let mut requeued = BTreeSet::new();
        for placed in listed {
            let placed = placed.into();
            let head = placed.head();
            self.newest_set.saw(&head.namespace, &head.resource_version);
            if !self.counts(Kind::Sets, &head.namespace) {
                continue;
            }
            if let Some(gone) = gone.get_mut(&*head.namespace) {
                gone.remove(&head.uid);
            }
            requeued.extend(self.replace_set(placed));
        }
        for (namespace, uids) in gone {
            requeued.extend(uids.iter().flat_map(|uid| self.drop_set(&namespace, uid)));
        }
        requeued.extend(self.was_reset(Kind::Sets));
        requeued.into_iter().collect()
    }

    /// The namespaces that a list that comes now shows in full: the one that was listed, or all.
    fn listable(&self, kind: Kind, namespace: Option<&str>) -> Vec<String> {
        let is_listed = |name: &&String| {
            namespace.is_none_or(|namespace| namespace == name.as_str()) && self.counts(kind, name)
        };
        self.namespaces.keys().filter(is_listed).cloned().collect()
    }

    /// The newest version that the watch of a namespace, or of all, has shown.
    #[must_use]
    pub fn newest(&self, kind: Kind, namespace: Option<&str>) -> Option<u64> {
        let newest = match kind {
            Kind::Workloads => &self.newest_workload,
            Kind::Sets => &self.newest_set,
        };
        newest.of(namespace.unwrap_or_default())
    }

    /// The server has only come as far as this version, in one namespace or in all: what was shown since counts no
    /// more.
    pub fn falls_to(&mut self, kind: Kind, namespace: Option<&str>, version: u64) {
        let newest = match kind {
            Kind::Workloads => &mut self.newest_workload,
            Kind::Sets => &mut self.newest_set,
        };
        newest.falls_to(namespace.unwrap_or_default(), version);
    }

    /// The operator deleted this ReplicaSet; when it leaves the watch nobody need ask why.
    pub fn expect_gone(&mut self, namespace: &str, uid: &str) {
        let uid = Uid::from(uid);
        if let Some(known) = self.namespaces.get_mut(namespace)
            && known.sets.contains_key(&uid)
        {
            known.expected_gone.insert(uid);
        }
    }

    /// The operator did not delete it after all.
    pub fn expect_no_more(&mut self, namespace: &str, uid: &str) {
        if let Some(known) = self.namespaces.get_mut(namespace) {
            known.expected_gone.remove(&Uid::from(uid));
        }
    }

    /// Whether a deleted ReplicaSet no longer shows, or shows as being deleted.
    #[must_use]
    pub fn shows_gone(&self, namespace: &str, uid: &str) -> bool {
        self.set(namespace, &Uid::from(uid)).is_none_or(|placed| placed.head().deleting)
    }

    /// uid of the Deployment.
    #[must_use]
    pub fn uid_of(&self, key: &Key) -> Option<String> {
        self.workload(key).map(|workload| workload.head().uid.to_string())
    }

    /// A ReplicaSet, if it is known.
    fn set(&self, namespace: &str, uid: &Uid) -> Option<&Packed<Placed>> {
        self.namespaces.get(namespace)?.sets.get(uid)
    }

    /// A Deployment, if it is known.
    fn workload(&self, key: &Key) -> Option<&Packed<Workload>> {
        self.namespaces.get(&key.namespace)?.workload(&key.name)
    }

    /// Sets of this Deployment that left the watch for a reason yet to be found out.
    #[must_use]
    pub fn strays(&self, key: &Key) -> Vec<Stray> {
        let known = self.namespaces.get(&key.namespace).and_then(|known| known.strays.get(&key.name));
        known.cloned().unwrap_or_default()
    }

    /// Nobody asks why ReplicaSets leave the watch: it is somebody else who deletes them. Who heeds strays
    /// again looks for all ReplicaSets without the label.
    pub fn ignore_strays(&mut self) {
        self.heeds_strays = false;
        self.namespaces.values_mut().for_each(|known| known.strays.clear());
    }

    /// From now on a ReplicaSet that leaves the watch is a stray, unless the operator deleted it.
    pub fn heed_strays(&mut self) {
        self.heeds_strays = true;
    }

    /// The reason was found out.
    pub fn settle_stray(&mut self, key: &Key, uid: &str) {
        let Some(known) = self.namespaces.get_mut(&key.namespace) else { return };
        if let Some(strays) = known.strays.get_mut(&key.name) {
            strays.retain(|stray| stray.uid != uid);
            if strays.is_empty() {
                known.strays.remove(&key.name);
            }
        }
    }

    /// The name of the Deployment of this namespace with this uid. An owner of another namespace is none (S2.12).
    #[must_use]
    pub fn key_of(&self, namespace: &str, uid: &str) -> Option<Key> {
        let name = self.namespaces.get(namespace)?.name_of(&Uid::from(uid))?;
        Some(Key { namespace: namespace.to_owned(), name: name.to_owned() })
    }

    /// All Deployments.
    pub fn keys(&self) -> impl Iterator<Item = Key> {
        self.namespaces.iter().flat_map(|(namespace, known)| {
            known.names().map(|name| Key { namespace: namespace.clone(), name: name.clone() })
        })
    }

    /// The namespaces with Deployments.
    pub fn namespaces(&self) -> impl Iterator<Item = &String> {
        let has_any = |(_, known): &(&String, &Namespace)| known.names().len() > 0;
        self.namespaces.iter().filter(has_any).map(|(namespace, _)| namespace)
    }

    /// All Deployments, by name.
    pub fn workloads(&self) -> impl Iterator<Item = &Packed<Workload>> {
        self.namespaces.values().flat_map(Namespace::workloads)
    }

    /// How many Deployments and ReplicaSets are cached.
    #[must_use]
    pub fn sizes(&self) -> (usize, usize) {
        let sizes = self.namespaces.values().map(|known| (known.names().len(), known.sets.len()));
        sizes.fold((0, 0), |(workloads, sets), more| (workloads + more.0, sets + more.1))
    }
}

#[cfg(test)]
pub(crate) mod tests;
