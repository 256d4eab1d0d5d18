//! The history of Deployments and ReplicaSets, decoded once as the operator decodes it.

use std::collections::BTreeMap;
use std::sync::Arc;

use ::engine::rivalry::Writer;
use api::decode::{self, Defaults, Parts};
use plan::keys::{MANAGED_LABEL, MANAGED_VALUE};
use plan::{Flavour, ReplicaSet, Workload};
use world::{Change, ChangeKind, Object, Resource};

/// A version of a ReplicaSet.
#[derive(Clone, Debug)]
pub(crate) struct SetVersion {
    pub(crate) version: u64,
    pub(crate) is_deleted: bool,
    pub(crate) namespace: String,
    pub(crate) set: Arc<ReplicaSet>,
    /// Whether a watch by the operator's label shows it.
    pub(crate) is_marked: bool,
    /// The version of the pods that its status was counted from.
    pub(crate) basis: u64,
}

/// A version of a Deployment.
#[derive(Clone, Debug)]
pub(crate) struct WorkloadVersion {
    pub(crate) version: u64,
    pub(crate) is_deleted: bool,
    pub(crate) workload: Arc<Workload>,
    /// Whether everybody takes it for written by another controller.
    pub(crate) by_rival: bool,
    /// Who wrote its status last, as far as somebody may want to know.
    pub(crate) writer: Option<Writer>,
}

/// All versions, oldest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) sets: Vec<SetVersion>,
    pub(crate) workloads: Vec<WorkloadVersion>,
}

/// The resource of a flavour's Deployments.
pub(crate) fn workloads_of(flavour: Flavour) -> Resource {
    match flavour {
        Flavour::Rollwright => Resource::Deployments,
        Flavour::AppsV1 => Resource::AppsDeployments,
    }
}

/// An object as the decoder takes it, but for its version, which the store keeps apart.
pub(crate) fn parts(object: &Object) -> Parts<'_> {
    Parts::of(&object.metadata, &object.spec, &object.status)
}

pub(crate) fn decode_set(flavour: Flavour, object: &Object) -> Option<ReplicaSet> {
    let mut set = decode::replica_set(flavour, parts(object)).ok()?;
    set.resource_version = object.version().to_string();
    Some(set)
}

pub(crate) fn decode_workload(flavour: Flavour, object: &Object) -> Option<Workload> {
    let mut workload = decode::workload(flavour, parts(object), Defaults::of(flavour)).ok()?;
    workload.resource_version = object.version().to_string();
    Some(workload)
}

pub(crate) fn is_marked(set: &ReplicaSet) -> bool {
    set.labels.get(MANAGED_LABEL).is_some_and(|value| value == MANAGED_VALUE)
}

/// Whether a change left everything as it was in a version but the status: then the rest need not
/// be decoded once more.
fn is_report_on(version: u64, change: &Change) -> bool {
    let shares = |before: &Object| {
        let after = &change.object;
        before.version() == version
            && Arc::ptr_eq(&before.metadata, &after.metadata)
            && Arc::ptr_eq(&before.spec, &after.spec)
            && Arc::ptr_eq(&before.rest, &after.rest)
    };
    change.before.as_ref().is_some_and(shares)
}

fn with_status(before: &ReplicaSet, object: &Object) -> Option<ReplicaSet> {
    let status = decode::set_status(&object.status).ok()?;
    Some(ReplicaSet { status, resource_version: object.version().to_string(), ..before.clone() })
}

fn reported(before: &Workload, object: &Object) -> Option<Workload> {
    let status = decode::status(&object.status).ok()?.into();
    Some(Workload { status, resource_version: object.version().to_string(), ..before.clone() })
}

impl History {
    /// Takes in a change of a ReplicaSet.
    pub(crate) fn note_set(&mut self, flavour: Flavour, change: &Change, basis: u64) -> Option<&SetVersion> {
        let before = self.sets.iter().rev().find(|entry| entry.set.uid == change.object.uid());
        let set = match before.filter(|entry| is_report_on(entry.version, change)) {
            Some(before) => with_status(&before.set, &change.object)?,
            None => decode_set(flavour, &change.object)?,
        };
        let set = Arc::new(set);
        let is_marked = flavour.set_labels().is_none() || is_marked(&set);
        self.sets.push(SetVersion {
            version: change.version,
            is_deleted: change.kind == ChangeKind::Deleted,
            namespace: change.object.namespace().to_owned(),
            set,
            is_marked,
            basis,
        });
        self.sets.last()
    }

    /// Takes in a change of the Deployment.
    pub(crate) fn note_workload(
        &mut self,
        flavour: Flavour,
        change: &Change,
        by_rival: bool,
        writer: Option<Writer>,
    ) -> Option<&WorkloadVersion> {
        let before = self.workloads.iter().rev().find(|entry| entry.workload.uid == change.object.uid());
        let workload = match before.filter(|entry| is_report_on(entry.version, change)) {
            Some(before) => reported(&before.workload, &change.object)?,
            None => decode_workload(flavour, &change.object)?,
        };
        let workload = Arc::new(workload);
        let is_deleted = change.kind == ChangeKind::Deleted;
        self.workloads.push(WorkloadVersion {
            version: change.version,
            is_deleted,
            workload,
            by_rival,
            writer,
        });
        self.workloads.last()
    }

    /// Versions of ReplicaSets after one, oldest first.
    pub(crate) fn sets_after(&self, version: u64) -> &[SetVersion] {
        let start = self.sets.partition_point(|entry| entry.version <= version);
        self.sets.get(start..).unwrap_or_default()
    }

    /// Versions of Deployments after one, oldest first.
    pub(crate) fn workloads_after(&self, version: u64) -> &[WorkloadVersion] {
        let start = self.workloads.partition_point(|entry| entry.version <= version);
        self.workloads.get(start..).unwrap_or_default()
    }

    /// The ReplicaSets that there were at a version, as a watch by the operator's label shows them.
    pub(crate) fn sets_at(&self, version: u64) -> Vec<&SetVersion> {
        let mut there = BTreeMap::new();
        for entry in self.sets.iter().take_while(|entry| entry.version <= version) {
            if entry.is_deleted || !entry.is_marked {
                there.remove(&entry.set.uid);
            } else {
                there.insert(&entry.set.uid, entry);
            }
        }
        there.into_values().collect()
    }

    /// The Deployments that there were at a version.
    pub(crate) fn workloads_at(&self, version: u64) -> Vec<&WorkloadVersion> {
        let mut there = BTreeMap::new();
        for entry in self.workloads.iter().take_while(|entry| entry.version <= version) {
            if entry.is_deleted {
                there.remove(&(&entry.workload.name, &entry.workload.namespace));
            } else {
                there.insert((&entry.workload.name, &entry.workload.namespace), entry);
            }
        }
        there.into_values().collect()
    }

    /// What the pods looked like when a version of a ReplicaSet was counted.
    pub(crate) fn basis(&self, resource_version: &str) -> u64 {
        let Ok(version) = resource_version.parse::<u64>() else { return 0 };
        let index = self.sets.partition_point(|entry| entry.version < version);
        self.sets.get(index).filter(|entry| entry.version == version).map_or(0, |entry| entry.basis)
    }
}
