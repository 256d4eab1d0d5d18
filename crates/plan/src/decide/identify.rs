//! Finds the ReplicaSets and the one that the template declares. Adoption, release, and questions come
//! first, one at a time, before anything is planned (S2.10–S2.18, S3.3, S4.1).

use crate::decide::creation::describe;
use crate::decide::ownership;
use crate::model::action::{Ask, Step};
use crate::model::observed::{DryRun, Observed, ReplicaSet};
use crate::model::selector::LabelSelector;
use crate::model::sets::Sets;

/// The owned ReplicaSets of a snapshot; or what the operator has to adopt, release, or find out before there can be a
/// plan.
pub(crate) fn identify(observed: &Observed) -> Result<Sets<'_>, Step> {
    let workload = &observed.workload;
    // S2.10: an empty selector would select everything; nothing is touched.
    let Some(selector) = workload.selector.as_ref().filter(|selector| !LabelSelector::is_empty(selector))
    else {
        return Ok(Sets::new(Vec::new(), None, workload));
    };
    let ownership::Ownership { mut owned, changes } = ownership::sort_out(observed, selector);
    if !changes.is_empty() {
        return Err(Step::ChangeOwners(changes));
    }
    owned.sort_by(|a, b| a.age_order(b));
    let declared = declared(observed, &owned)?;
    Ok(Sets::new(owned, declared, workload))
}

/// The oldest ReplicaSet that carries the template (S4.1). On rollwright.dev, if no annotation names it, the planner
/// asks the server which template it would store, and compares ReplicaSets with that.
fn declared(observed: &Observed, owned: &[&ReplicaSet]) -> Result<Option<usize>, Ask> {
    let fingerprint = &observed.workload.template.fingerprint;
    let carries = owned.iter().position(|set| set.carries(fingerprint));
    let is_known = carries.is_some() || owned.is_empty() || observed.workload.deleting;
    if is_known || !observed.flavour.marks_sets() {
        return Ok(carries);
    }
    match &observed.answers.dry_run {
        None => Err(Ask::DryRun(Box::new(describe(observed, 0, 1)?))),
        Some(DryRun::Refused) => Ok(None),
        Some(DryRun::Stored(digest)) => Ok(owned.iter().position(|set| set.stored == *digest)),
    }
}
