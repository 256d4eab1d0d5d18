//! What each stage of a reconcile looks at.

use jiff::Timestamp;

use crate::model::observed::{Observed, Workload};
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
}
