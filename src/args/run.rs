//! `rollwright run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use plan::Flavour;

use super::values::{bind_address, flavour, namespace};
use super::{Bind, ClientArguments, ElectionArguments};
use crate::controller::Adoption;
use crate::shard::Selector;

/// Seconds without a sign of life after which /livez fails.
pub(crate) const STALLED_AFTER: u16 = 180;

/// Deployments of each API that have series of their own.
pub(crate) const OBJECT_METRICS_LIMIT: usize = 2000;

/// `rollwright run`.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) client: ClientArguments,
    /// Whose Deployments to manage; may be given twice, or as a list. With apps/v1, no other
    /// Deployment controller may run.
    #[arg(
        long,
        value_name = "API",
        env = "ROLLWRIGHT_API",
        value_delimiter = ',',
        default_value = "rollwright.dev/v1",
        value_parser = flavour
    )]
    pub(crate) api: Vec<Flavour>,
    /// What to do with ReplicaSets that have no owner, match a selector and lack our label.
    #[arg(long, value_name = "WHICH", env = "ROLLWRIGHT_ADOPT", default_value = "labelled")]
    pub(crate) adopt: Adoption,
    /// Where to serve /livez, /readyz and /metrics: ADDRESS:PORT, :PORT, or 0 for nowhere.
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "ROLLWRIGHT_BIND_ADDRESS",
        default_value = ":8080",
        value_parser = bind_address
    )]
    pub(crate) bind_address: Bind,
    /// After how many seconds without a sign of life of a watch, or of the workers, /livez fails.
    #[arg(
        long,
        value_name = "SECONDS",
        env = "ROLLWRIGHT_STALLED_AFTER",
        default_value_t = STALLED_AFTER,
        value_parser = clap::value_parser!(u16).range(30..)
    )]
    pub(crate) stalled_after: u16,
    /// Work in these namespaces only; may be given several times, or as a list. No request is made
    /// that is not in one of them, but for the lease [default: all namespaces].
    #[arg(
        long,
        value_name = "NAMESPACE",
        env = "ROLLWRIGHT_WATCH_NAMESPACE",
        value_delimiter = ',',
        value_parser = namespace
    )]
    pub(crate) watch_namespace: Vec<String>,
    /// Manage the Deployments of namespaces with these labels only: key=value, key!=value,
    /// key in (a,b), key notin (a,b), key, !key, with commas between them. Operators with selectors
    /// that have no namespace in common share a cluster, with a lease each [default: all namespaces].
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
    /// Whether /metrics has series for each Deployment, as kube-state-metrics has.
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
    /// For how many Deployments of each API, at most.
    #[arg(
        long,
        value_name = "COUNT",
        env = "ROLLWRIGHT_OBJECT_METRICS_LIMIT",
        default_value_t = OBJECT_METRICS_LIMIT
    )]
    pub(crate) object_metrics_limit: usize,
    /// Certificate for that port, in PEM form; with a key it speaks TLS. Read anew when it changes.
    #[arg(
        long,
        value_name = "FILE",
        env = "ROLLWRIGHT_METRICS_TLS_CERT_FILE",
        requires = "metrics_tls_key_file"
    )]
    pub(crate) metrics_tls_cert_file: Option<PathBuf>,
    /// Its private key.
    #[arg(
        long,
        value_name = "FILE",
        env = "ROLLWRIGHT_METRICS_TLS_KEY_FILE",
        requires = "metrics_tls_cert_file"
    )]
    pub(crate) metrics_tls_key_file: Option<PathBuf>,
    /// Who may read /metrics: everybody, or those whose bearer token may get the path.
    #[arg(long, value_name = "HOW", env = "ROLLWRIGHT_METRICS_AUTH", default_value = "none")]
    pub(crate) metrics_auth: MetricsAuth,
    /// Serve /debug/state too, which names Deployments.
    #[arg(long, env = "ROLLWRIGHT_DEBUG_STATE")]
    pub(crate) debug_state: bool,
    /// Do not give way to another controller that keeps undoing our status.
    #[arg(long, env = "ROLLWRIGHT_FORCE")]
    pub(crate) force: bool,
    /// How many Deployments are worked on at a time.
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
    /// Everybody who reaches the port.
    None,
    /// Whose bearer token may get the path, as the API server says.
    Token,
}
