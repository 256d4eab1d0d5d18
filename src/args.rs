//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use lease::{JITTER_FACTOR, Timings, TimingsError};
use plan::Flavour;

use crate::controller::Adoption;

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
    /// Run a cluster in memory with the operator in it, for kubectl to try.
    Sandbox(SandboxArguments),
    /// Compare our decisions with those of the controller in charge; nothing is written.
    Shadow(ShadowArguments),
    /// Print the CustomResourceDefinition.
    Crd(CrdArguments),
    /// Check manifests offline, as the API server would; exits with 1 if it would refuse one.
    Lint(LintArguments),
    /// Wait until a page, such as /readyz of another operator, answers.
    Probe(ProbeArguments),
    /// Print the version.
    Version,
}

/// How to log.
#[derive(Debug, Args)]
pub(crate) struct LogArguments {
    /// What to log: a level, or directives as in RUST_LOG, which is the default.
    #[arg(long, global = true, env = "ROLLWRIGHT_LOG_LEVEL", value_name = "LEVEL")]
    pub(crate) log_level: Option<String>,
    /// Form of the log on standard error.
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

/// How to reach the API server.
#[derive(Debug, Args)]
pub(crate) struct ClientArguments {
    /// Path of a kubeconfig [default: $KUBECONFIG, ~/.kube/config, or the pod's service account].
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current context].
    #[arg(long, value_name = "NAME", env = "ROLLWRIGHT_CONTEXT")]
    pub(crate) context: Option<String>,
}

/// Name of the lease, unless another is given.
pub(crate) const LEASE_NAME: &str = "rollwright";

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

/// How a leader is elected among several replicas.
#[derive(Debug, Args)]
pub(crate) struct ElectionArguments {
    /// Elect a leader among several replicas: only that one writes.
    #[arg(
        long,
        value_name = "BOOL",
        env = "ROLLWRIGHT_LEADER_ELECT",
        default_value_t = false,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = clap::ArgAction::Set
    )]
    pub(crate) leader_elect: bool,
    /// How long the others wait, without seeing the lease renewed, before one takes over.
    #[arg(
        long,
        value_name = "TIME",
        env = "ROLLWRIGHT_LEADER_ELECT_LEASE_DURATION",
        default_value = "15s",
        value_parser = period
    )]
    pub(crate) leader_elect_lease_duration: Duration,
    /// How long a leader goes on without having renewed the lease.
    #[arg(
        long,
        value_name = "TIME",
        env = "ROLLWRIGHT_LEADER_ELECT_RENEW_DEADLINE",
        default_value = "10s",
        value_parser = period
    )]
    pub(crate) leader_elect_renew_deadline: Duration,
    /// Time between two attempts to get or to renew the lease.
    #[arg(
        long,
        value_name = "TIME",
        env = "ROLLWRIGHT_LEADER_ELECT_RETRY_PERIOD",
        default_value = "2s",
        value_parser = period
    )]
    pub(crate) leader_elect_retry_period: Duration,
    /// Namespace of the lease [default: the pod's own, or that of the kubeconfig's context].
    #[arg(
        long,
        value_name = "NAMESPACE",
        env = "ROLLWRIGHT_LEADER_ELECT_RESOURCE_NAMESPACE",
        value_parser = namespace
    )]
    pub(crate) leader_elect_resource_namespace: Option<String>,
    /// Name of the lease. Replicas that share it elect one leader.
    #[arg(
        long,
        value_name = "NAME",
        env = "ROLLWRIGHT_LEADER_ELECT_RESOURCE_NAME",
        default_value = LEASE_NAME,
        value_parser = lease_name
    )]
    pub(crate) leader_elect_resource_name: String,
}

impl ElectionArguments {
    /// The timings; `None` when there is no election.
    ///
    /// # Errors
    /// If they don't fit together: which flag, and what to do.
    pub(crate) fn timings(&self) -> Result<Option<Timings>, String> {
        if !self.leader_elect {
            return Ok(None);
        }
        let (lease, renew, retry) = (
            self.leader_elect_lease_duration,
            self.leader_elect_renew_deadline,
            self.leader_elect_retry_period,
        );
        let [lease_text, renew_text, retry_text] =
            [lease, renew, retry].map(|time| format!("{}s", time.as_secs()));
        let timings = Timings::new(lease, renew, retry).map_err(|error| match error {
            TimingsError::NotSeconds(name) => format!("the {name} time {error}"),
            TimingsError::LeaseTooShort => format!(
                "--leader-elect-lease-duration {lease_text} must be greater than \
                 --leader-elect-renew-deadline {renew_text}: raise the one or lower the other"
            ),
            TimingsError::RenewTooShort => format!(
                "--leader-elect-renew-deadline {renew_text} must be greater than {JITTER_FACTOR} times \
                 --leader-elect-retry-period {retry_text}: raise the one or lower the other"
            ),
        })?;
        Ok(Some(timings))
    }
}

/// Who may read /metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MetricsAuth {
    /// Everybody who reaches the port.
    None,
    /// Whose bearer token may get the path, as the API server says.
    Token,
}

/// `rollwright sandbox`.
#[derive(Debug, Args)]
pub(crate) struct SandboxArguments {
    /// Port on the loopback interface; 0 takes a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
    /// Where to write the kubeconfig [default: among the temporary files].
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig_out: Option<PathBuf>,
    /// Where to log every request, a line of JSON each, as a real server's audit log does
    /// [default: nowhere].
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_log: Option<PathBuf>,
    /// Where the operator serves /livez, /readyz and /metrics: ADDRESS:PORT, :PORT, or 0 for nowhere.
    #[arg(long, value_name = "ADDRESS", default_value = "0", value_parser = bind_address)]
    pub(crate) bind_address: Bind,
    /// Whose Deployments the operator manages.
    #[arg(
        long,
        value_name = "API",
        value_delimiter = ',',
        default_value = "rollwright.dev/v1,apps/v1",
        value_parser = flavour
    )]
    pub(crate) api: Vec<Flavour>,
    /// Time from a pod's start to its readiness, unless its annotations say otherwise.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 800)]
    pub(crate) ready_after_ms: u64,
    /// Time that a pod takes to end, unless its annotations say otherwise.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 200)]
    pub(crate) terminate_after_ms: u64,
    /// A command to run with KUBECONFIG set; the sandbox ends with it.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

/// `rollwright shadow`.
#[derive(Debug, Args)]
pub(crate) struct ShadowArguments {
    #[command(flatten)]
    pub(crate) client: ClientArguments,
    /// Whose Deployments to look at: apps/v1 or rollwright.dev/v1.
    #[arg(long, value_name = "API", env = "ROLLWRIGHT_API", default_value = "apps/v1", value_parser = flavour)]
    pub(crate) api: Flavour,
    /// Look at one namespace only.
    #[arg(long, short, value_name = "NAME", env = "ROLLWRIGHT_NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// What metadata.managedFields calls the controller in charge [default: kube-controller-manager
    /// for apps/v1, rollwright for rollwright.dev/v1].
    #[arg(long, value_name = "NAME", env = "ROLLWRIGHT_MANAGER")]
    pub(crate) manager: Option<String>,
    /// Where to serve /livez, /readyz, /metrics, /why and /report: ADDRESS:PORT, :PORT, or 0 for
    /// nowhere.
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "ROLLWRIGHT_BIND_ADDRESS",
        default_value = ":8080",
        value_parser = bind_address
    )]
    pub(crate) bind_address: Bind,
    /// How often to report: 30s, 5m, 1h; 0 for once, at the end.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = interval)]
    pub(crate) report_every: Interval,
    /// Form of the reports on standard output.
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(crate) output: Report,
    /// End after this time: 30s, 5m, 1h [default: run on].
    #[arg(long = "for", value_name = "TIME", default_value = "0", hide_default_value = true, value_parser = interval)]
    pub(crate) duration: Interval,
    /// Save each divergence in this directory, as a case of the oracle.
    #[arg(long, value_name = "DIR", env = "ROLLWRIGHT_DIVERGENCES")]
    pub(crate) divergences: Option<PathBuf>,
    /// Hash names, images and whatever else is yours in these cases.
    #[arg(long, requires = "divergences")]
    pub(crate) hash_names: bool,
}

/// A time span; `None` stands for 0.
pub(crate) type Interval = Option<Duration>;

/// Form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Report {
    /// A line of text.
    Text,
    /// A line of JSON.
    Json,
}

/// `rollwright crd`.
#[derive(Debug, Args)]
pub(crate) struct CrdArguments {
    #[command(flatten)]
    pub(crate) client: ClientArguments,
    /// Take the pod template's schema from the cluster, so that no pod field it knows is missing.
    #[arg(long)]
    pub(crate) from_cluster: bool,
}

/// `rollwright lint`.
#[derive(Debug, Args)]
pub(crate) struct LintArguments {
    /// A file of YAML or JSON, a directory of them (.yaml, .yml, .json; not what is below), or - for
    /// standard input; may be given more than once.
    #[arg(short = 'f', long = "filename", value_name = "FILE", required = true, num_args = 1..)]
    pub(crate) files: Vec<PathBuf>,
    /// Form of what is found.
    #[arg(short = 'o', long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: LintOutput,
    /// Check apps/v1 Deployments too, as they would be with our apiVersion.
    #[arg(long)]
    pub(crate) include_apps: bool,
}

/// Form of what `rollwright lint` finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LintOutput {
    /// A line each: FILE:LINE: NAME: MESSAGE.
    Text,
    /// One JSON array.
    Json,
}

/// `rollwright probe`.
#[derive(Debug, Args)]
pub(crate) struct ProbeArguments {
    /// The page, with http or https; certificates are not verified.
    #[arg(value_name = "URL", value_parser = page)]
    pub(crate) url: http::Uri,
    /// How long to try: 30s, 5m, 1h; 0 for once.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = interval)]
    pub(crate) timeout: Interval,
}

/// Where to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bind {
    /// Not at all.
    Nowhere,
    /// Here.
    At(SocketAddr),
}

fn flavour(text: &str) -> Result<Flavour, String> {
    let all = [Flavour::Rollwright, Flavour::AppsV1];
    let known = all.into_iter().find(|flavour| flavour.api_version() == text);
    known.ok_or_else(|| "must be rollwright.dev/v1 or apps/v1".to_owned())
}

fn interval(text: &str) -> Result<Interval, String> {
    let (digits, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(digits) => (digits, text.chars().last().unwrap_or('s')),
        None => (text, 's'),
    };
    let factor = match unit {
        'h' => 3600,
        'm' => 60,
        _ => 1,
    };
    let count: u64 = digits.parse().map_err(|_| "must be a time such as 30s, 5m or 1h".to_owned())?;
    let seconds = count.checked_mul(factor).filter(|seconds| *seconds <= 366 * 24 * 3600);
    let seconds = seconds.ok_or_else(|| "must be a year at most".to_owned())?;
    Ok((seconds > 0).then(|| Duration::from_secs(seconds)))
}

fn page(text: &str) -> Result<http::Uri, String> {
    let uri = text.parse::<http::Uri>().ok();
    let uri = uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")));
    uri.ok_or_else(|| "must be a URL such as http://rollwright-metrics:8080/readyz".to_owned())
}

fn bind_address(text: &str) -> Result<Bind, String> {
    if text == "0" {
        return Ok(Bind::Nowhere);
    }
    let full = if text.starts_with(':') { format!("0.0.0.0{text}") } else { text.to_owned() };
    full.parse().map(Bind::At).map_err(|_| "must be ADDRESS:PORT, :PORT, or 0 for no listener".to_owned())
}

/// Whole seconds, one at least.
fn period(text: &str) -> Result<Duration, String> {
    interval(text)?.ok_or_else(|| "must be a second at least".to_owned())
}

/// A name of a namespace: an RFC 1123 label.
fn namespace(text: &str) -> Result<String, String> {
    let is_label = text.len() <= 63 && is_dns_label(text);
    is_label.then(|| text.to_owned()).ok_or_else(|| {
        "must be the name of a namespace: at most 63 lower case letters, digits and '-', with a letter \
         or digit at either end"
            .to_owned()
    })
}

/// A name of an object: RFC 1123 labels with dots between them.
fn lease_name(text: &str) -> Result<String, String> {
    let is_name = text.len() <= 253 && text.split('.').all(is_dns_label);
    is_name.then(|| text.to_owned()).ok_or_else(|| {
        "must be the name of an object: at most 253 lower case letters, digits, '-' and '.', with a \
         letter or digit at either end"
            .to_owned()
    })
}

fn is_dns_label(text: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(is_inner) && !text.starts_with('-') && !text.ends_with('-')
}

#[cfg(test)]
mod tests;
