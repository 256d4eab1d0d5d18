//! AV-4: under Recreate a ReplicaSet gets pods only when no pod of another one runs any more.

use plan::Action;

use crate::checks::{Accepted, Verdict};

/// The ReplicaSet that a write gives pods to; `None` inside for one that it creates.
fn grown<'a>(write: &'a Accepted<'_>) -> Option<Option<&'a str>> {
    match write.action()? {
        Action::CreateReplicaSet(set) if set.size > 0 => Some(None),
        Action::UpdateReplicaSet(update) if update.size_to > update.size_from => {
            Some(Some(update.target.uid.as_str()))
        }
        _ => None,
    }
}

/// By what the reconcile knew. On apps/v1, scaling (S8.3) is another matter, and so is a rollback (S10.3).
pub(super) fn no_overlap(write: &Accepted<'_>) -> Verdict {
    let view = write.view();
    let is_apps = write.flavour == plan::Flavour::AppsV1;
    let is_upstreams = is_apps && (view.workload.rollback_to.is_some() || view.is_scaling());
    if view.is_rolling() || is_upstreams {
        return Ok(());
    }
    let Some(grown) = grown(write) else { return Ok(()) };
    // One that this reconcile made without pods is no old one.
    let is_made = |set: &crate::view::SetView| set.is_written && set.set.size == 0;
    let others = view.owned().filter(|set| Some(set.set.uid.as_str()) != grown);
    let mut olds = others.filter(|set| !is_made(set)).peekable();
    if olds.peek().is_none() {
        return Ok(());
    }
    let Some(running) = &view.running else {
        return Err("a set got pods, and nobody looked whether those of others run".to_owned());
    };
    match olds.find(|set| set.set.status.replicas > 0 || running.contains(&set.set.uid)) {
        Some(old) => Err(format!("a set got pods while some of {} ran", old.set.name)),
        None => Ok(()),
    }
}
