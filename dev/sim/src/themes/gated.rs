//! Gates and hooks: Jobs that pass, fail, last, and wait, whatever else happens.

use super::revisions::{action, small_index};
use super::stepped::{list, target};
use super::{SETTLED, small};
use crate::chance::Dice;
use crate::scenario::{
    Act, Criteria, Doing, Fault, JobAct, Millis, Probe, Rollout, Scenario, Share, Start, Step, Trouble,
};

/// In this share of the seeds, some Deployments have gates and hooks. The dice are others than those of the rest.
pub(crate) fn gated(seed: u64, scenario: &mut Scenario, percent: u64) {
    let mut dice = Dice::new(seed, 59);
    if !dice.percent(percent) || scenario.is_apps {
        if percent < 100 {
            return;
        }
        scenario.is_apps = false;
    }
    scenario.lacks_jobs = dice.percent(4);
    if dice.percent(70) {
        scenario.steps.clear();
        if dice.percent(50) {
            scenario.faults.clear();
        }
        let Scenario { start, steps, .. } = scenario;
        rollouts(&mut dice, (start, steps));
    } else {
        sprinkle(&mut dice, &mut scenario.steps);
    }
    for member in scenario.fleet.iter_mut().flat_map(|fleet| &mut fleet.others) {
        if dice.percent(40) {
            sprinkle(&mut dice, &mut member.steps);
        }
    }
    if !scenario.faults.is_empty() {
        let end = scenario.end();
        for trouble in [Trouble::JobQuota, Trouble::JobsUnreadable] {
            if dice.percent(25) {
                let (at, lasts) = (dice.below(end), dice.one_of(&[3000, 30_000, 100_000], 30_000));
                scenario.faults.push(Fault::During(at, dice.between(500, lasts), trouble));
            }
        }
    }
}

fn probe(dice: &mut Dice) -> Probe {
    let doing = match dice.below(20) {
        0..13 => Doing::Succeeds,
        13..16 => Doing::Fails,
        16..18 => Doing::Lasts,
        _ => Doing::Waits,
    };
    let timeout = dice.one_of(&[Some(1), Some(10), Some(30), Some(30), None], None);
    Probe { doing, timeout, number: u8::try_from(dice.below(3)).unwrap_or(0) }
}

fn hooks(dice: &mut Dice) -> Act {
    let mut hook = |share: u64| dice.percent(share).then(|| probe(dice));
    let (before, after) = (hook(65), hook(65));
    Act::Jobs(JobAct::Hooks(before, after))
}

fn stages(dice: &mut Dice, share: u64) -> Act {
    let mut list = list(dice);
    for stage in &mut list {
        // The API server refuses a gate where all pods are updated.
        if stage.updated != Share::Percent(100) && dice.percent(share) {
            stage.gate = Some(probe(dice));
            stage.approval &= dice.percent(50);
        }
    }
    Act::Stages(list, dice.percent(75))
}

/// What there is gets gates and hooks.
fn sprinkle(dice: &mut Dice, steps: &mut Vec<Step>) {
    for step in steps.iter_mut() {
        if let Act::Stages(list, _) = &mut step.act {
            for stage in list.iter_mut().filter(|stage| stage.updated != Share::Percent(100)) {
                stage.gate = dice.percent(40).then(|| probe(dice));
            }
        }
    }
    let end = steps.last().map_or(SETTLED, |step| step.at) + 20_000;
    for _ in 0..dice.between(1, 4) {
        let at = if dice.percent(40) { 1 } else { dice.below(end) };
        steps.push(Step { at, act: hooks(dice) });
    }
    for number in 0..u8::try_from(dice.below(4)).unwrap_or(0) {
        let at = dice.between(SETTLED, end + 1);
        let force = JobAct::Force(target(dice), number);
        let act = if dice.percent(50) { force } else { JobAct::Delete(small_index(dice)) };
        steps.push(Step { at, act: Act::Jobs(act) });
    }
    steps.sort_by_key(|step| step.at);
}

/// Rollouts with gates and hooks, and what users do meanwhile.
fn rollouts(dice: &mut Dice, (start, steps): (&mut Start, &mut Vec<Step>)) {
    start.replicas = small(dice, 1, 8);
    start.deadline_seconds = dice.one_of(&[10, 60, 600], 60);
    if dice.percent(70) {
        start.strategy = Rollout::Rolling(Share::Pods(1), Share::Pods(0));
    }
    let mut act = |at: Millis, act: Act| steps.push(Step { at, act });
    if dice.percent(60) {
        act(1000, Act::Policy(action(dice), dice.one_of(&[0, 0, 5], 0), Criteria::default()));
    }
    let since = dice.one_of(&[1, 1000, SETTLED + 3000], 1000);
    if dice.percent(75) {
        act(since, hooks(dice));
    }
    if dice.percent(75) {
        act(since, stages(dice, 70));
    }
    let mut at = SETTLED + dice.between(1, 20_000);
    for round in 0..u8::try_from(dice.between(2, 5)).unwrap_or(2) {
        let template = if dice.percent(85) { [1, 2, 3, 6, 7].get(usize::from(round % 5)) } else { Some(&8) };
        act(at, Act::Template(template.copied().unwrap_or(1)));
        at += dice.between(500, 20_000);
        for time in 0..u8::try_from(dice.below(5)).unwrap_or(0) {
            at = meanwhile(dice, at, round * 10 + time, &mut act);
        }
        at += dice.between(1000, 2 * SETTLED);
    }
    act(at, Act::Pause(false));
    act(at + 1, Act::Unpin);
    steps.sort_by_key(|step| step.at);
}

fn meanwhile(dice: &mut Dice, at: Millis, number: u8, act: &mut impl FnMut(Millis, Act)) -> Millis {
    let (chosen, back) = match dice.below(17) {
        0 => (Act::Scale(small(dice, 0, 8)), Some(Act::Scale(small(dice, 1, 8)))),
        1 => (Act::Pause(true), Some(Act::Pause(false))),
        2 => (Act::Pin(small_index(dice), dice.percent(50)), Some(Act::Unpin)),
        3 => (Act::RollBack(0), None),
        4 => (Act::Abort(number), None),
        5 | 6 => (Act::Retry(number), None),
        7 | 8 => (Act::Promote(target(dice), number), None),
        9 | 10 => (Act::Jobs(JobAct::Force(target(dice), number)), None),
        11 | 12 => (Act::Jobs(JobAct::Delete(small_index(dice))), None),
        13 => (hooks(dice), None),
        14 => (stages(dice, 70), None),
        15 => (Act::Template(dice.one_of(&[0, 1, 2], 1)), None),
        _ => (Act::Hold(dice.percent(70)), Some(Act::Continue)),
    };
    act(at, chosen);
    let next = at + dice.between(1, 15_000);
    if let Some(back) = back {
        act(next, back);
    }
    next + dice.between(1, 15_000)
}
