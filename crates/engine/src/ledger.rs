//! Read-your-writes: the operator plans a Deployment again only when the cache shows what the last
//! reconcile wrote.
//!
//! Preconditions on every write prevent a stale cache from overwriting anything. The ledger prevents
//! useless work, and a new ReplicaSet that is too large: the sizes of other ReplicaSets are part of that
//! decision and of no precondition (SU-1). Versions are compared within one kind only, and only as numbers.
//! The operator does not wait for what it cannot compare.

use std::fmt;
use std::time::{Duration, Instant};

use crate::index::{Index, Key};

/// What the reconciles of one Deployment wrote and the cache may not show yet.
#[derive(Default)]
pub(crate) struct Ledger(Option<Box<Unseen>>);

struct Unseen {
    since: Instant,
    workload: Option<u64>,
    set: Option<u64>,
    gone: Vec<String>,
    /// The ReplicaSets of writes that conflicted, or have an unknown outcome.
    doubtful: Vec<String>,
}

/// Whether a reconcile may start from the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// The cache shows everything.
    Ready,
    /// Not yet; look again then at the latest.
    Wait(Instant),
    /// The cache had time enough.
    Overdue,
}

impl Ledger {
    /// The Deployment itself was written, and became this version.
    pub(crate) fn wrote_workload(&mut self, version: &str, now: Instant) {
        if let Ok(version) = version.parse() {
            let entry = self.unseen(now);
            entry.workload = entry.workload.max(Some(version));
        }
    }

    /// A ReplicaSet was written, and became this version.
    pub(crate) fn wrote_set(&mut self, version: &str, now: Instant) {
        if let Ok(version) = version.parse() {
            let entry = self.unseen(now);
            entry.set = entry.set.max(Some(version));
        }
    }

    pub(crate) fn deleted_set(&mut self, uid: &str, now: Instant) {
        self.unseen(now).gone.push(uid.to_owned());
    }

    /// Nobody knows the outcome of a write to this ReplicaSet, or the cache is behind it. A plan from such a cache
    /// would count sizes wrong, so the operator looks at the ReplicaSet before the next reconcile.
    pub(crate) fn doubts(&mut self, set: &str, now: Instant) {
        let doubtful = &mut self.unseen(now).doubtful;
        if !doubtful.iter().any(|known| known == set) {
            doubtful.push(set.to_owned());
        }
    }

    /// The name of the ReplicaSet to look at next.
    pub(crate) fn in_doubt(&self) -> Option<&str> {
        self.0.as_ref()?.doubtful.first().map(String::as_str)
    }

    /// This one was looked at, and has this version if it is there: as if the answer had come now.
    pub(crate) fn settled(&mut self, set: &str, version: Option<&str>, now: Instant) {
        if let Some(entry) = &mut self.0 {
            entry.doubtful.retain(|known| known != set);
        }
        if let Some(version) = version {
            self.wrote_set(version, now);
        }
    }

    fn unseen(&mut self, now: Instant) -> &mut Unseen {
        let (gone, doubtful) = (Vec::new(), Vec::new());
        let unseen = Unseen { since: now, workload: None, set: None, gone, doubtful };
        let unseen = self.0.get_or_insert_with(|| Box::new(unseen));
        unseen.since = now;
        unseen
    }

    /// Whether the cache shows what was written for this Deployment; it is given so much time (S14.4).
    pub(crate) fn check(&mut self, patience: Duration, key: &Key, index: &Index, now: Instant) -> Readiness {
        let Some(entry) = &self.0 else { return Readiness::Ready };
        if entry.is_shown_by(&key.namespace, index) {
            self.0 = None;
            return Readiness::Ready;
        }
        let deadline = entry.since + patience;
        if now < deadline { Readiness::Wait(deadline) } else { Readiness::Overdue }
    }

    /// Since when something is waited for, and what it is.
    pub(crate) fn waits(&self) -> Option<(Instant, String)> {
        self.0.as_ref().map(|entry| (entry.since, entry.to_string()))
    }

    /// The watches are about to list everything again: what has been written before, those lists show. Only what is in
    /// doubt may yet come.
    pub(crate) fn start_over(&mut self) {
        self.0.take_if(|entry| {
            (entry.workload, entry.set) = (None, None);
            entry.gone.clear();
            entry.doubtful.is_empty()
        });
    }
}

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.workload.map(|version| format!("Deployment at version {version}")));
        parts.extend(self.set.map(|version| format!("ReplicaSet at version {version}")));
        parts.extend(self.gone.iter().map(|uid| format!("ReplicaSet {uid} gone")));
        parts.extend(self.doubtful.iter().map(|name| format!("what came of a write to {name}")));
        f.write_str(&parts.join(", "))
    }
}

impl Unseen {
    fn is_shown_by(&self, namespace: &str, index: &Index) -> bool {
        self.workload.is_none_or(|version| index.newest_workload.has_reached(namespace, version))
            && self.set.is_none_or(|version| index.newest_set.has_reached(namespace, version))
            && self.gone.iter().all(|uid| index.shows_gone(namespace, uid))
    }
}

#[cfg(test)]
mod tests;
