//! How a verb makes its change.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};

use super::output::Output;

/// The name of this client in `metadata.managedFields`. Flux takes over the fields of every manager with a name that
/// begins with `kubectl`, so this one does not.
pub(crate) const FIELD_MANAGER: &str = "rollwright-cli";

/// How a verb makes its change.
#[derive(Debug, Args)]
pub(crate) struct Writing {
    /// Show what would change, without changing it; client, unless another place is named.
    #[arg(long, value_name = "WHERE", default_value = "none", default_missing_value = "client")]
    #[arg(num_args = 0..=1, require_equals = true)]
    pub(crate) dry_run: DryRun,
    /// Name of the writer in metadata.managedFields.
    #[arg(long, value_name = "NAME", default_value = FIELD_MANAGER, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) field_manager: String,
    #[command(flatten)]
    pub(crate) output: Output,
}

impl Writing {
    /// A change that no flag is about.
    pub(crate) fn of(dry_run: DryRun) -> Self {
        Self { dry_run, field_manager: FIELD_MANAGER.to_owned(), output: Output { format: None } }
    }
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

impl DryRun {
    /// What follows the words about a change that was not made.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Client => " (client dry run)",
            Self::Server => " (server dry run)",
        }
    }
}
