//! `promote`.

use clap::Args;

use super::target::Targets;
use super::writing::Writing;

/// `promote`.
#[derive(Debug, Args)]
pub(crate) struct PromoteArguments {
    #[command(flatten)]
    pub(crate) targets: Targets,
    /// Step that the rollout continues to, without a stop before it: a listed step, a number of pods up to replicas, a
    /// percentage up to 100%, or all. The default is the next step.
    #[arg(long, value_name = "PODS", conflicts_with = "full")]
    pub(crate) to: Option<String>,
    /// Continue to the end of the rollout.
    #[arg(long)]
    pub(crate) full: bool,
    /// Pass gates that have not passed; the history records it.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) writing: Writing,
}
