//! The only cache: Deployments by name, ReplicaSets by uid and owner. Every change says whom
//! it concerns (S2.1–S2.6).
//!
//! A reconcile never scans a namespace: the sets of a Deployment are found by its uid, and
//! orphans have a small index of their own. No template is kept.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use plan::bug::{Bug, has};
use plan::{ReplicaSet, Workload};

use crate::territory::{Change, Kind, Territory};

/// Name of a Deployment.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl Key {
    /// The name of this Deployment.
    #[must_use]
    pub fn of(workload: &Workload) -> Self {
        Self { namespace: workload.namespace.clone(), name: workload.name.clone() }
    }
}

/// A ReplicaSet and its namespace.
#[derive(Clone, Debug)]
pub struct Placed {
    /// `metadata.namespace`.
    pub namespace: String,
    /// The set.
    pub set: Arc<ReplicaSet>,
}

/// A set that left our sight without us knowing why: deleted, or its label was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
}

/// What a pass starts from.
pub struct Snapshot {
    /// The Deployment.
    pub workload: Arc<Workload>,
    /// The sets it controls, and the orphans that its selector matches.
    pub sets: Vec<Arc<ReplicaSet>>,
}

/// Whether sets are watched by label, so that leaving the watch need not mean deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Leaving may mean that the label was removed.
    ByLabel,
    /// Leaving is deletion.
    Whole,
}

/// How much of the cluster one watch shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Cluster,
    /// One namespace; there is a watch for each. What one has shown says nothing about another.
    Namespace,
}

/// The newest resourceVersion that a watch has shown.
#[derive(Clone, Debug)]
pub struct Newest {
    extent: Extent,
    by_watch: HashMap<String, u64>,
}

impl Newest {
    fn new(extent: Extent) -> Self {
        Self { extent, by_watch: HashMap::new() }
    }

    fn watch_of<'a>(&self, namespace: &'a str) -> &'a str {
        match self.extent {
            Extent::Cluster => "",
            Extent::Namespace => namespace,
        }
    }

    fn saw(&mut self, namespace: &str, version: &str) {
        // Versions that are no numbers cannot be compared; nobody waits for them then.
        let Ok(version) = version.parse::<u64>() else { return };
        let watch = self.watch_of(namespace);
        match self.by_watch.get_mut(watch) {
            Some(newest) => *newest = version.max(*newest),
            None => _ = self.by_watch.insert(watch.to_owned(), version),
        }
    }

    /// Whether the watch of this namespace has shown this version or a later one.
    #[must_use]
    pub fn has_reached(&self, namespace: &str, version: u64) -> bool {
        self.by_watch.get(self.watch_of(namespace)).is_some_and(|newest| *newest >= version)
    }
}

/// A Deployment, and since when we know it.
struct Known {
    workload: Arc<Workload>,
    since: Instant,
}

/// The cache of one flavour.
pub struct Index {
    sight: Sight,
    workloads: BTreeMap<Key, Known>,
    keys_by_uid: HashMap<String, Key>,
    sets: HashMap<String, Placed>,
    owned: HashMap<String, BTreeSet<String>>,
    orphans: HashMap<String, BTreeSet<String>>,
    strays: HashMap<Key, Vec<Stray>>,
    heeds_strays: bool,
    /// Sets that we deleted ourselves and that the watch still shows.
    expected_gone: HashSet<String>,
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
            keys_by_uid: HashMap::new(),
            sets: HashMap::new(),
            owned: HashMap::new(),
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
    pub fn apply_workload(&mut self, workload: Workload, now: Instant) -> Vec<Key> {
        self.newest_workload.saw(&workload.namespace, &workload.resource_version);
        self.hear(Change::Workload(Box::new(workload), now))
    }

    fn update_workload(&mut self, workload: Workload, now: Instant) -> Vec<Key> {
        let before = self.workloads.get(&Key::of(&workload)).map(|known| known.workload.generation);
        let is_unnoticed = has(Bug::AnnotationsUnnoticed) && before == Some(workload.generation);
        let woken = vec![self.put_workload(workload, now)];
        if is_unnoticed { Vec::new() } else { woken }
    }

    fn put_workload(&mut self, workload: Workload, now: Instant) -> Key {
        let key = Key::of(&workload);
        let mut since = now;
        if let Some(old) = self.workloads.get(&key) {
            if old.workload.uid == workload.uid {
                since = old.since;
            } else {
                self.keys_by_uid.remove(&old.workload.uid);
                self.strays.remove(&key);
            }
        }
        self.keys_by_uid.insert(workload.uid.clone(), key.clone());
        self.workloads.insert(key.clone(), Known { workload: Arc::new(workload), since });
        key
    }

    /// A Deployment is gone, or cannot be understood any more.
    pub fn delete_workload(&mut self, key: Key, version: &str) -> Vec<Key> {
        self.newest_workload.saw(&key.namespace, version);
        self.hear(Change::WorkloadGone { key, version: version.to_owned() })
    }

    fn drop_workload(&mut self, key: &Key) {
        if let Some(old) = self.workloads.remove(key) {
            self.keys_by_uid.remove(&old.workload.uid);
        }
        self.strays.remove(key);
    }

    /// All Deployments were listed anew, or all of a namespace: what is not among them was deleted
    /// meanwhile.
    pub fn reset_workloads(
        &mut self,
        namespace: Option<&str>,
        listed: Vec<Workload>,
        now: Instant,
    ) -> Vec<Key> {
        let is_listed = |key: &&Key| {
            namespace.is_none_or(|namespace| key.namespace == namespace)
                && self.counts(Kind::Workloads, &key.namespace)
        };
        let mut gone: BTreeSet<Key> = self.workloads.keys().filter(is_listed).cloned().collect();
        let mut woken = Vec::with_capacity(listed.len());
        for workload in listed {
            self.newest_workload.saw(&workload.namespace, &workload.resource_version);
            if !self.counts(Kind::Workloads, &workload.namespace) {
                continue;
            }
            let key = self.put_workload(workload, now);
            gone.remove(&key);
            woken.push(key);
        }
        for key in gone {
            self.drop_workload(&key);
            woken.push(key);
        }
        woken.extend(self.was_reset(Kind::Workloads));
        woken
    }

    /// A ReplicaSet was added or changed (S2.2, S2.3).
    pub fn apply_set(&mut self, placed: Placed) -> Vec<Key> {
        self.newest_set.saw(&placed.namespace, &placed.set.resource_version);
        self.hear(Change::Set(placed))
    }

    /// Takes over a version that a live read or a write returned, ahead of the watch.
    pub fn put_set(&mut self, placed: Placed) -> Vec<Key> {
        if !self.admits(&placed.namespace) {
            return Vec::new();
        }
        let known = self.sets.get(&placed.set.uid);
        if known.is_some_and(|known| is_newer(&known.set, &placed.set)) {
            return Vec::new();
        }
        self.replace_set(placed)
    }

    /// Takes over a live read of a set that the cache has; one that left it must not come back,
    /// since nobody would take it out again.
    pub fn refresh_set(&mut self, placed: Placed) -> Vec<Key> {
        if self.sets.contains_key(&placed.set.uid) { self.put_set(placed) } else { Vec::new() }
    }

    fn replace_set(&mut self, placed: Placed) -> Vec<Key> {
        let uid = placed.set.uid.clone();
        let old = self.sets.get(&uid).map(|known| known.set.clone());
        if let Some(old) = &old {
            if old.resource_version == placed.set.resource_version {
                return Vec::new();
            }
            self.unlink(&uid, &placed.namespace, old.controller_uid.as_ref());
        }
        self.link(&uid, &placed.namespace, placed.set.controller_uid.as_ref());
        let woken = self.concerned(old.as_deref(), &placed);
        self.sets.insert(uid, placed);
        woken
    }

    fn concerned(&self, old: Option<&ReplicaSet>, placed: &Placed) -> Vec<Key> {
        let new = &*placed.set;
        let mut woken = Vec::new();
        let owner_changed = old.is_none_or(|old| old.controller_uid != new.controller_uid);
        if owner_changed
            && !has(Bug::OwnerChangeUnnoticed)
            && let Some(uid) = old.and_then(|old| old.controller_uid.as_ref())
        {
            woken.extend(self.keys_by_uid.get(uid).cloned());
        }
        match &new.controller_uid {
            Some(uid) => woken.extend(self.keys_by_uid.get(uid).cloned()),
            None if has(Bug::OwnerChangeUnnoticed) => {}
            None if old.is_none_or(|old| owner_changed || old.labels != new.labels) => {
                woken.extend(self.suitors(&placed.namespace, new));
            }
            None => {}
        }
        woken.dedup();
        woken
    }

    /// Deployments whose selector matches an orphan (S2.2).
    fn suitors<'a>(&'a self, namespace: &'a str, set: &'a ReplicaSet) -> impl Iterator<Item = Key> + 'a {
        let first = Key { namespace: namespace.to_owned(), name: String::new() };
        let all = self.workloads.range(first..).take_while(move |(key, _)| key.namespace == namespace);
        all.filter(|(_, known)| wants(&known.workload, set)).map(|(key, _)| key.clone())
    }

    /// A ReplicaSet left the watch (S2.4).
    pub fn delete_set(&mut self, namespace: &str, uid: &str, version: &str) -> Vec<Key> {
        self.newest_set.saw(namespace, version);
        let (namespace, uid, version) = (namespace.to_owned(), uid.to_owned(), version.to_owned());
        self.hear(Change::SetGone { namespace, uid, version })
    }

    fn drop_set(&mut self, uid: &str) -> Vec<Key> {
        let was_expected = self.expected_gone.remove(uid);
        let Some(Placed { namespace, set }) = self.sets.remove(uid) else { return Vec::new() };
        self.unlink(uid, &namespace, set.controller_uid.as_ref());
        let Some(key) = set.controller_uid.as_ref().and_then(|owner| self.keys_by_uid.get(owner)) else {
            return Vec::new();
        };
        let is_wanted = self.workloads.get(key).is_some_and(|known| !known.workload.deleting);
        if self.heeds_strays && self.sight == Sight::ByLabel && is_wanted && !was_expected && !set.deleting {
            let stray = Stray { name: set.name.clone(), uid: uid.to_owned() };
            self.strays.entry(key.clone()).or_default().push(stray);
        }
        vec![key.clone()]
    }

    /// All ReplicaSets were listed anew, or all of a namespace: what is not among them left the
    /// watch meanwhile. What is counts as it is, even if its version is lower: the cluster may come
    /// from a backup.
    pub fn reset_sets(&mut self, namespace: Option<&str>, listed: Vec<Placed>) -> Vec<Key> {
        let is_listed = |placed: &Placed| {
            namespace.is_none_or(|namespace| placed.namespace == namespace)
                && self.counts(Kind::Sets, &placed.namespace)
        };
        let listable = self.sets.iter().filter(|(_, placed)| is_listed(placed));
        let mut gone: BTreeSet<String> = listable.map(|(uid, _)| uid.clone()).collect();
        let mut woken = BTreeSet::new();
        for placed in listed {
            self.newest_set.saw(&placed.namespace, &placed.set.resource_version);
            if !self.counts(Kind::Sets, &placed.namespace) {
                continue;
            }
            gone.remove(&placed.set.uid);
            woken.extend(self.replace_set(placed));
        }
        for uid in gone {
            woken.extend(self.drop_set(&uid));
        }
        woken.extend(self.was_reset(Kind::Sets));
        woken.into_iter().collect()
    }

    /// We deleted this set ourselves; when it leaves the watch nobody need ask why.
    pub fn expect_gone(&mut self, uid: &str) {
        if self.sets.contains_key(uid) {
            self.expected_gone.insert(uid.to_owned());
        }
    }

    /// We did not delete it after all.
    pub fn expect_no_more(&mut self, uid: &str) {
        self.expected_gone.remove(uid);
    }

    /// Whether a deleted set no longer shows, or shows as being deleted.
    #[must_use]
    pub fn shows_gone(&self, uid: &str) -> bool {
        self.sets.get(uid).is_none_or(|placed| placed.set.deleting)
    }

    /// The Deployment, the sets it controls, and the orphans that its selector matches.
    #[must_use]
    pub fn snapshot(&self, key: &Key) -> Option<Snapshot> {
        let workload = self.workloads.get(key)?.workload.clone();
        let owned = self.owned.get(&workload.uid).into_iter().flatten();
        let orphans = self.orphans.get(&key.namespace).into_iter().flatten();
        let mut sets: Vec<_> = owned.filter_map(|uid| self.sets.get(uid)).map(|p| p.set.clone()).collect();
        let suited = orphans.filter_map(|uid| self.sets.get(uid)).filter(|p| wants(&workload, &p.set));
        sets.extend(suited.map(|placed| placed.set.clone()));
        Some(Snapshot { workload, sets })
    }

    /// The Deployment, and since when it is known.
    #[must_use]
    pub fn first_seen(&self, key: &Key) -> Option<(Arc<Workload>, Instant)> {
        self.workloads.get(key).map(|known| (known.workload.clone(), known.since))
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
        self.keys_by_uid.get(uid)
    }

    /// All Deployments.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.workloads.keys()
    }

    /// All Deployments, by name.
    pub fn workloads(&self) -> impl Iterator<Item = &Arc<Workload>> {
        self.workloads.values().map(|known| &known.workload)
    }

    /// How many Deployments and ReplicaSets are cached.
    #[must_use]
    pub fn sizes(&self) -> (usize, usize) {
        (self.workloads.len(), self.sets.len())
    }

    fn link(&mut self, uid: &str, namespace: &str, owner: Option<&String>) {
        let group = match owner {
            Some(owner) => self.owned.entry(owner.clone()).or_default(),
            None => self.orphans.entry(namespace.to_owned()).or_default(),
        };
        group.insert(uid.to_owned());
    }

    fn unlink(&mut self, uid: &str, namespace: &str, owner: Option<&String>) {
        let (groups, name) = match owner {
            Some(owner) => (&mut self.owned, owner.as_str()),
            None => (&mut self.orphans, namespace),
        };
        if let Some(group) = groups.get_mut(name) {
            group.remove(uid);
            if group.is_empty() {
                groups.remove(name);
            }
        }
    }
}

/// Whether the selector names something, and that matches (S2.2).
fn wants(workload: &Workload, set: &ReplicaSet) -> bool {
    workload.selector.as_ref().is_some_and(|selector| !selector.is_empty() && selector.matches(&set.labels))
}

/// Whether `known` is newer than `other`; false if that cannot be told.
fn is_newer(known: &ReplicaSet, other: &ReplicaSet) -> bool {
    match (known.resource_version.parse::<u64>(), other.resource_version.parse::<u64>()) {
        (Ok(known), Ok(other)) => known > other,
        _ => false,
    }
}

mod shard;
pub use shard::Listed;
#[cfg(test)]
pub(crate) mod tests;
