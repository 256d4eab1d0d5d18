//! Whether old pods still run under Recreate (S7.2 to S7.4).

use crate::course::view::View;
use crate::decide::history;
use crate::model::action::Ask;
use crate::model::observed::ReplicaSet;
use crate::moves::aim::Aim;

/// The gate: old sets report pods, or pods of theirs are neither failed nor finished; a pod
/// that is terminating still counts (S7.2, S7.3). Pods of the running set never do (S7.4).
///
/// # Errors
/// With the question for pods, where their answer matters.
pub(crate) fn old_pods_run(view: View<'_>, aim: &Aim) -> Result<bool, Ask> {
    let View { observed, sets, .. } = view;
    let olds =
        || sets.all.iter().enumerate().filter(|(index, _)| Some(*index) != aim.run).map(|(_, set)| *set);
    if olds().map(|set| set.status.replicas).sum::<i64>() > 0 {
        return Ok(true);
    }
    if olds().next().is_none() || !would_hold_up(view, aim) {
        return Ok(false);
    }
    let pods = observed.answers.pods.as_ref().ok_or(Ask::Pods)?;
    let is_old = |uid: &String| olds().any(|set: &ReplicaSet| set.uid == *uid);
    Ok(pods.iter().any(|pod| pod.is_running() && pod.controller_uid.as_ref().is_some_and(is_old)))
}

/// Whether old pods would hold anything up. If not, nobody asks for them, and a settled
/// Deployment costs no request.
fn would_hold_up(view: View<'_>, aim: &Aim) -> bool {
    let View { observed, sets, .. } = view;
    let size = aim.run.and_then(|run| sets.counted.get(run)).map(|run| run.size);
    size != Some(aim.ceiling)
        || (observed.workload.is_stored_complete()
            && history::has_surplus(&observed.workload, sets, aim.stays()))
}
