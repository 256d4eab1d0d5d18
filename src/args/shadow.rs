//! `rollwright shadow`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use plan::Flavour;

use super::client::ClientArguments;
use super::values::{Bind, Interval, bind_address, flavour, interval};

/// `rollwright shadow`.
#[derive(Debug, Args)]
pub(crate) struct ShadowArguments {
    #[command(flatten)]
    pub(crate) client: ClientArguments,
    /// API of the Deployments to watch: apps/v1 or rollwright.dev/v1.
    #[arg(long, value_name = "API", env = "ROLLWRIGHT_API", default_value = "apps/v1", value_parser = flavour)]
    pub(crate) api: Flavour,
    /// Watch a single namespace.
    #[arg(long, short, value_name = "NAME", env = "ROLLWRIGHT_NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Field manager of the active controller in metadata.managedFields [default: kube-controller-manager
    /// for apps/v1, rollwright for rollwright.dev/v1].
    #[arg(long, value_name = "NAME", env = "ROLLWRIGHT_MANAGER")]
    pub(crate) manager: Option<String>,
    /// Address for /livez, /readyz, /metrics, /why, and /report: ADDRESS:PORT, :PORT, or 0 to serve none.
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "ROLLWRIGHT_BIND_ADDRESS",
        default_value = ":8080",
        value_parser = bind_address
    )]
    pub(crate) bind_address: Bind,
    /// How often to report: 30s, 5m, 1h; 0 to report once, at the end.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = interval)]
    pub(crate) report_every: Interval,
    /// Format of the reports on standard output.
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(crate) output: Report,
    /// Exit after this time: 30s, 5m, 1h [default: never].
    #[arg(long = "for", value_name = "TIME", default_value = "0", hide_default_value = true, value_parser = interval)]
    pub(crate) duration: Interval,
    /// Directory to save each divergence in, as a test case for the oracle.
    #[arg(long, value_name = "DIR", env = "ROLLWRIGHT_DIVERGENCES")]
    pub(crate) divergences: Option<PathBuf>,
    /// In these cases, replace names, images, and all other text of yours by hashes.
    #[arg(long, requires = "divergences")]
    pub(crate) hash_names: bool,
}

/// Form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Report {
    /// A line of text.
    Text,
    /// A line of JSON.
    Json,
}
