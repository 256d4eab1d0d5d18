//! Sizes step by step, from numbers alone: no cluster, no plan.

use super::*;

/// R 10, surge 1, unavailable 0: ReplicaSet 0 is old, ReplicaSet 1 runs.
pub(crate) fn aim() -> Aim {
    Aim {
        run: Some(1),
        ceiling: 10,
        keep: None,
        order: Vec::new(),
        is_at_rest: false,
        total: 10,
        cap: 11,
        floor: 10,
        scope: Scope::Open,
        manner: Manner::Rolling,
        because: Because::RollingOut,
        bad: Vec::new(),
        left: Vec::new(),
        spare: None,
        deviation: None,
    }
}

/// Sets of these sizes, scaled for R 10, all their pods available.
pub(crate) fn sets(sizes: &[i64]) -> Vec<Counted> {
    let set = |size: &i64| Counted {
        size: *size,
        available: *size,
        desired: Some(10),
        desired_signed: Some(10),
        base: 11,
    };
    sizes.iter().map(set).collect()
}

pub(super) fn text(sets: &[Counted]) -> String {
    sets.iter().map(|set| set.size.to_string()).collect::<Vec<_>>().join("+")
}

pub(super) fn steps(moves: &Moves) -> impl Iterator<Item = Resize> {
    let cuts = moves.cuts.iter().chain(&moves.shares).copied();
    moves.ups().chain(cuts).chain(moves.ups_again()).filter(|step| step.is_change())
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
            Aim { scope: Scope::Frozen, because: Because::Paused, ..aim() },
            &[8, 3],
            &["8+3"],
        ),
        (
            "frozen, and R is another",
            Aim { scope: Scope::Frozen, because: Because::Scaling, total: 20, ceiling: 20, cap: 22, ..aim() },
            &[8, 3],
            &["8+3", "16+3", "16+6"],
        ),
        ("shut", Aim { scope: Scope::Shut, because: Because::Deleting, ..aim() }, &[8, 3], &["8+3"]),
        ("cuts are refused", Aim { scope: Scope::Growth, ..aim() }, &[8, 2], &["8+2", "8+3"]),
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

/// The example of [`roll`].
#[test]
fn a_rolling_update_goes_as_its_example() {
    let aim = Aim { total: 8, ceiling: 8, cap: 10, floor: 6, ..aim() };
    for (from, available, to) in
        [([8, 0], [5, 0], "6+4"), ([6, 4], [5, 0], "6+4"), ([6, 4], [6, 3], "3+7"), ([3, 7], [3, 7], "0+8")]
    {
        let mut sets = sets(&from);
        sets.iter_mut().zip(available).for_each(|(set, available)| set.available = available);
        steps(&moves(&sets, &aim)).for_each(|step| sets[step.set].size = step.to);
        assert_eq!(text(&sets), to, "{from:?}, {available:?} of them available");
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
        // Only a rollback creates a ReplicaSet where nothing moves.
        (Aim { run: None, scope: Scope::Shut, because: Because::OldPodsRun, ..aim() }, vec![], None),
        (
            Aim { run: None, scope: Scope::Shut, because: Because::RollingBack(0), ceiling: 0, ..aim() },
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
    // The younger old ReplicaSet has two pods that never came up.
    assert_eq!(after(&[(5, 5), (5, 3), (1, 1)], &aim), ("5+4+1".to_owned(), false));
    let loose = Aim { floor: 8, ..aim.clone() };
    assert_eq!(after(&[(5, 5), (5, 3), (1, 1)], &loose), ("4+3+1".to_owned(), false));
    // A status that is behind its ReplicaSet stops the step (S6.10).
    assert_eq!(after(&[(5, 6), (5, 5), (1, 1)], &loose), ("5+5+1".to_owned(), true));
    assert_eq!(after(&[(5, 4), (5, 6), (1, 1)], &loose), ("4+5+1".to_owned(), true));
}

/// SP-3.
#[test]
fn under_a_ceiling_what_is_too_much_goes_as_availability_allows() {
    let ceiling = Aim { ceiling: 3, keep: Some(0), ..aim() };
    assert_eq!(path(sets(&[5, 5]), &ceiling), ["5+5", "6+5", "6+4", "7+4", "7+3"]);
    let third = Aim { run: Some(2), ceiling: 1, keep: Some(0), ..aim() };
    let path = path(sets(&[7, 3, 0]), &third);
    assert_eq!(path, ["7+3+0", "7+3+1", "7+2+1", "8+2+1", "8+1+1", "9+1+1", "9+0+1"]);
}

/// SP-3: pods of the ReplicaSet that is kept come before those of the running one, while too few are available.
#[test]
fn under_a_ceiling_the_set_that_is_kept_grows_first_while_pods_are_missing() {
    let ceiling = Aim { run: Some(2), ceiling: 1, keep: Some(0), ..aim() };
    let mut sets = sets(&[7, 3, 0]);
    let mut path = vec![text(&sets)];
    for _ in 0..10 {
        sets[1].available = 0;
        let moves = moves(&sets, &ceiling);
        for step in steps(&moves) {
            sets[step.set].size = step.to;
            path.push(text(&sets));
        }
        sets.iter_mut().for_each(|set| set.available = set.size);
    }
    assert_eq!(path, ["7+3+0", "8+3+0", "8+2+0", "9+2+0", "9+1+0", "9+1+1", "9+0+1"]);
}

/// SP-3: in the order of the aim, and the ReplicaSet that is kept last, whatever its age, and its unready pods, too.
#[test]
fn under_a_ceiling_the_set_that_is_kept_is_cut_last() {
    let ceiling = Aim { run: Some(3), ceiling: 2, keep: Some(0), order: vec![2, 1], floor: 9, ..aim() };
    let sizes = |moves: &Moves, sizes: [i64; 4]| {
        let mut sizes = sizes;
        steps(moves).for_each(|step| sizes[step.set] = step.to);
        sizes
    };
    let with = |counts: [(i64, i64); 4]| -> Vec<Counted> {
        let set = |(size, available)| Counted { size, available, ..sets(&[0])[0] };
        counts.into_iter().map(set).collect()
    };
    let cut = |counts: [(i64, i64); 4]| sizes(&moves(&with(counts), &ceiling), counts.map(|(size, _)| size));
    assert_eq!(cut([(9, 9), (1, 1), (1, 1), (0, 0)]), [9, 0, 0, 2], "the others");
    assert_eq!(cut([(9, 6), (1, 1), (1, 1), (0, 0)]), [8, 1, 1, 1], "only pods that serve nobody may go");
    assert_eq!(cut([(9, 7), (1, 0), (1, 0), (0, 0)]), [9, 0, 0, 2], "those of the others first");
    assert_eq!(cut([(8, 8), (0, 0), (3, 3), (0, 0)]), [8, 0, 1, 2]);
    assert_eq!(cut([(8, 8), (2, 2), (1, 1), (0, 0)]), [8, 1, 0, 2]);
    assert_eq!(cut([(8, 7), (2, 2), (2, 2), (0, 0)]), [8, 2, 0, 1], "the first of the order");
}

/// SP-7.
#[test]
fn at_rest_sizes_follow_r_at_once() {
    let of = |from: [i64; 2], was: i64, total: i64, ceiling: i64, is_at_rest: bool| {
        let frozen = Aim { scope: Scope::Frozen, because: Because::Scaling, keep: Some(0), ..aim() };
        let aim = Aim { total, ceiling, cap: total + 1, floor: total, is_at_rest, ..frozen };
        let set = |size: i64| Counted {
            size,
            available: size,
            desired: Some(was),
            desired_signed: Some(was),
            base: was + 1,
        };
        let mut sets: Vec<_> = from.map(set).into();
        steps(&moves(&sets, &aim)).for_each(|step| sets[step.set].size = step.to);
        text(&sets)
    };
    assert_eq!(of([14, 6], 20, 19, 6, true), "13+6", "no pod is made");
    assert_eq!(of([7, 3], 10, 20, 6, true), "14+6", "no surge");
    assert_eq!(of([7, 3], 10, 0, 0, true), "0+0");
    assert_eq!(of([0, 0], 0, 10, 3, false), "7+3", "no pods, so nothing is in transit");
    assert_eq!(of([1, 0], 1, 10, 3, true), "7+3", "one has pods");
    // In transit, S8 shares the difference out, and the kept ReplicaSet gets what is above the ceiling.
    assert_eq!(of([9, 2], 10, 20, 6, false), "17+4");
    assert_eq!(of([8, 3], 10, 20, 3, false), "17+3", "the kept one takes what it is to have");
    assert_eq!(of([9, 2], 10, 20, 3, false), "17+3", "what is above both goes to nobody");
}

/// SP-7, FP-10: neither a third ReplicaSet beside a step, nor one that a user put aside and that was scaled for fewer.
#[test]
fn what_is_about_to_go_gains_nothing_of_r() {
    let scaling = Aim { scope: Scope::Frozen, because: Because::Scaling, ..aim() };
    let beside = Aim { total: 20, ceiling: 5, keep: Some(2), cap: 22, ..scaling.clone() };
    let aside = Aim { total: 7, ceiling: 7, cap: 8, left: vec![0], ..scaling };
    let mut stale = sets(&[2, 7]);
    (stale[0].desired, stale[0].base, stale[1].desired, stale[1].base) = (Some(5), 6, Some(7), 8);
    for (mut sets, aim, expected) in [(sets(&[2, 3, 6]), beside, "2+5+15"), (stale, aside, "2+6")] {
        let moves = moves(&sets, &aim);
        steps(&moves).for_each(|step| sets[step.set].size = step.to);
        assert_eq!(text(&sets), expected);
    }
}
