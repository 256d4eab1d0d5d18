//! Recreate: all old pods go before the first new one comes (S7).

use crate::action::Ask;
use crate::aim::Aim;
use crate::history;
use crate::observed::{Observed, ReplicaSet};
use crate::sets::{Counted, Sets};
use crate::sizes::{Moves, Resize};

/// One reconcile of a Recreate rollout: every old set goes to 0 (S7.1), or else the running one comes up
/// (S7.5, S7.6).
pub(crate) fn replace(sets: &[Counted], aim: &Aim) -> Moves {
    if has_active_old(sets, aim) {
        let shares = olds(sets, aim).map(|(index, old)| Resize::new(index, old.size, 0)).collect();
        return Moves { shares, ..Moves::default() };
    }
    let up = aim.run.and_then(|run| Resize::needed(run, sets.get(run)?.size, aim.ceiling));
    let created = if aim.run.is_none() { Some(aim.ceiling) } else { None };
    Moves { created, up, ..Moves::default() }
}

/// Whether an old set should have pods.
pub(crate) fn has_active_old(sets: &[Counted], aim: &Aim) -> bool {
    olds(sets, aim).next().is_some()
}

fn olds(sets: &[Counted], aim: &Aim) -> impl Iterator<Item = (usize, Counted)> {
    let run = aim.run;
    sets.iter().copied().enumerate().filter(move |(index, set)| Some(*index) != run && set.is_active())
}

/// The gate: old sets report pods, or pods of theirs are neither failed nor finished; a pod
/// that is terminating still counts (S7.2, S7.3). Pods of the running set never do (S7.4).
///
/// # Errors
/// With the question for pods, where their answer matters.
pub(crate) fn old_pods_run(observed: &Observed, sets: &Sets<'_>, aim: &Aim) -> Result<bool, Ask> {
    let olds =
        || sets.all.iter().enumerate().filter(|(index, _)| Some(*index) != aim.run).map(|(_, set)| *set);
    if olds().map(|set| set.status.replicas).sum::<i64>() > 0 {
        return Ok(true);
    }
    if olds().next().is_none() || !would_hold_up(observed, sets, aim) {
        return Ok(false);
    }
    let pods = observed.answers.pods.as_ref().ok_or(Ask::Pods)?;
    let is_old = |uid: &String| olds().any(|set: &ReplicaSet| set.uid == *uid);
    Ok(pods.iter().any(|pod| pod.is_running() && pod.controller_uid.as_ref().is_some_and(is_old)))
}

/// Whether old pods would hold anything up. If not, nobody asks for them, and a settled
/// Deployment costs no request.
fn would_hold_up(observed: &Observed, sets: &Sets<'_>, aim: &Aim) -> bool {
    let size = aim.run.and_then(|run| sets.counted.get(run)).map(|run| run.size);
    size != Some(aim.ceiling)
        || (observed.workload.is_stored_complete()
            && history::has_surplus(&observed.workload, sets, aim.stays()))
}
