//! What the cache holds of one namespace.
//!
//! A uid names the owner of a ReplicaSet, and the author of the ReplicaSet chooses it. So nothing here refers to
//! another namespace, and whatever is looked up by uid, name, or selector is looked up within one. Owners are objects
//! of the same namespace (S2.12); a ReplicaSet that names another one's Deployment belongs to nobody.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use plan::{ReplicaSet, SetStatus, Workload};

use super::heads::{Placed, SetHead, is_newer};
use crate::packed::Packed;
use crate::uid::Uid;

/// A ReplicaSet that left the watch, and the operator does not know why: deleted, or its label was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
}

/// Deployments by name, ReplicaSets by uid and owner.
#[derive(Default)]
pub(super) struct Namespace {
    workloads: BTreeMap<String, Known>,
    names_by_uid: BTreeMap<Uid, String>,
    pub(super) sets: BTreeMap<Uid, Packed<Placed>>,
    /// The ReplicaSets of each owner, a Deployment or not, in their order.
    owned: BTreeMap<Uid, Vec<Uid>>,
    orphans: BTreeSet<Uid>,
    pub(super) strays: BTreeMap<String, Vec<Stray>>,
    /// ReplicaSets that the operator deleted and that the watch still shows.
    pub(super) expected_gone: BTreeSet<Uid>,
}

/// A Deployment, and since when the operator knows it.
struct Known {
    workload: Packed<Workload>,
    since: Instant,
}

impl Namespace {
    /// Whether nothing is kept of it.
    pub(super) fn is_empty(&self) -> bool {
        self.workloads.is_empty() && self.sets.is_empty()
    }

    pub(super) fn names(&self) -> impl ExactSizeIterator<Item = &String> {
        self.workloads.keys()
    }

    pub(super) fn workloads(&self) -> impl Iterator<Item = &Packed<Workload>> {
        self.workloads.values().map(|known| &known.workload)
    }

    pub(super) fn workload(&self, name: &str) -> Option<&Packed<Workload>> {
        self.workloads.get(name).map(|known| &known.workload)
    }

    /// The Deployment, and since when it is known.
    pub(super) fn first_seen(&self, name: &str) -> Option<(&Packed<Workload>, Instant)> {
        self.workloads.get(name).map(|known| (&known.workload, known.since))
    }

    /// The name of the Deployment with this uid.
    pub(super) fn name_of(&self, uid: &Uid) -> Option<&str> {
        self.names_by_uid.get(uid).map(String::as_str)
    }

    pub(super) fn put_workload(&mut self, name: &str, workload: Packed<Workload>, now: Instant) {
        let uid = workload.head().uid;
        let mut since = now;
        if let Some(known) = self.workloads.get(name) {
            let old = known.workload.head();
            if old.uid == uid {
                since = known.since;
            } else {
                self.names_by_uid.remove(&old.uid);
                self.strays.remove(name);
            }
        }
        self.names_by_uid.insert(uid, name.to_owned());
        self.workloads.insert(name.to_owned(), Known { workload, since });
    }

    pub(super) fn drop_workload(&mut self, name: &str) {
        if let Some(old) = self.workloads.remove(name) {
            self.names_by_uid.remove(&old.workload.head().uid);
        }
        self.strays.remove(name);
    }

    /// Whether it has a later version of this ReplicaSet.
    pub(super) fn has_newer_set(&self, head: &SetHead<'_>) -> bool {
        self.sets.get(&head.uid).is_some_and(|known| is_newer(&known.head(), head))
    }

    /// A ReplicaSet was added or changed. Returns the names of the Deployments that it concerns (S2.2, S2.3).
    pub(super) fn put_set(&mut self, placed: Packed<Placed>) -> Vec<String> {
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

    fn concerned(&self, old: Option<&Packed<Placed>>, placed: &Packed<Placed>) -> Vec<String> {
        let (before, new) = (old.map(|placed| placed.head()), placed.head());
        let mut requeued = Vec::new();
        let owner_changed = before.as_ref().is_none_or(|before| before.owner != new.owner);
        if owner_changed && let Some(uid) = before.and_then(|before| before.owner) {
            requeued.extend(self.names_by_uid.get(&uid).cloned());
        }
        match &new.owner {
            Some(uid) => requeued.extend(self.names_by_uid.get(uid).cloned()),
            None => {
                let set = placed.set();
                if owner_changed || old.is_none_or(|old| old.set().labels != set.labels) {
                    requeued.extend(self.suitors(&set));
                }
            }
        }
        requeued.dedup();
        requeued
    }

    /// Deployments with a selector that matches an orphan (S2.2).
    fn suitors<'a>(&'a self, set: &'a ReplicaSet) -> impl Iterator<Item = String> + 'a {
        self.workloads.iter().filter(|(_, known)| known.workload.wants(set)).map(|(name, _)| name.clone())
    }

    /// A ReplicaSet left the watch. Returns the name of its Deployment, and the ReplicaSet if nobody knows why it left
    /// (S2.4).
    pub(super) fn drop_set(&mut self, uid: &Uid) -> Option<(String, Option<Stray>)> {
        let was_expected = self.expected_gone.remove(uid);
        let known = self.sets.remove(uid)?;
        let set = known.head();
        self.unlink(&set);
        let name = self.names_by_uid.get(set.owner.as_ref()?)?.clone();
        let is_wanted = self.workload(&name).is_some_and(|workload| !workload.head().deleting);
        let is_stray = is_wanted && !was_expected && !set.deleting;
        let stray = is_stray.then(|| Stray { name: set.name.into_owned(), uid: uid.to_string() });
        Some((name, stray))
    }

    /// The ReplicaSets that this owner controls, in their order.
    pub(super) fn owned(&self, owner: &Uid) -> impl Iterator<Item = &Packed<Placed>> {
        self.owned.get(owner).into_iter().flatten().filter_map(|uid| self.sets.get(uid))
    }

    /// What the ReplicaSets that this owner controls report.
    pub(super) fn statuses(&self, owner: &Uid) -> impl Iterator<Item = SetStatus> {
        self.owned(owner).map(|placed| placed.pods().1)
    }

    /// The ReplicaSets that nobody controls.
    pub(super) fn orphans(&self) -> impl Iterator<Item = &Packed<Placed>> {
        self.orphans.iter().filter_map(|uid| self.sets.get(uid))
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
            None => _ = self.orphans.insert(set.uid.clone()),
        }
    }

    fn unlink(&mut self, set: &SetHead<'_>) {
        let Some(owner) = &set.owner else {
            self.orphans.remove(&set.uid);
            return;
        };
        if let Some(group) = self.owned.get_mut(owner) {
            group.retain(|other| *other != set.uid);
            if group.is_empty() {
                self.owned.remove(owner);
            }
        }
    }
}
