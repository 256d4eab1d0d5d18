//! Flags of the connection to the API server.

use std::path::PathBuf;

use clap::Args;

/// How to reach the API server.
#[derive(Debug, Args)]
pub(crate) struct ClientArguments {
    /// Path to a kubeconfig [default: $KUBECONFIG, ~/.kube/config, or the pod's service account].
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current context].
    #[arg(long, value_name = "NAME", env = "ROLLWRIGHT_CONTEXT")]
    pub(crate) context: Option<String>,
}
