//! The same requests to the world's API server and to a real one: their answers must not differ.
//!
//! A scenario is a function that talks to one server and does not know which. Each runs on both; what was answered is
//! compared line by line, after names of chance (uids, versions, times) have been replaced by the order in which they
//! appeared. So what a scenario checks is all that the real server answers, and nothing is expected by hand.
//!
//! Both servers have controllers of ReplicaSets and Jobs, a garbage collector and fake kubelets, and no
//! Deployment controller.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed step is a failed test")]

mod jobs;
mod kubectl;
mod life;
mod reading;
mod servers;
mod talk;
mod writing;

use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime;

use servers::Servers;
use talk::Scenario;

fn main() {
    let arguments = Arguments::from_args();
    let runtime = Arc::new(Runtime::new().unwrap());
    let scenarios: Vec<Scenario> = [jobs::all(), life::all(), reading::all(), writing::all(), kubectl::all()]
        .into_iter()
        .flatten()
        .collect();
    let servers = if arguments.list { None } else { Some(Arc::new(runtime.block_on(Servers::start()))) };
    let trials = scenarios.into_iter().map(|scenario| {
        let (servers, runtime) = (servers.clone(), runtime.clone());
        Trial::test(scenario.name, move || {
            let servers = servers.ok_or("not started")?;
            runtime.block_on(compare(&servers, &scenario)).map_err(Failed::from)
        })
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    drop(servers);
    drop(runtime);
    conclusion.exit();
}

/// Runs a scenario on both servers; returns where the answers part.
async fn compare(servers: &Servers, scenario: &Scenario) -> Result<(), String> {
    let real = scenario.run(&servers.real).await;
    let world = scenario.run(&servers.world).await;
    let (real, world) = (real.map_err(|e| format!("real: {e}"))?, world.map_err(|e| format!("world: {e}"))?);
    let length = real.len().max(world.len());
    let line =
        |lines: &[String], index: usize| lines.get(index).cloned().unwrap_or_else(|| "nothing".to_owned());
    let parted: Vec<String> = (0..length)
        .filter(|index| real.get(*index) != world.get(*index))
        .map(|index| format!("real:  {}\nworld: {}\n", line(&real, index), line(&world, index)))
        .collect();
    if parted.is_empty() {
        Ok(())
    } else {
        Err(format!("{} of {length} answers differ\n{}", parted.len(), parted.join("\n")))
    }
}
