//! `kubectl rollwright`: rollouts of Deployments, of Rollwright and of apps/v1.
//!
//! The decision about the state of a rollout is pure ([`rollout`]); the verbs read, decide, print, and
//! patch. The exit code reports the outcome to a script: see [`Code`].

#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "output.rs prints, so that text from the cluster is harmless"
)]

mod apply;
mod args;
mod at_step;
mod bar;
mod candidates;
mod cluster;
mod code;
mod columns;
mod completion;
mod containers;
mod deadline;
mod deletion;
mod deployment;
mod diagnosis;
mod edits;
mod env;
mod failed;
mod failure;
mod gitops;
mod goal;
mod history;
mod images;
mod jsonpath;
mod lint;
mod live;
mod manifests;
mod migrate;
mod name;
mod newer;
mod obstacle;
mod output;
mod pinned;
mod pods;
mod projection;
mod promotion;
mod reach;
mod read;
mod reported;
mod requests;
mod resources;
mod rolling_update;
pub mod rollout;
mod rollouts;
mod signs;
mod state;
mod stepwise;
mod table;
mod terminal;
mod tree;
mod unobserved;
mod verbs;
mod watched;

pub use apply::{NotApplied, apply};
pub use args::Arguments;
pub use code::Code;
pub use failure::explain;
pub use lint::{LintArguments, LintError, Verdict, lint};
pub use reach::configure;
pub use terminal::visible;

/// Carries out a command line, and returns how the process ends.
pub async fn run(arguments: &Arguments) -> Code {
    match verbs::carry_out(arguments).await {
        Ok(code) => code,
        Err(failure) => {
            if let Some(line) = failure.line() {
                terminal::tell(&line);
            }
            failure.code()
        }
    }
}
