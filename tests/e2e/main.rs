//! End-to-end scenarios: a real API server, the operator as a process of its own, and plain clients that look at the
//! outcome.
//!
//! ```text
//! cargo test -p rollwright --test e2e                  # everything
//! cargo test -p rollwright --test e2e rollback         # names that contain `rollback`
//! cargo test -p rollwright --test e2e -- --list
//! E2E_REFERENCE=1 cargo test -p rollwright --test e2e  # Kubernetes' own controller instead
//! ```
//!
//! Each scenario is one text that runs against both APIs, `rollwright.dev/v1` and `apps/v1`, each
//! with an operator process of its own. All share one control plane, which the first one starts
//! and which stops at the end; each has a namespace of its own, and a dozen run side by side.
//! When one fails, the report shows the objects, the events and the end of the operator's log.
//!
//! With `E2E_REFERENCE=1` the scenarios of apps/v1 run against kube-controller-manager's
//! deployment controller: a check of the scenarios themselves, which must not demand anything
//! that upstream does not do.
//!
//! # How to add a scenario
//!
//! Write `async fn name(world: World) -> Outcome` in the module of its subject (a new one has a line in the list
//! below), and add it to the `scenarios!` of that module. Write `both name`, or `ours name because "reason"` if it
//! makes no sense for apps/v1, and `apps name because …` the other way round. The [`world::World`] creates and changes
//! Deployments of the API that it stands for; `world.flavour.is_ours()` shows where the APIs differ by design. Wait
//! with `world.wait…`, never sleep. Check with [`failure::same`] and [`failure::ensure`]; record what must hold at
//! every moment with [`trace::Trace`]. Put `own` in front of the scope for a scenario that kills or reconfigures the
//! operator: it gets a control plane of its own, which takes some seconds and hundreds of megabytes.

#![expect(
    clippy::cognitive_complexity,
    reason = "a scenario is a list of steps; each `?` counts as a branch"
)]
#![expect(clippy::indexing_slicing, reason = "a missing field of a JSON document is a failed test")]

mod authors;
mod autoscaling;
mod blockers;
mod churn;
mod command_line;
mod custom;
mod deletion;
mod diagnosis;
mod disruption;
mod exit_codes;
mod failure;
mod flavour;
mod gates;
mod gitops;
mod handover;
mod history;
mod holding;
mod interruptions;
mod kstatus;
mod leadership;
mod manifest;
mod migrate;
mod objects;
mod older_library;
mod operator;
mod ownership;
mod port;
mod quiet;
mod recreate;
mod replica;
mod reverting;
mod rivalry;
mod rollback;
mod rolling_update;
mod rollout;
mod scenario;
mod selector;
mod shadow;
mod shards;
mod stage;
mod steps;
mod stock_kubectl;
mod suite;
mod trace;
mod transcript;
mod upgrade;
mod watch;
mod webhooks;
mod world;

use std::process::ExitCode;

use libtest_mimic::Arguments;
use scenario::Scenario;

/// Long ones first: they set the time that all take together.
const SCENARIOS: &[&[Scenario]] = &[
    webhooks::SCENARIOS,
    rivalry::SCENARIOS,
    gitops::SCENARIOS,
    shadow::SCENARIOS,
    port::SCENARIOS,
    blockers::SCENARIOS,
    interruptions::SCENARIOS,
    older_library::SCENARIOS,
    upgrade::SCENARIOS,
    leadership::SCENARIOS,
    shards::SCENARIOS,
    handover::SCENARIOS,
    migrate::SCENARIOS,
    rolling_update::SCENARIOS,
    kstatus::SCENARIOS,
    quiet::SCENARIOS,
    custom::SCENARIOS,
    gates::SCENARIOS,
    steps::SCENARIOS,
    holding::SCENARIOS,
    reverting::SCENARIOS,
    rollback::SCENARIOS,
    history::SCENARIOS,
    authors::SCENARIOS,
    ownership::SCENARIOS,
    deletion::SCENARIOS,
    autoscaling::SCENARIOS,
    disruption::SCENARIOS,
    recreate::SCENARIOS,
    rollout::SCENARIOS,
    selector::SCENARIOS,
    stock_kubectl::SCENARIOS,
    command_line::SCENARIOS,
    exit_codes::SCENARIOS,
    transcript::SCENARIOS,
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    for (variable, scenarios) in [(older_library::PROGRAM, "older_library"), (upgrade::PROGRAM, "upgrade::")]
    {
        if std::env::var_os(variable).is_none() {
            arguments.skip.push(scenarios.to_owned());
        }
    }
    match suite::run(arguments, SCENARIOS) {
        Ok(conclusion) => conclusion.exit_code(),
        Err(failure) => {
            eprintln!("error: {}", failure.0);
            ExitCode::FAILURE
        }
    }
}
