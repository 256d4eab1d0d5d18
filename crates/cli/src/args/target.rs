//! Which Deployment.

use clap::Args;

/// A Deployment: web, deploy/web, deployment.rollwright.dev/web, deployment.apps/web.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// A Deployment: web, deploy/web, deployment.rollwright.dev/web or deployment.apps/web.
    #[arg(value_name = "NAME", required = true, num_args = 1..=2)]
    pub(crate) words: Vec<String>,
}
