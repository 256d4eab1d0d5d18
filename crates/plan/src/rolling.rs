//! RollingUpdate: new pods up within the surge, old pods down within what is available (S6).

use crate::action::{Ask, Purpose};
use crate::bug::{Bug, has};
use crate::draft::Draft;
use crate::intstr::{NotAPercentage, Round};
use crate::observed::Strategy;
use crate::why::Why;
use crate::{collision, history, new_set, progress};

/// One pass of a rolling update (S6.5).
///
/// Up, down, and up into the room that this makes: each step comes out as it would in a pass of its
/// own, since no status changes in between. The status is computed from the sizes before the last one.
pub(crate) fn roll(draft: &mut Draft<'_>) -> Result<(), Ask> {
    new_set::ensure(draft, initial_size(draft))?;
    if !draft.has_new() {
        collision::wait(draft);
        return Ok(());
    }
    if let Err(error) = step(draft) {
        draft.error = Some(error.to_string());
        return Ok(());
    }
    history::make_room(draft, None);
    progress::report(draft);
    Ok(())
}

/// The steps, and where the status belongs among them.
fn step(draft: &mut Draft<'_>) -> Result<(), NotAPercentage> {
    // What else is to be told of the new set belongs before the status, and stays there.
    let is_movable = draft.new_set().is_some_and(|set| !set.is_updated());
    let up = step_up(draft)?;
    if up {
        progress::note_step(draft);
    }
    draft.is_report_deferred = false;
    let first_down = draft.actions.len();
    let down = !draft.observed.answers.refuses_cuts && step_down(draft);
    let up_again = down && is_movable && draft.status_at.is_none() && step_into_room(draft)?;
    if !up && !down && progress::is_stored_complete(draft) {
        history::clean_up(draft);
    }
    if up || down {
        draft.why = Why::Stepping;
    }
    if up {
        draft.is_report_deferred = false;
    }
    if up && down && !up_again {
        // The down-step may be refused; what is true of the up-step is told first.
        draft.status_at.get_or_insert(first_down);
    }
    Ok(())
}

/// The surge leaves room for more pods of the new set once the cuts of this pass are done (S6.7): one
/// write of it then does for the step before and the step after them. If a cut is refused, the pass is
/// planned again without it ([`crate::Verdict::PlanWithoutCuts`]).
fn step_into_room(draft: &mut Draft<'_>) -> Result<bool, NotAPercentage> {
    let Some(index) = draft.new else { return Ok(false) };
    let wanted = wanted_size(draft)?;
    if wanted == draft.new_size() {
        return Ok(false);
    }
    progress::note_step(draft);
    draft.scale(index, wanted, Purpose::Scale);
    draft.update_last(index);
    Ok(true)
}

/// The size at which a missing new set is created (S4.11).
pub(crate) fn initial_size(draft: &Draft<'_>) -> i64 {
    let workload = draft.workload;
    let others = if has(Bug::NewSetTakesAll) { 0 } else { draft.total_size() };
    let size = new_set_size(&workload.strategy, workload.replicas, others, 0);
    size.unwrap_or(0)
}

/// The size of the new set as far as the surge allows (S4.11, S6.7): `old_size` is the sum of
/// the old sets.
///
/// # Errors
/// When `maxSurge` is missing or no percentage.
pub fn new_set_size(
    strategy: &Strategy,
    replicas: i64,
    old_size: i64,
    new_size: i64,
) -> Result<i64, NotAPercentage> {
    match strategy {
        Strategy::RollingUpdate { max_surge, .. } => {
            let surge = max_surge.as_ref().ok_or_else(|| NotAPercentage("maxSurge: nil".to_owned()))?;
            let cap = replicas.saturating_add(surge.of(replicas, Round::Up)?);
            let total = old_size.saturating_add(new_size);
            if total >= cap {
                return Ok(new_size);
            }
            Ok(new_size.saturating_add((cap - total).min(replicas.saturating_sub(new_size))))
        }
        Strategy::Recreate | Strategy::Unknown(_) => Ok(replicas),
    }
}

fn step_up(draft: &mut Draft<'_>) -> Result<bool, NotAPercentage> {
    let Some(index) = draft.new else { return Ok(false) };
    let wanted = wanted_size(draft)?;
    Ok(draft.scale(index, wanted, Purpose::Scale))
}

/// The size that the new set should have, by the sizes as planned so far.
fn wanted_size(draft: &Draft<'_>) -> Result<i64, NotAPercentage> {
    let (strategy, replicas, size) = (&draft.workload.strategy, draft.workload.replicas, draft.new_size());
    if size >= replicas {
        return Ok(replicas); // S6.6
    }
    new_set_size(strategy, replicas, draft.total_size() - size, size) // S6.7
}

/// Takes old pods away: unhealthy ones first, then what availability allows (S6.8–S6.13).
fn step_down(draft: &mut Draft<'_>) -> bool {
    let olds = draft.active_olds();
    // S6.8
    if olds.is_empty() {
        return false;
    }
    if has(Bug::OldSetsDropped) {
        olds.iter().for_each(|index| _ = draft.scale(*index, 0, Purpose::ScaleDownOld));
        return true;
    }
    // S6.9: the new set's share may be negative while its status lags; it is not clamped.
    let new_available = draft.new.map_or(0, |index| draft.available_of(index));
    let new_unavailable = draft.new_size() - new_available;
    let max_down = draft.total_size() - draft.min_available - new_unavailable;
    if max_down <= 0 {
        return false;
    }
    let Some(unhealthy) = cut_unhealthy(draft, &olds, max_down) else {
        // S6.10: a set reports more available pods than it should have: its status lags
        // behind an earlier cut. Nothing more is cut before it has caught up.
        return false;
    };
    if has(Bug::OldSetGrows) && unhealthy < 0 {
        return true;
    }
    // S6.11: pods cut above were not available, so the budget is what it was.
    let available = olds.iter().map(|index| draft.available_of(*index)).sum::<i64>() + new_available;
    let cut = cut_available(draft, &olds, available - draft.min_available);
    unhealthy + cut > 0
}

/// S6.10. `None` when a status lags behind its set.
fn cut_unhealthy(draft: &mut Draft<'_>, olds: &[usize], max_down: i64) -> Option<i64> {
    let mut total = 0;
    for &index in olds {
        if total >= max_down || has(Bug::UnhealthyNotCut) {
            break;
        }
        let size = draft.size_of(index);
        let unhealthy = size - draft.available_of(index);
        if unhealthy == 0 {
            continue;
        }
        let cut = unhealthy.min(max_down - total);
        if cut < 0 && has(Bug::CutTwice) {
            continue;
        }
        if cut < 0 && !has(Bug::OldSetGrows) {
            return None;
        }
        draft.scale(index, size - cut, Purpose::ScaleDownOld);
        total += cut;
    }
    Some(total)
}

/// S6.11.
fn cut_available(draft: &mut Draft<'_>, olds: &[usize], budget: i64) -> i64 {
    let mut total = 0;
    for &index in olds {
        let size = draft.size_of(index);
        let cut = size.min(budget - total);
        if cut <= 0 {
            continue;
        }
        draft.scale(index, size - cut, Purpose::ScaleDownOld);
        total += cut;
    }
    total
}
