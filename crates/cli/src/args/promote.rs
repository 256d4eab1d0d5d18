//! `promote`.

use clap::Args;

use super::output::Output;
use super::target::Target;

/// `promote`.
#[derive(Debug, Args)]
pub(crate) struct PromoteArguments {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Step that the rollout continues to, without a stop before it: a number of updated pods, or a percentage, for example 30%. The
    /// default is the next step.
    #[arg(long, value_name = "PODS", conflicts_with = "full")]
    pub(crate) to: Option<String>,
    /// Continue to the end of the rollout.
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}
