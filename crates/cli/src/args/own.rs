//! What is about the program itself and no cluster.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::Output;

/// Which of it.
#[derive(Debug, Subcommand)]
pub(crate) enum OwnVerb {
    /// Print what makes a shell, or kubectl, complete words of the command line.
    Completion(CompletionArguments),
    /// Print the version of this program.
    Version(VersionArguments),
    /// Write man pages, one for each verb.
    #[command(hide = true)]
    Man {
        /// Where to; the directory has to exist.
        directory: PathBuf,
    },
    /// What kubectl asks when somebody presses Tab.
    #[command(name = "__complete", hide = true)]
    Complete {
        /// The words after `kubectl rollwright`, behind --; the last one is what is being typed.
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
    /// Whose: a shell's, or kubectl's own, which also knows the names of Deployments.
    pub(crate) whose: Completing,
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
    /// For `kubectl rollwright` in any shell in which kubectl completes: a program to save as
    /// `kubectl_complete-rollwright` on the PATH.
    Kubectl,
}
