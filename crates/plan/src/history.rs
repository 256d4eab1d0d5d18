//! Which old ReplicaSets are deleted (S11).

use std::cmp::Ordering;

use crate::action::Action;
use crate::draft::{Draft, SetDraft};
use crate::revision::{self, Revision};

/// Deletes idle old sets beyond the limit, the lowest revisions first (S11.2–S11.6).
pub(crate) fn clean_up(draft: &mut Draft<'_>) {
    let mut candidates = candidates(draft);
    let surplus = surplus(draft, &candidates);
    if surplus == 0 {
        return;
    }
    sort(draft, &mut candidates);
    // S11.5: what may not go is skipped, and nothing goes in its place.
    for index in candidates.into_iter().take(surplus) {
        let Some(set) = draft.sets.get(index).filter(|set| is_idle(set)) else { continue };
        if set.is_updated() {
            // S11.6: upstream deletes by what it saw before it scaled the set up.
            draft.deviate("S11.6");
            continue;
        }
        let target = set.target();
        draft.defer_report();
        draft.push(Action::DeleteReplicaSet(target), Vec::new());
    }
}

/// Whether [`clean_up`] would have something to do.
pub(crate) fn has_surplus(draft: &Draft<'_>) -> bool {
    surplus(draft, &candidates(draft)) > 0
}

fn candidates(draft: &Draft<'_>) -> Vec<usize> {
    let is_kept = |index: &usize| draft.sets.get(*index).is_some_and(|set| !set.seen.deleting);
    draft.olds().into_iter().filter(is_kept).collect()
}

fn surplus(draft: &Draft<'_>, candidates: &[usize]) -> usize {
    let count = i64::try_from(candidates.len()).unwrap_or(i64::MAX);
    let limit = draft.workload.revision_history_limit;
    limit.and_then(|limit| usize::try_from(count.saturating_sub(limit)).ok()).unwrap_or(0)
}

/// As it was seen: a set that this pass takes down to 0 still has its pods (S11.5).
fn is_idle(set: &SetDraft<'_>) -> bool {
    set.seen.size == 0
        && set.seen.status.replicas == 0
        && set.seen.generation <= set.seen.status.observed_generation
        && !set.seen.deleting
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
            numbers.0.cmp(&numbers.1).then_with(|| a.seen.age_order(b.seen))
        }
        _ => Ordering::Equal,
    });
}
