//! UN-1, NS-1, NS-2: one ReplicaSet per template, and not more and more of them.

use plan::{Action, Flavour};

use crate::checks::{Accepted, Verdict};

/// How often a name may be taken by others before the operator gives up (NS-1).
const COLLISIONS_MAX: i64 = 3;
/// Sets of size 0 beyond the limit (NS-2).
const SPARE: usize = 5;

/// UN-1: of the ReplicaSets that were created for a Deployment, no two were made from the same template.
/// One that was adopted was created for another: while it was nobody's, it took the name.
pub(super) fn unique(write: &Accepted<'_>) -> Verdict {
    let Some(Action::CreateReplicaSet(new)) = write.action() else { return Ok(()) };
    // A late creation fails because its name is taken, unless a user has deleted that ReplicaSet meanwhile.
    if write.is_late {
        return Ok(());
    }
    let (uid, fingerprint) = (&write.view().workload.uid, &write.view().workload.template.fingerprint);
    let same = write.truth.sets.values().filter(|truth| {
        truth.set.controller_uid.as_ref() == Some(uid)
            && truth.made_for.as_ref() == Some(uid)
            && truth.set.carries(fingerprint)
            && !truth.set.deleting
    });
    let names: Vec<_> = same.map(|truth| truth.set.name.as_str()).collect();
    // One that its owner could not see, since its labels do not match, is not counted.
    let visible = write.truth.owned().filter(|truth| truth.set.carries(fingerprint)).count();
    if names.len() > 1 && visible > 1 {
        return Err(format!("{} was created, and there are {names:?}", new.name));
    }
    Ok(())
}

/// NS-1.
pub(super) fn not_again_and_again(creations: i64, deletions: i64) -> Verdict {
    if creations > 1 + deletions + COLLISIONS_MAX {
        return Err(format!("{creations} sets were created for one template, {deletions} deleted"));
    }
    Ok(())
}

/// NS-1: who gives up has tried other names before.
pub(crate) fn gave_up_late(names: usize) -> Verdict {
    let most = usize::try_from(COLLISIONS_MAX).unwrap_or(0);
    if names <= most { Err(format!("no more names are tried after {names}")) } else { Ok(()) }
}

/// NS-2: after a creation there are not too many idle ReplicaSets.
pub(super) fn bounded(write: &Accepted<'_>) -> Verdict {
    let (Some(Action::CreateReplicaSet(_)), view) = (write.action(), write.view()) else { return Ok(()) };
    let Some(limit) = view.workload.revision_history_limit else { return Ok(()) };
    if write.flavour != Flavour::Rollwright || !write.is_alone || view.workload.rollback_to.is_some() {
        return Ok(());
    }
    let idle = view.owned().filter(|set| {
        let status = &set.set.status;
        let is_counted = status.observed_generation >= set.set.generation && status.replicas == 0;
        set.size == 0 && set.set.size == 0 && is_counted && !set.set.deleting
    });
    let (idle, most) = (idle.count(), usize::try_from(limit).unwrap_or(0) + SPARE);
    if idle > most { Err(format!("{idle} idle sets, at most {most}")) } else { Ok(()) }
}
