//! What the cache shows of one Deployment.

use std::time::Instant;

use plan::{ReplicaSet, Workload};

use super::Index;
use super::heads::{Placed, wants};
use super::key::Key;
use crate::packed::Packed;

/// What a reconcile starts from.
pub struct Snapshot {
    /// The Deployment.
    pub workload: Workload,
    /// The ReplicaSets it controls, and the orphans that its selector matches.
    pub sets: Vec<ReplicaSet>,
}

/// What a reconcile starts from, as the cache keeps it.
pub(crate) struct PackedSnapshot {
    workload: Packed<Workload>,
    owned: Vec<Packed<Placed>>,
    /// All of the namespace.
    orphans: Vec<Packed<Placed>>,
}

impl PackedSnapshot {
    pub(crate) fn unpack(self) -> Snapshot {
        let workload = self.workload.unpack();
        let mut sets: Vec<_> = self.owned.iter().map(Packed::set).collect();
        let orphans = self.orphans.iter().map(Packed::set);
        sets.extend(orphans.filter(|set| wants(workload.selector.as_ref(), set)));
        Snapshot { workload, sets }
    }
}

impl Index {
    /// The Deployment, the ReplicaSets it controls, and the orphans that its selector matches.
    #[must_use]
    pub fn snapshot(&self, key: &Key) -> Option<Snapshot> {
        self.packed(key).map(PackedSnapshot::unpack)
    }

    /// The same, to be unpacked once the cache is free for others.
    pub(crate) fn packed(&self, key: &Key) -> Option<PackedSnapshot> {
        let known = self.namespaces.get(&key.namespace)?;
        let workload = known.workload(&key.name)?.clone();
        let owned = known.owned(&workload.head().uid).cloned().collect();
        let orphans = known.orphans().cloned().collect();
        Some(PackedSnapshot { workload, owned, orphans })
    }

    /// The Deployment, and since when it is known.
    #[must_use]
    pub fn first_seen(&self, key: &Key) -> Option<(Workload, Instant)> {
        let (workload, since) = self.namespaces.get(&key.namespace)?.first_seen(&key.name)?;
        Some((workload.unpack(), since))
    }
}
