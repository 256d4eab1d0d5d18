//! `rollwright sandbox`.

use std::path::PathBuf;

use clap::Args;
use plan::Flavour;

use super::Bind;
use super::values::{bind_address, flavour};

/// `rollwright sandbox`.
#[derive(Debug, Args)]
pub(crate) struct SandboxArguments {
    /// Port on the loopback interface; 0 takes a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
    /// Where to write the kubeconfig [default: among the temporary files].
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig_out: Option<PathBuf>,
    /// Where to log every request, a line of JSON each, as a real server's audit log does
    /// [default: nowhere].
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_log: Option<PathBuf>,
    /// A manifest of Deployments, or a directory of them, to apply at the start; may be given more than
    /// once.
    #[arg(long, value_name = "FILE")]
    pub(crate) apply: Vec<PathBuf>,
    /// Where the operator serves /livez, /readyz and /metrics: ADDRESS:PORT, :PORT, or 0 for nowhere.
    #[arg(long, value_name = "ADDRESS", default_value = "0", value_parser = bind_address)]
    pub(crate) bind_address: Bind,
    /// Whose Deployments the operator manages.
    #[arg(
        long,
        value_name = "API",
        value_delimiter = ',',
        default_value = "rollwright.dev/v1,apps/v1",
        value_parser = flavour
    )]
    pub(crate) api: Vec<Flavour>,
    /// Time from a pod's start to its readiness, unless its annotations say otherwise.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 800)]
    pub(crate) ready_after_ms: u64,
    /// Time that a pod takes to end, unless its annotations say otherwise.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 200)]
    pub(crate) terminate_after_ms: u64,
    /// A command to run with KUBECONFIG set; the sandbox ends with it.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}
