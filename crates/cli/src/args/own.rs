//! What is about the program itself and no cluster.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::examples;
use super::output::Output;
use crate::lint::LintArguments;

/// Which of it.
#[derive(Debug, Subcommand)]
pub(crate) enum OwnVerb {
    /// Check manifests offline, as the API server would; the exit code is 1 if it would refuse one.
    #[command(after_help = examples::LINT)]
    Lint(LintArguments),
    /// Print a completion script for a shell, or for kubectl.
    #[command(after_help = examples::COMPLETION)]
    Completion(CompletionArguments),
    /// Print the version of this program.
    #[command(after_help = examples::VERSION)]
    Version(VersionArguments),
    /// Write man pages, one for each verb.
    #[command(hide = true)]
    Man {
        /// Existing directory to write to.
        directory: PathBuf,
    },
    /// Complete a word for kubectl.
    #[command(name = "__complete", hide = true)]
    Complete {
        /// The words after `kubectl rollwright`, after --; the last one is incomplete.
        #[arg(last = true)]
        words: Vec<String>,
    },
}

/// `version`.
#[derive(Debug, Args)]
pub(crate) struct VersionArguments {
    #[command(flatten)]
    pub(crate) output: Output,
}

/// `completion`.
#[derive(Debug, Args)]
pub(crate) struct CompletionArguments {
    /// A shell, or kubectl; bash and kubectl also complete names, containers, and revisions.
    pub(crate) shell: Completing,
}

/// Who completes words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Completing {
    /// For `kubectl-rollwright` in bash.
    Bash,
    /// For `kubectl-rollwright` in zsh.
    Zsh,
    /// For `kubectl-rollwright` in fish.
    Fish,
    /// For `kubectl-rollwright` in PowerShell.
    #[value(name = "powershell")]
    PowerShell,
    /// For `kubectl rollwright` in every shell with kubectl completion: a program to save as
    /// `kubectl_complete-rollwright` on the PATH.
    Kubectl,
}
