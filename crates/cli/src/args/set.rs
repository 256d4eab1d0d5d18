//! `set`.

use clap::{ArgAction, Args, Subcommand};

use super::Output;

/// Which field.
#[derive(Debug, Subcommand)]
pub(crate) enum SetField {
    /// Set images of containers.
    Image(SetImageArguments),
    /// Set environment variables of containers, or list them.
    Env(SetEnvArguments),
    /// Set requests and limits of containers.
    Resources(SetResourcesArguments),
}

/// `set image`.
#[derive(Debug, Args)]
pub(crate) struct SetImageArguments {
    /// A Deployment, and CONTAINER=IMAGE for each container to change; * stands for all of them.
    #[arg(value_name = "NAME CONTAINER=IMAGE", required = true, num_args = 2..)]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// `set env`.
#[derive(Debug, Args)]
pub(crate) struct SetEnvArguments {
    /// A Deployment, and KEY=VALUE for each variable to set, KEY- for each to remove.
    #[arg(value_name = "NAME KEY=VALUE", required = true, num_args = 1..)]
    pub(crate) words: Vec<String>,
    /// Only in containers of this name; * stands for any letters.
    #[arg(long, short, value_name = "NAME", default_value = "*")]
    pub(crate) containers: String,
    /// Show the variables, and change nothing.
    #[arg(long)]
    pub(crate) list: bool,
    /// A variable for each key of configmap/NAME or secret/NAME, which refers to the key.
    #[arg(long, value_name = "KIND/NAME")]
    pub(crate) from: Option<String>,
    /// Of those only these keys.
    #[arg(long, value_name = "KEY,...", value_delimiter = ',', requires = "from")]
    pub(crate) keys: Vec<String>,
    /// What the names of those variables begin with.
    #[arg(long, value_name = "TEXT", requires = "from", default_value = "")]
    pub(crate) prefix: String,
    /// Whether variables that are there may get another value.
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// `set resources`.
#[derive(Debug, Args)]
pub(crate) struct SetResourcesArguments {
    /// A Deployment.
    #[arg(value_name = "NAME", required = true, num_args = 1..=2)]
    pub(crate) words: Vec<String>,
    /// Only in containers of this name; * stands for any letters.
    #[arg(long, short, value_name = "NAME", default_value = "*")]
    pub(crate) containers: String,
    /// What the containers are promised, for example cpu=200m,memory=512Mi.
    #[arg(long, value_name = "RESOURCE=AMOUNT,...", required_unless_present = "limits")]
    pub(crate) requests: Option<String>,
    /// What they may not exceed.
    #[arg(long, value_name = "RESOURCE=AMOUNT,...")]
    pub(crate) limits: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}
