//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::code::Code;
use crate::state::States;

mod own;
mod pod;
mod set;

pub(crate) use own::{Completing, OwnVerb};
pub(crate) use pod::{ExecArguments, LogsArguments, PodVerb, PortForwardArguments};
pub(crate) use set::{SetEnvArguments, SetField, SetImageArguments, SetResourcesArguments};

/// Manage rollouts of Deployments, of rollwright.dev/v1 and apps/v1.
#[derive(Debug, Parser)]
#[command(name = "kubectl-rollwright", bin_name = "kubectl rollwright", version, max_term_width = 100)]
#[command(after_help = Code::help())]
pub struct Arguments {
    #[command(flatten)]
    pub(crate) connection: Connection,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// How to reach the cluster; the names are kubectl's.
#[derive(Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct Connection {
    /// Path to a kubeconfig [default: $KUBECONFIG or ~/.kube/config].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: the current context].
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Cluster of the kubeconfig [default: the context's].
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// User of the kubeconfig [default: the context's].
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Namespace [default: the context's].
    #[arg(long, short, global = true, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Address of the API server, instead of the kubeconfig's.
    #[arg(long, short, global = true, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Bearer token, instead of the kubeconfig's credentials.
    #[arg(long, global = true, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// Do not verify the server's certificate.
    #[arg(long, global = true)]
    pub(crate) insecure_skip_tls_verify: bool,
    /// User to impersonate.
    #[arg(long = "as", global = true, value_name = "USER")]
    pub(crate) as_user: Option<String>,
    /// Group to impersonate; may be repeated.
    #[arg(long = "as-group", global = true, value_name = "GROUP")]
    pub(crate) as_groups: Vec<String>,
    /// Time limit for a single request, for example 10s; 0 for no limit.
    #[arg(long, global = true, value_name = "TIME", value_parser = time, default_value = "0")]
    pub(crate) request_timeout: Duration,
}

impl Connection {
    /// The same flags again, for kubectl.
    pub(crate) fn flags(&self) -> Vec<String> {
        let kubeconfig = self.kubeconfig.as_ref().map(|path| path.display().to_string());
        let named = [
            ("kubeconfig", &kubeconfig),
            ("context", &self.context),
            ("cluster", &self.cluster),
            ("user", &self.user),
            ("namespace", &self.namespace),
            ("server", &self.server),
            ("token", &self.token),
            ("as", &self.as_user),
        ];
        let mut flags: Vec<String> =
            named.iter().filter_map(|(name, value)| Some(format!("--{name}={}", value.as_ref()?))).collect();
        flags.extend(self.as_groups.iter().map(|group| format!("--as-group={group}")));
        if self.insecure_skip_tls_verify {
            flags.push("--insecure-skip-tls-verify".to_owned());
        }
        if self.request_timeout > Duration::ZERO {
            flags.push(format!("--request-timeout={}ms", self.request_timeout.as_millis()));
        }
        flags
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    #[command(flatten)]
    Rollout(RolloutVerb),
    /// The same verbs as in kubectl: rollout status, rollout undo, ...
    #[command(name = "rollout")]
    Stock {
        #[command(subcommand)]
        verb: RolloutVerb,
    },
    /// Show a Deployment with its revisions, ReplicaSets, and pods.
    Get(GetArguments),
    /// Explain what a rollout waits for or what blocks it, and suggest the next command.
    #[command(after_help = Code::help())]
    Why(EditArguments),
    /// Show what the controller would do, step by step, until the rollout ends; changes nothing.
    Plan(PlanArguments),
    /// List Deployments of both APIs.
    List(ListArguments),
    #[command(flatten)]
    Move(MoveVerb),
    /// Set the number of pods.
    Scale(ScaleArguments),
    /// Change a field of the pod template.
    Set {
        #[command(subcommand)]
        field: SetField,
    },
    #[command(flatten)]
    Pod(PodVerb),
    #[command(flatten)]
    Own(OwnVerb),
}

/// Verbs that take pods from one controller to another.
#[derive(Debug, Subcommand)]
pub(crate) enum MoveVerb {
    /// Migrate a Deployment to rollwright.dev/v1 (or back) without restarting its pods.
    Migrate(crate::migrate::MigrateArguments),
    /// Replace the pods of a ReplicationController one by one.
    RollingUpdate(crate::rolling_update::RollingUpdateArguments),
}

/// Verbs that `kubectl rollout` has too.
#[derive(Debug, Subcommand)]
pub(crate) enum RolloutVerb {
    /// Wait for a rollout to end; the exit code shows the outcome.
    #[command(after_help = Code::help())]
    Status(StatusArguments),
    /// Show all revisions, one revision, or the difference between two.
    History(HistoryArguments),
    /// Roll back to the previous revision, or to a given one.
    Undo(UndoArguments),
    /// Pause the rollout.
    Pause(EditArguments),
    /// Resume a paused rollout.
    Resume(EditArguments),
    /// Replace all pods with new ones of the same template.
    Restart(EditArguments),
}

/// A Deployment: web, deploy/web, deployment.rollwright.dev/web, deployment.apps/web.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// A Deployment: web, deploy/web, deployment.rollwright.dev/web or deployment.apps/web.
    #[arg(value_name = "NAME", required = true, num_args = 1..=2)]
    pub(crate) words: Vec<String>,
}

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One JSON document.
    Json,
    /// The same as YAML.
    Yaml,
    /// KIND.GROUP/NAME.
    Name,
}

/// Output format.
#[derive(Debug, Args)]
pub(crate) struct Output {
    /// Output format [default: text for people].
    #[arg(long = "output", short = 'o', value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
}

/// `status`.
#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Wait until the rollout ends.
    #[arg(long, short, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set)]
    pub(crate) watch: bool,
    /// How long to wait, for example 90s or 5m; 0 for no limit.
    #[arg(long, short, value_name = "TIME", value_parser = time, default_value = "0")]
    pub(crate) timeout: Duration,
    /// What to wait for.
    #[arg(long = "for", value_name = "WHAT", default_value = "complete")]
    pub(crate) goal: Goal,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What `status` waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Goal {
    /// All pods have the current template and are available.
    Complete,
    /// The Deployment has its minimum of available pods, of any template.
    Available,
}

/// `get`.
#[derive(Debug, Args)]
pub(crate) struct GetArguments {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Update the output with every change, until the rollout ends.
    #[arg(long, short)]
    pub(crate) watch: bool,
    /// Number of revisions to show, newest first.
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    pub(crate) revisions: usize,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// `list`.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// List Deployments in all namespaces.
    #[arg(long, short = 'A')]
    pub(crate) all_namespaces: bool,
    /// List only Deployments with these labels.
    #[arg(long, short = 'l', value_name = "SELECTOR")]
    pub(crate) selector: Option<String>,
    #[command(flatten)]
    pub(crate) states: States,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// `history`.
#[derive(Debug, Args)]
pub(crate) struct HistoryArguments {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Show the pod template of this revision.
    #[arg(long, value_name = "NUMBER", conflicts_with = "diff")]
    pub(crate) revision: Option<i64>,
    /// Show what changed from one revision to another.
    #[arg(long, value_names = ["FROM", "TO"], num_args = 2)]
    pub(crate) diff: Option<Vec<i64>>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// `undo`.
#[derive(Debug, Args)]
pub(crate) struct UndoArguments {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Revision to roll back to; 0 is the one before the current one.
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    pub(crate) to_revision: i64,
    /// Show what would change, without changing it.
    #[arg(long, value_name = "WHERE", default_value = "none")]
    pub(crate) dry_run: DryRun,
    /// Wait until the rollback is rolled out; exit codes as for status.
    #[arg(long)]
    pub(crate) wait: bool,
    /// How long to wait.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "0")]
    pub(crate) timeout: Duration,
}

/// Where a change is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DryRun {
    /// Make the change.
    None,
    /// Send nothing.
    Client,
    /// Let the API server check the change without storing it.
    Server,
}

/// `pause`, `resume`, `restart`, `why`.
#[derive(Debug, Args)]
pub(crate) struct EditArguments {
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// `plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    /// A Deployment: web, deploy/web, deployment.rollwright.dev/web or deployment.apps/web.
    #[arg(value_name = "NAME", required_unless_present = "files", conflicts_with = "files", num_args = 1..=2)]
    pub(crate) words: Vec<String>,
    /// Manifests to plan as if they were applied; - is standard input. May be repeated.
    #[arg(long = "filename", short = 'f', value_name = "FILE")]
    pub(crate) files: Vec<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// `scale`.
#[derive(Debug, Args)]
pub(crate) struct ScaleArguments {
    #[command(flatten)]
    pub(crate) target: Target,
    /// New number of pods.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i64).range(0..=i64::from(i32::MAX)))]
    pub(crate) replicas: i64,
    /// Scale only if spec.replicas has this value now.
    #[arg(long, value_name = "COUNT")]
    pub(crate) current_replicas: Option<i64>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// A time as kubectl takes it: 90s, 5m, 1h30m; a bare number counts seconds.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let wrong = || "must be a time such as 30s, 5m or 1h30m".to_owned();
    if let Ok(seconds) = text.parse::<u32>() {
        return Ok(Duration::from_secs(seconds.into()));
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).ok_or_else(wrong)?;
        let (count, tail) = rest.split_at(digits);
        let count: u32 = count.parse().map_err(|_| wrong())?;
        let (unit, tail) = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)]
            .iter()
            .find_map(|(unit, millis)| Some((*millis, tail.strip_prefix(unit)?)))
            .ok_or_else(wrong)?;
        total += Duration::from_millis(unit) * count;
        rest = tail;
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn times_are_those_of_kubectl() {
        assert_eq!(time("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(time("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(time("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(time("10"), Ok(Duration::from_secs(10)));
        for wrong in ["-1s", "s", "5x", "1h30", "99999999999s"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
