//! `set`.

use clap::{ArgAction, Args, Subcommand};

use super::examples;
use super::target::Several;
use super::writing::Writing;

/// Which field.
#[derive(Debug, Subcommand)]
pub(crate) enum SetField {
    /// Set images of containers.
    #[command(after_help = examples::SET_IMAGE)]
    Image(SetImageArguments),
    /// Set environment variables of containers, or list them.
    #[command(after_help = examples::SET_ENV)]
    Env(SetEnvArguments),
    /// Set requests and limits of containers.
    #[command(after_help = examples::SET_RESOURCES)]
    Resources(SetResourcesArguments),
}

/// `set image`.
#[derive(Debug, Args)]
pub(crate) struct SetImageArguments {
    /// Deployments, and CONTAINER=IMAGE for each container to change; * means all containers.
    #[arg(value_name = "NAME CONTAINER=IMAGE", required = true, num_args = 1..)]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) several: Several,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

/// `set env`.
#[derive(Debug, Args)]
pub(crate) struct SetEnvArguments {
    /// Deployments, KEY=VALUE for each variable to set, and KEY- for each to remove.
    #[arg(value_name = "NAME KEY=VALUE", num_args = 1..)]
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
    pub(crate) several: Several,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

/// `set resources`.
#[derive(Debug, Args)]
pub(crate) struct SetResourcesArguments {
    /// Deployments.
    #[arg(value_name = "NAME", num_args = 1..)]
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
    pub(crate) several: Several,
    #[command(flatten)]
    pub(crate) writing: Writing,
}
