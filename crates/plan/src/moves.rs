//! The sizes that a reconcile gives to ReplicaSets, one step after the other, by the numbers of an [`Aim`].
//! A rolling update (S6) is here; Recreate (S7) and scaling (S8) have a file each.
//!
//! Terminating pods are not counted (S6.14). A rollover needs no rule of its own: every ReplicaSet that
//! does not run is old, and the oldest is drained first (S6.15).

pub(crate) mod aim;
pub(crate) mod assertions;
pub(crate) mod limits;
pub(crate) mod partition;
pub(crate) mod recreate;
pub(crate) mod scale;
pub(crate) mod sizes;

use crate::model::sets::{Counted, total};
use crate::moves::aim::{Aim, Because, Manner, Scope};
use crate::moves::assertions::broken;
use crate::moves::sizes::{Moves, Resize};

/// What the ReplicaSets do next.
pub(crate) fn moves(sets: &[Counted], aim: &Aim) -> Moves {
    let moves = chosen(sets, aim);
    debug_assert_eq!(broken(sets, aim, &moves), None, "{sets:?} {aim:?}");
    moves
}

fn chosen(sets: &[Counted], aim: &Aim) -> Moves {
    let is_wanted = matches!(aim.because, Because::RollingBack(_) | Because::AwaitsHook);
    let created = || created(sets, aim).filter(|_| is_wanted);
    match (aim.scope, aim.manner) {
        (Scope::Shut, _) => Moves { created: created(), ..Moves::default() },
        (Scope::Frozen, _) => {
            let moves = scale::scale(sets, aim);
            let created = if moves.is_empty() { created() } else { None };
            Moves { created, ..moves }
        }
        (Scope::Open | Scope::Growth, Manner::Rolling) => {
            // SP-1: at the end, S6 is as it is.
            if aim.is_partial() { partition::roll(sets, aim) } else { roll(sets, aim) }
        }
        (Scope::Open | Scope::Growth, Manner::Whole) => recreate::replace(sets, aim),
    }
}

/// The size at which the running ReplicaSet is created, if it is not there (S4.11).
fn created(sets: &[Counted], aim: &Aim) -> Option<i64> {
    match (aim.run, aim.manner) {
        (Some(_), _) => None,
        (None, Manner::Rolling) => Some(grown(0, total(sets), aim.ceiling, aim.cap)),
        (None, Manner::Whole) => Some(aim.ceiling),
    }
}

/// One reconcile of a rolling update (S6.5): up, down, and up into the room that this makes. Each step comes
/// out as it would in a reconcile of its own, since no status changes in between.
///
/// An example: 8 replicas, surge 2, unavailable 2, so the cap is 10 pods, and the floor is 6 that are available. Below,
/// `7+1 (6)` means 7 old pods, 1 new one, and 6 of all available.
///
/// 1. From `8+0 (5)`: the cap has room for 2 new pods. These do not serve yet, so at most 10 − 6 − 2 = 2 old ones may
///    go, and only of the 3 that are not available, because 5 is below the floor. Their room goes to the new ReplicaSet
///    immediately: `6+4 (5)`.
/// 2. From `6+4 (5)`, while no new pod starts: 10 − 6 − 4 = 0, so nothing moves, and the old pod that is not available
///    stays. A template that never starts leaves 6 old pods.
/// 3. From `6+4 (9)`, once 3 of the 4 are available: 10 − 6 − 1 = 3 old ones go, and 3 new ones come: `3+7 (6)`.
/// 4. From `3+7 (10)`: 10 − 6 = 4 might go, so all 3 do. The last new one comes, and the sizes are final: `0+8 (7)`.
fn roll(sets: &[Counted], aim: &Aim) -> Moves {
    let created = created(sets, aim);
    let run = aim.run.and_then(|index| sets.get(index));
    let mut size = created.or(run.map(|run| run.size)).unwrap_or(0);
    let mut total = total(sets) + created.unwrap_or(0);

    let up = step_up(aim, size, total);
    size += up.map_or(0, Resize::difference);
    total += up.map_or(0, Resize::difference);

    let available = run.map_or(0, |run| run.available);
    let Cuts { cuts, lags } = step_down(sets, aim, Running { size, available, total });
    total += cuts.iter().map(|cut| cut.difference()).sum::<i64>();

    let up_again = if lags || cuts.is_empty() { None } else { step_up(aim, size, total) };
    Moves { created, up, cuts, up_again, lags, ..Moves::default() }
}

/// The running ReplicaSet, there or to be created, beside all others.
#[derive(Clone, Copy)]
struct Running {
    size: i64,
    available: i64,
    /// The sum of all sizes.
    total: i64,
}

/// S6.6, S6.7. A ReplicaSet that is created has its size from the start.
fn step_up(aim: &Aim, size: i64, total: i64) -> Option<Resize> {
    let wanted = if size >= aim.ceiling { aim.ceiling } else { grown(size, total, aim.ceiling, aim.cap) };
    Resize::needed(aim.run?, size, wanted)
}

/// The size of a ReplicaSet below its ceiling as far as the cap allows (S4.11, S6.7); `total` is the sum
/// of all sizes.
#[must_use]
pub fn grown(size: i64, total: i64, ceiling: i64, cap: i64) -> i64 {
    if total >= cap { size } else { size.saturating_add((cap - total).min(ceiling.saturating_sub(size))) }
}

/// What is cut, and whether a status stopped it (S6.10).
#[derive(Default)]
pub(crate) struct Cuts {
    pub(crate) cuts: Vec<Resize>,
    pub(crate) lags: bool,
}

/// An old ReplicaSet with pods.
#[derive(Clone, Copy)]
pub(crate) struct Old {
    pub(crate) set: usize,
    pub(crate) size: i64,
    pub(crate) available: i64,
    /// What is not cut, because it has to stay (SP-3).
    pub(crate) kept: Option<i64>,
}

/// Takes old pods away: unhealthy ones first, then what availability allows (S6.8–S6.13).
fn step_down(sets: &[Counted], aim: &Aim, run: Running) -> Cuts {
    let mut olds = olds(sets, aim);
    // S6.8
    if olds.is_empty() || !aim.may_cut() {
        return Cuts::default();
    }
    let mut dead = cut_dead(&olds, &aim.bad);
    follow(&mut olds, &dead);
    let total = run.total + dead.iter().map(|cut| cut.difference()).sum::<i64>();
    // S6.9: the running ReplicaSet's share may be negative while its status lags; it is not clamped.
    let max_down = total - aim.floor - (run.size - run.available);
    if max_down <= 0 {
        return Cuts { cuts: dead, lags: false };
    }
    let mut unhealthy = cut_unhealthy(&olds, max_down);
    dead.append(&mut unhealthy.cuts);
    unhealthy.cuts = dead;
    if unhealthy.lags {
        return unhealthy;
    }
    follow(&mut olds, &unhealthy.cuts);
    // S6.11, S6.12: pods cut above were not available, so the budget is what it was.
    let available = olds.iter().map(|old| old.available).sum::<i64>() + run.available;
    unhealthy.cuts.extend(cut_available(&olds, available - aim.floor));
    unhealthy
}

/// FP-7: pods of bad ReplicaSets that do not serve cost nothing, so they make room immediately.
fn cut_dead(olds: &[Old], bad: &[usize]) -> Vec<Resize> {
    let of_bad = olds.iter().filter(|old| bad.contains(&old.set));
    of_bad.filter_map(|old| Resize::needed(old.set, old.size, old.available.clamp(0, old.size))).collect()
}

/// The sizes after some cuts.
pub(crate) fn follow(olds: &mut [Old], cuts: &[Resize]) {
    for cut in cuts {
        olds.iter_mut().filter(|old| old.set == cut.set).for_each(|old| old.size = cut.to);
    }
}

/// Old ReplicaSets with pods, oldest first; bad ones before all others (FP-7).
fn olds(sets: &[Counted], aim: &Aim) -> Vec<Old> {
    let others = sets.iter().enumerate().filter(|(index, set)| Some(*index) != aim.run && set.is_active());
    let old = |(set, it): (usize, &Counted)| Old { set, size: it.size, available: it.available, kept: None };
    let mut olds: Vec<Old> = others.map(old).collect();
    olds.sort_by_key(|old| !aim.bad.contains(&old.set));
    olds
}

impl Old {
    /// A cut, but not into what the ReplicaSet keeps.
    fn spared(&self, cut: i64) -> i64 {
        self.kept.map_or(cut, |kept| cut.min((self.size - kept).max(0)))
    }
}

/// S6.10. A ReplicaSet that reports more available pods than it should have is behind an earlier cut:
/// nothing more is cut before it has caught up.
pub(crate) fn cut_unhealthy(olds: &[Old], max_down: i64) -> Cuts {
    let mut cuts = Vec::new();
    let mut total = 0;
    for old in olds {
        if total >= max_down {
            break;
        }
        let unhealthy = old.size - old.available;
        let cut = old.spared(unhealthy.min(max_down - total));
        if cut < 0 {
            return Cuts { cuts, lags: true };
        }
        cuts.extend(Resize::needed(old.set, old.size, old.size - cut));
        total += cut;
    }
    Cuts { cuts, lags: false }
}

/// S6.11.
pub(crate) fn cut_available(olds: &[Old], budget: i64) -> Vec<Resize> {
    let mut cuts = Vec::new();
    let mut total = 0;
    for old in olds {
        let cut = old.spared(old.size.min(budget - total));
        if cut <= 0 {
            continue;
        }
        cuts.extend(Resize::needed(old.set, old.size, old.size - cut));
        total += cut;
    }
    cuts
}

#[cfg(test)]
mod enumeration;
#[cfg(test)]
mod model;
#[cfg(test)]
pub(crate) mod tests;
