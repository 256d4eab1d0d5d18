//! Every write of a scenario, and the operator dies around it: before it is sent, after it was
//! carried out, after it was answered. The end has to be the same, and so have what was created and
//! deleted on the way and the records of rollouts: none twice, none missing (CR-1).

use crate::scenario::{
    Act, Criteria, Failing, Fault, Millis, Pods, Rollout, Share, Stage, Start, Step, Target, WriteFault,
};
use crate::{Report, Scenario, Settings, play};

/// The three ways to die around a write.
pub const MODES: [WriteFault; 3] =
    [WriteFault::CrashBefore, WriteFault::CrashCommitted, WriteFault::CrashAfter];

/// The outcome of a scenario: how many writes it has, and what differed.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// Whether it is an apps/v1 Deployment.
    pub is_apps: bool,
    /// Writes without faults.
    pub writes: u32,
    /// Runs with a fault: the operator is killed in each.
    pub kills: u32,
    /// Records of rollouts at the end of these runs, which were all compared.
    pub records: usize,
    /// Which write, which way, and what was wrong.
    pub failures: Vec<(u32, WriteFault, String)>,
}

/// Plays all of it.
#[must_use]
pub fn all() -> Vec<Row> {
    every(1)
}

/// Plays one write in this many, another one in each scenario.
#[must_use]
pub fn every(stride: u32) -> Vec<Row> {
    let flavours = [false, true].into_iter();
    flavours
        .flat_map(|is_apps| {
            scenarios(is_apps).into_iter().map(|(name, scenario)| row(name, &scenario, stride))
        })
        .collect()
}

fn row(name: &'static str, scenario: &Scenario, stride: u32) -> Row {
    let reference = play(scenario, &Settings::default());
    let writes = u32::try_from(reference.counts.sent_writes).unwrap_or(0);
    let mut row = Row { name, is_apps: scenario.is_apps, writes, kills: 0, records: 0, failures: Vec::new() };
    if let Some(violation) = &reference.violation {
        row.failures.push((0, WriteFault::Slow(0), format!("without faults: {violation:?}")));
        return row;
    }
    let first = u32::try_from(scenario.salt).unwrap_or(0) % stride.max(1);
    for nth in (first..writes).step_by(usize::try_from(stride.max(1)).unwrap_or(1)) {
        for mode in MODES {
            let faulty = Scenario { faults: vec![Fault::Write(nth, mode)], ..scenario.clone() };
            let report = play(&faulty, &Settings::default());
            row.kills += 1;
            row.records += report.records.len();
            let found = difference(&reference, &report);
            row.failures.extend(found.map(|text| (nth, mode, text)));
        }
    }
    row
}

fn difference(reference: &Report, report: &Report) -> Option<String> {
    if let Some(violation) = &report.violation {
        return Some(format!("{}: {}", violation.check, violation.text));
    }
    if reference.end != report.end {
        return Some(format!("ends with {:?} instead of {:?}", report.end, reference.end));
    }
    if reference.records != report.records {
        return Some(format!("records {:?} instead of {:?}", report.records, reference.records));
    }
    let summary = |report: &Report| (report.counts.creations, report.counts.deletions);
    let (wanted, is) = (summary(reference), summary(report));
    (wanted != is).then(|| format!("sets created and deleted: {is:?} instead of {wanted:?}"))
}

fn step(at: Millis, act: Act) -> Step {
    Step { at, act }
}

/// The scenarios, with enough time between steps for an operator to be born again.
fn scenarios(is_apps: bool) -> Vec<(&'static str, Scenario)> {
    let gradual = Rollout::Rolling(Share::Pods(1), Share::Pods(0));
    let quarter = Rollout::Rolling(Share::Percent(25), Share::Percent(25));
    let with = |salt: u64, strategy: Rollout, steps: Vec<Step>| Scenario {
        is_apps,
        salt,
        start: Start { replicas: 4, strategy, min_ready_seconds: 0, history_limit: 2, deadline_seconds: 600 },
        pods: Pods { ready_max: 8000, gone_max: 2000, flaky_percent: 0, nodes: 3 },
        steps,
        faults: Vec::new(),
        fleet: None,
        lacks_jobs: false,
    };
    // Four pods, one at a time, take longer than from `first` to `second`.
    let (first, second, later) = (60_000, 68_000, 200_000);
    let mut all = vec![
        ("create", with(1, quarter, Vec::new())),
        ("roll", with(2, quarter, vec![step(first, Act::Template(1))])),
        ("roll over", with(3, gradual, vec![step(first, Act::Template(1)), step(second, Act::Template(2))])),
        ("roll back", with(4, quarter, vec![step(first, Act::Template(1)), step(later, Act::RollBack(0))])),
        ("cancel", with(10, gradual, vec![step(first, Act::Template(1)), step(second, Act::RollBack(0))])),
        ("fail", {
            let steps = vec![step(first, Act::Template(8)), step(later, Act::RollBack(0))];
            let scenario = with(11, quarter, steps);
            let start = Start { deadline_seconds: 30, ..scenario.start };
            Scenario { start, ..scenario }
        }),
        ("scale", with(5, gradual, vec![step(first, Act::Template(1)), step(second, Act::Scale(7))])),
        (
            "pause and resume",
            with(
                6,
                gradual,
                vec![
                    step(first, Act::Template(1)),
                    step(second, Act::Pause(true)),
                    step(second + 20_000, Act::Pause(false)),
                ],
            ),
        ),
        ("recreate", with(7, Rollout::Recreate, vec![step(first, Act::Template(1))])),
        ("orphan and adopt", with(8, quarter, vec![step(first, Act::OrphanAndReturn)])),
        (
            "history",
            with(
                9,
                quarter,
                (1..5).map(|number| step(first * u64::from(number), Act::Template(number))).collect(),
            ),
        ),
    ];
    if !is_apps {
        all.extend(policies().map(|(name, acts)| {
            let steps = acts.into_iter().zip(0..).map(|(act, number)| step(first + number * 50_000, act));
            (name, with(12, gradual, steps.collect()))
        }));
    }
    all
}

/// What users do to rollouts with steps, to pins, and to aborts, fifty seconds apart.
fn policies() -> [(&'static str, Vec<Act>); 6] {
    let stage =
        |updated: Share, approval: bool, wait: Option<i64>| Stage { updated, approval, wait, gate: None };
    let stages = || {
        let list = [
            stage(Share::Pods(1), true, None),
            stage(Share::Percent(50), false, Some(20)),
            stage(Share::Percent(75), false, None),
        ];
        Act::Stages(list.to_vec(), true)
    };
    let half = Target::Of(Share::Percent(50));
    [
        ("steps", vec![stages(), Act::Template(1), Act::Promote(half, 0)]),
        ("scale at a step", vec![stages(), Act::Template(1), Act::Scale(8), Act::Scale(0), Act::Scale(3)]),
        (
            "fail at a step",
            vec![
                stages(),
                Act::Policy(Failing::Revert, 0, Criteria::default()),
                Act::Template(1),
                Act::Abort(0),
                Act::Retry(0),
                Act::Promote(Target::All, 0),
            ],
        ),
        ("hold", vec![Act::Hold(true), Act::Template(1), Act::Continue, Act::Template(2), Act::Continue]),
        ("pin", vec![Act::Template(1), Act::Pin(0, false), Act::Template(2), Act::Unpin]),
        ("abort", vec![Act::Template(1), Act::Template(2), Act::Abort(0), Act::Template(3)]),
    ]
}
