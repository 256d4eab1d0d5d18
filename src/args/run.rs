//! `rollwright run`.

use std::path::PathBuf;
#[cfg(feature = "sandbox")]
use std::time::Duration;

use clap::{Args, ValueEnum};
use plan::Flavour;

use super::client::ClientArguments;
use super::election::ElectionArguments;
use super::selector::Selector;
use super::values::{Bind, Interval, bind_address, flavour, interval, namespace};

/// Seconds without a sign of life after which /livez fails.
pub(crate) const STALLED_AFTER: u16 = 180;

/// Deployments of each API that have series of their own.
pub(crate) const OBJECT_METRICS_LIMIT: usize = 2000;

/// Namespaces of each API that have series of their own.
pub(crate) const NAMESPACE_METRICS_LIMIT: usize = 500;

/// How long a rollout has not moved before the operator finds out what blocks it.
#[cfg(feature = "sandbox")]
pub(crate) const BLOCKED_AFTER: Duration = Duration::from_secs(10);

/// `rollwright run`.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) client: ClientArguments,
    /// API of the Deployments to manage; may be repeated, or a comma-separated list. With apps/v1, no
    /// other Deployment controller may run.
    #[arg(
        long,
        value_name = "API",
        env = "ROLLWRIGHT_API",
        value_delimiter = ',',
        default_value = "rollwright.dev/v1",
        value_parser = flavour
    )]
    pub(crate) api: Vec<Flavour>,
    /// What to do with ReplicaSets that match a selector and have neither an owner nor Rollwright's label.
    #[arg(long, value_name = "WHICH", env = "ROLLWRIGHT_ADOPT", default_value = "labelled")]
    pub(crate) adopt: Adoption,
    /// Address for /livez, /readyz, and /metrics: ADDRESS:PORT, :PORT, or 0 to serve none.
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "ROLLWRIGHT_BIND_ADDRESS",
        default_value = ":8080",
        value_parser = bind_address
    )]
    pub(crate) bind_address: Bind,
    /// Seconds without activity of a watch or of the workers after which /livez fails.
    #[arg(
        long,
        value_name = "SECONDS",
        env = "ROLLWRIGHT_STALLED_AFTER",
        default_value_t = STALLED_AFTER,
        value_parser = clap::value_parser!(u16).range(30..)
    )]
    pub(crate) stalled_after: u16,
    /// Work in these namespaces only; may be repeated, or a comma-separated list. Except for the lease, the
    /// operator makes no request outside of them [default: all namespaces].
    #[arg(
        long,
        value_name = "NAMESPACE",
        env = "ROLLWRIGHT_WATCH_NAMESPACE",
        value_delimiter = ',',
        value_parser = namespace
    )]
    pub(crate) watch_namespace: Vec<String>,
    /// Manage only Deployments in namespaces with these labels: key=value, key!=value, key in (a,b),
    /// key notin (a,b), key, !key, separated by commas. Operators can share a cluster if their selectors do
    /// not overlap, each with its own lease [default: all namespaces].
    #[arg(
        long,
        value_name = "SELECTOR",
        env = "ROLLWRIGHT_SELECTOR",
        conflicts_with = "watch_namespace",
        value_parser = Selector::parse
    )]
    pub(crate) selector: Option<Selector>,
    #[command(flatten)]
    pub(crate) election: ElectionArguments,
    /// Export series for each Deployment on /metrics, like those of kube-state-metrics.
    #[arg(
        long,
        value_name = "BOOL",
        env = "ROLLWRIGHT_OBJECT_METRICS",
        default_value_t = true,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = clap::ArgAction::Set
    )]
    pub(crate) object_metrics: bool,
    /// Maximum number of Deployments of each API with their own series.
    #[arg(
        long,
        value_name = "COUNT",
        env = "ROLLWRIGHT_OBJECT_METRICS_LIMIT",
        default_value_t = OBJECT_METRICS_LIMIT
    )]
    pub(crate) object_metrics_limit: usize,
    /// Label the metrics of rollouts on /metrics with the namespace.
    #[arg(
        long,
        value_name = "BOOL",
        env = "ROLLWRIGHT_NAMESPACE_METRICS",
        default_value_t = true,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = clap::ArgAction::Set
    )]
    pub(crate) namespace_metrics: bool,
    /// Maximum number of namespaces of each API with their own series; the others share series.
    #[arg(
        long,
        value_name = "COUNT",
        env = "ROLLWRIGHT_NAMESPACE_METRICS_LIMIT",
        default_value_t = NAMESPACE_METRICS_LIMIT
    )]
    pub(crate) namespace_metrics_limit: usize,
    /// TLS certificate for the port, in PEM format; requires a key. Reloaded when it changes.
    #[arg(
        long,
        value_name = "FILE",
        env = "ROLLWRIGHT_METRICS_TLS_CERT_FILE",
        requires = "metrics_tls_key_file"
    )]
    pub(crate) metrics_tls_cert_file: Option<PathBuf>,
    /// Private key of the certificate, in PEM format.
    #[arg(
        long,
        value_name = "FILE",
        env = "ROLLWRIGHT_METRICS_TLS_KEY_FILE",
        requires = "metrics_tls_cert_file"
    )]
    pub(crate) metrics_tls_key_file: Option<PathBuf>,
    /// Who may read /metrics and /debug/state.
    #[arg(long, value_name = "HOW", env = "ROLLWRIGHT_METRICS_AUTH", default_value = "none")]
    pub(crate) metrics_auth: MetricsAuth,
    /// Also serve /debug/state, which names Deployments.
    #[arg(long, env = "ROLLWRIGHT_DEBUG_STATE")]
    pub(crate) debug_state: bool,
    /// Find out what blocks a rollout once it has not moved for this long, such as 10s or 5m; 0 for never.
    #[arg(
        long,
        value_name = "TIME",
        env = "ROLLWRIGHT_BLOCKED_AFTER",
        default_value = "10s",
        value_parser = interval
    )]
    pub(crate) blocked_after: Interval,
    /// Repeat the first 200 characters of a termination message in status, events, and log. It is the output
    /// of a container, and may hold secrets.
    #[arg(long, env = "ROLLWRIGHT_TERMINATION_MESSAGES")]
    pub(crate) termination_messages: bool,
    /// Run the Jobs of gates, hooks, and deployment processes. The operator then needs the rights to create, read, and delete Jobs.
    #[arg(long, env = "ROLLWRIGHT_JOBS")]
    pub(crate) jobs: bool,
    /// Do not yield to another controller that keeps overwriting the status.
    #[arg(long, env = "ROLLWRIGHT_FORCE")]
    pub(crate) force: bool,
    /// Number of Deployments of each API to reconcile at the same time.
    #[arg(
        long,
        value_name = "COUNT",
        env = "ROLLWRIGHT_WORKERS",
        default_value_t = 16,
        value_parser = clap::value_parser!(u16).range(1..=256)
    )]
    pub(crate) workers: u16,
}

/// Who may read /metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MetricsAuth {
    /// Allow everyone who can reach the port.
    None,
    /// Require a bearer token that the API server authorizes for this path.
    Token,
}

/// What to do with orphans that match a selector and lack Rollwright's label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Adoption {
    /// Report them, with the command that hands them over.
    Labelled,
    /// Label and adopt them, as apps/v1 would.
    Any,
}

impl From<Adoption> for engine::Adoption {
    fn from(adoption: Adoption) -> Self {
        match adoption {
            Adoption::Labelled => Self::Labelled,
            Adoption::Any => Self::Any,
        }
    }
}
