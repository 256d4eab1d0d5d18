//! What each stage of a reconcile looks at.

use jiff::Timestamp;

use crate::model::observed::{Observed, ReplicaSet, Workload};
use crate::model::revision;
use crate::model::sets::Sets;

/// A snapshot, the owned ReplicaSets in it, and the time of the reconcile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) observed: &'a Observed,
    pub(crate) sets: &'a Sets<'a>,
    pub(crate) now: Timestamp,
}

impl<'a> View<'a> {
    /// The Deployment.
    pub(crate) fn workload(self) -> &'a Workload {
        &self.observed.workload
    }

    /// The declared ReplicaSet, if its revision has begun: it is not created, nor renumbered, by this reconcile (S5.4).
    pub(crate) fn begun(self) -> Option<(usize, &'a ReplicaSet)> {
        let next = revision::next_of(self.sets).number;
        let declared = self.sets.declared.zip(self.sets.declared());
        declared.filter(|(_, set)| revision::of(set).or_zero() >= next)
    }
}
