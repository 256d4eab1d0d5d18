//! Which ReplicaSets belong to a Deployment (S2.11–S2.18).

use crate::model::action::{OwnerChange, Target};
use crate::model::observed::{Observed, ReplicaSet};
use crate::model::selector::LabelSelector;

/// The ReplicaSets that are owned already, and those that the operator has to adopt or release.
pub(crate) struct Ownership<'a> {
    pub(crate) owned: Vec<&'a ReplicaSet>,
    pub(crate) changes: Vec<OwnerChange>,
}

pub(crate) fn sort_out<'a>(observed: &'a Observed, selector: &LabelSelector) -> Ownership<'a> {
    let mut ownership = Ownership { owned: Vec::with_capacity(observed.sets.len()), changes: Vec::new() };
    let workload = &observed.workload;
    for set in &observed.sets {
        let matches = selector.matches(&set.labels);
        match &set.controller_uid {
            // S2.12
            Some(uid) if *uid != workload.uid => {}
            // S2.13
            Some(_) if matches => ownership.owned.push(set),
            // S2.14
            Some(_) if workload.deleting => {}
            Some(_) => ownership.changes.push(OwnerChange::Release(Target::of(set))),
            // S2.15
            None if matches && !workload.deleting && !set.deleting => {
                ownership.changes.push(OwnerChange::Adopt(Target::of(set)));
            }
            None => {}
        }
    }
    ownership.changes.sort_by(|a, b| name(a).cmp(name(b)));
    ownership
}

fn name(change: &OwnerChange) -> &str {
    match change {
        OwnerChange::Adopt(target) | OwnerChange::Release(target) => &target.name,
    }
}
