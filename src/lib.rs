//! The Rollwright operator: the program `rollwright`, and what tests of the whole operator need. Only the command line
//! of the program is public.

#![allow(clippy::cognitive_complexity, reason = "each line of tracing's macros counts as several branches")]

mod args;
mod client;
mod clock;
mod commands;
mod leadership;
mod operator;
mod reconcile;
mod serve;
mod shard;
mod watch;
mod write;

use std::future::pending;
use std::process::ExitCode;

use clap::Parser as _;

use args::{Arguments, Command};
use commands::print::print;
use commands::{crd, probe, run, sandbox, shadow};
use serve::logging;

#[doc(hidden)]
pub use clock::set_wall;
#[doc(hidden)]
pub use operator::Operator;

/// Why the program ends with a failure.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Run(#[from] run::RunError),
    #[error(transparent)]
    Sandbox(#[from] sandbox::SandboxError),
    #[error(transparent)]
    Shadow(#[from] shadow::ShadowError),
    #[error(transparent)]
    Probe(#[from] probe::ProbeError),
    #[error(transparent)]
    Lint(#[from] cli::LintError),
    #[error(transparent)]
    Schema(#[from] crd::SchemaError),
    #[error(transparent)]
    Logging(#[from] logging::LoggingError),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// Carries out the command line.
pub fn main() -> ExitCode {
    match carry_out(&Arguments::parse()) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("error: {}", cli::visible(&failure.to_string()));
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
            Command::Run(arguments) => {
                run::run(arguments, client::config(&arguments.client), pending()).await?;
            }
            Command::Sandbox(arguments) => return Ok(sandbox::run(arguments).await?),
            Command::Shadow(arguments) => shadow::run(arguments).await?,
            Command::Crd(arguments) => print(&crd::print(arguments).await?)?,
            Command::Lint(arguments) => {
                let verdict = cli::lint(arguments)?;
                print(&verdict.out)?;
                eprint!("{}", cli::visible(&verdict.err));
                return Ok(verdict.code.into());
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
