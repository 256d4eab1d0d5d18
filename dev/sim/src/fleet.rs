//! The other Deployments of a run, and how the operator shares its slots among all of them.

use serde::{Deserialize, Serialize};

use crate::chance::Dice;
use crate::scenario::{
    self, Act, Fault, LookFault, Millis, Rollout, Scenario, Share, Start, Step, Trouble, WriteFault,
};

/// What an operator with slots, cooldowns and competing controllers has to do with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fleet {
    /// Rollouts that may be under way at the same time; without it, as many as the cluster serves.
    pub limit: Option<usize>,
    /// Attempts that may run at the same time.
    pub workers: usize,
    /// The Deployments beside the first.
    pub others: Vec<Member>,
}

impl Fleet {
    /// This many rollouts may be under way at the least.
    pub(crate) fn least(&self) -> usize {
        self.limit.map_or(LIMIT_LEAST, |limit| limit.max(1))
    }
}

/// One more Deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The namespace that it is in: 0 is that of the first.
    pub namespace: u8,
    /// The Deployment as it is created.
    pub start: Start,
    /// What users and other controllers do to it.
    pub steps: Vec<Step>,
}

impl Member {
    /// When nothing more is done to it.
    pub(crate) fn end(&self) -> Option<Millis> {
        self.steps.iter().map(|step| step.at).max()
    }
}

impl Scenario {
    /// The Deployments beside the first.
    #[must_use]
    pub fn others(&self) -> &[Member] {
        self.fleet.as_ref().map_or(&[], |fleet| &fleet.others)
    }
}

/// A limit that follows the cluster does not fall below this.
const LIMIT_LEAST: usize = 4;
/// Many edits together begin when the first rollouts are through.
const SETTLED: Millis = 30_000;

impl Scenario {
    /// The scenario of a seed as `make sim` plays it: half of them with one Deployment.
    #[must_use]
    pub fn drawn(seed: u64) -> Self {
        let mut scenario = Self::without_jobs(seed);
        crate::themes::gated(seed, &mut scenario, 12);
        scenario
    }

    /// The same with gates and hooks in each seed.
    #[must_use]
    pub fn gated(seed: u64) -> Self {
        let mut scenario = Self::without_jobs(seed);
        crate::themes::gated(seed, &mut scenario, 100);
        scenario
    }

    fn without_jobs(seed: u64) -> Self {
        let mut scenario = Self::of(seed);
        crate::themes::other_revisions(seed, &mut scenario);
        let mut dice = Dice::new(seed, 11);
        let count = count(&mut dice);
        let namespaces = dice.between(1, 4);
        let burst = dice.percent(60).then(|| SETTLED + dice.below(20_000));
        let others = (1..count).map(|_| member(&mut dice, count, namespaces, burst)).collect();
        if let Some(burst) = burst.filter(|_| count > 1) {
            scenario.steps.push(Step { at: burst + dice.below(50), act: Act::Template(6) });
            scenario.steps.sort_by_key(|step| step.at);
        }
        let limit = usize::try_from(dice.between(1, 16)).unwrap_or(1);
        let limit = dice.one_of(&[Some(1), Some(2), Some(3), Some(limit), None], None);
        scenario.fleet = Some(Fleet { limit, workers: dice.one_of(&[1, 2, 4, 8], 4), others });
        spread(&mut scenario.faults, &mut dice, count);
        if !scenario.faults.is_empty() {
            let faults = fleet_faults(&mut dice, count, burst.unwrap_or(SETTLED), scenario.end());
            scenario.faults.extend(faults);
            scenario.faults.extend(look_faults(&mut Dice::new(seed, 29), count));
            if dice.percent(5) {
                unanswered_return(&mut dice, &mut scenario);
            }
        }
        taken_back(&mut Dice::new(seed, 13), &mut scenario);
        crate::themes::policed(seed, &mut scenario);
        crate::themes::stepped_fleet(seed, &mut scenario);
        crate::themes::held(seed, &mut scenario);
        scenario
    }
}

/// The first Deployment returns from a template that never gets ready to the one before, and no write is answered. Such
/// a reconcile has something to cut and something to grow, and continues with the one when the other is refused.
fn unanswered_return(dice: &mut Dice, scenario: &mut Scenario) {
    let mut few = || Share::Pods(i64::try_from(dice.between(1, 2)).unwrap_or(1));
    scenario.start.strategy = Rollout::Rolling(few(), few());
    scenario.start.replicas = scenario.start.replicas.clamp(4, 8);
    let stuck = scenario.end() + SETTLED;
    let back = stuck + dice.between(5000, 20_000);
    let images = [(stuck - 20_000, 0), (stuck, 8), (back, 0)];
    scenario.steps.extend(images.map(|(at, image)| Step { at, act: Act::Template(image) }));
    let before = dice.below(200);
    let during = Fault::During(back - before, dice.one_of(&[300, 1000, 3000], 1000), Trouble::Unanswered);
    scenario.faults.push(during);
}

/// Looks at pods that go wrong.
fn look_faults(dice: &mut Dice, count: u64) -> Vec<Fault> {
    let rate = dice.one_of(&[0, 5, 25], 5);
    let mut faults = Vec::new();
    for nth in 0..60 {
        if dice.percent(rate) {
            let fault = match dice.below(5) {
                0 => LookFault::Refused(dice.one_of(&[403, 429, 500, 503], 500)),
                1 => LookFault::Silence,
                2 | 3 => LookFault::Stale(dice.between(1, 9000)),
                _ => LookFault::Slow(dice.between(1, 9000)),
            };
            faults.push(Fault::Look(nth, fault));
        }
    }
    spread(&mut faults, dice, count);
    faults
}

/// Some users take a new template back while it is rolled out. By chance alone, few rollouts are cancelled.
///
/// The dice are others than those of the rest, so that the rest of a seed does not depend on this.
fn taken_back(dice: &mut Dice, scenario: &mut Scenario) {
    let Scenario { steps, fleet, .. } = scenario;
    let others = fleet.iter_mut().flat_map(|fleet| &mut fleet.others).map(|member| &mut member.steps);
    for steps in others.chain([steps]) {
        if !dice.percent(6) {
            continue;
        }
        let last = steps.last().map_or(0, |step| step.at);
        let at = dice.between(SETTLED / 2, SETTLED + last);
        let back = at + dice.between(200, 5000);
        let image = dice.one_of(&[1, 2, 3, 9, 10], 9);
        steps
            .extend([(at, Act::Template(image)), (back, Act::RollBack(0))].map(|(at, act)| Step { at, act }));
        steps.sort_by_key(|step| step.at);
    }
}

/// How many Deployments there are.
fn count(dice: &mut Dice) -> u64 {
    match dice.below(100) {
        0..50 => 1,
        50..75 => dice.between(2, 5),
        75..93 => dice.between(6, 12),
        _ => dice.between(13, 40),
    }
}

fn member(dice: &mut Dice, count: u64, namespaces: u64, burst: Option<Millis>) -> Member {
    let namespace = u8::try_from(dice.below(namespaces)).unwrap_or(0);
    let mut start = scenario::start(dice);
    if count > 5 {
        start.replicas = start.replicas.min(3);
    }
    let mut steps = Vec::new();
    if count <= 5 || dice.percent(20) {
        steps = scenario::steps(dice, &start);
    }
    match burst {
        Some(burst) => {
            steps.push(Step { at: burst + dice.below(50), act: Act::Template(7) });
            if dice.percent(10) {
                // While it may wait for a slot.
                let at = burst + dice.between(50, 3000);
                steps.push(Step { at, act: Act::Pause(true) });
                steps.push(Step { at: at + dice.between(1000, 20_000), act: Act::Pause(false) });
            }
        }
        None => steps.push(Step { at: dice.below(2 * SETTLED), act: Act::Template(7) }),
    }
    steps.sort_by_key(|step| step.at);
    Member { namespace, start, steps }
}

/// The n-th write of one Deployment becomes one of all: those of a fleet begin with its creations.
fn spread(faults: &mut [Fault], dice: &mut Dice, count: u64) {
    let mut far = |nth: u32| {
        let nth = u64::from(nth) * count + dice.below(count);
        u32::try_from(nth).unwrap_or(u32::MAX)
    };
    for fault in faults {
        match fault {
            Fault::Write(nth, _) | Fault::Read(nth, _) | Fault::Look(nth, _) => *nth = far(*nth),
            Fault::During(..) => {}
        }
    }
}

/// What goes wrong only where there are slots, cooldowns and competing controllers.
fn fleet_faults(dice: &mut Dice, count: u64, burst: Millis, end: Millis) -> Vec<Fault> {
    let mut faults = Vec::new();
    let which = u8::try_from(dice.below(count)).unwrap_or(0);
    if dice.percent(20) {
        let duration = dice.one_of(&[5000, 30_000, 100_000], 30_000);
        faults.push(Fault::During(dice.below(end), dice.between(1000, duration), Trouble::Rival(which)));
    }
    if dice.percent(15) {
        let duration = dice.one_of(&[200, 3000, 20_000], 3000);
        let asked = dice.one_of(&[1, 5, 30], 5);
        faults.push(Fault::During(dice.below(end), dice.between(1, duration), Trouble::Overload(asked)));
    }
    if dice.percent(15) {
        for _ in 0..dice.between(1, 4) {
            let nth = u32::try_from(dice.below(60 * count)).unwrap_or(0);
            faults.push(Fault::Write(nth, WriteFault::RetryAfter(dice.one_of(&[1, 5, 30], 5))));
        }
    }
    if dice.percent(15) {
        let at = if dice.percent(60) { burst + dice.below(3000) } else { dice.below(end) };
        let duration = dice.one_of(&[200, 3000, 20_000], 3000);
        faults.push(Fault::During(at, dice.between(100, duration), Trouble::Unanswered));
    }
    if dice.percent(25) {
        let at = if dice.percent(60) { burst + dice.below(3000) } else { dice.below(end) };
        let duration = dice.one_of(&[10, 500, 5000, 20_000], 500);
        faults.push(Fault::During(at, dice.between(1, duration), Trouble::Takeover));
    }
    faults
}
