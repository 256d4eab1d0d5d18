//! Whether `undo` pins.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

/// How `undo` rolls back.
#[derive(Debug, Default, Args)]
pub(crate) struct PinArguments {
    /// Pin the revision with spec.pin and leave the template as it is; the default if a GitOps tool manages the
    /// template.
    #[arg(long, conflicts_with = "no_pin")]
    pub(crate) pin: bool,
    /// Change the template, even if a GitOps tool manages it.
    #[arg(long)]
    pub(crate) no_pin: bool,
    /// Why the revision is pinned, for example INC-4711.
    #[arg(long, value_name = "TEXT", requires = "pin", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) reason: Option<String>,
    /// End the pin with the next template.
    #[arg(long, requires = "pin")]
    pub(crate) until_next_template: bool,
}
