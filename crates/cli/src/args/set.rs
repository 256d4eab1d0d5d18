//! `set`.

use clap::{ArgAction, Args, Subcommand};

use super::output::Output;

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
    /// A Deployment, and CONTAINER=IMAGE for each container to change; * means all containers.
    #[arg(value_name = "NAME CONTAINER=IMAGE", required = true, num_args = 2..)]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// `set env`.
#[derive(Debug, Args)]
pub(crate) struct SetEnvArguments {
    /// A Deployment, KEY=VALUE for each variable to set, and KEY- for each to remove.
    #[arg(value_name = "NAME KEY=VALUE", required = true, num_args = 1..)]
    pub(crate) words: Vec<String>,
    /// Change only containers with this name; * matches any characters.
    #[arg(long, short, value_name = "NAME", default_value = "*")]
    pub(crate) containers: String,
    /// Print the variables without changing them.
    #[arg(long)]
    pub(crate) list: bool,
    /// Add a variable for each key of configmap/NAME or secret/NAME, with a reference to the key.
    #[arg(long, value_name = "KIND/NAME")]
    pub(crate) from: Option<String>,
    /// Use only these keys of --from.
    #[arg(long, value_name = "KEY,...", value_delimiter = ',', requires = "from")]
    pub(crate) keys: Vec<String>,
    /// Prefix for the names of the variables from --from.
    #[arg(long, value_name = "TEXT", requires = "from", default_value = "")]
    pub(crate) prefix: String,
    /// Replace the values of existing variables.
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
    /// Change only containers with this name; * matches any characters.
    #[arg(long, short, value_name = "NAME", default_value = "*")]
    pub(crate) containers: String,
    /// Requests of the containers, for example cpu=200m,memory=512Mi.
    #[arg(long, value_name = "RESOURCE=AMOUNT,...", required_unless_present = "limits")]
    pub(crate) requests: Option<String>,
    /// Limits of the containers.
    #[arg(long, value_name = "RESOURCE=AMOUNT,...")]
    pub(crate) limits: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}
