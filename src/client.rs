//! Clients for the API server.

use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::args::ClientArguments;
use crate::requests::explain;

/// A server that cannot be reached is tried again soon; waiting longer helps nobody.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The file named on the command line.
    #[error("--kubeconfig {path}: {source}")]
    Kubeconfig { path: String, source: Box<kube::config::KubeconfigError> },
    /// The context named on the command line.
    #[error("--context {context}: {source}")]
    Context { context: String, source: Box<kube::config::KubeconfigError> },
    /// Neither a kubeconfig nor a service account.
    #[error("no cluster is configured; name a file with --kubeconfig ({0})")]
    Infer(Box<kube::config::InferConfigError>),
    /// Certificates or keys that cannot be used.
    #[error("the cluster's configuration cannot be used: {0}")]
    Build(String),
}

/// How to reach the cluster.
///
/// Requests are not retried by the client: a write must not leave minutes after it was decided,
/// and each pass is retried as a whole, from fresh data.
pub(crate) async fn config(arguments: &ClientArguments) -> Result<Config, ClientError> {
    let options = KubeConfigOptions { context: arguments.context.clone(), ..KubeConfigOptions::default() };
    let mut config = match (&arguments.kubeconfig, &arguments.context) {
        (Some(path), _) => {
            let explain = |source| ClientError::Kubeconfig {
                path: path.display().to_string(),
                source: Box::new(source),
            };
            let kubeconfig = Kubeconfig::read_from(path).map_err(explain)?;
            Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(explain)?
        }
        (None, Some(context)) => Config::from_kubeconfig(&options)
            .await
            .map_err(|source| ClientError::Context { context: context.clone(), source: Box::new(source) })?,
        (None, None) => Config::infer().await.map_err(|error| ClientError::Infer(Box::new(error)))?,
    };
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    Ok(config)
}

/// A client with a connection pool of its own.
pub(crate) fn client(config: &Config) -> Result<Client, ClientError> {
    Client::try_from(config.clone()).map_err(|error| ClientError::Build(explain(&error)))
}
