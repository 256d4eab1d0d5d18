//! Rollouts by the hundred thousand, in an in-memory cluster, with every fault.
//!
//! One seed makes one [`Scenario`]: Deployments, what their users do, and what goes wrong. [`run`] plays it with the
//! production planner, executor, cache, queue, slots and ledger over the store, ReplicaSet controller, kubelets and
//! garbage collector of `sandbox/world`, by a virtual clock, and looks at every single write.
//! docs/internals/simulation.md lists what is modelled and what is not.

mod actor;
pub mod chance;
mod checks;
mod conduct;
pub mod coverage;
mod engine;
pub mod fleet;
mod history;
mod jobs;
mod link;
pub mod matrix;
mod nature;
mod operator;
mod record;
mod requests;
mod rival;
pub mod scenario;
mod shown;
pub mod shrink;
mod signs;
mod subject;
pub mod tenant;
pub mod themes;
mod troubles;
mod truth;
mod users;
mod verdict;
mod view;
mod walk;

use engine::{Engine, Event, MILLISECOND, SECOND, Time};
use plan::TargetRecord;
use serde_json::Value;

pub use checks::Violation;
pub use checks::requests::SentWrite;
pub use engine::Counts;
pub use record::Coverage;
pub use scenario::Scenario;

/// How a scenario is played.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Whether the last events are kept as text.
    pub verbose: bool,
    /// Whether seeds make plain rollouts of ten pods without faults, to measure speed.
    pub plain: bool,
    /// Whether seeds make one Deployment, and its operator knows no slots, cooldowns and competing controllers.
    pub alone: bool,
    /// Whether all Deployments of rollwright.dev have gates and hooks.
    pub gated: bool,
    /// Whether every request is kept with its body.
    pub requests: bool,
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The first check that failed, if one did.
    pub violation: Option<Violation>,
    /// Rollouts that were asked for.
    pub rollouts: u64,
    /// What operators did.
    pub counts: Counts,
    /// Write requests that operators sent, events apart, in their order.
    pub sent_writes: Vec<SentWrite>,
    /// Every request that operators sent, reads and events too, in their order, if they were kept.
    pub requests: Vec<Value>,
    /// Hash of everything that happened.
    pub hash: u64,
    /// What happened how often.
    pub coverage: Coverage,
    /// The last events, if they were kept.
    pub lines: Vec<String>,
    /// The ReplicaSets at the end: name, size, revision.
    pub end: Vec<(String, i64, Option<i64>)>,
    /// The records of rollouts at the end, by Deployment, newest first.
    pub records: Vec<String>,
}

/// Plays the scenario of a seed.
#[must_use]
pub fn run(seed: u64, settings: &Settings) -> Report {
    play(&scenario(seed, settings), settings)
}

/// The scenario of a seed.
#[must_use]
pub fn scenario(seed: u64, settings: &Settings) -> Scenario {
    match settings {
        Settings { plain: true, .. } => Scenario::plain(seed),
        Settings { alone: true, .. } => Scenario::of(seed),
        Settings { gated: true, .. } => Scenario::gated(seed),
        _ => Scenario::drawn(seed),
    }
}

/// Plays a scenario.
#[must_use]
pub fn play(scenario: &Scenario, settings: &Settings) -> Report {
    let mut engine = Engine::new(scenario, settings.verbose);
    engine.checks.requests.kept = settings.requests.then(Vec::new);
    play_on(&mut engine);
    report(engine)
}

/// Plays what is left of a run that has just begun.
fn play_on(engine: &mut Engine<'_>) {
    let scenario = engine.scenario;
    for which in 0..engine.subjects.len() {
        engine.create_workload(which);
    }
    engine.after(MILLISECOND, Event::Start(0));
    for which in 0..engine.subjects.len() {
        let steps = engine.subjects.get(which).map_or(&[][..], |subject| subject.steps);
        for (index, step) in steps.iter().enumerate() {
            engine.at(step.at * MILLISECOND, Event::Step(which, index));
        }
    }
    for (index, fault) in scenario.faults.iter().enumerate() {
        if let scenario::Fault::During(at, duration, _) = fault {
            engine.at(at * MILLISECOND, Event::Begin(index));
            engine.at((at + duration) * MILLISECOND, Event::End(index));
        }
    }
    let end = scenario.end() * MILLISECOND + 1;
    engine.run_until(end);
    if engine.checks.found.is_empty() {
        engine.heal();
        come_to_rest(engine, end);
    }
}

/// Time for everything to come right: steps of pods, backoff, watches.
fn bound(scenario: &Scenario) -> Time {
    let others = scenario.others().iter();
    let steps = others.clone().flat_map(|member| &member.steps).chain(&scenario.steps);
    let rests = |step: &scenario::Step| match &step.act {
        scenario::Act::Stages(list, _) => Some(list.iter().map(|stage| rest(scenario, stage)).sum::<Time>()),
        _ => None,
    };
    let replicas = steps.clone().filter_map(|step| match step.act {
        scenario::Act::Scale(size)
        | scenario::Act::TemplateAndScale(_, size)
        | scenario::Act::ScaleSet(_, size) => Some(size),
        _ => None,
    });
    let has_jobs = steps.clone().any(|step| matches!(&step.act, scenario::Act::Jobs(_))
        || matches!(&step.act, scenario::Act::Stages(list, _) if list.iter().any(|stage| stage.gate.is_some())));
    let starts = others.map(|member| member.start.replicas).chain([scenario.start.replicas]);
    let replicas = replicas.chain(starts).max().unwrap_or(1).max(1);
    let rounds = u64::try_from(replicas).unwrap_or(1) + 4;
    let pods = (scenario.pods.ready_max + scenario.pods.gone_max + 10_000) * MILLISECOND;
    let slots = u64::try_from(scenario.others().len()).unwrap_or(0) * 15 * SECOND;
    let jobs = if has_jobs { 600 * SECOND } else { 0 };
    // With a clock that is off, an operator waits for up to this much longer until a ReplicaSet is old enough to go.
    rounds * pods
        + (420 + scenario.clock_off()) * SECOND
        + jobs
        + slots
        + steps.filter_map(rests).max().unwrap_or(0)
}

/// Time for a step of a rollout.
fn rest(scenario: &Scenario, stage: &scenario::Stage) -> Time {
    let seconds = stage.wait.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(0);
    (scenario.pods.ready_max + scenario.pods.gone_max + 20_000) * MILLISECOND + seconds * SECOND
}

/// LV-1, and then quiet.
fn come_to_rest(engine: &mut Engine<'_>, healed: Time) {
    let bound = healed + bound(engine.scenario);
    engine.run_until(bound);
    if !engine.checks.found.is_empty() {
        return;
    }
    let mut is_calm = true;
    for which in 0..engine.subjects.len() {
        is_calm &= has_come_right(engine, which);
    }
    if !is_calm {
        return;
    }
    // Pods are read at a step, too (FP-4).
    let is_read =
        engine.subjects.iter().any(|subject| subject.truth.rests() || subject.truth.asks_for_jobs());
    let requests =
        |engine: &Engine<'_>| engine.counts.requests - if is_read { engine.counts.looks } else { 0 };
    let before = requests(engine);
    engine.run_until(bound + 600 * SECOND);
    let after = requests(engine);
    let verdict = if after == before { Ok(()) } else { Err(format!("{} requests at rest", after - before)) };
    engine.checks.fail("ID-1", verdict);
}

/// LV-1 of one Deployment. False if it may continue to ask for what it cannot get.
fn has_come_right(engine: &mut Engine<'_>, which: usize) -> bool {
    let has_workload = engine.has_workload(which);
    let Some(subject) = engine.subjects.get(which).filter(|_| has_workload) else { return false };
    // NS-1: nothing helps but a person, or another template.
    let status = subject.truth.workload.as_ref().map(|workload| &workload.status);
    let limit = plan::keys::condition::COLLISION_LIMIT_REACHED;
    if status.is_some_and(|status| status.condition(limit).is_some()) {
        engine.coverage.hit("gave up on names");
        engine.checks.fail("NS-1", checks::identity::gave_up_late(subject.marks.taken.len()));
        return false;
    }
    if status.is_some_and(|status| status.ours.target.is_some()) {
        engine.coverage.hit("another revision at rest");
        if status.is_some_and(|status| status.ours.target.as_ref().is_some_and(TargetRecord::is_reverted)) {
            engine.coverage.hit("a revert at rest");
        }
    }
    let named = |text: String| format!("{}: {text}", subject.name);
    let verdict = checks::liveness::converged(&subject.truth, engine.flavour, subject.is_alone);
    engine.checks.fail("LV-1", verdict.map_err(named));
    let workload = subject.truth.workload.as_deref();
    engine.checks.fail("HI-1", workload.map_or(Ok(()), checks::records::ended).map_err(named));
    true
}

fn report(mut engine: Engine<'_>) -> Report {
    if engine.subjects.iter().any(|subject| subject.marks.floor.deepest > 0) {
        engine.coverage.hit("below the floor by others");
    }
    let mut coverage = std::mem::take(&mut engine.coverage);
    coverage.merge(&engine.checks.premises);
    let sets = engine.subjects.iter().flat_map(|subject| subject.truth.owned());
    let sets = sets.map(|truth| {
        let revision = truth.set.annotations.get(plan::keys::REVISION).and_then(|text| text.parse().ok());
        (truth.set.name.clone(), truth.set.size, revision)
    });
    let workloads = (0..engine.subjects.len()).filter_map(|of| engine.store.get(&engine.workload_key(of)));
    let records = workloads.flat_map(checks::records::summary);
    Report {
        rollouts: engine.scenario.rollouts(),
        end: sets.collect(),
        records: records.collect(),
        violation: engine.checks.found.first().cloned(),
        counts: engine.counts,
        sent_writes: std::mem::take(&mut engine.checks.requests.writes),
        requests: engine.checks.requests.kept.take().unwrap_or_default(),
        hash: engine.trace.hash(),
        lines: engine.trace.lines().map(str::to_owned).collect(),
        coverage,
    }
}
