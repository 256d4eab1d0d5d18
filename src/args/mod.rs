//! The command line.

mod client;
mod election;
mod run;
mod sandbox;
mod selector;
mod shadow;
mod values;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use client::ClientArguments;
pub(crate) use election::ElectionArguments;
#[cfg(feature = "sandbox")]
pub(crate) use run::{Adoption, BLOCKED_AFTER, NAMESPACE_METRICS_LIMIT, OBJECT_METRICS_LIMIT, STALLED_AFTER};
pub(crate) use run::{MetricsAuth, RunArguments};
pub(crate) use sandbox::SandboxArguments;
pub(crate) use selector::Selector;
pub(crate) use shadow::{Report, ShadowArguments};
pub(crate) use values::{Bind, Interval};
use values::{interval, log_level, page};

/// Kubernetes' Deployment controller as an add-on.
#[derive(Debug, Parser)]
#[command(name = "rollwright", version)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) log: LogArguments,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the operator.
    Run(RunArguments),
    /// Run an in-memory cluster with the operator, to try it with kubectl.
    Sandbox(SandboxArguments),
    /// Compare Rollwright's decisions with those of the active controller; writes nothing.
    Shadow(ShadowArguments),
    /// Print the CustomResourceDefinition.
    Crd(CrdArguments),
    /// Check manifests offline, as the API server would; exit with 1 if it would refuse one.
    Lint(cli::LintArguments),
    /// Wait until a URL, such as another operator's /readyz, answers with 200.
    Probe(ProbeArguments),
    /// Print the version.
    Version,
}

/// How to log.
#[derive(Debug, Args)]
pub(crate) struct LogArguments {
    /// Log level (off, error, warn, info, debug, or trace), or directives as in RUST_LOG, which is the default.
    #[arg(long, global = true, env = "ROLLWRIGHT_LOG_LEVEL", value_name = "LEVEL", value_parser = log_level)]
    pub(crate) log_level: Option<String>,
    /// Format of the log on standard error.
    #[arg(long, global = true, env = "ROLLWRIGHT_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
}

/// Form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// A line of text per entry.
    Text,
    /// A JSON object per entry.
    Json,
}

/// `rollwright crd`.
#[derive(Debug, Args)]
pub(crate) struct CrdArguments {
    #[command(flatten)]
    pub(crate) client: ClientArguments,
    /// Take the schema of the pod template from the cluster, so that it has all of the cluster's pod fields.
    #[arg(long)]
    pub(crate) from_cluster: bool,
}

/// `rollwright probe`.
#[derive(Debug, Args)]
pub(crate) struct ProbeArguments {
    /// URL with http or https; certificates are not verified.
    #[arg(value_name = "URL", value_parser = page)]
    pub(crate) url: http::Uri,
    /// How long to try: 30s, 5m, 1h; 0 to try once.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = interval)]
    pub(crate) timeout: Interval,
}

#[cfg(test)]
mod tests;
