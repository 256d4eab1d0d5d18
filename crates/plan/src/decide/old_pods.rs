//! Whether old pods still run under Recreate (S7.2 to S7.4).

use crate::course::view::View;
use crate::decide::deletions;
use crate::model::action::Ask;
use crate::model::observed::ReplicaSet;
use crate::moves::aim::Aim;

/// The gate: old ReplicaSets report pods, or pods of theirs are neither failed nor finished; a pod
/// that is terminating still counts (S7.2, S7.3). Pods of the running ReplicaSet never do (S7.4).
///
/// # Errors
/// With the question for pods, where their answer matters.
pub(crate) fn still_run(view: View<'_>, aim: &Aim) -> Result<bool, Ask> {
    if would_hold_up(view, aim) { others_run(view, aim.run) } else { Ok(others_report(view, aim.run)) }
}

/// Whether pods of any other ReplicaSet than this one run.
///
/// # Errors
/// With the question for pods, where their answer matters.
pub(crate) fn others_run(view: View<'_>, alone: Option<usize>) -> Result<bool, Ask> {
    if others_report(view, alone) {
        return Ok(true);
    }
    if others(view, alone).next().is_none() {
        return Ok(false);
    }
    let pods = view.observed.answers.pods.as_ref().ok_or(Ask::Pods)?;
    let is_other = |uid: &String| others(view, alone).any(|set| set.uid == *uid);
    Ok(pods.iter().any(|pod| pod.is_running() && pod.controller_uid.as_ref().is_some_and(is_other)))
}

fn others_report(view: View<'_>, alone: Option<usize>) -> bool {
    others(view, alone).map(|set| set.status.replicas).sum::<i64>() > 0
}

fn others<'a>(view: View<'a>, alone: Option<usize>) -> impl Iterator<Item = &'a ReplicaSet> {
    let sets = view.sets.all.iter().enumerate();
    sets.filter(move |(index, _)| Some(*index) != alone).map(|(_, set)| *set)
}

/// Whether old pods would hold anything up. If not, nobody asks for them, and a settled
/// Deployment costs no request.
fn would_hold_up(view: View<'_>, aim: &Aim) -> bool {
    let View { observed, sets, .. } = view;
    let size = aim.run.and_then(|run| sets.counted.get(run)).map(|run| run.size);
    size != Some(aim.ceiling)
        || (observed.workload.is_stored_complete()
            && deletions::has_surplus(&observed.workload, sets, aim.stays()))
}
