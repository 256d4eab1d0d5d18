//! Runs scenarios: one control plane for all, started by the first that needs it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use libtest_mimic::{Arguments, Conclusion, Failed, Trial};
use tokio::runtime::Runtime;
use tokio::sync::{OnceCell, Semaphore};

use crate::diagnosis;
use crate::failure::{Failure, Outcome};
use crate::flavour::Flavour;
use crate::scenario::{Place, Run, Scenario};
use crate::stage::{Controller, Stage};
use crate::world::World;

/// Scenarios mostly wait, and therefore many run side by side on few cores.
const PARALLEL: usize = 12;
/// Control planes that start side by side: a start needs a core, and a server without one answers nobody.
const STARTS: usize = 2;
const SCENARIO_DEADLINE: Duration = Duration::from_secs(600);
/// Those that `make` starts by itself may take longer: seconds, in the environment.
const DEADLINE_VARIABLE: &str = "E2E_DEADLINE";

/// All that scenarios share.
struct Suite {
    runtime: Runtime,
    controller: Controller,
    shared: OnceCell<Result<Arc<Stage>, String>>,
    starts: Semaphore,
}

/// Runs those scenarios that the arguments name.
pub(crate) fn run(
    mut arguments: Arguments,
    scenarios: &'static [&'static [Scenario]],
) -> Outcome<Conclusion> {
    arguments.test_threads = arguments.test_threads.or(Some(PARALLEL));
    let runtime = Runtime::new()?;
    let controller = Controller::from_environment();
    let suite =
        Arc::new(Suite { runtime, controller, shared: OnceCell::new(), starts: Semaphore::new(STARTS) });
    let trials = scenarios.iter().copied().flatten().flat_map(|scenario| trials(&suite, scenario)).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    // The runner has ended and with it all other owners, so everything is stopped here.
    if let Some(Ok(stage)) = Arc::into_inner(suite).and_then(|suite| suite.shared.into_inner()) {
        end(stage, !conclusion.has_failed());
    }
    Ok(conclusion)
}

fn trials(suite: &Arc<Suite>, scenario: &'static Scenario) -> Vec<Trial> {
    let flavours = Flavour::ALL.into_iter().filter(|flavour| match suite.controller {
        Controller::Operator => true,
        // Nobody else knows rollwright.dev, and what the operator process does is not upstream's.
        Controller::Reference => *flavour == Flavour::AppsV1 && scenario.stage == Place::Shared,
    });
    let trial = |flavour: Flavour| {
        let name = scenario.name.split_once("::").map_or(scenario.name, |(_, name)| name);
        let suite = suite.clone();
        Trial::test(format!("{name}::{}", flavour.name()), move || suite.run(scenario, flavour))
    };
    flavours.filter(|flavour| scenario.scope.includes(*flavour)).map(trial).collect()
}

impl Suite {
    fn run(&self, scenario: &'static Scenario, flavour: Flavour) -> Result<(), Failed> {
        let world = self.runtime.block_on(self.world(scenario, flavour));
        let world = world.map_err(|failure| Failed::from(failure.0))?;
        let result = self.runtime.block_on(perform(scenario.run, &world));
        let stage = world.stage.clone();
        drop(world);
        if scenario.stage == Place::Own {
            end(stage, result.is_ok());
        }
        result.map_err(Failed::from)
    }

    async fn world(&self, scenario: &Scenario, flavour: Flavour) -> Outcome<World> {
        let stage = match scenario.stage {
            Place::Own => Arc::new(self.start(&[flavour]).await?),
            Place::Shared => self.shared().await?,
        };
        let name = scenario.name.rsplit("::").next().unwrap_or_default();
        World::new(stage, self.controller, flavour, &name.replace('_', "-")).await
    }

    async fn start(&self, flavours: &[Flavour]) -> Outcome<Stage> {
        let _permit = self.starts.acquire().await?;
        Stage::start(self.controller, flavours, &[]).await
    }

    async fn shared(&self) -> Outcome<Arc<Stage>> {
        let start = async || {
            let stage = self.start(&Flavour::ALL).await;
            stage.map(Arc::new).map_err(|failure| failure.0)
        };
        self.shared.get_or_init(start).await.clone().map_err(Failure)
    }
}

/// To be called outside of the runtime, by the last owner.
fn end(stage: Arc<Stage>, passed: bool) {
    if let Some(stage) = Arc::into_inner(stage) {
        stage.end(passed);
    }
}

async fn perform(run: Run, world: &World) -> Result<(), String> {
    let scenario = AssertUnwindSafe(run(world.clone())).catch_unwind();
    let given = std::env::var(DEADLINE_VARIABLE).ok().and_then(|text| text.parse().ok());
    let deadline = given.map_or(SCENARIO_DEADLINE, Duration::from_secs);
    let failure = match tokio::time::timeout(deadline, scenario).await {
        Ok(Ok(Ok(()))) => match world.stage.check_operators() {
            Ok(()) => {
                tidy(world).await;
                return Ok(());
            }
            Err(failure) => failure.0,
        },
        Ok(Ok(Err(failure))) => failure.0,
        Ok(Err(_)) => "the scenario panicked; see above".to_owned(),
        Err(_) => format!("the scenario did not end within {deadline:?}"),
    };
    let report = diagnosis::report(world).await;
    Err(format!("{failure}\n{report}"))
}

/// Makes room for the others; what a failed scenario left stays for a person who looks.
async fn tidy(world: &World) {
    let (delete, all) = (kube::api::DeleteParams::background(), kube::api::ListParams::default());
    let _ = world.deployments().delete_collection(&delete, &all).await;
}
