//! The command line.

use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::code::Code;
use crate::state::States;

pub(crate) mod connection;
pub(crate) mod examples;
mod groups;
pub(crate) mod output;
pub(crate) mod own;
pub(crate) mod pin;
pub(crate) mod promote;
pub(crate) mod set;
pub(crate) mod target;
pub(crate) mod time;
pub(crate) mod writing;

use connection::Connection;
use output::{Output, Tabular};
use own::OwnVerb;
use pin::PinArguments;
use promote::PromoteArguments;
use set::SetField;
use target::{Several, Targets};
use time::time;
use writing::Writing;

/// Manage rollouts of Deployments, of rollwright.dev/v1 and apps/v1.
#[derive(Debug, Parser)]
#[command(name = "kubectl-rollwright", bin_name = "kubectl rollwright", version, max_term_width = 100)]
#[command(help_template = groups::grouped(), after_help = Code::help())]
pub struct Arguments {
    #[command(flatten)]
    pub(crate) connection: Connection,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    #[command(flatten)]
    Rollout(RolloutVerb),
    /// The same verbs as in kubectl: rollout status, rollout undo, ...
    #[command(name = "rollout", after_help = examples::ROLLOUT)]
    Stock {
        #[command(subcommand)]
        verb: RolloutVerb,
    },
    /// Show a Deployment with its revisions, ReplicaSets, and pods.
    #[command(after_help = examples::GET)]
    Get(GetArguments),
    /// Explain what a rollout waits for or what blocks it, and suggest the next command.
    #[command(after_help = examples::and_codes(examples::WHY))]
    Why(WhyArguments),
    /// Show what the controller would do, step by step, until the rollout ends; changes nothing.
    #[command(after_help = examples::PLAN)]
    Plan(PlanArguments),
    /// List Deployments of both APIs.
    #[command(after_help = examples::LIST)]
    List(ListArguments),
    #[command(flatten)]
    Revision(RevisionVerb),
    #[command(flatten)]
    Move(MoveVerb),
    #[command(flatten)]
    Spec(SpecVerb),
    #[command(flatten)]
    Own(OwnVerb),
}

/// Verbs that change the size or the template.
#[derive(Debug, Subcommand)]
pub(crate) enum SpecVerb {
    /// Set the number of pods.
    #[command(after_help = examples::SCALE)]
    Scale(ScaleArguments),
    /// Change a field of the pod template.
    #[command(after_help = examples::SET)]
    Set {
        #[command(subcommand)]
        field: SetField,
    },
}

/// Verbs about the revision that runs or is rolled out.
#[derive(Debug, Subcommand)]
pub(crate) enum RevisionVerb {
    /// Show how the declared revision differs from the one that runs.
    ///
    /// While nothing is rolled out, it is compared with the last good one. The exit code is 0 either way.
    #[command(after_help = examples::DIFF)]
    Diff(DiffArguments),
    /// Remove spec.pin, so that the declared revision runs again.
    #[command(after_help = examples::UNPIN)]
    Unpin(EditArguments),
    /// Ask the operator to run the declared revision again after it failed.
    #[command(after_help = examples::RETRY)]
    Retry(EditArguments),
    /// Ask the operator to run the last good revision instead of the declared one.
    #[command(after_help = examples::ABORT)]
    Abort(EditArguments),
    /// Ask the operator to end the wait at a step of the rollout.
    #[command(after_help = examples::PROMOTE)]
    Promote(PromoteArguments),
}

/// Verbs that take pods from one controller to another.
#[derive(Debug, Subcommand)]
pub(crate) enum MoveVerb {
    /// Migrate a Deployment to rollwright.dev/v1 (or back) without restarting its pods.
    #[command(after_help = examples::MIGRATE)]
    Migrate(crate::migrate::MigrateArguments),
    /// Replace the pods of a ReplicationController one by one.
    #[command(after_help = examples::ROLLING_UPDATE)]
    RollingUpdate(crate::rolling_update::RollingUpdateArguments),
}

/// Verbs that `kubectl rollout` has too.
#[derive(Debug, Subcommand)]
pub(crate) enum RolloutVerb {
    /// Wait for a rollout to end; the exit code shows the outcome.
    #[command(after_help = examples::and_codes(examples::STATUS))]
    Status(StatusArguments),
    /// Show all revisions, one revision, or the difference between two.
    #[command(after_help = examples::HISTORY)]
    History(HistoryArguments),
    /// Roll back to the previous revision, or to a given one.
    #[command(after_help = examples::UNDO)]
    Undo(UndoArguments),
    /// Pause the rollout.
    #[command(after_help = examples::PAUSE)]
    Pause(EditArguments),
    /// Resume a paused rollout, or one that is held since the operator restarted.
    #[command(after_help = examples::RESUME)]
    Resume(ResumeArguments),
    /// Replace all pods with new ones of the same template.
    #[command(after_help = examples::RESTART)]
    Restart(EditArguments),
}

/// `status`.
#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    #[command(flatten)]
    pub(crate) targets: Targets,
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
    /// All pods are of the revision that should run, pinned or declared, and are available.
    #[value(skip)]
    Running,
}

/// `get`.
#[derive(Debug, Args)]
pub(crate) struct GetArguments {
    #[command(flatten)]
    pub(crate) targets: Targets,
    /// Keep a view of the rollout open, with keys that change it; if the output is not a terminal, print each change
    /// until the rollout ends.
    #[arg(long, short, conflicts_with_all = Several::FLAGS)]
    pub(crate) watch: bool,
    /// Number of revisions to show, newest first.
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    pub(crate) revisions: usize,
    #[command(flatten)]
    pub(crate) output: Tabular,
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
    /// Keep the list open with what needs attention first; if the output is not a terminal, print each change.
    #[arg(long, short)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) states: States,
    #[command(flatten)]
    pub(crate) output: Tabular,
}

/// `history`.
#[derive(Debug, Args)]
pub(crate) struct HistoryArguments {
    #[command(flatten)]
    pub(crate) targets: Targets,
    /// Show the pod template of this revision.
    #[arg(long, value_name = "NUMBER", conflicts_with = "diff")]
    pub(crate) revision: Option<i64>,
    /// Show what changed from one revision to another.
    #[arg(long, value_names = ["FROM", "TO"], num_args = 2)]
    pub(crate) diff: Option<Vec<i64>>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// `diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    #[command(flatten)]
    pub(crate) targets: Targets,
}

/// `undo`.
#[derive(Debug, Args)]
pub(crate) struct UndoArguments {
    #[command(flatten)]
    pub(crate) targets: Targets,
    /// Revision to roll back to; 0 is the last good one if the declared revision failed, and otherwise the one before
    /// the revision that runs.
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    pub(crate) to_revision: i64,
    #[command(flatten)]
    pub(crate) pin: PinArguments,
    #[command(flatten)]
    pub(crate) writing: Writing,
    /// Wait until the rollback is rolled out, or all pods are of the pinned revision; exit codes as for status.
    #[arg(long, conflicts_with_all = Several::FLAGS, conflicts_with = "format")]
    pub(crate) wait: bool,
    /// How long to wait.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "0")]
    pub(crate) timeout: Duration,
}

/// `resume`.
#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    #[command(flatten)]
    pub(crate) edit: EditArguments,
    /// Continue held rollouts only, this many at a time: the next one begins when one is complete, or waits for a person.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) parallel: Option<u16>,
}

/// `pause`, `restart`, `unpin`, `retry`, `abort`.
#[derive(Debug, Args)]
pub(crate) struct EditArguments {
    #[command(flatten)]
    pub(crate) targets: Targets,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

/// `why`.
#[derive(Debug, Args)]
pub(crate) struct WhyArguments {
    #[command(flatten)]
    pub(crate) targets: Targets,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// `plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    /// Deployments: web, deploy/web, deployment.rollwright.dev/web or deployment.apps/web.
    #[arg(value_name = "NAME", required_unless_present = "files", conflicts_with = "files", num_args = 1..)]
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
    pub(crate) targets: Targets,
    /// New number of pods.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i64).range(0..=i64::from(i32::MAX)))]
    pub(crate) replicas: i64,
    /// Scale only if spec.replicas has this value now.
    #[arg(long, value_name = "COUNT")]
    pub(crate) current_replicas: Option<i64>,
    #[command(flatten)]
    pub(crate) writing: Writing,
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
    fn a_reason_needs_a_pin_and_a_pin_excludes_its_opposite() {
        let is_read = |words: &str| Arguments::try_parse_from(words.split(' ')).is_ok();
        for words in ["", " --pin", " --no-pin", " --pin --reason=INC-4711 --until-next-template"] {
            assert!(is_read(&format!("kubectl-rollwright undo web{words}")), "{words}");
        }
        for words in ["--pin --no-pin", "--reason=x", "--until-next-template", "--pin --reason="] {
            assert!(!is_read(&format!("kubectl-rollwright undo web {words}")), "{words}");
        }
    }
}
