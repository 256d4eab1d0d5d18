//! The Rollwright operator.

#![allow(clippy::cognitive_complexity, reason = "each line of tracing's macros counts as several branches")]

mod admin;
mod args;
mod caches;
mod client;
mod clock;
mod controller;
mod election;
mod events;
mod health;
mod leadership;
mod lifeline;
mod live;
mod logging;
mod manifests;
mod metrics;
mod object;
mod pods;
mod probe;
mod quarantine;
mod queue;
mod renewal;
mod requests;
mod rollouts;
mod sandbox;
mod schema;
mod shadow;
mod shard;
mod turns;
mod unread;
mod watch;
#[cfg(test)]
mod whole;
mod wire;
mod worker;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use args::{Arguments, Command};
pub(crate) use engine::index;

/// Gives memory back that is free: lists and bursts come and go, and what a pod may use is limited.
/// Musl's own allocator, which the image would have, is slow besides. Without huge pages (`no_thp`),
/// which would make ten megabytes more of it resident.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Why the program ends with a failure.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Run(#[from] wire::RunError),
    #[error(transparent)]
    Sandbox(#[from] sandbox::SandboxError),
    #[error(transparent)]
    Shadow(#[from] shadow::ShadowError),
    #[error(transparent)]
    Probe(#[from] probe::ProbeError),
    #[error(transparent)]
    Lint(#[from] manifests::LintError),
    #[error(transparent)]
    Schema(#[from] schema::SchemaError),
    #[error(transparent)]
    Logging(#[from] logging::LoggingError),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

fn main() -> ExitCode {
    match carry_out(&Arguments::parse()) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn carry_out(arguments: &Arguments) -> Result<ExitCode, Failure> {
    logging::init(&arguments.log, matches!(arguments.command, Command::Sandbox(_)))?;
    std::panic::set_hook(Box::new(|panic| tracing::error!(%panic, "a bug in rollwright")));
    let runtime = tokio::runtime::Runtime::new()?;
    let result = runtime.block_on(async {
        match &arguments.command {
            Command::Run(arguments) => wire::run(arguments, client::config(&arguments.client)).await?,
            Command::Sandbox(arguments) => return Ok(sandbox::run(arguments).await?),
            Command::Shadow(arguments) => shadow::run(arguments).await?,
            Command::Crd(arguments) => print(&schema::print(arguments).await?)?,
            Command::Lint(arguments) => {
                let verdict = manifests::run(arguments)?;
                print(&verdict.out)?;
                eprint!("{}", verdict.err);
                return Ok(ExitCode::from(verdict.code));
            }
            Command::Probe(arguments) => print(&probe::run(arguments).await?)?,
            Command::Version => print(concat!("rollwright ", env!("CARGO_PKG_VERSION"), "\n"))?,
        }
        Ok(ExitCode::SUCCESS)
    });
    // Nothing that is still under way is worth waiting for.
    runtime.shutdown_background();
    result
}

fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // The reader, such as `head`, has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}
