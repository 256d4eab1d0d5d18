//! What must hold after every write by anyone: SU-1 and AV-1 of `docs/internals/invariants.md`, by the
//! state of the cluster itself and not by a snapshot; and that nobody writes without the lease.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use apiserver::Shared;
use plan::Flavour;
use serde_json::Value;
use world::{Cluster, Object, Resource};

use super::clock;

/// Watches every write.
pub(super) struct Law {
    cluster: Arc<Shared<Cluster>>,
    deployments: Resource,
    broken: Mutex<Vec<String>>,
}

/// The ReplicaSets of each Deployment, by the uid of their owner, and by name.
pub(super) type Sizes = BTreeMap<String, BTreeMap<String, Set>>;

/// What a ReplicaSet asks for and reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Set {
    size: i64,
    available: i64,
}

/// What a Deployment allows.
struct Bounds {
    name: String,
    most: i64,
    least_available: i64,
}

impl Law {
    pub(super) fn new(cluster: &Arc<Shared<Cluster>>, flavour: Flavour) -> Arc<Self> {
        let deployments = match flavour {
            Flavour::Rollwright => Resource::Deployments,
            Flavour::AppsV1 => Resource::AppsDeployments,
        };
        Arc::new(Self { cluster: cluster.clone(), deployments, broken: Mutex::default() })
    }

    /// The ReplicaSets as they are.
    pub(super) fn sizes(&self) -> Sizes {
        self.cluster.act(|cluster| {
            let mut sizes = Sizes::new();
            for set in cluster.store.list(Resource::ReplicaSets, None) {
                let (size, available) =
                    (set.spec_number("replicas").unwrap_or(1), set.status_number("availableReplicas"));
                let set_now = Set { size, available: available.unwrap_or(0) };
                let owner = set.controller_uid().unwrap_or_default().to_owned();
                sizes.entry(owner).or_default().insert(set.name().to_owned(), set_now);
            }
            sizes
        })
    }

    /// Judges a write that was carried out; `writer` is who has to hold the lease for it.
    pub(super) fn judge(&self, what: &str, writer: Option<&str>, before: &Sizes) {
        if let Some(writer) = writer {
            let holder = self.holder();
            if holder.as_deref() != Some(writer) {
                self.accuse(&format!("{what}: written by {writer} under the lease of {holder:?}"));
            }
        }
        let after = self.sizes();
        for (owner, sets) in &after {
            let Some(bounds) = self.bounds(owner) else { continue };
            let before = before.get(owner);
            let was = |name: &String| before.and_then(|sets| sets.get(name)).map_or(0, |set| set.size);
            let is_more = sets.iter().any(|(name, set)| set.size > was(name));
            let total: i64 = sets.values().map(|set| set.size).sum();
            if is_more && total > bounds.most {
                let (name, most) = (&bounds.name, bounds.most);
                self.accuse(&format!("SU-1: {what}: {total} of {most} pods for {name}: {sets:?}"));
            }
            let lost = sets.iter().map(|(name, set)| (was(name).min(set.available) - set.size).max(0));
            let lost: i64 = lost.sum();
            let left = sets.values().map(|set| set.available).sum::<i64>() - lost;
            if lost > 0 && left < bounds.least_available {
                let (name, least) = (&bounds.name, bounds.least_available);
                self.accuse(&format!("AV-1: {what}: {left} of {least} pods left for {name}: {sets:?}"));
            }
        }
    }

    /// What has been broken so far.
    pub(super) fn broken(&self) -> Vec<String> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes that something has been broken.
    pub(super) fn accuse(&self, what: &str) {
        let what = format!("{} {what}", clock::timestamp());
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    /// Who holds the lease.
    pub(super) fn holder(&self) -> Option<String> {
        self.cluster.act(|cluster| {
            let lease = cluster.store.list(Resource::Leases, None).find(|lease| lease.name() == "rollwright");
            let holder = lease?.spec.get("holderIdentity")?.as_str()?.to_owned();
            (!holder.is_empty()).then_some(holder)
        })
    }

    fn bounds(&self, uid: &str) -> Option<Bounds> {
        self.cluster.act(|cluster| {
            let mut all = cluster.store.list(self.deployments, None);
            all.find(|object| object.uid() == uid).map(Bounds::of)
        })
    }
}

impl Bounds {
    fn of(deployment: &Object) -> Self {
        let desired = deployment.spec_number("replicas").unwrap_or(1);
        // In hundredths of a pod.
        let limit = |field: &str| {
            match deployment.spec.pointer(&format!("/strategy/rollingUpdate/{field}")) {
                Some(Value::Number(number)) => 100 * number.as_i64().unwrap_or(0),
                Some(Value::String(text)) => desired * text.trim_end_matches('%').parse::<i64>().unwrap(),
                // The default.
                _ => desired * 25,
            }
        };
        let surge = (limit("maxSurge") + 99) / 100;
        let unavailable = limit("maxUnavailable") / 100;
        let unavailable = if surge == 0 { unavailable.max(1) } else { unavailable };
        Self {
            name: deployment.name().to_owned(),
            most: desired + surge,
            least_available: desired - unavailable,
        }
    }
}
