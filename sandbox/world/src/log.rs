//! The log of versions, and what a watch reads of it.

use std::collections::VecDeque;

use crate::object::Object;
use crate::resource::Resource;

/// The change of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The object came into being.
    Added,
    /// The object has a new version.
    Modified,
    /// The object is gone; this is its last state, in the version of the deletion.
    Deleted,
}

/// An entry of the log.
#[derive(Clone, Debug)]
pub struct Change {
    /// The version that the cluster got by it.
    pub version: u64,
    /// What happened.
    pub kind: ChangeKind,
    /// The object after it.
    pub object: Object,
    /// The object before it. A watch with a selector needs it: what leaves the selection is
    /// deleted, for that watch.
    pub before: Option<Object>,
}

/// The history asked for is not kept any more (410).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too old resource version: {asked} ({floor})")]
pub struct Expired {
    /// The version asked for.
    pub asked: u64,
    /// The oldest one that can be asked for.
    pub floor: u64,
}

/// Changes in the order of their versions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    changes: VecDeque<Change>,
    floor: u64,
}

impl Log {
    pub(crate) fn push(&mut self, change: Change) {
        self.changes.push_back(change);
    }

    /// Forgets everything up to a version.
    pub(crate) fn compact(&mut self, through: u64) {
        while self.changes.front().is_some_and(|change| change.version <= through) {
            self.changes.pop_front();
        }
        self.floor = self.floor.max(through);
    }

    pub(crate) fn after(
        &self,
        resource: Resource,
        version: u64,
    ) -> Result<impl Iterator<Item = &Change>, Expired> {
        Ok(self.all_after(version)?.filter(move |change| change.object.resource == resource))
    }

    pub(crate) fn all_after(&self, version: u64) -> Result<impl Iterator<Item = &Change>, Expired> {
        if version < self.floor {
            return Err(Expired { asked: version, floor: self.floor });
        }
        let start = self.changes.partition_point(|change| change.version <= version);
        Ok(self.changes.range(start..))
    }

    pub(crate) fn len(&self) -> usize {
        self.changes.len()
    }
}
