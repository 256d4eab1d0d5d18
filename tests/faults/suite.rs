//! Runs scenarios on two control planes, each with one scenario at a time.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use libtest_mimic::{Arguments, Conclusion, Failed, Trial};
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

use crate::failure::{Failure, Outcome};
use crate::flavour::Flavour;
use crate::report::{self, Findings};
use crate::rig::Rig;
use crate::stage::{Controller, Stage};

/// Most scenarios wait most of the time; two fit on two cores.
const LANES: usize = 2;
const SCENARIO_DEADLINE: Duration = Duration::from_secs(1500);
/// Long enough for faults to meet a rollout half way.
const READY_AFTER: Duration = Duration::from_millis(300);

type Run = for<'a> fn(&'a Rig) -> Pin<Box<dyn Future<Output = Outcome> + 'a>>;

/// A scenario, and the API that it runs against.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) flavour: Flavour,
    pub(crate) run: Run,
}

/// Turns `ours name` and `apps name` into scenarios.
macro_rules! scenarios {
    (@flavour ours) => { $crate::flavour::Flavour::Rollwright };
    (@flavour apps) => { $crate::flavour::Flavour::AppsV1 };
    ($($flavour:ident $name:ident,)+) => {
        &[$($crate::suite::Scenario {
            name: concat!(module_path!(), "::", stringify!($name)),
            flavour: $crate::suite::scenarios!(@flavour $flavour),
            run: |rig| Box::pin($name(rig)),
        },)+]
    };
}

pub(crate) use scenarios;

struct Suite {
    runtime: Runtime,
    stages: [OnceCell<Result<Arc<Stage>, String>>; LANES],
    /// Those that no scenario is on; as many as the runner has threads.
    free: Mutex<Vec<usize>>,
    findings: Arc<Mutex<Findings>>,
}

/// Runs those scenarios that the arguments name.
pub(crate) fn run(
    mut arguments: Arguments,
    scenarios: &'static [&'static [Scenario]],
) -> Outcome<Conclusion> {
    arguments.test_threads = Some(LANES);
    let findings = Arc::new(Mutex::new(Findings::default()));
    let suite = Arc::new(Suite {
        runtime: Runtime::new()?,
        stages: std::array::from_fn(|_| OnceCell::new()),
        free: Mutex::new((0..LANES).collect()),
        findings: findings.clone(),
    });
    let trial = |(order, scenario): (usize, &'static Scenario)| {
        let name = scenario.name.split_once("::").map_or(scenario.name, |(_, name)| name);
        let suite = suite.clone();
        Trial::test(format!("{name}::{}", scenario.flavour.name()), move || suite.run(order, scenario))
    };
    let trials = scenarios.iter().copied().flatten().enumerate().map(trial).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    let stages = Arc::into_inner(suite).map(|suite| suite.stages);
    for stage in
        stages.into_iter().flatten().filter_map(|cell| cell.into_inner()?.ok()).filter_map(Arc::into_inner)
    {
        stage.end(!conclusion.has_failed());
    }
    let findings = findings.lock().unwrap_or_else(PoisonError::into_inner);
    let is_whole = conclusion.num_filtered_out == 0 && !conclusion.has_failed();
    report::publish(&findings, is_whole)?;
    Ok(conclusion)
}

impl Suite {
    fn run(&self, order: usize, scenario: &'static Scenario) -> Result<(), Failed> {
        let lane = self.free().pop().ok_or("more threads than control planes")?;
        let result = self.runtime.block_on(async {
            let stage = self.stage(lane).await.map_err(|failure| failure.0)?;
            self.perform(order, scenario, stage).await
        });
        self.free().push(lane);
        result.map_err(Failed::from)
    }

    fn free(&self) -> MutexGuard<'_, Vec<usize>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn stage(&self, lane: usize) -> Outcome<Arc<Stage>> {
        let start = async || {
            let stage = Stage::start(Controller::Operator, &[], &[]).await.map_err(|failure| failure.0)?;
            if let Some(kubelet) = stage.cluster.kubelet() {
                kubelet.configure(|options| options.pods.ready_after = READY_AFTER);
            }
            Ok(Arc::new(stage))
        };
        let stage = self.stages.get(lane).ok_or_else(|| Failure::new("no such lane"))?;
        stage.get_or_init(start).await.clone().map_err(Failure)
    }

    async fn perform(&self, order: usize, scenario: &Scenario, stage: Arc<Stage>) -> Result<(), String> {
        let name = scenario.name.rsplit("::").next().unwrap_or_default().replace('_', "-");
        let rig = Rig::start(stage, scenario.flavour, &name, (order, self.findings.clone())).await;
        let rig = rig.map_err(|failure| failure.0)?;
        let run = AssertUnwindSafe((scenario.run)(&rig)).catch_unwind();
        let failure = match tokio::time::timeout(SCENARIO_DEADLINE, run).await {
            Ok(Ok(Ok(()))) => {
                rig.tidy().await;
                return Ok(());
            }
            Ok(Ok(Err(failure))) => failure.0,
            Ok(Err(_)) => "the scenario panicked; see above".to_owned(),
            Err(_) => format!("the scenario did not end within {SCENARIO_DEADLINE:?}"),
        };
        // The runner reports at the end, which may be minutes from now.
        eprintln!("{}: {failure}", scenario.name);
        let report = rig.diagnosis().await;
        rig.tidy().await;
        Err(format!("{failure}\n{report}"))
    }
}
