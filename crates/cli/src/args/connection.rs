//! How to reach the cluster.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::time::time;

/// How to reach the cluster; the names are kubectl's.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct Connection {
    /// Path to a kubeconfig [default: $KUBECONFIG or ~/.kube/config].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: the current context].
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Cluster of the kubeconfig [default: the context's].
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// User of the kubeconfig [default: the context's].
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Namespace [default: the context's].
    #[arg(long, short, global = true, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Address of the API server, instead of the kubeconfig's; HOST:PORT is http, or https with certificates.
    #[arg(long, short, global = true, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Bearer token, instead of the kubeconfig's credentials.
    #[arg(long, global = true, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// Do not verify the server's certificate.
    #[arg(long, global = true)]
    pub(crate) insecure_skip_tls_verify: bool,
    /// User to impersonate.
    #[arg(long = "as", global = true, value_name = "USER")]
    pub(crate) as_user: Option<String>,
    /// Group to impersonate; may be repeated.
    #[arg(long = "as-group", global = true, value_name = "GROUP")]
    pub(crate) as_groups: Vec<String>,
    /// Time limit for a single request, for example 10s; 0 for no limit [default: 10s without a sign of life, 40s for
    /// a change].
    #[arg(long, global = true, value_name = "TIME", value_parser = time)]
    pub(crate) request_timeout: Option<Duration>,
    /// Verbosity: from 6 on, every request is printed on standard error, with its status and time.
    #[arg(long = "v", short = 'v', global = true, value_name = "LEVEL", default_value_t = 0)]
    pub(crate) verbosity: u8,
}
