//! Rollouts with steps: they rest, are promoted, fail, are scaled, and are left for others meanwhile.

use super::revisions::{LATE, action, criteria, one_of, small_index};
use super::{SETTLED, small};
use crate::chance::Dice;
use crate::scenario::{Act, Criteria, Millis, Rollout, Scenario, Share, Spoiled, Stage, Start, Step, Target};

/// The first Deployment has steps, whatever goes wrong.
pub(super) fn stepped(dice: &mut Dice, scenario: &mut Scenario) {
    scenario.steps.clear();
    if dice.percent(50) {
        scenario.faults.clear();
    }
    scenario.is_apps = false;
    scenario.start.replicas = small(dice, 1, 10);
    scenario.pods.ready_max = dice.one_of(&[200, 1000, 5000], 1000);
    let Scenario { start, steps, .. } = scenario;
    let rounds = dice.between(2, 5);
    with_steps(dice, (start, steps), SETTLED, rounds);
}

/// Many Deployments of a fleet have steps.
pub(crate) fn stepped_fleet(seed: u64, scenario: &mut Scenario) {
    let mut dice = Dice::new(seed, 37);
    let others = scenario.fleet.iter_mut().flat_map(|fleet| &mut fleet.others);
    for member in others.filter(|_| !scenario.is_apps) {
        let has_policy = member.steps.iter().any(|step| matches!(step.act, Act::Policy(..)));
        if !has_policy && dice.percent(65) {
            let from = member.end().unwrap_or(0).max(20_000);
            let rounds = dice.between(1, 3);
            with_steps(&mut dice, (&mut member.start, &mut member.steps), from, rounds);
            member.steps.sort_by_key(|step| step.at);
        }
    }
}

fn stage(dice: &mut Dice, updated: Share) -> Stage {
    let (approval, waits) = match dice.below(20) {
        0..9 => (true, false),
        9..17 => (false, true),
        17..19 => (true, true),
        _ => (false, false),
    };
    let wait = waits.then(|| dice.one_of(&[1, 5, 15, 40, 60, 90], 15));
    Stage { updated, approval, wait, gate: None }
}

/// Mostly one that rises.
pub(super) fn list(dice: &mut Dice) -> Vec<Stage> {
    let rising = [
        Share::Pods(1),
        Share::Percent(10),
        Share::Pods(2),
        Share::Percent(25),
        Share::Percent(34),
        Share::Pods(3),
        Share::Percent(50),
        Share::Percent(75),
        Share::Pods(8),
        Share::Percent(99),
        Share::Percent(100),
    ];
    let least = dice.one_of(&[15, 30, 50], 30);
    let mut list: Vec<Stage> = Vec::new();
    for updated in rising {
        if dice.percent(least) && list.len() < 5 {
            list.push(stage(dice, updated));
        }
    }
    if list.is_empty() {
        list.push(stage(dice, Share::Percent(30)));
    }
    if dice.percent(10) {
        list.reverse();
    }
    list
}

pub(super) fn target(dice: &mut Dice) -> Target {
    match dice.below(4) {
        0 => Target::All,
        1 => Target::Of(Share::Pods(small(dice, 0, 9))),
        _ => Target::Of(Share::Percent(dice.one_of(&[10, 25, 34, 50, 75, 99, 100], 50))),
    }
}

/// A policy in most cases, steps, and templates that rest.
fn with_steps(dice: &mut Dice, (start, steps): (&mut Start, &mut Vec<Step>), from: Millis, rounds: u64) {
    start.deadline_seconds = dice.one_of(&[10, 10, 10, 10, 600], 10);
    start.history_limit = dice.one_of(&[1, 2, 10], 10);
    start.replicas = start.replicas.max(1);
    if dice.percent(60) || start.strategy == Rollout::Recreate {
        start.strategy = Rollout::Rolling(Share::Pods(1), Share::Pods(0));
    }
    let mut act = |at: Millis, act: Act| steps.push(Step { at, act });
    if dice.percent(80) {
        let when = if dice.percent(80) { Criteria::default() } else { criteria(dice) };
        let bake = dice.one_of(&[0, 0, 0, 5, 30], 0);
        act(1000, Act::Policy(action(dice), bake, when));
    }
    // Before the first rollout, before the second one, or in the middle of that.
    let since = dice.one_of(&[1, 1000, from + 3000], 1000);
    act(since, Act::Stages(list(dice), dice.percent(75)));
    act(from, Act::Template(1));
    let mut at = from + dice.between(8000, 20_000);
    if dice.percent(70) {
        act(at, Act::Promote(Target::All, 0));
        at += dice.between(3000, SETTLED / 2);
    }
    for round in 0..rounds {
        at = one_round(dice, at, round, &mut act);
    }
    act(at, Act::Pause(false));
    act(at + 1, Act::Unpin);
    act(at + 2, Act::Spoil(Spoiled::No));
}

/// A template that rests, what happens there, and how it ends.
fn one_round(dice: &mut Dice, mut at: Millis, round: u64, act: &mut impl FnMut(Millis, Act)) -> Millis {
    let number = u8::try_from(round).unwrap_or(0);
    let good = [2, 3, 6, 7].get(usize::from(number % 4)).copied().unwrap_or(2);
    let template = if dice.percent(12) { dice.one_of(&[8, 16, 24, 32], 8) + number } else { good };
    if dice.percent(8) {
        // A canary that nobody would see if it got all pods as soon as there are some.
        act(at, Act::Scale(0));
        at += dice.between(1, 4000);
        act(at, Act::Template(template));
        at += dice.between(1, 4000);
        act(at, Act::Scale(small(dice, 2, 10)));
    } else {
        act(at, Act::Template(template));
    }
    at += dice.between(5000, 20_000);
    let fails_at_once = dice.percent(50);
    if !fails_at_once {
        at = at_rest(dice, at, number, act);
    } else if dice.percent(60) {
        act(at, Act::Scale(small(dice, 1, 10)));
        at += dice.between(3000, 9000);
    }
    match if fails_at_once { 0 } else { dice.below(20) } {
        0..12 => at = failing(dice, at, (template, number), act),
        12..15 => act(at, Act::Promote(Target::All, number + 100)),
        15..18 => {
            act(at, Act::Template(dice.one_of(&[0, 1], 1)));
            at += dice.between(1000, 15_000);
            act(at, Act::Template(template));
            at += dice.between(1000, 15_000);
        }
        // A newer one comes immediately.
        _ => return at,
    }
    at + dice.between(2000, SETTLED / 2)
}

/// What users do while it rests.
fn at_rest(dice: &mut Dice, mut at: Millis, number: u8, act: &mut impl FnMut(Millis, Act)) -> Millis {
    for time in 0..dice.between(0, 4) {
        let acts = [
            Act::Scale(small(dice, 1, 10)),
            Act::Scale(small(dice, 1, 10)),
            Act::Scale(small(dice, 1, 10)),
            Act::Scale(small(dice, 2, 10)),
            Act::Scale(0),
            Act::Promote(target(dice), number * 10 + u8::try_from(time).unwrap_or(0)),
            Act::Promote(target(dice), number * 10),
            Act::Stages(list(dice), dice.percent(75)),
            Act::Pause(true),
            Act::Pin(small_index(dice), false),
            Act::Forget,
            Act::DeletePod(small_index(dice)),
        ];
        let Some(chosen) = one_of(dice, &acts) else { continue };
        let back = match &chosen {
            Act::Scale(0) => Some(Act::Scale(small(dice, 1, 10))),
            Act::Pause(_) => Some(Act::Pause(false)),
            Act::Pin(..) => Some(Act::Unpin),
            _ => None,
        };
        act(at, chosen);
        at += dice.between(1, 8000);
        if let Some(back) = back {
            if dice.percent(30) {
                act(at - 1, Act::Scale(small(dice, 1, 10)));
            }
            act(at, back);
            at += dice.between(1, 12_000);
        }
    }
    at
}

/// The rollout fails where it waits, by its pods or by an abort; and then somebody scales, retries it, or declares it
/// again.
fn failing(
    dice: &mut Dice,
    mut at: Millis,
    (template, number): (u8, u8),
    act: &mut impl FnMut(Millis, Act),
) -> Millis {
    match dice.below(10) {
        0..5 => act(at, Act::Spoil(Spoiled::Unready)),
        5..6 => act(at, Act::Spoil(Spoiled::Crashing)),
        _ => act(at, Act::Abort(number)),
    }
    if dice.percent(40) {
        act(at + dice.below(LATE + 2000), Act::Scale(small(dice, 1, 8)));
    }
    at += LATE + dice.between(3000, 15_000);
    match dice.below(10) {
        0..2 => {
            act(at, Act::Spoil(Spoiled::No));
            if dice.percent(30) {
                // This promotion is older than the retry, and has no effect.
                act(at - 1, Act::Promote(Target::All, number + 150));
            }
            act(at, Act::Retry(number));
        }
        2..6 => {
            act(at, Act::Template(dice.one_of(&[0, 1], 1)));
            at += dice.between(1000, 15_000);
            act(at, Act::Spoil(Spoiled::No));
            act(at, Act::Template(template));
        }
        _ => {}
    }
    at + dice.between(1000, 15_000)
}
