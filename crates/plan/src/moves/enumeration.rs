//! Every rollout under a ceiling with at most seven replicas and three ReplicaSets: where it ends, and that it never
//! does harm on its way (SP-3). The pods of the kept ReplicaSet and of the running one come up between two reconciles.

use std::collections::BTreeSet;

use super::tests::{aim, steps};
use super::*;

const REPLICAS_MAX: i64 = 7;
/// Indices of the ReplicaSets.
const KEPT: usize = 0;
const RUN: usize = 2;

/// Size and available pods of each ReplicaSet.
type State = [(i64, i64); 3];

fn aims() -> impl Iterator<Item = Aim> {
    let limits = (0..=3).flat_map(|surge| (0..=3).map(move |unavailable| (surge, unavailable)));
    let limits = limits.filter(|limits| *limits != (0, 0));
    let of = |(total, ceiling, surge, unavailable): (i64, i64, i64, i64)| Aim {
        run: Some(RUN),
        keep: Some(KEPT),
        total,
        ceiling,
        cap: total + surge,
        floor: total - unavailable.min(total),
        ..aim()
    };
    limits.flat_map(move |(surge, unavailable)| {
        let numbers = (1..=REPLICAS_MAX).flat_map(|total| (0..total).map(move |ceiling| (total, ceiling)));
        numbers.map(move |(total, ceiling)| of((total, ceiling, surge, unavailable)))
    })
}

/// Every start: as many pods of each ReplicaSet as there can be, and one more of those that shrink.
fn starts(aim: &Aim) -> Vec<State> {
    let most = aim.cap + 1;
    let counts = |most: i64| (0..=most).flat_map(|size| (0..=size).map(move |available| (size, available)));
    let mut starts = Vec::new();
    for kept in counts(most) {
        for other in counts(most - kept.0) {
            starts.extend(counts(aim.ceiling).map(|run| [kept, other, run]));
        }
    }
    starts
}

fn counted(state: State) -> Vec<Counted> {
    let set = |(size, available)| Counted { size, available, ..Counted::default() };
    state.into_iter().map(set).collect()
}

fn sum(state: State) -> (i64, i64) {
    state.iter().fold((0, 0), |(size, available), set| (size + set.0, available + set.1))
}

/// The sizes after a reconcile, each step of it checked.
fn next(state: State, aim: &Aim) -> State {
    let moves = moves(&counted(state), aim);
    let mut after = state;
    let most = aim.cap.max(sum(state).0);
    let least = aim.floor.min(sum(state).1);
    for step in steps(&moves) {
        let set = &mut after[step.set];
        assert_eq!(set.0, step.from, "{state:?} {aim:?} {moves:?}");
        // S9.21
        *set = (step.to, set.1.min(step.to));
        assert!(step.to >= 0 && sum(after).0 <= most, "SU-1: {state:?} {after:?} {aim:?}");
        assert!(sum(after).1 >= least, "AV-1: {state:?} {after:?} {aim:?}");
        assert!(after[RUN].0 <= aim.ceiling.max(state[RUN].0), "the ceiling: {state:?} {after:?} {aim:?}");
        assert!(after[RUN].0 >= state[RUN].0.min(aim.ceiling), "what runs: {state:?} {after:?} {aim:?}");
        let wanted = aim.total - aim.ceiling;
        assert!(after[KEPT].0 >= state[KEPT].0.min(wanted), "what is kept: {state:?} {after:?} {aim:?}");
    }
    after
}

/// A ReplicaSet that a plan creates has, from the start, the size that it would grow to before the cuts.
fn check_creation(state: State, aim: &Aim) {
    let [kept, other, _] = state;
    let missing = Aim { run: None, ..aim.clone() };
    let created = moves(&counted(state)[..RUN], &missing).created;
    let up = moves(&counted([kept, other, (0, 0)]), aim).up.map_or(0, |up| up.to);
    assert_eq!(created, Some(up), "{state:?} {aim:?}");
}

/// What comes up until the next reconcile.
fn come_up(state: State) -> State {
    let [kept, other, run] = state;
    [(kept.0, kept.0), other, (run.0, run.0)]
}

#[test]
fn every_start_ends_with_what_the_step_leaves_and_never_does_harm() {
    let mut number = 0;
    for aim in aims() {
        let rest = [aim.total - aim.ceiling, 0, aim.ceiling];
        // Those from which a rollout is known to end.
        let mut ends = BTreeSet::new();
        for start in starts(&aim) {
            number += 1;
            let mut path = vec![start];
            loop {
                let last = path[path.len() - 1];
                if ends.contains(&last) {
                    break;
                }
                check_creation(last, &aim);
                let next = come_up(next(last, &aim));
                if next == last {
                    assert_eq!(last.map(|(size, _)| size), rest, "{path:?} {aim:?}");
                    break;
                }
                assert!(path.len() < 100, "no end: {path:?} {aim:?}");
                path.push(next);
            }
            ends.extend(path);
        }
    }
    assert!(number > 1_000_000, "{number} starts");
}

/// What runs already above the ceiling comes down to it, and no faster than what serves may go.
#[test]
fn what_is_above_the_ceiling_comes_down_within_availability() {
    for aim in aims().filter(|aim| aim.total <= 4) {
        for start in starts(&Aim { ceiling: aim.total, ..aim.clone() }) {
            let mut state = start;
            for _ in 0..40 {
                state = come_up(next(state, &aim));
            }
            let sizes = state.map(|(size, _)| size);
            assert_eq!(sizes, [aim.total - aim.ceiling, 0, aim.ceiling], "{start:?} {aim:?}");
        }
    }
}
