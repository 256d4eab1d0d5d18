//! Scenarios with a theme: situations that bugs of the past needed, and that pure chance makes
//! too seldom. Numbers and times are still drawn from the seed.

mod gated;
mod revisions;
mod stepped;

use std::iter;

use crate::chance::Dice;
use crate::scenario::{Act, Fault, Rollout, Scenario, Share, Step, Trouble, WriteFault};

pub(crate) use gated::gated;
pub(crate) use revisions::{other_revisions, policed};
pub(crate) use stepped::stepped_fleet;

/// When the first rollout is through, in most scenarios.
const SETTLED: u64 = 40_000;

impl Scenario {
    /// The scenario of a seed, turned to one of the themes.
    #[must_use]
    pub fn themed(seed: u64) -> Self {
        let mut dice = Dice::new(seed, 7);
        let mut scenario = Self::of(seed);
        let themes: [fn(&mut Dice, &mut Self); 21] = [
            burst,
            taken_name,
            stripped,
            scaled_in_between,
            switched,
            stuck,
            recreated,
            rolled_back,
            lost_answer,
            // Of its many ways, each needs a scenario.
            meddled_with,
            meddled_with,
            meddled_with,
            meddled_with,
            outage,
            paused_early,
            lagging,
            paused_busy,
            garbled_maximum,
            cut_late,
            revisions::pinned,
            revisions::reverted,
        ];
        let index = usize::try_from(dice.below(themes.len() as u64)).unwrap_or(0);
        if let Some(theme) = themes.get(index) {
            theme(&mut dice, &mut scenario);
        }
        scenario.steps.sort_by_key(|step| step.at);
        scenario
    }

    fn act(&mut self, at: u64, act: Act) {
        self.steps.push(Step { at, act });
    }

    /// Only what the theme contains happens, and nothing goes wrong.
    fn bare(&mut self) {
        self.steps.clear();
        self.faults.clear();
        self.pods.flaky_percent = 0;
    }
}

fn small(dice: &mut Dice, low: u64, high: u64) -> i64 {
    i64::try_from(dice.between(low, high)).unwrap_or(1)
}

/// Where operators die, some Deployments wait for a word after that.
pub(crate) fn held(seed: u64, scenario: &mut Scenario) {
    let mut dice = Dice::new(seed, 53);
    if scenario.is_apps || scenario.faults.is_empty() || !dice.percent(40) {
        return;
    }
    let Scenario { steps, fleet, .. } = scenario;
    let others = fleet.iter_mut().flat_map(|fleet| &mut fleet.others).map(|member| &mut member.steps);
    for steps in iter::once(steps).chain(others) {
        if !dice.percent(30) {
            continue;
        }
        let act = |at, act| Step { at, act };
        steps.push(act(dice.one_of(&[1, 20_000, SETTLED + 3000], 1), Act::Hold(true)));
        let mut at = 20_000;
        for _ in 0..dice.between(2, 10) {
            at += dice.between(500, 30_000);
            steps.push(act(at, Act::Continue));
        }
        if dice.percent(20) {
            steps.push(act(at + 1000, Act::Hold(false)));
        }
        steps.sort_by_key(|step| step.at);
    }
}

/// A template every second or so: no rollout completes (kubernetes#40068).
fn burst(dice: &mut Dice, scenario: &mut Scenario) {
    scenario.bare();
    scenario.is_apps = false;
    scenario.start.history_limit = dice.one_of(&[0, 1, 10], 0);
    let pace = dice.one_of(&[300, 1000, 3000], 1000);
    let mut at = 3000;
    for image in (1..8).chain(8..16) {
        at += dice.between(1, pace);
        scenario.act(at, Act::Template(image));
    }
    scenario.act(at + 5000, Act::Template(0));
}

/// The name of the next ReplicaSet is taken (kubernetes#43449, #59213).
fn taken_name(dice: &mut Dice, scenario: &mut Scenario) {
    scenario.bare();
    scenario.is_apps = false;
    let whose = u8::try_from(dice.below(3)).unwrap_or(0);
    if dice.percent(50) {
        // The operator ends up reading all ReplicaSets live, those of others too.
        scenario.faults.push(Fault::During(SETTLED - 1, 60_000, Trouble::SetLag));
    }
    scenario.act(SETTLED, Act::TakeName(1, whose));
    scenario.act(SETTLED + dice.between(1, 2000), Act::Template(1));
}

/// A webhook takes the operator's annotation off every ReplicaSet, and changes its template (kubernetes#57167).
fn stripped(dice: &mut Dice, scenario: &mut Scenario) {
    scenario.bare();
    scenario.is_apps = false;
    let duration = dice.one_of(&[3000, 20_000], 3000);
    scenario.faults.push(Fault::During(SETTLED, duration, Trouble::Stripping));
    scenario.act(SETTLED + dice.between(1, 1000), Act::Template(1));
}

/// Another size while a rollout is under way (kubernetes#102551), with and without garbage.
fn scaled_in_between(dice: &mut Dice, scenario: &mut Scenario) {
    scenario.bare();
    let replicas = small(dice, 2, 12);
    scenario.start.replicas = replicas;
    if dice.percent(50) {
        scenario.start.strategy = Rollout::Rolling(Share::Pods(0), Share::Pods(small(dice, 1, 2)));
    }
    scenario.act(SETTLED, Act::Template(1));
    if dice.percent(30) {
        scenario
            .act(SETTLED + dice.between(1, 3000), Act::Garbage(u8::try_from(dice.below(9)).unwrap_or(0), 1));
    }
    let close = (replicas - small(dice, 0, 2)).max(1);
    let size = if dice.percent(50) { close } else { small(dice, 1, 12) };
    scenario.act(SETTLED + dice.between(1, 4000), Act::Scale(size));
}

/// Another strategy and another size while a rollout is under way (S8.13).
fn switched(dice: &mut Dice, scenario: &mut Scenario) {
    scaled_in_between(dice, scenario);
    let at = scenario.steps.last().map_or(SETTLED, |step| step.at);
    scenario.act(at, Act::Strategy(Rollout::Recreate));
}

/// A template that never becomes ready, and then a good one (kubernetes#16737, #49637, #44657).
fn stuck(dice: &mut Dice, scenario: &mut Scenario) {
    scenario.bare();
    scenario.start.deadline_seconds = 10;
    scenario.start.replicas = small(dice, 1, 6);
    if dice.percent(50) {
        scenario.start.strategy = Rollout::Rolling(Share::Pods(1), Share::Pods(0));
    }
    scenario.act(SETTLED, Act::Template(8));
    scenario.act(SETTLED + dice.between(1000, 60_000), Act::Template(1));
}

/// Recreate, with pods that take their time to go (kubernetes#27362).
fn recreated(dice: &mut Dice, scenario: &mut Scenario) {
    scenario.start.strategy = Rollout::Recreate;
    scenario.pods.gone_max = 30_000;
    let at = SETTLED + dice.between(1, 5000);
    scenario.act(at, Act::Template(6));
}

/// Back and forth, with annotations that belong to others (kubernetes#82570, S11).
fn rolled_back(dice: &mut Dice, scenario: &mut Scenario) {
    scenario.bare();
    scenario.start.history_limit = dice.one_of(&[1, 2, 10], 2);
    let mut at = SETTLED;
    for image in 1..4 {
        scenario.act(at, Act::Annotate(image));
        scenario.act(at + 1, Act::Template(image));
        at += SETTLED;
    }
    scenario.act(at, Act::RollBack(small(dice, 0, 3)));
    scenario.act(at + SETTLED, Act::Template(5));
    scenario.act(at + 2 * SETTLED, Act::Template(6));
}

/// The answer to a creation is lost, and the cache does not show the ReplicaSet (S4.15).
fn lost_answer(dice: &mut Dice, scenario: &mut Scenario) {
    scenario.faults.clear();
    let fault = dice.one_of(&[WriteFault::LostAnswer, WriteFault::Silence], WriteFault::LostAnswer);
    scenario.faults.push(Fault::Write(0, fault));
    scenario.faults.push(Fault::During(0, dice.between(100, 20_000), Trouble::SetLag));
}

/// Somebody edits what belongs to the operator, and nothing else happens (kubernetes#32829, #42639, #141853).
fn meddled_with(dice: &mut Dice, scenario: &mut Scenario) {
    scenario.bare();
    scenario.act(SETTLED, Act::Template(1));
    let which = u8::try_from(dice.below(6)).unwrap_or(0);
    let garbage = u8::try_from(dice.below(12)).unwrap_or(0);
    let acts = [
        Act::Disown(which),
        Act::Garbage(which, garbage),
        Act::Garbage(0, 7),
        Act::Garbage(3, 10),
        Act::Annotate(which),
        Act::OrphanAndReturn,
    ];
    let index = usize::try_from(dice.below(acts.len() as u64)).unwrap_or(0);
    let act = acts.get(index).cloned().unwrap_or(Act::OrphanAndReturn);
    if act == Act::OrphanAndReturn {
        scenario.faults.push(Fault::During(2 * SETTLED - 1, dice.between(10, 20_000), Trouble::WorkloadLag));
    }
    scenario.act(2 * SETTLED, act);
    if dice.percent(50) {
        scenario.act(3 * SETTLED, Act::Template(2));
    }
}

/// The server refuses everything for minutes, or a single write (S2, S3).
fn outage(dice: &mut Dice, scenario: &mut Scenario) {
    scenario.bare();
    scenario.act(SETTLED, Act::Template(1));
    if dice.percent(50) {
        let from = SETTLED + dice.between(1, 200);
        scenario.faults.push(Fault::During(from, dice.between(200_000, 300_000), Trouble::Outage(503)));
    } else {
        let nth = u32::try_from(dice.between(4, 25)).unwrap_or(9);
        scenario.faults.push(Fault::Write(nth, WriteFault::Refused(500)));
    }
}

/// The status of the old ReplicaSet lags behind, while new pods come up (kubernetes#21810).
fn lagging(dice: &mut Dice, scenario: &mut Scenario) {
    scenario.bare();
    scenario.start.replicas = small(dice, 4, 12);
    scenario.pods.ready_max = 5000;
    scenario.act(SETTLED, Act::Template(1));
    let from = SETTLED + dice.between(5, 200);
    scenario.faults.push(Fault::During(from, dice.between(1000, 20_000), Trouble::SlowSet(0)));
}

/// Paused as soon as a rollout has begun, and scaled (S13, S8.4).
fn paused_early(dice: &mut Dice, scenario: &mut Scenario) {
    scenario.bare();
    scenario.pods.ready_max = 20_000;
    if dice.percent(50) {
        scenario.start.strategy = Rollout::Rolling(Share::Percent(100), Share::Pods(0));
    }
    scenario.act(SETTLED, Act::Template(1));
    let at = SETTLED + dice.between(1, 8000);
    scenario.act(at, Act::Pause(true));
    if dice.percent(60) {
        scenario.act(at + dice.below(2), Act::Scale(small(dice, 1, 12)));
    }
    scenario.act(at + dice.between(1000, 60_000), Act::Pause(false));
}

/// Paused when the old ReplicaSet has size 0 already, and its controller has not followed (S11.5).
fn paused_busy(dice: &mut Dice, scenario: &mut Scenario) {
    scenario.bare();
    scenario.start.history_limit = 0;
    scenario.start.replicas = small(dice, 1, 6);
    scenario.start.min_ready_seconds = 0;
    scenario.start.strategy = Rollout::Rolling(Share::Percent(100), Share::Percent(100));
    scenario.pods.ready_max = 1000;
    let until = dice.between(8000, 20_000);
    scenario.faults.push(Fault::During(SETTLED - 1, until, Trouble::SlowSet(0)));
    scenario.act(SETTLED, Act::Template(1));
    scenario.act(SETTLED + dice.between(500, 5000), Act::Pause(true));
    scenario.act(SETTLED + 2 * until, Act::Pause(false));
}

/// A maximum of 0 on an active old ReplicaSet, and immediately another size (kubernetes PR #128535).
fn garbled_maximum(dice: &mut Dice, scenario: &mut Scenario) {
    scenario.bare();
    let replicas = small(dice, 4, 12);
    scenario.start.replicas = replicas;
    scenario.start.strategy = Rollout::Rolling(Share::Pods(1), Share::Pods(1));
    scenario.pods.ready_max = 20_000;
    scenario.act(SETTLED, Act::Template(1));
    let at = SETTLED + dice.between(500, 4000);
    // Which one is first of the two is chance: the name decides.
    scenario.act(at, Act::Garbage(dice.one_of(&[2, 5], 2), 1));
    scenario.act(at + dice.below(20), Act::Scale(replicas + small(dice, 1, 6)));
}

/// Two old ReplicaSets, and the status of one lags behind its cuts while another is not ready: what was
/// spent on the first is not spent again on the second (S6.10).
fn cut_late(dice: &mut Dice, scenario: &mut Scenario) {
    scenario.bare();
    scenario.start.replicas = small(dice, 4, 12);
    scenario.start.min_ready_seconds = 0;
    scenario.start.strategy =
        Rollout::Rolling(Share::Pods(small(dice, 0, 3)), Share::Pods(small(dice, 1, 3)));
    scenario.pods.ready_max = dice.one_of(&[2000, 5000, 20_000], 5000);
    scenario.pods.gone_max = 0;
    let from = SETTLED - 1;
    let which = u8::try_from(dice.below(2)).unwrap_or(0);
    scenario.act(SETTLED, Act::Template(1));
    let second = SETTLED + dice.between(100, 10_000);
    scenario.act(second, Act::Template(2));
    let begin = if dice.percent(50) { from } else { second + dice.below(5000) };
    scenario.faults.push(Fault::During(begin, dice.between(5000, 40_000), Trouble::SlowSet(which)));
}
