//! Which Deployments.

use clap::Args;

/// One Deployment or several.
#[derive(Debug, Args)]
pub(crate) struct Targets {
    /// Deployments: web, deploy/web, deployment.rollwright.dev/web or deployment.apps/web.
    #[arg(value_name = "NAME", num_args = 1..)]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) several: Several,
}

/// Deployments that are not named one by one.
#[derive(Debug, Default, Args)]
pub(crate) struct Several {
    /// Take all Deployments of the namespace with these labels.
    #[arg(long, short = 'l', value_name = "SELECTOR", conflicts_with_all = ["all", "files"])]
    pub(crate) selector: Option<String>,
    /// Take all Deployments of the namespace.
    #[arg(long, conflicts_with = "files")]
    pub(crate) all: bool,
    /// Take the Deployments that a manifest names; - is standard input. May be repeated.
    #[arg(long = "filename", short = 'f', value_name = "FILE")]
    pub(crate) files: Vec<String>,
}

impl Several {
    /// The flags that make a name needless.
    pub(crate) const FLAGS: [&'static str; 3] = ["selector", "all", "files"];
}
