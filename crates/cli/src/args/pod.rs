//! Verbs that pick a pod and call kubectl for it.

use clap::{Args, Subcommand};

use super::target::Target;

/// Which one.
#[derive(Debug, Subcommand)]
pub(crate) enum PodVerb {
    /// Print the logs of one of the Deployment's pods, through kubectl.
    Logs(LogsArguments),
    /// Run a program in one of the Deployment's pods, through kubectl.
    Exec(ExecArguments),
    /// Forward local ports to one of the Deployment's pods, through kubectl.
    PortForward(PortForwardArguments),
}

/// `logs`.
#[derive(Debug, Args)]
pub(crate) struct LogsArguments {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Choose a pod of this revision [default: the newest one that has pods].
    #[arg(long, value_name = "NUMBER")]
    pub(crate) revision: Option<i64>,
    /// Print the log of this container.
    #[arg(long, short, value_name = "NAME")]
    pub(crate) container: Option<String>,
    /// Print the logs of all containers of the pod.
    #[arg(long)]
    pub(crate) all_containers: bool,
    /// Keep printing new lines.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Print the log of the container's previous run.
    #[arg(long, short)]
    pub(crate) previous: bool,
    /// Print only this many lines from the end.
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true)]
    pub(crate) tail: Option<i64>,
    /// Print only lines newer than this, for example 10m.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Print the time of each line.
    #[arg(long)]
    pub(crate) timestamps: bool,
}

/// `exec`.
#[derive(Debug, Args)]
pub(crate) struct ExecArguments {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Choose a pod of this revision [default: the newest one that has a ready pod].
    #[arg(long, value_name = "NUMBER")]
    pub(crate) revision: Option<i64>,
    /// Run the program in this container.
    #[arg(long, short, value_name = "NAME")]
    pub(crate) container: Option<String>,
    /// Pass standard input to the program.
    #[arg(long, short = 'i')]
    pub(crate) stdin: bool,
    /// Allocate a terminal.
    #[arg(long, short = 't')]
    pub(crate) tty: bool,
    /// The program and its arguments, after --.
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<String>,
}

/// `port-forward`.
#[derive(Debug, Args)]
pub(crate) struct PortForwardArguments {
    /// A Deployment, and ports: LOCAL:REMOTE, or one number for both.
    #[arg(value_name = "NAME PORT", required = true, num_args = 2..)]
    pub(crate) words: Vec<String>,
    /// Choose a pod of this revision [default: the newest one that has a ready pod].
    #[arg(long, value_name = "NUMBER")]
    pub(crate) revision: Option<i64>,
    /// Local addresses to listen on.
    #[arg(long, value_name = "ADDRESS,...")]
    pub(crate) address: Option<String>,
}
