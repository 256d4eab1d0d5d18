//! In which form the output is.

use clap::{Args, ValueEnum};

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
