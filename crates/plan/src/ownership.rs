//! Which ReplicaSets belong to a Deployment (S2.11–S2.18).

use crate::action::{Claim, Target};
use crate::observed::{Observed, ReplicaSet};
use crate::selector::LabelSelector;

/// The sets that are claimed already, and the claims that are to be made or given up.
pub(crate) struct Ownership<'a> {
    pub(crate) claimed: Vec<&'a ReplicaSet>,
    pub(crate) claims: Vec<Claim>,
}

pub(crate) fn sort_out<'a>(observed: &'a Observed, selector: &LabelSelector) -> Ownership<'a> {
    let mut ownership = Ownership { claimed: Vec::with_capacity(observed.sets.len()), claims: Vec::new() };
    let workload = &observed.workload;
    for set in &observed.sets {
        let matches = selector.matches(&set.labels);
        match &set.controller_uid {
            // S2.12
            Some(uid) if *uid != workload.uid => {}
            // S2.13
            Some(_) if matches => ownership.claimed.push(set),
            // S2.14
            Some(_) if workload.deleting => {}
            Some(_) => ownership.claims.push(Claim::Release(Target::of(set))),
            // S2.15
            None if matches && !workload.deleting && !set.deleting => {
                ownership.claims.push(Claim::Adopt(Target::of(set)));
            }
            None => {}
        }
    }
    ownership.claims.sort_by(|a, b| name(a).cmp(name(b)));
    ownership
}

fn name(claim: &Claim) -> &str {
    match claim {
        Claim::Adopt(target) | Claim::Release(target) => &target.name,
    }
}
