//! `rollwright shadow`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use plan::Flavour;

use super::values::{bind_address, flavour, interval};
use super::{Bind, ClientArguments, Interval};

/// `rollwright shadow`.
#[derive(Debug, Args)]
pub(crate) struct ShadowArguments {
    #[command(flatten)]
    pub(crate) client: ClientArguments,
    /// Whose Deployments to look at: apps/v1 or rollwright.dev/v1.
    #[arg(long, value_name = "API", env = "ROLLWRIGHT_API", default_value = "apps/v1", value_parser = flavour)]
    pub(crate) api: Flavour,
    /// Look at one namespace only.
    #[arg(long, short, value_name = "NAME", env = "ROLLWRIGHT_NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// What metadata.managedFields calls the controller in charge [default: kube-controller-manager
    /// for apps/v1, rollwright for rollwright.dev/v1].
    #[arg(long, value_name = "NAME", env = "ROLLWRIGHT_MANAGER")]
    pub(crate) manager: Option<String>,
    /// Where to serve /livez, /readyz, /metrics, /why and /report: ADDRESS:PORT, :PORT, or 0 for
    /// nowhere.
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "ROLLWRIGHT_BIND_ADDRESS",
        default_value = ":8080",
        value_parser = bind_address
    )]
    pub(crate) bind_address: Bind,
    /// How often to report: 30s, 5m, 1h; 0 for once, at the end.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = interval)]
    pub(crate) report_every: Interval,
    /// Form of the reports on standard output.
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(crate) output: Report,
    /// End after this time: 30s, 5m, 1h [default: run on].
    #[arg(long = "for", value_name = "TIME", default_value = "0", hide_default_value = true, value_parser = interval)]
    pub(crate) duration: Interval,
    /// Save each divergence in this directory, as a case of the oracle.
    #[arg(long, value_name = "DIR", env = "ROLLWRIGHT_DIVERGENCES")]
    pub(crate) divergences: Option<PathBuf>,
    /// Hash names, images and whatever else is yours in these cases.
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
