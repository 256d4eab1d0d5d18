//! Runs the operator until it receives a signal to end; no logic of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kube::Config;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use crate::args::{Bind, MetricsAuth, RunArguments};
use crate::client::requests::Server;
use crate::client::{self, ClientError};
use crate::operator::Operator;
use crate::serve::admin::access::Gate;
use crate::serve::admin::state::State;
use crate::serve::admin::tls::{Tls, TlsError};
use crate::serve::admin::{self, Pages};
use crate::serve::metrics::Metrics;
use crate::serve::objects::Objects;

/// Why the operator ended, except by a signal.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("metrics: {0}")]
    Metrics(#[from] prometheus::Error),
    #[error("--bind-address {address}: {source}; 0 serves nothing")]
    Bind { address: SocketAddr, source: std::io::Error },
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("{0}")]
    Timings(String),
    #[error("signals: {0}")]
    Signals(std::io::Error),
    #[error("a task of the operator ended; starting anew is all that helps")]
    TaskEnded,
}

/// Runs the operator until SIGTERM, SIGINT, or `end`, on the cluster that is found out in time.
pub(crate) async fn run(
    arguments: &RunArguments,
    config: impl Future<Output = Result<Config, ClientError>>,
    end: impl Future<Output = ()>,
) -> Result<(), RunError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(RunError::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(RunError::Signals)?;
    let timings = arguments.election.timings().map_err(RunError::Timings)?;
    let metrics = Metrics::new()?;
    let config = config.await?;
    info!(server = %config.cluster_url, version = env!("CARGO_PKG_VERSION"), "rollwright starts");
    let mut operator = {
        let dial = client::dial(&config, &metrics);
        Operator::new(arguments, timings, &config.default_namespace, metrics.clone(), &dial)?
    };
    if let Bind::At(address) = arguments.bind_address {
        open_port(address, arguments, &config, &mut operator).await?;
    }
    operator.start(arguments);
    let ended = tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
        () = end => Ok(()),
        () = operator.ended() => Err(RunError::TaskEnded),
    };
    operator.end().await;
    ended
}

/// Serves health and metrics.
async fn open_port(
    address: SocketAddr,
    arguments: &RunArguments,
    config: &Config,
    operator: &mut Operator,
) -> Result<(), RunError> {
    let (cert, key) = (&arguments.metrics_tls_cert_file, &arguments.metrics_tls_key_file);
    let tls = Tls::read(cert.as_deref(), key.as_deref())?;
    let metrics = operator.metrics.clone();
    let gate = match arguments.metrics_auth {
        MetricsAuth::None => None,
        MetricsAuth::Token => {
            if tls.is_none() {
                warn!("--metrics-auth=token without a certificate: tokens cross the network in clear text");
            }
            let client = client::client(&client::dial(config, &metrics))?;
            Some(Arc::new(Gate::new(Server::new(client, metrics.clone()))))
        }
    };
    let listener = admin::listen(address).await.map_err(|source| RunError::Bind { address, source })?;
    let health = Arc::new(operator.health(Duration::from_secs(arguments.stalled_after.into())));
    let reconcilers = &operator.reconcilers;
    let objects = arguments.object_metrics.then(|| Objects::of(reconcilers, arguments.object_metrics_limit));
    let more = arguments.debug_state.then(|| State::of(reconcilers, &health).page());
    if let Some(tls) = &tls {
        operator.tasks.spawn(tls.clone().keep_fresh());
    }
    let pages = Pages { metrics, ready: operator.ready.subscribe(), health, objects, more, gate };
    operator.tasks.spawn(admin::serve(listener, tls, pages));
    Ok(())
}
