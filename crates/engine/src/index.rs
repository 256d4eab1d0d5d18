//! The only cache: Deployments by name, ReplicaSets by uid and owner. Every change names the Deployments
//! that it concerns (S2.1–S2.6).
//!
//! A reconcile never scans a namespace: it finds the ReplicaSets of a Deployment by its uid, and orphans
//! have a small index of their own. The cache keeps no template and packs everything else. It is most of
//! the memory of an idle operator, mainly for old revisions that nothing reads.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Instant;

use plan::{ReplicaSet, Workload};

use crate::packed::Packed;
use crate::territory::{Change, Kind, Territory};
use crate::uid::Uid;
pub use heads::Placed;
use heads::{SetHead, is_newer};
pub use key::Key;
pub use newest::{Extent, Newest};
pub use shard::Listed;
pub(crate) use snapshot::PackedSnapshot;
pub use snapshot::Snapshot;

mod arrival;
mod heads;
mod key;
mod newest;
mod shard;
mod snapshot;

/// A set that left our sight without us knowing why: deleted, or its label was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
}

/// Whether sets are watched by label, so that leaving the watch need not mean deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Leaving may mean that the label was removed.
    ByLabel,
    /// Leaving is deletion.
    Whole,
}

/// A Deployment, and since when we know it.
struct Known {
    workload: Packed<Workload>,
    since: Instant,
}

/// The cache of one flavour.
pub struct Index {
    sight: Sight,
    workloads: BTreeMap<Key, Known>,
    keys_by_uid: BTreeMap<Uid, Key>,
    sets: BTreeMap<Uid, Packed<Placed>>,
    /// The sets of each owner, ours or not, in their order.
    owned: BTreeMap<Uid, Vec<Uid>>,
    orphans: HashMap<String, BTreeSet<Uid>>,
    strays: HashMap<Key, Vec<Stray>>,
    heeds_strays: bool,
    /// Sets that we deleted ourselves and that the watch still shows.
    expected_gone: HashSet<Uid>,
    /// The namespaces that it holds; `None` for all that it is told of.
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
            workloads: BTreeMap::new(),
            keys_by_uid: BTreeMap::new(),
            sets: BTreeMap::new(),
            owned: BTreeMap::new(),
            orphans: HashMap::new(),
            strays: HashMap::new(),
            heeds_strays: true,
            expected_gone: HashSet::new(),
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
        self.hear(Change::Workload(workload, now))
    }

    fn update_workload(&mut self, workload: Packed<Workload>, now: Instant) -> Vec<Key> {
        vec![self.put_workload(workload, now)]
    }

    /// Its name.
    fn put_workload(&mut self, workload: Packed<Workload>, now: Instant) -> Key {
        let head = workload.head();
        let uid = head.uid;
        let key = Key { namespace: head.namespace.into_owned(), name: head.name.into_owned() };
        let mut since = now;
        if let Some(known) = self.workloads.get(&key) {
            let old = known.workload.head();
            if old.uid == uid {
                since = known.since;
            } else {
                self.keys_by_uid.remove(&old.uid);
                self.strays.remove(&key);
            }
        }
        self.keys_by_uid.insert(uid, key.clone());
        self.workloads.insert(key.clone(), Known { workload, since });
        key
    }

    /// A Deployment is gone, or cannot be understood any more.
    pub fn delete_workload(&mut self, key: Key, version: &str) -> Vec<Key> {
        self.newest_workload.saw(&key.namespace, version);
        self.hear(Change::WorkloadGone { key, version: version.to_owned() })
    }

    fn drop_workload(&mut self, key: &Key) {
        if let Some(old) = self.workloads.remove(key) {
            self.keys_by_uid.remove(&old.workload.head().uid);
        }
        self.strays.remove(key);
    }

    /// All Deployments were listed anew, or all of a namespace: what is not among them was deleted
    /// meanwhile.
    pub fn reset_workloads(
        &mut self,
        namespace: Option<&str>,
        listed: impl IntoIterator<Item: Into<Packed<Workload>>>,
        now: Instant,
    ) -> Vec<Key> {
        let is_listed = |key: &&Key| {
            namespace.is_none_or(|namespace| key.namespace == namespace)
                && self.counts(Kind::Workloads, &key.namespace)
        };
        let mut gone: BTreeSet<Key> = self.workloads.keys().filter(is_listed).cloned().collect();
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
        self.hear(Change::Set(placed))
    }

    /// Takes over a version that a live read or a write returned, ahead of the watch.
    pub fn put_set(&mut self, placed: impl Into<Packed<Placed>>) -> Vec<Key> {
        let placed = placed.into();
        let head = placed.head();
        if !self.admits(&head.namespace) {
            return Vec::new();
        }
        if self.sets.get(&head.uid).is_some_and(|known| is_newer(&known.head(), &head)) {
            return Vec::new();
        }
        self.replace_set(placed)
    }

    fn replace_set(&mut self, placed: Packed<Placed>) -> Vec<Key> {
        let new = placed.head();
        let uid = new.uid.clone();
        let old = self.sets.get(&uid).cloned();
        if let Some(old) = old.as_ref().map(|placed| placed.head()) {
            if old.resource_version == new.resource_version {
                return Vec::new();
            }
            self.unlink(&old);
        }
        self.link(&new);
        let requeued = self.concerned(old.as_ref(), &placed);
        self.sets.insert(uid, placed);
        requeued
    }

    fn concerned(&self, old: Option<&Packed<Placed>>, placed: &Packed<Placed>) -> Vec<Key> {
        let (before, new) = (old.map(|placed| placed.head()), placed.head());
        let mut requeued = Vec::new();
        let owner_changed = before.as_ref().is_none_or(|before| before.owner != new.owner);
        if owner_changed && let Some(uid) = before.and_then(|before| before.owner) {
            requeued.extend(self.keys_by_uid.get(&uid).cloned());
        }
        match &new.owner {
            Some(uid) => requeued.extend(self.keys_by_uid.get(uid).cloned()),
            None => {
                let set = placed.set();
                if owner_changed || old.is_none_or(|old| old.set().labels != set.labels) {
                    requeued.extend(self.suitors(&new.namespace, &set));
                }
            }
        }
        requeued.dedup();
        requeued
    }

    /// Deployments whose selector matches an orphan (S2.2).
    fn suitors<'a>(&'a self, namespace: &'a str, set: &'a ReplicaSet) -> impl Iterator<Item = Key> + 'a {
        let first = Key { namespace: namespace.to_owned(), name: String::new() };
        let all = self.workloads.range(first..).take_while(move |(key, _)| key.namespace == namespace);
        all.filter(|(_, known)| known.workload.wants(set)).map(|(key, _)| key.clone())
    }

    /// A ReplicaSet left the watch (S2.4).
    pub fn delete_set(&mut self, namespace: &str, uid: &str, version: &str) -> Vec<Key> {
        self.newest_set.saw(namespace, version);
        let (namespace, uid, version) = (namespace.to_owned(), uid.to_owned(), version.to_owned());
        self.hear(Change::SetGone { namespace, uid, version })
    }

    fn drop_set(&mut self, uid: &Uid) -> Vec<Key> {
        let was_expected = self.expected_gone.remove(uid);
        let Some(known) = self.sets.remove(uid) else { return Vec::new() };
        let set = known.head();
        self.unlink(&set);
        let Some(key) = set.owner.as_ref().and_then(|owner| self.keys_by_uid.get(owner)) else {
            return Vec::new();
        };
        let is_wanted = self.workloads.get(key).is_some_and(|known| !known.workload.head().deleting);
        if self.heeds_strays && self.sight == Sight::ByLabel && is_wanted && !was_expected && !set.deleting {
            let stray = Stray { name: set.name.into_owned(), uid: uid.to_string() };
            self.strays.entry(key.clone()).or_default().push(stray);
        }
        vec![key.clone()]
    }

    /// All ReplicaSets were listed anew, or all of a namespace: what is not among them left the
    /// watch meanwhile. What is counts as it is, even if its version is lower: the cluster may come
    /// from a backup.
    pub fn reset_sets(
        &mut self,
        namespace: Option<&str>,
        listed: impl IntoIterator<Item: Into<Packed<Placed>>>,
    ) -> Vec<Key> {
        let is_listed = |placed: &Packed<Placed>| {
            let placed = placed.head();
            namespace.is_none_or(|namespace| placed.namespace == namespace)
                && self.counts(Kind::Sets, &placed.namespace)
        };
        let listable = self.sets.iter().filter(|(_, placed)| is_listed(placed));
        let mut gone: BTreeSet<Uid> = listable.map(|(uid, _)| uid.clone()).collect();
        let mut requeued = BTreeSet::new();
        for placed in listed {
            let placed = placed.into();
            let head = placed.head();
            self.newest_set.saw(&head.namespace, &head.resource_version);
            if !self.counts(Kind::Sets, &head.namespace) {
                continue;
            }
            gone.remove(&head.uid);
            requeued.extend(self.replace_set(placed));
        }
        for uid in gone {
            requeued.extend(self.drop_set(&uid));
        }
        requeued.extend(self.was_reset(Kind::Sets));
        requeued.into_iter().collect()
    }

    /// We deleted this set ourselves; when it leaves the watch nobody need ask why.
    pub fn expect_gone(&mut self, uid: &str) {
        let uid = Uid::from(uid);
        if self.sets.contains_key(&uid) {
            self.expected_gone.insert(uid);
        }
    }

    /// We did not delete it after all.
    pub fn expect_no_more(&mut self, uid: &str) {
        self.expected_gone.remove(&Uid::from(uid));
    }

    /// Whether a deleted set no longer shows, or shows as being deleted.
    #[must_use]
    pub fn shows_gone(&self, uid: &str) -> bool {
        self.sets.get(&Uid::from(uid)).is_none_or(|placed| placed.head().deleting)
    }

    /// uid of the Deployment.
    #[must_use]
    pub fn uid_of(&self, key: &Key) -> Option<String> {
        self.workloads.get(key).map(|known| known.workload.head().uid.to_string())
    }

    /// Sets of this Deployment that left the watch for a reason yet to be found out.
    #[must_use]
    pub fn strays(&self, key: &Key) -> Vec<Stray> {
        self.strays.get(key).cloned().unwrap_or_default()
    }

    /// Nobody asks why sets leave the watch: it is somebody else who deletes them. Who heeds strays
    /// again looks for all sets without the label.
    pub fn ignore_strays(&mut self) {
        self.heeds_strays = false;
        self.strays.clear();
    }

    /// From now on a set that leaves the watch is a stray, unless it was deleted by us.
    pub fn heed_strays(&mut self) {
        self.heeds_strays = true;
    }

    /// The reason was found out.
    pub fn settle_stray(&mut self, key: &Key, uid: &str) {
        if let Some(strays) = self.strays.get_mut(key) {
            strays.retain(|stray| stray.uid != uid);
            if strays.is_empty() {
                self.strays.remove(key);
            }
        }
    }

    /// The name of the Deployment with this uid.
    #[must_use]
    pub fn key_of(&self, uid: &str) -> Option<&Key> {
        self.keys_by_uid.get(&Uid::from(uid))
    }

    /// All Deployments.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.workloads.keys()
    }

    /// All Deployments, by name.
    pub fn workloads(&self) -> impl Iterator<Item = &Packed<Workload>> {
        self.workloads.values().map(|known| &known.workload)
    }

    /// How many Deployments and ReplicaSets are cached.
    #[must_use]
    pub fn sizes(&self) -> (usize, usize) {
        (self.workloads.len(), self.sets.len())
    }

    fn link(&mut self, set: &SetHead<'_>) {
        match &set.owner {
            Some(owner) => {
                let group = self.owned.entry(owner.clone()).or_default();
                if let Err(place) = group.binary_search(&set.uid) {
                    // Groups are small and there are many of them.
                    group.reserve_exact(1);
                    group.insert(place, set.uid.clone());
                }
            }
            None => {
                let group = self.orphans.entry(set.namespace.clone().into_owned()).or_default();
                group.insert(set.uid.clone());
            }
        }
    }

    fn unlink(&mut self, set: &SetHead<'_>) {
        if let Some(owner) = &set.owner {
            if let Some(group) = self.owned.get_mut(owner) {
                group.retain(|other| *other != set.uid);
                if group.is_empty() {
                    self.owned.remove(owner);
                }
            }
        } else if let Some(group) = self.orphans.get_mut(&*set.namespace) {
            group.remove(&set.uid);
            if group.is_empty() {
                self.orphans.remove(&*set.namespace);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
