//! What the others do while a tenant plays, and when the tenant acts.

use crate::chance::Dice;
use crate::engine::{MILLISECOND, Time};
use crate::fleet::{Fleet, Member};
use crate::scenario::{Act, Criteria, Failing, Millis, Rollout, Scenario, Share, Start, Step};

/// How many Deployments the others have at the most beside the first.
const OTHERS_MAX: usize = 2;
/// No Deployment waits for a worker, where the tenant does not flood.
const WORKERS: usize = 64;
/// In a flood, each step has this long to come to an end.
const APART: Millis = 240_000;

/// Of eight tenants one floods.
pub(super) fn floods(seed: u64) -> bool {
    seed % 8 == 7
}

/// The scenario of the others, all in one namespace: turns among theirs are another matter. Most are small, so that
/// many are played.
pub(super) fn of(seed: u64) -> Scenario {
    if floods(seed) {
        return calm(seed);
    }
    let mut scenario = if seed.is_multiple_of(8) { Scenario::drawn(seed) } else { Scenario::of(seed) };
    let alone = Fleet { limit: None, workers: WORKERS, others: Vec::new() };
    let fleet = scenario.fleet.get_or_insert(alone);
    fleet.workers = WORKERS;
    fleet.others.truncate(OTHERS_MAX);
    fleet.others.iter_mut().for_each(|member| member.namespace = 0);
    scenario
}

/// When the tenant acts: at any time, and in a flood many times around each step of the others.
pub(super) fn acts(seed: u64, scenario: &Scenario) -> Vec<Time> {
    let mut dice = Dice::new(seed, 43);
    let mut acts: Vec<Millis> = (0..dice.between(5, 40)).map(|_| dice.below(scenario.end() + 1000)).collect();
    if floods(seed) {
        let others = scenario.others().iter().flat_map(|member| &member.steps);
        for step in others.chain(&scenario.steps) {
            let (begins, many) = (step.at.saturating_sub(dice.below(500)), dice.between(10, 40));
            acts.extend((0..many).map(|_| begins + dice.below(2000)));
        }
    }
    acts.into_iter().map(|at| at * MILLISECOND).collect()
}

/// A scenario in which a delay changes no size on the way: pods come and go one after the other, and a step begins when
/// the one before has come to its end.
fn calm(seed: u64) -> Scenario {
    let mut dice = Dice::new(seed, 47);
    let mut scenario = Scenario::plain(seed);
    let others = (0..dice.below(OTHERS_MAX as u64 + 1)).map(|_| member(&mut dice)).collect();
    Member { start: scenario.start, steps: scenario.steps, .. } = member(&mut dice);
    scenario.is_apps = dice.percent(25);
    scenario.pods.ready_max = dice.one_of(&[200, 1000, 5000], 1000);
    let limit = dice.one_of(&[Some(1), Some(2), None], None);
    scenario.fleet = Some(Fleet { limit, workers: dice.one_of(&[1, 2, 4], 1), others });
    scenario
}

fn member(dice: &mut Dice) -> Member {
    let (one, none) = (Share::Pods(1), Share::Pods(0));
    let strategies = [Rollout::Rolling(one, none), Rollout::Rolling(none, one), Rollout::Recreate];
    let start = Start {
        replicas: number(dice.between(1, 5)),
        strategy: dice.one_of(&strategies, Rollout::Recreate),
        min_ready_seconds: 0,
        history_limit: dice.one_of(&[1, 2, 10], 10),
        deadline_seconds: 60,
    };
    let mut steps = Vec::new();
    let revert = Act::Policy(Failing::Revert, 0, Criteria::default());
    for number_of_step in 1..dice.between(2, 5) {
        let at = number_of_step * APART + dice.below(20_000);
        let act = match dice.below(8) {
            0 => Act::Scale(number(dice.between(0, 6))),
            1 => Act::RollBack(0),
            2 => Act::Pause(dice.percent(50)),
            3 => revert.clone(),
            4 => Act::Template(8),
            _ => Act::Template(u8::try_from(dice.between(1, 5)).unwrap_or(1)),
        };
        steps.push(Step { at, act });
    }
    Member { namespace: 0, start, steps }
}

fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(0)
}
