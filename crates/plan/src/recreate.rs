//! Recreate: all old pods go before the first new one comes (S7).

use crate::action::{Ask, Purpose};
use crate::bug::{Bug, has};
use crate::draft::Draft;
use crate::why::Why;
use crate::{collision, history, new_set, progress};

/// One pass of a Recreate rollout (S7.1–S7.7).
pub(crate) fn recreate(draft: &mut Draft<'_>) -> Result<(), Ask> {
    let mut scaled = false;
    for index in draft.active_olds() {
        scaled |= draft.scale(index, 0, Purpose::Scale);
    }
    if scaled {
        draft.why = Why::Stepping;
        progress::report(draft);
        return Ok(());
    }
    if old_pods_run(draft)? {
        draft.why = Why::WaitingForTermination;
        progress::report(draft);
        return Ok(());
    }
    new_set::ensure(draft, draft.workload.replicas)?;
    if !draft.has_new() {
        collision::wait(draft);
        return Ok(());
    }
    if let Some(index) = draft.new
        && draft.scale(index, draft.workload.replicas, Purpose::Scale)
    {
        progress::note_step(draft);
    }
    draft.is_report_deferred = false;
    if progress::is_stored_complete(draft) {
        history::clean_up(draft);
    }
    history::make_room(draft, None);
    progress::report(draft);
    Ok(())
}

/// Whether old pods would hold anything up. If not, nobody asks for them, and a settled
/// Deployment costs no request.
fn would_hold_up(draft: &Draft<'_>) -> bool {
    draft.new.is_none_or(|index| draft.size_of(index) != draft.workload.replicas)
        || (progress::is_stored_complete(draft) && history::has_surplus(draft))
}

/// The gate: old sets report pods, or pods of theirs are neither failed nor finished; a pod
/// that is terminating still counts (S7.2, S7.3).
fn old_pods_run(draft: &Draft<'_>) -> Result<bool, Ask> {
    let olds = || draft.olds().filter_map(|index| draft.sets.get(index)).map(|set| set.seen);
    if olds().map(|set| set.status.replicas).sum::<i64>() > 0 {
        return Ok(true);
    }
    if olds().next().is_none() || !would_hold_up(draft) || has(Bug::RecreateOverlaps) {
        return Ok(false);
    }
    let pods = draft.observed.answers.pods.as_ref().ok_or(Ask::Pods)?;
    let is_old = |uid: &String| olds().any(|set| set.uid == *uid);
    Ok(pods.iter().any(|pod| pod.is_running() && pod.controller_uid.as_ref().is_some_and(is_old)))
}
