//! Recent lists of ReplicaSets without the operator's label, for all Deployments of a namespace.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use plan::Map;

/// Namespaces with a listing that is kept for other Deployments that need it at the same time.
const LISTINGS_MAX: usize = 64;

/// A ReplicaSet without the operator's label.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) labels: Map,
    pub(super) selected: Map,
    pub(super) controller_uid: Option<String>,
    pub(super) deleting: bool,
}

/// Recent lists of unlabelled ReplicaSets by namespace: Deployments that were all there before a list
/// was taken share it.
#[derive(Default)]
pub(crate) struct Listings(Mutex<HashMap<String, Arc<Slot>>>);

type Slot = futures::lock::Mutex<Option<(Instant, Arc<Vec<Found>>)>>;

impl Listings {
    /// The listings are too old for the next attempt.
    pub(crate) fn forget_all(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(super) fn forget(&self, namespace: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(namespace);
    }

    pub(super) fn slot(&self, namespace: &str) -> Arc<Slot> {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= LISTINGS_MAX && !slots.contains_key(namespace) {
            slots.clear();
        }
        slots.entry(namespace.to_owned()).or_default().clone()
    }
}
