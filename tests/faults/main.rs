//! What only sockets, processes, and a real API server show. A proxy between the operator and kube-apiserver resets
//! connections, or lets them hang. Servers are killed in the middle of a rollout. The real server takes or refuses
//! objects that nobody should write. All other faults are in `tests/whole`, in virtual time.
//!
//! ```text
//! make fault-proxy                                      # everything, some minutes
//! cargo test -p rollwright --test faults writes         # names that contain `writes`
//! UPDATE=1 cargo test -p rollwright --test faults       # and write docs/internals/faults.tsv
//! ```
//!
//! Only `no_fault` is a part of `make test`: half-open connections take minutes to be noticed. Each scenario has a
//! proxy and an operator process of its own. Two operators of one API would be in each other's way,
//! so there are two control planes, each with one scenario at a time.
//!
//! What must hold during and after each fault is in [`rollout`]. The rollout ends as asked, with one ReplicaSet for
//! each template. Never are too few pods available or too many asked for. The number of writes is bounded, no request
//! is one that a Deployment controller should not make, and nothing restarts.

#![expect(clippy::indexing_slicing, reason = "a missing field of a JSON document is a failed test")]

#[path = "../e2e/failure.rs"]
#[allow(dead_code, reason = "shared with the end-to-end scenarios")]
mod failure;
#[path = "../e2e/flavour.rs"]
#[allow(dead_code, reason = "shared with the end-to-end scenarios")]
mod flavour;
#[path = "../e2e/manifest.rs"]
#[allow(dead_code, reason = "shared with the end-to-end scenarios")]
mod manifest;
#[path = "../e2e/objects.rs"]
#[allow(dead_code, reason = "shared with the end-to-end scenarios")]
mod objects;
#[path = "../e2e/operator.rs"]
#[allow(dead_code, reason = "shared with the end-to-end scenarios")]
mod operator;
#[path = "../e2e/stage.rs"]
#[allow(dead_code, reason = "shared with the end-to-end scenarios")]
mod stage;
#[path = "../e2e/trace.rs"]
#[allow(dead_code, reason = "shared with the end-to-end scenarios")]
mod trace;
#[path = "../e2e/world.rs"]
#[allow(dead_code, reason = "shared with the end-to-end scenarios")]
mod world;

mod cuts;
mod giants;
mod hostile;
mod processes;
mod recorder;
mod report;
mod rig;
mod rollout;
mod suite;
mod watches;
mod writes;

use std::process::ExitCode;

use libtest_mimic::Arguments;
use suite::Scenario;

const SCENARIOS: &[&[Scenario]] =
    &[writes::SCENARIOS, watches::SCENARIOS, hostile::SCENARIOS, giants::SCENARIOS, processes::SCENARIOS];

fn main() -> ExitCode {
    match suite::run(Arguments::from_args(), SCENARIOS) {
        Ok(conclusion) => conclusion.exit_code(),
        Err(failure) => {
            eprintln!("error: {}", failure.0);
            ExitCode::FAILURE
        }
    }
}
