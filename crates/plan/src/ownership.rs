//! Which ReplicaSets belong to a Deployment (S2.11–S2.18).

use crate::action::{Claim, Target};
use crate::bug::{Bug, has};
use crate::observed::{Observed, ReplicaSet};

/// The sets that are claimed already, and the claims that are to be made or given up.
pub(crate) struct Ownership<'a> {
    pub(crate) claimed: Vec<&'a ReplicaSet>,
    pub(crate) claims: Vec<Claim>,
}

pub(crate) fn sort_out(observed: &Observed) -> Ownership<'_> {
    let mut ownership = Ownership { claimed: Vec::with_capacity(observed.sets.len()), claims: Vec::new() };
    let workload = &observed.workload;
    let Some(selector) = &workload.selector else { return ownership };
    for set in &observed.sets {
        let matches = selector.matches(&set.labels);
        match &set.controller_uid {
            // S2.12
            Some(uid) if *uid != workload.uid && !has(Bug::ForeignSetsTaken) => {}
            // S2.13
            Some(_) if matches => ownership.claimed.push(set),
            // S2.14
            Some(_) if workload.deleting => {}
            Some(_) => ownership.claims.push(Claim::Release(target(set))),
            // S2.15
            None if matches && !workload.deleting && !set.deleting => {
                ownership.claims.push(Claim::Adopt(target(set)));
            }
            None => {}
        }
    }
    ownership.claims.sort_by(|a, b| name(a).cmp(name(b)));
    ownership
}

fn target(set: &ReplicaSet) -> Target {
    Target { name: set.name.clone(), uid: set.uid.clone(), resource_version: set.resource_version.clone() }
}

fn name(claim: &Claim) -> &str {
    match claim {
        Claim::Adopt(target) | Claim::Release(target) => &target.name,
    }
}
