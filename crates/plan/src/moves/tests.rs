//! Sizes step by step, from numbers alone: no cluster, no plan.

use super::*;

/// R 10, surge 1, unavailable 0: set 0 is old, set 1 runs.
fn aim() -> Aim {
    Aim {
        run: Some(1),
        ceiling: 10,
        keep: None,
        total: 10,
        cap: 11,
        floor: 10,
        gate: Gate::Open,
        manner: Manner::Rolling,
        because: Because::RollingOut,
        bad: Vec::new(),
        spare: None,
        divergence: None,
        deviation: None,
    }
}

/// Sets of these sizes, scaled for R 10, all their pods available.
fn sets(sizes: &[i64]) -> Vec<Counted> {
    let set = |size: &i64| Counted {
        size: *size,
        available: *size,
        desired: Some(10),
        desired_signed: Some(10),
        base: 11,
    };
    sizes.iter().map(set).collect()
}

fn text(sets: &[Counted]) -> String {
    sets.iter().map(|set| set.size.to_string()).collect::<Vec<_>>().join("+")
}

fn steps(moves: &Moves) -> impl Iterator<Item = Resize> {
    let first = moves.up.iter().chain(&moves.cuts);
    first.chain(&moves.shares).chain(&moves.up_again).copied().filter(|step| step.is_change())
}

/// The sizes after each step, until nothing moves. Pods come up between two reconciles.
fn path(mut sets: Vec<Counted>, aim: &Aim) -> Vec<String> {
    let mut path = vec![text(&sets)];
    for _ in 0..20 {
        let moves = moves(&sets, aim);
        for step in steps(&moves) {
            assert_eq!(sets[step.set].size, step.from, "{moves:?}");
            sets[step.set].size = step.to;
            path.push(text(&sets));
        }
        sets.iter_mut().for_each(|set| set.available = set.size);
    }
    path
}

#[test]
fn sizes_go_step_by_step_to_where_the_aim_is() {
    let ceiling = Aim { ceiling: 3, keep: Some(0), ..aim() };
    let table: [(&str, Aim, &[i64], &[&str]); 11] = [
        ("a ceiling", ceiling.clone(), &[10, 0], &["10+0", "10+1", "9+1", "9+2", "8+2", "8+3", "7+3"]),
        (
            "a ceiling, and three may be missing",
            Aim { floor: 7, ..ceiling.clone() },
            &[10, 0],
            &["10+0", "10+1", "7+1", "7+3"],
        ),
        ("above the ceiling", ceiling, &[7, 5], &["7+5", "7+3"]),
        (
            "no ceiling",
            Aim { total: 3, ceiling: 3, cap: 4, floor: 3, ..aim() },
            &[3, 0],
            &["3+0", "3+1", "2+1", "2+2", "1+2", "1+3", "0+3"],
        ),
        (
            "an older set runs, and the declared one has pods",
            Aim { run: Some(0), ..aim() },
            &[9, 2],
            &["9+2", "9+1", "10+1", "10+0"],
        ),
        (
            "frozen, as it is",
            Aim { gate: Gate::Frozen, because: Because::Paused, ..aim() },
            &[8, 3],
            &["8+3"],
        ),
        (
            "frozen, and R is another",
            Aim { gate: Gate::Frozen, because: Because::Scaling, total: 20, ceiling: 20, cap: 22, ..aim() },
            &[8, 3],
            &["8+3", "16+3", "16+6"],
        ),
        ("shut", Aim { gate: Gate::Shut, because: Because::Deleting, ..aim() }, &[8, 3], &["8+3"]),
        ("cuts are refused", Aim { gate: Gate::Growth, ..aim() }, &[8, 2], &["8+2", "8+3"]),
        // Nothing grows above 10 pods, and nothing is cut unless 11 are available.
        ("cap and floor swapped", Aim { cap: 10, floor: 11, ..aim() }, &[8, 2], &["8+2"]),
        (
            "a set at a time",
            Aim { manner: Manner::Whole, cap: 10, ..aim() },
            &[10, 0],
            &["10+0", "0+0", "0+10"],
        ),
    ];
    for (name, aim, sizes, expected) in table {
        assert_eq!(path(sets(sizes), &aim), expected, "{name}");
    }
}

#[test]
fn a_set_that_is_missing_starts_with_what_the_cap_leaves() {
    for (aim, sizes, created) in [
        (Aim { run: None, ..aim() }, vec![10], Some(1)),
        (Aim { run: None, ..aim() }, vec![4, 3], Some(4)),
        (Aim { run: None, ..aim() }, vec![11], Some(0)),
        (Aim { run: None, ceiling: 3, ..aim() }, vec![], Some(3)),
        (Aim { run: None, manner: Manner::Whole, ..aim() }, vec![], Some(10)),
        // Only a rollback creates a set where nothing moves.
        (Aim { run: None, gate: Gate::Shut, because: Because::OldPodsRun, ..aim() }, vec![], None),
        (
            Aim { run: None, gate: Gate::Shut, because: Because::RollingBack(0), ceiling: 0, ..aim() },
            vec![],
            Some(0),
        ),
    ] {
        assert_eq!(moves(&sets(&sizes), &aim).created, created, "{aim:?}");
    }
}

/// S6.9–S6.12, with pods that are not available.
#[test]
fn unhealthy_pods_go_first_and_cost_nothing() {
    let of = |sizes: &[(i64, i64)]| -> Vec<Counted> {
        sizes.iter().map(|(size, available)| Counted { available: *available, ..sets(&[*size])[0] }).collect()
    };
    let after = |sizes: &[(i64, i64)], aim: &Aim| {
        let mut sets = of(sizes);
        let moves = moves(&sets, aim);
        moves.cuts.iter().for_each(|cut| sets[cut.set].size = cut.to);
        (text(&sets), moves.lags)
    };
    let aim = Aim { run: Some(2), ..aim() };
    // The younger old set has two pods that never came up.
    assert_eq!(after(&[(5, 5), (5, 3), (1, 1)], &aim), ("5+4+1".to_owned(), false));
    let loose = Aim { floor: 8, ..aim.clone() };
    assert_eq!(after(&[(5, 5), (5, 3), (1, 1)], &loose), ("4+3+1".to_owned(), false));
    // A status that is behind its set stops the step (S6.10).
    assert_eq!(after(&[(5, 6), (5, 5), (1, 1)], &loose), ("5+5+1".to_owned(), true));
    assert_eq!(after(&[(5, 4), (5, 6), (1, 1)], &loose), ("4+5+1".to_owned(), true));
}
