//! What must hold after every write by anyone: SU-1 and AV-1 of `docs/internals/invariants.md`, by the state of the
//! cluster itself and not by a snapshot. A witness of each Deployment judges what users mean. Nobody writes without the
//! lease.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use apiserver::Shared;
use plan::Flavour;
use serde_json::Value;
use witness::{Finding, Version, Who, Witness};
use world::{Change, ChangeKind, Cluster, Object, Resource};

use super::clock;

/// Watches every write.
pub(super) struct Law {
    cluster: Arc<Shared<Cluster>>,
    deployments: Resource,
    broken: Mutex<Vec<String>>,
    witnesses: Mutex<Witnesses>,
}

/// A witness of each Deployment, by its uid, and the last version that they have seen.
#[derive(Default)]
struct Witnesses {
    seen: u64,
    all: BTreeMap<String, Witness>,
    /// The Deployment of each ReplicaSet, by uid.
    owners: BTreeMap<String, String>,
}

impl Witnesses {
    /// The witness of the Deployment that an object belongs to.
    fn of(&mut self, object: &Object, before: Option<&Object>) -> Option<&mut Witness> {
        let controller = object.controller_uid().or_else(|| before.and_then(Object::controller_uid));
        let owner = match object.resource {
            Resource::Deployments => object.uid().to_owned(),
            Resource::ReplicaSets => {
                self.owners.insert(object.uid().to_owned(), controller?.to_owned());
                controller?.to_owned()
            }
            Resource::Pods => self.owners.get(controller?)?.clone(),
            _ => return None,
        };
        Some(self.all.entry(owner).or_default())
    }
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
        Arc::new(Self {
            cluster: cluster.clone(),
            deployments,
            broken: Mutex::default(),
            witnesses: Mutex::default(),
        })
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

    /// Lets the witnesses judge what was written since the last time: others wrote all of it, or all but the object of
    /// one request. `is_undisturbed`: nothing ever went wrong.
    pub(super) fn witness(&self, is_operators: impl Fn(&Object) -> bool, is_undisturbed: bool) {
        if self.deployments != Resource::Deployments {
            return;
        }
        let changes: Vec<Change> = self.cluster.act(|cluster| {
            let mut witnesses = self.witnesses.lock().unwrap_or_else(PoisonError::into_inner);
            let changes = cluster.store.all_changes(witnesses.seen).into_iter().flatten().cloned().collect();
            witnesses.seen = cluster.store.version();
            changes
        });
        let mut witnesses = self.witnesses.lock().unwrap_or_else(PoisonError::into_inner);
        for Change { kind, object, before, .. } in &changes {
            let before = before.as_ref();
            let Some(witness) = witnesses.of(object, before) else { continue };
            let is_report =
                before.is_some_and(|before| before.spec == object.spec && before.status != object.status);
            let who = match object.resource {
                _ if is_operators(object) => Who::Operator,
                Resource::ReplicaSets if is_report => Who::Cluster,
                _ => Who::User,
            };
            let (now, is_deleted) = (clock::steady(), *kind == ChangeKind::Deleted);
            let version = Version { before, object, is_deleted, who, now, is_undisturbed };
            for Finding { name, broken, .. } in witness.see(&version) {
                broken.iter().for_each(|text| self.accuse(&format!("{name}: {}: {text}", object.name())));
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
        if deployment.spec.pointer("/strategy/type").is_some_and(|kind| kind == "Recreate") {
            return Self { name: deployment.name().to_owned(), most: desired, least_available: 0 };
        }
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
