//! The recent history of Deployments and ReplicaSets: every version, and which object owns which.
//!
//! resourceVersion orders the versions of both kinds. So this module can restore the state at any moment of
//! the last seconds, as a controller with slightly lagging caches may have read it.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use plan::{Flavour, ReplicaSet, Workload};
use serde_json::Value;

use engine::index::Key;

/// How far back a controller's view may lie: its caches lag, and its writes may be throttled.
const WINDOW: SignedDuration = SignedDuration::from_secs(20);
/// How many versions of one object are kept at most.
const VERSIONS_MAX: usize = 64;
/// How many states of the ReplicaSets a write is compared with at most, and of the Deployment.
const SET_MOMENTS_MAX: usize = 64;
const WORKLOAD_MOMENTS_MAX: usize = 6;

/// An object, decoded, and as it came.
#[derive(Debug)]
pub(crate) struct Item<T> {
    pub(crate) decoded: T,
    pub(crate) body: Value,
}

#[derive(Debug)]
struct Version<T> {
    number: u64,
    at: Timestamp,
    /// `None`: from here on it is gone.
    item: Option<Arc<Item<T>>>,
}

/// The versions of one object, oldest first.
#[derive(Debug)]
pub(crate) struct Track<T> {
    versions: VecDeque<Version<T>>,
}

impl<T> Track<T> {
    fn new() -> Self {
        Self { versions: VecDeque::new() }
    }

    fn push(&mut self, number: u64, at: Timestamp, item: Option<Arc<Item<T>>>) {
        self.versions.push_back(Version { number, at, item });
        // The state at the start of the window is needed too: the last one before it stays.
        let is_over = |versions: &VecDeque<Version<T>>| {
            versions.len() > VERSIONS_MAX || versions.get(1).is_some_and(|next| next.at + WINDOW < at)
        };
        while is_over(&self.versions) {
            self.versions.pop_front();
        }
    }

    /// The object at that moment.
    fn at(&self, number: u64) -> Option<&Arc<Item<T>>> {
        self.versions.iter().rev().find(|version| version.number <= number)?.item.as_ref()
    }

    pub(crate) fn newest(&self) -> Option<&Arc<Item<T>>> {
        self.versions.back()?.item.as_ref()
    }

    fn is_forgotten(&self, now: Timestamp) -> bool {
        self.versions.back().is_none_or(|last| last.item.is_none() && last.at + WINDOW < now)
    }
}

#[derive(Debug)]
struct Placed {
    namespace: String,
    track: Track<ReplicaSet>,
}

/// Who controls a ReplicaSet: an object of the ReplicaSet's own namespace, by uid, or nobody (S2.12).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Controller {
    namespace: String,
    uid: Option<String>,
}

/// A Deployment and its ReplicaSets as a controller may have seen them.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) workload: Arc<Item<Workload>>,
    pub(crate) sets: Vec<Arc<Item<ReplicaSet>>>,
}

/// All Deployments and ReplicaSets.
#[derive(Debug)]
pub(crate) struct Fleet {
    pub(crate) flavour: Flavour,
    workloads: BTreeMap<Key, Track<Workload>>,
    /// By uid.
    keys: HashMap<String, Key>,
    sets: HashMap<String, Placed>,
    /// The ReplicaSets that one controls, or that nobody does, or did so within the window.
    groups: HashMap<Controller, BTreeSet<String>>,
    /// Whether all synced ReplicaSets report how many pods terminate: the cluster's feature gate (S9.4).
    pub(crate) reports_terminating: bool,
    /// Whether the controller in charge carries on from one write of its own to the next in the same reconcile, as
    /// Rollwright does (S4.5).
    pub(crate) carries_on: bool,
}

impl Fleet {
    pub(crate) fn new(flavour: Flavour, carries_on: bool) -> Self {
        Self {
            flavour,
            carries_on,
            workloads: BTreeMap::new(),
            keys: HashMap::new(),
            sets: HashMap::new(),
            groups: HashMap::new(),
            reports_terminating: true,
        }
    }

    pub(crate) fn workload(&self, key: &Key) -> Option<&Arc<Item<Workload>>> {
        self.workloads.get(key)?.newest()
    }

    pub(crate) fn set(&self, uid: &str) -> Option<&Arc<Item<ReplicaSet>>> {
        self.sets.get(uid)?.track.newest()
    }

    /// The Deployment of this namespace with this uid, while it is there.
    pub(crate) fn key_of(&self, namespace: &str, uid: &str) -> Option<&Key> {
        self.keys.get(uid).filter(|key| key.namespace == namespace)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.workloads.iter().filter(|(_, track)| track.newest().is_some()).map(|(key, _)| key)
    }

    pub(crate) fn set_uids(&self) -> impl Iterator<Item = &String> {
        self.sets.iter().filter(|(_, placed)| placed.track.newest().is_some()).map(|(uid, _)| uid)
    }

    /// A Deployment has become this; `None`: it is gone.
    pub(crate) fn put_workload(
        &mut self,
        key: &Key,
        version: u64,
        at: Timestamp,
        item: Option<Arc<Item<Workload>>>,
    ) {
        if let Some(old) = self.workload(key).map(|old| old.decoded.uid.clone()) {
            self.keys.remove(&old);
        }
        if let Some(item) = &item {
            self.keys.insert(item.decoded.uid.clone(), key.clone());
        }
        self.workloads.entry(key.clone()).or_insert_with(Track::new).push(version, at, item);
    }

    /// A ReplicaSet has become this; `None`: it is gone.
    pub(crate) fn put_set(
        &mut self,
        namespace: &str,
        uid: &str,
        (version, at): (u64, Timestamp),
        item: Option<Arc<Item<ReplicaSet>>>,
    ) {
        if let Some(item) = &item {
            self.link(namespace, &item.decoded);
            let status = &item.decoded.status;
            // Rollwright counts what it knows of one Deployment; only upstream asks the cluster's feature gate.
            let is_asked = self.flavour == Flavour::AppsV1 && status.observed_generation > 0;
            self.reports_terminating &= !is_asked || status.terminating.is_some();
        }
        let placed = || Placed { namespace: namespace.to_owned(), track: Track::new() };
        self.sets.entry(uid.to_owned()).or_insert_with(placed).track.push(version, at, item);
    }

    fn link(&mut self, namespace: &str, set: &ReplicaSet) {
        let controller = Controller { namespace: namespace.to_owned(), uid: set.controller_uid.clone() };
        self.groups.entry(controller).or_default().insert(set.uid.clone());
    }

    /// Forgets what has been gone for longer than any cache may lag.
    pub(crate) fn sweep(&mut self, now: Timestamp) {
        self.workloads.retain(|_, track| !track.is_forgotten(now));
        self.sets.retain(|_, placed| !placed.track.is_forgotten(now));
        self.groups.clear();
        let mut links = Vec::new();
        for placed in self.sets.values() {
            let items = placed.track.versions.iter().filter_map(|version| version.item.as_ref());
            let controller = |item: &Arc<Item<ReplicaSet>>| Controller {
                namespace: placed.namespace.clone(),
                uid: item.decoded.controller_uid.clone(),
            };
            let controllers: BTreeSet<_> = items.map(controller).collect();
            let uid = placed.track.versions.iter().rev().find_map(|version| version.item.as_ref());
            let Some(uid) = uid.map(|item| item.decoded.uid.clone()) else { continue };
            links.extend(controllers.into_iter().map(|controller| (controller, uid.clone())));
        }
        for (controller, uid) in links {
            self.groups.entry(controller).or_default().insert(uid);
        }
    }

    /// Sets that may have to do with a Deployment.
    fn candidates<'a>(&'a self, key: &'a Key, uid: &'a str) -> impl Iterator<Item = &'a Placed> + 'a {
        let group = |uid: Option<String>| {
            self.groups.get(&Controller { namespace: key.namespace.clone(), uid }).into_iter().flatten()
        };
        let uids: BTreeSet<&String> = group(Some(uid.to_owned())).chain(group(None)).collect();
        uids.into_iter().filter_map(|uid| self.sets.get(uid))
    }

    /// The state as of these moments: what the Deployment controls, and orphans it may see.
    pub(crate) fn view(&self, key: &Key, workload_at: u64, sets_at: u64) -> Option<View> {
        let workload = self.workloads.get(key)?.at(workload_at)?.clone();
        let seen = &workload.decoded;
        let belongs = |set: &&Arc<Item<ReplicaSet>>| match &set.decoded.controller_uid {
            Some(owner) => *owner == seen.uid,
            None => seen
                .selector
                .as_ref()
                .is_some_and(|selector| !selector.is_empty() && selector.matches(&set.decoded.labels)),
        };
        let sets = self.candidates(key, &seen.uid).filter_map(|placed| placed.track.at(sets_at));
        let sets = sets.filter(belongs).cloned().collect();
        Some(View { workload, sets })
    }

    /// The state as it is now.
    pub(crate) fn newest(&self, key: &Key) -> Option<View> {
        self.view(key, u64::MAX, u64::MAX)
    }

    /// Moments before `version` at which the ReplicaSets of a Deployment changed, the last one first;
    /// the one before all of them is the last.
    pub(crate) fn set_moments(&self, key: &Key, uid: &str, version: u64) -> Vec<u64> {
        let versions = self.candidates(key, uid).flat_map(|placed| &placed.track.versions);
        let mut moments: BTreeSet<u64> = versions.map(|it| it.number).filter(|it| *it < version).collect();
        moments.insert(0);
        moments.into_iter().rev().take(SET_MOMENTS_MAX).collect()
    }

    /// Versions of a Deployment before `version`, the last one first.
    pub(crate) fn workload_moments(&self, key: &Key, version: u64) -> Vec<u64> {
        let versions = self.workloads.get(key).into_iter().flat_map(|track| track.versions.iter().rev());
        versions.map(|it| it.number).filter(|it| *it < version).take(WORKLOAD_MOMENTS_MAX).collect()
    }
}
