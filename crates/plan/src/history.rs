//! Which old ReplicaSets are deleted (S11).

use std::cmp::Ordering;

use crate::bug::{Bug, has};
use crate::conditions::{Condition, drop_condition, set_condition};
use crate::draft::{Draft, SetDraft};
use crate::keys::{condition, reason};
use crate::observed::ReplicaSet;
use crate::revision::{self, Revision};
use crate::rollback;

/// How many sets without a size there may be beyond the limit (NS-2).
const SPARE: usize = 5;

/// Deletes idle old sets beyond the limit, the lowest revisions first (S11.2–S11.6).
pub(crate) fn clean_up(draft: &mut Draft<'_>) {
    let surplus = surplus(draft);
    if surplus == 0 {
        return;
    }
    let mut candidates: Vec<_> = candidates(draft).collect();
    sort(draft, &mut candidates);
    // S11.5: what may not go is skipped, and nothing goes in its place.
    for index in candidates.into_iter().take(surplus) {
        let Some(set) = draft.sets.get(index).filter(|set| is_idle(set)) else { continue };
        if set.is_updated() {
            // S11.6: upstream deletes by what it saw before it scaled the set up.
            draft.deviate("S11.6");
            continue;
        }
        draft.delete(index);
    }
}

/// Keeps the number of sets bounded although no rollout completes (NS-2): at the cap the lowest
/// revisions among idle old sets go, before one more is created. The one that a rollback asks
/// for stays, and the new set is never refused.
pub(crate) fn make_room(draft: &mut Draft<'_>, created: Option<i64>) {
    if !draft.observed.flavour.has_safeguards() {
        return;
    }
    let excess = excess(draft, created.or(draft.created.as_ref().map(|set| set.size)));
    let missing = if excess == 0 { 0 } else { excess.saturating_sub(delete_spare(draft, excess)) };
    if missing == 0 {
        drop_condition(&mut draft.status, condition::REVISION_LIMIT_REACHED);
        return;
    }
    let message = "There are more ReplicaSets than spec.revisionHistoryLimit, those with a size and \
                   5 more, and none of them can be deleted: they still have pods, or their status is not up to date.";
    let reached = Condition::new(
        condition::REVISION_LIMIT_REACHED,
        "True",
        reason::NO_IDLE_REPLICA_SET,
        message.to_owned(),
        draft.now,
    );
    set_condition(&mut draft.status.to_mut().conditions, reached);
}

/// Deletes up to so many idle old sets, the lowest revisions first; says how many it found.
fn delete_spare(draft: &mut Draft<'_>, most: usize) -> usize {
    let pinned = draft.workload.rollback_to.and_then(|requested| rollback::wanted(draft, requested));
    let mut spare: Vec<_> = candidates(draft).collect();
    spare.retain(|index| {
        draft.sets.get(*index).is_some_and(|set| {
            is_idle(set) && !set.is_updated() && pinned.is_none_or(|it| revision::of(set).or_zero() != it)
        })
    });
    sort(draft, &mut spare);
    let found = spare.len();
    for index in spare.into_iter().take(most) {
        draft.delete(index);
    }
    found
}

/// By how many the sets exceed the cap of NS-2, one that is created with a size included.
fn excess(draft: &Draft<'_>, created: Option<i64>) -> usize {
    let limit = draft.workload.revision_history_limit.filter(|_| !has(Bug::HistoryUnbounded));
    let Some(limit) = limit else { return 0 };
    let sizes = draft.sets.iter().filter(|set| !set.is_deleted()).map(|set| set.size).chain(created);
    let idle = sizes.filter(|size| *size == 0).count();
    let room = usize::try_from(limit.max(0)).unwrap_or(usize::MAX).saturating_add(SPARE);
    idle.saturating_sub(room)
}

/// Whether [`clean_up`] would have something to do.
pub(crate) fn has_surplus(draft: &Draft<'_>) -> bool {
    surplus(draft) > 0
}

fn candidates(draft: &Draft<'_>) -> impl Iterator<Item = usize> {
    let is_kept = move |index: &usize| {
        draft.sets.get(*index).is_some_and(|set| !set.seen.deleting && !set.is_deleted())
    };
    draft.olds().filter(is_kept)
}

fn surplus(draft: &Draft<'_>) -> usize {
    let count = i64::try_from(candidates(draft).count()).unwrap_or(i64::MAX);
    let limit = draft.workload.revision_history_limit;
    limit.and_then(|limit| usize::try_from(count.saturating_sub(limit)).ok()).unwrap_or(0)
}

/// As it was seen: a set that this pass takes down to 0 still has its pods (S11.5).
fn is_idle(set: &SetDraft<'_>) -> bool {
    set.seen.size == 0 && (has(Bug::BusySetDeleted) || is_empty(set.seen)) && !set.seen.deleting
}

/// Whether its controller has counted, and counted none.
fn is_empty(set: &ReplicaSet) -> bool {
    set.status.replicas == 0 && set.generation <= set.status.observed_generation
}

/// By revision; without one first (S11.4). Garbage counts as absent (deviation from S5.3):
/// upstream falls back to the age for each pair, an order that is not transitive.
fn sort(draft: &mut Draft<'_>, candidates: &mut [usize]) {
    let garbled =
        |index: &usize| draft.sets.get(*index).is_some_and(|set| revision::of(set) == Revision::Garbage);
    if candidates.iter().any(garbled) {
        draft.deviate("S5.3");
    }
    let sets = &draft.sets;
    candidates.sort_by(|a, b| match (sets.get(*a), sets.get(*b)) {
        (Some(a), Some(b)) => {
            let numbers = (revision::of(a).or_zero(), revision::of(b).or_zero());
            if has(Bug::CleanUpByAge) {
                return a.seen.age_order(b.seen);
            }
            numbers.0.cmp(&numbers.1).then_with(|| a.seen.age_order(b.seen))
        }
        _ => Ordering::Equal,
    });
}
