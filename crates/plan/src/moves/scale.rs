//! Scaling a Deployment in the middle of whatever it does (S8).

use std::cmp::Reverse;

use crate::model::sets::{Counted, total};
use crate::moves::aim::{Aim, Manner};
use crate::moves::partition;
use crate::moves::sizes::{Moves, Resize};

/// Whether `spec.replicas` changed since the ReplicaSets were last scaled.
pub(crate) struct ScalingEvent {
    pub(crate) is_event: bool,
    pub(crate) deviation: Option<&'static str>,
}

/// S8.1. A ReplicaSet without the annotation, as an adopted one, makes no event (S8.11).
pub(crate) fn event(sets: &[Counted], aim: &Aim) -> ScalingEvent {
    if !sets.iter().any(|set| set.is_stale(aim.total)) {
        return ScalingEvent { is_event: false, deviation: None };
    }
    let several = sets.iter().filter(|set| set.is_active()).count() > 1;
    if several && aim.manner == Manner::Whole && !has_saturated(sets, aim) {
        // S8.13: there is no proportional scaling under Recreate, and waiting for it would take for ever. The rollout
        // itself takes the old ReplicaSets down.
        return ScalingEvent { is_event: false, deviation: Some("S8.13") };
    }
    ScalingEvent { is_event: true, deviation: None }
}

/// Sizes follow R without anything being rolled out: on a scaling event, and while paused (S8.3–S8.8).
pub(crate) fn scale(sets: &[Counted], aim: &Aim) -> Moves {
    if let Some(heir) = heir(sets, aim) {
        return without_bad(sets, aim, heir);
    }
    // SP-7
    partition::at_rest(sets, aim).unwrap_or_else(|| partition::bounded(in_transit(sets, aim), sets, aim))
}

/// S8.3–S8.8.
fn in_transit(sets: &[Counted], aim: &Aim) -> Moves {
    let active: Vec<_> =
        (0..sets.len()).filter(|index| sets.get(*index).is_some_and(Counted::is_active)).collect();
    let size = |index: usize| sets.get(index).map_or(0, |set| set.size);
    let to_total = |index: usize| Resize::needed(index, size(index), aim.total).into_iter().collect();
    match active.as_slice() {
        [] => {
            // The newest old ReplicaSet stands in for a missing running one.
            let target = aim.run.or_else(|| sets.len().checked_sub(1));
            Moves { shares: target.map_or_else(Vec::new, to_total), ..Moves::default() }
        }
        [only] if size(*only) == aim.total && aim.is_scaling() => {
            // S8.12: upstream leaves the stale annotation, and sees a scaling event for ever.
            let shares = vec![Resize::new(*only, aim.total, aim.total)];
            Moves { shares, deviation: Some("S8.12"), ..Moves::default() }
        }
        [only] if size(*only) < aim.total && is_left(*only, aim) => {
            // The rollout continues; only the annotation follows.
            let shares = vec![Resize::new(*only, size(*only), size(*only))];
            Moves { shares, ..Moves::default() }
        }
        [only] => Moves { shares: to_total(*only), ..Moves::default() },
        // S8.4
        _ if has_saturated(sets, aim) => {
            let olds = active.iter().rev().filter(|index| Some(**index) != aim.run);
            let shares = olds.map(|index| Resize::new(*index, size(*index), 0)).collect();
            Moves { shares, ..Moves::default() }
        }
        // S8.5
        _ if aim.manner == Manner::Rolling => share_out(sets, aim, active),
        _ => Moves::default(),
    }
}

/// The ReplicaSet that follows R in the place of bad ones: what runs, or the largest of the others with pods (FP-10).
fn heir(sets: &[Counted], aim: &Aim) -> Option<usize> {
    if aim.bad.is_empty() {
        return None;
    }
    let is_good = |index: &usize| !aim.bad.contains(index);
    let size = |index: &usize| sets.get(*index).map_or(0, |set| set.size);
    let largest = || (0..sets.len()).filter(|index| is_good(index) && size(index) > 0).max_by_key(size);
    aim.run.filter(is_good).or_else(largest).or(aim.spare)
}

/// FP-10: the heir takes what R gains; bad ReplicaSets lose first what R loses.
fn without_bad(sets: &[Counted], aim: &Aim, heir: usize) -> Moves {
    let before = sets.iter().filter(|set| set.is_active()).find_map(|set| set.desired);
    let change = aim.total - before.unwrap_or(aim.total);
    let sum = total(sets);
    // What an earlier reconcile has cut already is not cut again.
    let mut left = (-change).min(sum - aim.total).max(0);
    let growth = change.min(aim.cap.saturating_sub(sum)).max(0);
    let mut order: Vec<usize> = (0..sets.len()).collect();
    order.sort_by_key(|index| (!aim.bad.contains(index), *index == heir));
    let is_alone = |index: &usize| *index == heir || !sets.get(*index).is_some_and(Counted::is_active);
    if order.iter().all(is_alone) {
        let size = sets.get(heir).map_or(0, |set| set.size);
        return Moves { shares: vec![Resize::new(heir, size, aim.total)], ..Moves::default() };
    }
    let mut shares = Vec::new();
    for index in order {
        let Some(set) = sets.get(index).filter(|set| set.is_active() || index == heir && growth > 0) else {
            continue;
        };
        let cut = set.size.min(left);
        left -= cut;
        let gain = if index == heir { growth } else { 0 };
        shares.push(Resize::new(index, set.size, set.size - cut + gain));
    }
    Moves { shares, ..Moves::default() }
}

/// FP-10: whether a ReplicaSet gets nothing of what R gains. A pause changes nothing but sizes, and so nothing about
/// them.
fn is_left(index: usize, aim: &Aim) -> bool {
    aim.is_scaling() && aim.left.contains(&index)
}

/// Whether the running ReplicaSet is as large as it gets and fully available (S8.4).
fn has_saturated(sets: &[Counted], aim: &Aim) -> bool {
    let run = aim.run.and_then(|run| sets.get(run));
    run.is_some_and(|run| is_saturated(*run, aim.total))
}

/// S8.4 for one ReplicaSet.
fn is_saturated(set: Counted, replicas: i64) -> bool {
    set.size == replicas && set.desired_signed == Some(replicas) && set.available == replicas
}

/// Shares the difference out in proportion to the sizes; the largest ReplicaSet gets what rounding
/// leaves over (S8.6–S8.8).
fn share_out(sets: &[Counted], aim: &Aim, mut active: Vec<usize>) -> Moves {
    let maximum = aim.cap.min(i64::from(i32::MAX));
    let allowed = if aim.total > 0 { maximum } else { 0 };
    let size = |index: usize| sets.get(index).map_or(0, |set| set.size);
    let add = allowed - active.iter().map(|index| size(*index)).sum::<i64>();
    if add == 0 {
        // S8.6: no order; upstream lists old ReplicaSets newest first, then the new one.
        active.sort_by_key(|index| (Some(*index) == aim.run, Reverse(*index)));
    } else {
        // Larger first; of equals the newest when adding and the oldest when removing.
        active.sort_by_key(|index| {
            let age = if add > 0 { usize::MAX - index } else { *index };
            (Reverse(size(*index)), age)
        });
    }
    let mut sizes: Vec<(usize, i64)> = Vec::with_capacity(active.len());
    let (left, mut active): (Vec<usize>, Vec<usize>) =
        active.into_iter().partition(|index| add > 0 && is_left(*index, aim));
    if active.is_empty() {
        active.extend(aim.run);
    }
    let mut added = 0;
    let mut deviation = None;
    for index in active {
        let base = sets.get(index).map_or(0, |set| set.base);
        if i32::try_from(size(index).saturating_mul(aim.cap)).is_err() {
            // Upstream's product overflows.
            deviation = Some("S8.7");
        }
        let share = proportion(fraction(size(index), base, aim.total, maximum), add, added);
        // By an annotation of fewer replicas, its part may have been more even of fewer pods.
        let share = if is_left(index, aim) { share.min(0) } else { share };
        sizes.push((index, size(index).saturating_add(share)));
        added += share;
    }
    if let Some((_, largest)) = sizes.first_mut() {
        *largest = largest.saturating_add(add - added).max(0);
    }
    sizes.extend(left.into_iter().map(|index| (index, size(index))));
    // S8.8: annotations are brought up to date at an equal size too.
    let shares = sizes.into_iter().map(|(index, to)| Resize::new(index, size(index), to)).collect();
    Moves { shares, deviation, ..Moves::default() }
}

/// The part of the remaining difference that a ReplicaSet takes (S8.7).
#[must_use]
pub fn proportion(fraction: i64, add: i64, added: i64) -> i64 {
    let left = add - added;
    if add == 0 || left == 0 {
        0
    } else if add > 0 {
        fraction.min(left)
    } else {
        fraction.max(left)
    }
}

/// By how much a ReplicaSet of `size` changes when the whole goes from `base` to `maximum` pods (S8.7),
/// without the 32-bit overflow of upstream.
#[must_use]
pub fn fraction(size: i64, base: i64, replicas: i64, maximum: i64) -> i64 {
    if replicas == 0 {
        return -size;
    }
    if base == 0 {
        return 0;
    }
    let product = i128::from(size) * i128::from(maximum);
    // No ReplicaSet can be larger than this, and no sum of such shares overflows.
    let largest = i128::from(i32::MAX);
    let rounded = round_half_away(product, i128::from(base)).clamp(-largest, largest);
    i64::try_from(rounded).unwrap_or(0) - size
}

/// `numerator / denominator`, a half rounded away from zero.
fn round_half_away(numerator: i128, denominator: i128) -> i128 {
    let (numerator, denominator) =
        if denominator < 0 { (-numerator, -denominator) } else { (numerator, denominator) };
    let magnitude = (2 * numerator.abs() + denominator) / (2 * denominator);
    if numerator < 0 { -magnitude } else { magnitude }
}
