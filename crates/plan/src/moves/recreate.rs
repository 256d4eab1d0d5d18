//! Recreate: all old pods go before the first new one comes (S7).

use crate::model::sets::Counted;
use crate::moves::aim::Aim;
use crate::moves::sizes::{Moves, Resize};

/// One reconcile of a Recreate rollout: every old ReplicaSet goes to 0 (S7.1), or else the running one comes up
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

/// Whether an old ReplicaSet should have pods.
pub(crate) fn has_active_old(sets: &[Counted], aim: &Aim) -> bool {
    olds(sets, aim).next().is_some()
}

fn olds(sets: &[Counted], aim: &Aim) -> impl Iterator<Item = (usize, Counted)> {
    let run = aim.run;
    sets.iter().copied().enumerate().filter(move |(index, set)| Some(*index) != run && set.is_active())
}
