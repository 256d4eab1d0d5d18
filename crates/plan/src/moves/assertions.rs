//! What the sizes of a rolling update never break, by the snapshot that they are decided from: SU-1, AV-1, and SP-1.
//! Every plan is asserted to hold them where debug assertions are on: in tests and in the simulator.

use crate::model::sets::{Counted, total};
use crate::moves::aim::{Aim, Because, Manner};
use crate::moves::sizes::{Moves, Resize};

/// The first rule that some sizes break, with the numbers; `None` if they hold all of them.
pub(crate) fn broken(sets: &[Counted], aim: &Aim, moves: &Moves) -> Option<String> {
    let is_rolling = aim.because == Because::RollingOut && aim.manner == Manner::Rolling;
    // No server stores a negative number, or a limit below 0, which would put the floor above R.
    let is_stored = aim.total >= 0
        && aim.cap >= aim.total
        && aim.floor <= aim.total
        && sets.iter().all(|set| set.size >= 0 && set.available >= 0);
    if !is_rolling || !is_stored || !moves.shares.is_empty() {
        return None;
    }
    let created = moves.created.map(|to| Resize { set: sets.len(), from: 0, to });
    let steps = || {
        let cuts = moves.cuts.iter().copied();
        created.into_iter().chain(moves.ups()).chain(cuts).chain(moves.ups_again())
    };
    over_cap(total(sets), aim, steps()).or_else(|| under_floor(sets, aim, steps())).or_else(|| {
        let runs = |step: &Resize| aim.run == Some(step.set) || step.set == sets.len();
        let over = steps().find(|step| runs(step) && step.to > step.from && step.to > aim.ceiling)?;
        Some(format!("SP-1: {over:?} is above the ceiling of {}", aim.ceiling))
    })
}

/// SU-1: a step that adds pods leaves R and surge at most.
fn over_cap(mut total: i64, aim: &Aim, steps: impl Iterator<Item = Resize>) -> Option<String> {
    for step in steps {
        total += step.difference();
        if step.difference() > 0 && total > aim.cap {
            return Some(format!("SU-1: {step:?} makes {total} pods, and {} may be there", aim.cap));
        }
    }
    None
}

/// AV-1: a step that takes available pods away leaves as many as have to be available.
fn under_floor(sets: &[Counted], aim: &Aim, steps: impl Iterator<Item = Resize>) -> Option<String> {
    let mut left: i64 = sets.iter().map(|set| set.available).sum();
    for step in steps {
        let available = sets.get(step.set).map_or(0, |set| set.available);
        let lost = available.min(step.from) - available.min(step.to);
        left -= lost.max(0);
        if lost > 0 && left < aim.floor {
            return Some(format!("AV-1: {step:?} leaves {left} available pods of {}", aim.floor));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moves::tests::{aim, sets};

    fn resize(set: usize, from: i64, to: i64) -> Resize {
        Resize { set, from, to }
    }

    /// R 10, surge 1, unavailable 0: ReplicaSet 0 is old, ReplicaSet 1 runs.
    #[test]
    fn each_rule_notices_the_pod_that_breaks_it() {
        let broken = |moves: Moves| broken(&sets(&[8, 2]), &aim(), &moves).map(|rule| rule[..4].to_owned());
        let up = |to| Moves { up: Some(resize(1, 2, to)), ..Moves::default() };
        let cut = |to| Moves { cuts: vec![resize(0, 8, to)], ..Moves::default() };
        assert_eq!(broken(up(3)), None);
        assert_eq!(broken(up(4)).as_deref(), Some("SU-1"));
        assert_eq!(broken(cut(8)), None);
        assert_eq!(broken(cut(7)).as_deref(), Some("AV-1"));
        let at_a_step = Aim { ceiling: 2, cap: 20, ..aim() };
        let above = super::broken(&sets(&[8, 2]), &at_a_step, &up(3));
        assert!(above.is_some_and(|rule| rule.starts_with("SP-1")));
        let absurd = Aim { floor: 11, ..aim() };
        assert_eq!(super::broken(&sets(&[8, 2]), &absurd, &cut(7)), None, "more than R have to be available");
    }
}
