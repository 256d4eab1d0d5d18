//! `rollwright sandbox`.

use std::path::PathBuf;

use clap::Args;
use plan::Flavour;

use super::values::{Bind, bind_address, flavour};

/// `rollwright sandbox`.
#[derive(Debug, Args)]
pub(crate) struct SandboxArguments {
    /// Port on the loopback interface; 0 selects a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
    /// File to write the kubeconfig to [default: a temporary file].
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig_out: Option<PathBuf>,
    /// File to log every request to, as one line of JSON, like the audit log of a real API server
    /// [default: none].
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_log: Option<PathBuf>,
    /// A manifest with Deployments, or a directory of manifests, to apply at startup; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub(crate) apply: Vec<PathBuf>,
    /// Address for the operator's /livez, /readyz, and /metrics: ADDRESS:PORT, :PORT, or 0 to serve none.
    #[arg(long, value_name = "ADDRESS", default_value = "0", value_parser = bind_address)]
    pub(crate) bind_address: Bind,
    /// APIs of the Deployments that the operator manages.
    #[arg(
        long,
        value_name = "API",
        value_delimiter = ',',
        default_value = "rollwright.dev/v1,apps/v1",
        value_parser = flavour
    )]
    pub(crate) api: Vec<Flavour>,
    /// Time from the start of a pod to its readiness, unless its annotations override it.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 800)]
    pub(crate) ready_after_ms: u64,
    /// Time that a pod takes to terminate, unless its annotations override it.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 200)]
    pub(crate) terminate_after_ms: u64,
    /// A command to run with KUBECONFIG set; the sandbox stops when it exits.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}
