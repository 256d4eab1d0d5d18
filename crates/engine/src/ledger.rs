//! Read-your-writes: the operator plans a Deployment again only when the cache shows what the last
//! reconcile wrote.
//!
//! Preconditions on every write prevent a stale cache from overwriting anything. The ledger prevents
//! useless work, and a new ReplicaSet that is too large: the sizes of other ReplicaSets are part of that
//! decision and of no precondition (SU-1). Versions are compared within one kind only, and only as numbers.
//! The operator does not wait for what it cannot compare.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::{Duration, Instant};

use crate::index::{Index, Key};

/// What one flavour's reconciles wrote and the cache may not show yet.
#[derive(Default)]
pub struct Ledger {
    entries: HashMap<Key, Entry>,
}

struct Entry {
    since: Instant,
    workload: Option<u64>,
    set: Option<u64>,
    gone: Vec<String>,
    /// The ReplicaSets of writes of which nobody knows, or that conflicted.
    doubtful: Vec<String>,
}

/// Whether a reconcile may start from the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// The cache shows everything.
    Ready,
    /// Not yet; look again then at the latest.
    Wait(Instant),
    /// It had time enough.
    Overdue,
}

impl Ledger {
    /// The Deployment itself was written, and became this version.
    pub fn wrote_workload(&mut self, key: &Key, version: &str, now: Instant) {
        if let Ok(version) = version.parse() {
            let entry = self.entry(key, now);
            entry.workload = entry.workload.max(Some(version));
        }
    }

    /// A ReplicaSet was written, and became this version.
    pub fn wrote_set(&mut self, key: &Key, version: &str, now: Instant) {
        if let Ok(version) = version.parse() {
            let entry = self.entry(key, now);
            entry.set = entry.set.max(Some(version));
        }
    }

    /// A ReplicaSet was deleted.
    pub fn deleted_set(&mut self, key: &Key, uid: &str, now: Instant) {
        self.entry(key, now).gone.push(uid.to_owned());
    }

    /// Nobody knows what came of a write to this ReplicaSet, or the cache is behind it. Who plans from such a cache
    /// would count sizes wrong, so it is looked at before the next reconcile.
    pub fn doubts(&mut self, key: &Key, set: &str, now: Instant) {
        let doubtful = &mut self.entry(key, now).doubtful;
        if !doubtful.iter().any(|known| known == set) {
            doubtful.push(set.to_owned());
        }
    }

    /// The name of the ReplicaSet to look at next.
    #[must_use]
    pub fn in_doubt(&self, key: &Key) -> Option<&str> {
        self.entries.get(key)?.doubtful.first().map(String::as_str)
    }

    /// This one was looked at, and has this version if it is there: as if the answer had come now.
    pub fn settled(&mut self, key: &Key, set: &str, version: Option<&str>, now: Instant) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.doubtful.retain(|known| known != set);
        }
        if let Some(version) = version {
            self.wrote_set(key, version, now);
        }
    }

    fn entry(&mut self, key: &Key, now: Instant) -> &mut Entry {
        let entry =
            || Entry { since: now, workload: None, set: None, gone: Vec::new(), doubtful: Vec::new() };
        let entry = self.entries.entry(key.clone()).or_insert_with(entry);
        entry.since = now;
        entry
    }

    /// Whether the cache shows what was written for this Deployment; it is given so much time (S14.4).
    pub fn check(&mut self, patience: Duration, key: &Key, index: &Index, now: Instant) -> Readiness {
        let Some(entry) = self.entries.get(key) else { return Readiness::Ready };
        if entry.is_shown_by(&key.namespace, index) {
            self.entries.remove(key);
            return Readiness::Ready;
        }
        let deadline = entry.since + patience;
        if now < deadline { Readiness::Wait(deadline) } else { Readiness::Overdue }
    }

    /// What is waited for, by Deployment, and since when.
    #[must_use]
    pub fn waits(&self) -> BTreeMap<&Key, (Instant, String)> {
        self.entries.iter().map(|(key, entry)| (key, (entry.since, entry.to_string()))).collect()
    }

    /// Everything is about to be listed anew: what has been written before, those lists show. Only
    /// what is in doubt may yet come.
    pub fn start_over(&mut self) {
        self.entries.retain(|_, entry| {
            (entry.workload, entry.set) = (None, None);
            entry.gone.clear();
            !entry.doubtful.is_empty()
        });
    }

    /// The Deployment is gone: nothing is waited for.
    pub fn clear(&mut self, key: &Key) {
        self.entries.remove(key);
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.workload.map(|version| format!("Deployment at version {version}")));
        parts.extend(self.set.map(|version| format!("ReplicaSet at version {version}")));
        parts.extend(self.gone.iter().map(|uid| format!("ReplicaSet {uid} gone")));
        parts.extend(self.doubtful.iter().map(|name| format!("what came of a write to {name}")));
        f.write_str(&parts.join(", "))
    }
}

impl Entry {
    fn is_shown_by(&self, namespace: &str, index: &Index) -> bool {
        self.workload.is_none_or(|version| index.newest_workload.has_reached(namespace, version))
            && self.set.is_none_or(|version| index.newest_set.has_reached(namespace, version))
            && self.gone.iter().all(|uid| index.shows_gone(namespace, uid))
    }
}

#[cfg(test)]
mod tests;
