//! Revisions that run in the place of the declared one: pins, and policies for what fails.

use super::{SETTLED, small};
use crate::chance::Dice;
use crate::scenario::{Act, Criteria, Failing, Millis, Rollout, Scenario, Share, Start, Step};

/// A revision that fails does so so much later than its template came, in most scenarios.
pub(super) const LATE: Millis = 10_500;
/// A rollout has all the time it needs, so only an abort fails it.
const NO_DEADLINE: i64 = i32::MAX as i64;

/// In half of the seeds the first Deployment is about revisions that run in the place of the declared one, or with
/// steps. Which seeds have a theme otherwise (`seed % 4`) has nothing to do with it.
pub(crate) fn other_revisions(seed: u64, scenario: &mut Scenario) {
    let mut dice = Dice::new(seed, 17);
    match seed / 4 % 8 {
        4 => super::stepped::stepped(&mut dice, scenario),
        5 => pinned(&mut dice, scenario),
        6 => reverted(&mut dice, scenario),
        7 => failing_by_pods(&mut dice, scenario),
        _ => return,
    }
    scenario.steps.sort_by_key(|step| step.at);
}

/// Many Deployments of a fleet have a policy, and a template that fails.
pub(crate) fn policed(seed: u64, scenario: &mut Scenario) {
    let mut dice = Dice::new(seed, 19);
    let mut by_pods = Dice::new(seed, 23);
    let others = scenario.fleet.iter_mut().flat_map(|fleet| &mut fleet.others);
    for member in others.filter(|_| !scenario.is_apps) {
        let from = member.end().unwrap_or(0).max(20_000);
        if dice.percent(40) {
            failing(&mut dice, &mut member.start, &mut member.steps, from);
        } else if by_pods.percent(25) {
            judged_by_pods(&mut by_pods, &mut member.start, &mut member.steps, from);
        }
        member.steps.sort_by_key(|step| step.at);
    }
}

pub(super) fn one_of(dice: &mut Dice, acts: &[Act]) -> Option<Act> {
    let index = usize::try_from(dice.below(acts.len() as u64)).unwrap_or(0);
    acts.get(index).cloned()
}

pub(super) fn small_index(dice: &mut Dice) -> u8 {
    u8::try_from(dice.below(4)).unwrap_or(0)
}

/// An earlier revision is pinned, in the middle of a rollout or after it, whatever goes wrong (FP-11).
pub(super) fn pinned(dice: &mut Dice, scenario: &mut Scenario) {
    scenario.steps.clear();
    if dice.percent(50) {
        scenario.faults.clear();
    }
    scenario.is_apps = false;
    scenario.act(SETTLED, Act::Template(1));
    let mut at = SETTLED + if dice.percent(50) { dice.between(1, 8000) } else { SETTLED };
    let first =
        if dice.percent(20) { Act::PinNothing } else { Act::Pin(small_index(dice), dice.percent(20)) };
    scenario.act(at, first);
    for image in 2..2 + u8::try_from(dice.below(5)).unwrap_or(0) {
        at += dice.between(1, SETTLED);
        let acts = [
            Act::Template(image),
            Act::Scale(small(dice, 0, 8)),
            Act::Pause(true),
            Act::RollBack(0),
            Act::Unpin,
            Act::Pin(small_index(dice), false),
            Act::PinNothing,
            Act::DeletePinned,
        ];
        let act = one_of(dice, &acts);
        if act == Some(Act::DeletePinned) {
            // What comes while it is missing?
            scenario.act(at + dice.between(1, 5000), Act::Template(7));
            scenario.act(at + dice.between(1, 9000), Act::Scale(small(dice, 0, 8)));
        }
        scenario.steps.extend(act.map(|act| Step { at, act }));
    }
    scenario.act(at + SETTLED, Act::Pause(false));
    if dice.percent(40) {
        scenario.act(at + SETTLED + 1, Act::Unpin);
    }
}

/// A revision fails under a policy, whatever goes wrong beside that (FP-1 to FP-10).
pub(super) fn reverted(dice: &mut Dice, scenario: &mut Scenario) {
    scenario.steps.clear();
    if dice.percent(50) {
        scenario.faults.clear();
    }
    scenario.is_apps = false;
    scenario.start.replicas = small(dice, 1, 8);
    scenario.pods.ready_max = dice.one_of(&[200, 1000, 5000], 1000);
    let Scenario { start, steps, .. } = scenario;
    failing(dice, start, steps, SETTLED);
}

/// The same by what its pods show.
pub(super) fn failing_by_pods(dice: &mut Dice, scenario: &mut Scenario) {
    scenario.steps.clear();
    if dice.percent(50) {
        scenario.faults.clear();
    }
    scenario.is_apps = false;
    scenario.start.replicas = small(dice, 1, 8);
    let Scenario { start, steps, .. } = scenario;
    judged_by_pods(dice, start, steps, SETTLED);
}

pub(super) fn action(dice: &mut Dice) -> Failing {
    match dice.below(10) {
        0 => Failing::Stop,
        1 => Failing::Continue,
        _ => Failing::Revert,
    }
}

/// A template that does not work: no pod does, or only some, or none for long.
fn broken(dice: &mut Dice) -> u8 {
    let first = dice.one_of(&[8, 8, 8, 16, 16, 24], 8);
    first + u8::try_from(dice.below(3)).unwrap_or(0)
}

/// A policy, and templates that fail under it.
fn failing(dice: &mut Dice, start: &mut Start, steps: &mut Vec<Step>, from: Millis) {
    start.deadline_seconds = 10;
    start.history_limit = dice.one_of(&[1, 2, 10], 10);
    start.replicas = start.replicas.max(1);
    if dice.percent(60) {
        // Pods of the good revision stay until others are available.
        start.strategy = Rollout::Rolling(Share::Pods(1), Share::Pods(0));
    }
    let bake = dice.one_of(&[0, 0, 0, 5, 30], 0);
    // With the template that fails, or long before it.
    let policy = if dice.percent(20) { from + SETTLED } else { 1000 };
    let mut act = |at: Millis, act: Act| steps.push(Step { at, act });
    act(policy, Act::Policy(action(dice), bake, Criteria::default()));
    act(from, Act::Template(1));
    let mut at = from + SETTLED;
    for round in 0..dice.between(1, 3) {
        let template = if dice.percent(80) { broken(dice) } else { 2 };
        act(at, Act::Template(template));
        meanwhile(dice, at, &mut act);
        let next = [LATE + 4000, LATE + 20_000, SETTLED];
        at += dice.one_of(&next, SETTLED) + dice.below(3000);
        let acts = afterwards(dice, (template, bake), u8::try_from(round).unwrap_or(0));
        for _ in 0..dice.below(3) {
            if let Some(one) = one_of(dice, &acts) {
                act(at, one);
                at += dice.between(1, 15_000);
            }
        }
    }
    act(at, Act::Pause(false));
    // The pinned revision may be the failed one.
    act(at + 1, Act::Unpin);
    if dice.percent(10) {
        start.deadline_seconds = NO_DEADLINE;
    }
}

/// What happens until a revision fails, and right after that.
fn meanwhile(dice: &mut Dice, at: Millis, act: &mut impl FnMut(Millis, Act)) {
    if dice.percent(22) {
        // The pods of all revisions stop being ready, before the deadline or after they all were.
        let gone = at + dice.between(1, 6000);
        act(gone, Act::Lack(true));
        act(gone + dice.between(12_000, 30_000), Act::Lack(false));
    }
    if dice.percent(75) {
        // About when it fails, and on the way back.
        act(at + LATE + dice.below(1500), Act::Scale(small(dice, 1, 6)));
    }
    if dice.percent(20) {
        let pod = small_index(dice);
        // A pod that restarts again and again is ready again and again.
        (1..6).for_each(|time| act(at + time * 4000, Act::Restart(pod)));
    }
}

/// What users may do once a revision has failed.
fn afterwards(dice: &mut Dice, (template, bake): (u8, i64), number: u8) -> [Act; 15] {
    [
        // The template that runs is declared again, as a revert in Git does; or the one that failed.
        Act::Template(1),
        Act::Template(1),
        Act::Template(template),
        Act::Retry(number),
        Act::Retry(number),
        Act::Abort(number),
        Act::Abort(number),
        Act::Scale(small(dice, 0, 6)),
        Act::Pause(true),
        Act::RollBack(0),
        Act::Policy(action(dice), bake, Criteria::default()),
        Act::Policy(Failing::None, 0, Criteria::default()),
        Act::Strategy(Rollout::Recreate),
        Act::Pin(small_index(dice), false),
        Act::DeletePod(small_index(dice)),
    ]
}

/// What a policy judges by, where it judges by what pods show.
pub(super) fn criteria(dice: &mut Dice) -> Criteria {
    let kinds = dice.below(3);
    let min_pods = [
        Share::Pods(1),
        Share::Pods(1),
        Share::Pods(1),
        Share::Pods(2),
        Share::Percent(25),
        Share::Percent(50),
        Share::Percent(100),
    ];
    Criteria {
        deadline: dice.percent(20),
        restarts: (kinds > 0).then(|| small(dice, 1, 4)),
        stuck_seconds: (kinds < 2).then(|| dice.one_of(&[10, 10, 20, 40], 10)),
        min_pods: dice.one_of(&min_pods, Share::Pods(1)),
    }
}

/// A policy that judges by what pods show, and templates with pods that crash or cannot start.
fn judged_by_pods(dice: &mut Dice, start: &mut Start, steps: &mut Vec<Step>, from: Millis) {
    start.deadline_seconds = dice.one_of(&[10, 60, 600], 600);
    start.history_limit = dice.one_of(&[1, 2, 10], 10);
    start.replicas = start.replicas.max(1);
    if dice.percent(70) {
        start.strategy = Rollout::Rolling(Share::Pods(1), Share::Pods(0));
    }
    let (bake, when) = (dice.one_of(&[0, 0, 5, 30], 0), criteria(dice));
    let policy = if dice.percent(20) { from + SETTLED + dice.below(30_000) } else { 1000 };
    let mut act = |at: Millis, act: Act| steps.push(Step { at, act });
    act(policy, Act::Policy(action(dice), bake, when));
    act(from, Act::Template(1));
    let mut at = from + SETTLED;
    for round in 0..dice.between(1, 2) {
        let broken = dice.one_of(&[8, 16, 32, 32, 40, 2], 32);
        act(at, Act::Template(broken));
        if dice.percent(55) {
            // Those of the fallback, too.
            let from = at - dice.below(30_000);
            let until = at + dice.between(20_000, 90_000);
            let is_unready = dice.percent(75);
            act(from, Act::Crash(true));
            act(until, Act::Crash(false));
            if is_unready {
                act(from, Act::Lack(true));
                act(until, Act::Lack(false));
            }
        }
        if dice.percent(30) {
            act(at + dice.between(5000, 40_000), Act::Scale(small(dice, 1, 6)));
        }
        at += dice.between(20_000, 80_000);
        let acts = afterwards(dice, (broken, bake), u8::try_from(round).unwrap_or(0));
        for _ in 0..dice.below(3) {
            let chosen = one_of(dice, &acts).map(|act| match act {
                Act::Policy(action, bake, _) if dice.percent(70) => Act::Policy(action, bake, when),
                other => other,
            });
            if let Some(chosen) = chosen {
                act(at, chosen);
                at += dice.between(1, 40_000);
            }
        }
    }
    act(at, Act::Pause(false));
    act(at + 1, Act::Unpin);
}
