//! Clients for the API server.

pub(crate) mod lifeline;
pub(crate) mod object;
pub(crate) mod pulse;
pub(crate) mod refusal;
pub(crate) mod requests;
mod server_time;
pub(crate) mod unread;

use std::sync::Arc;
use std::time::Duration;

use cli::explain;
use http::{HeaderValue, header};
use jiff::Timestamp;
use kube::client::ClientBuilder;
use kube::{Client, Config};

use crate::args::ClientArguments;
use crate::client::lifeline::{Lifeline, SILENCE_MAX};
use crate::client::pulse::Pulse;
use crate::serve::metrics::{Metrics, traffic::Traffic};

/// A server that cannot be reached is tried again soon; waiting longer helps nobody.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// What the operator calls itself in its requests.
const USER_AGENT: &str = concat!("rollwright/", env!("CARGO_PKG_VERSION"));

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// Neither a kubeconfig nor a service account, or a kubeconfig that leads nowhere.
    #[error("{0}")]
    NoCluster(String),
    /// Certificates or keys that cannot be used.
    #[error("the cluster's configuration cannot be used: {0}")]
    Build(String),
}

/// How to reach the cluster.
///
/// Requests are not retried by the client: a write must not leave minutes after it was decided,
/// and each reconcile is retried as a whole, from fresh data.
pub(crate) async fn config(arguments: &ClientArguments) -> Result<Config, ClientError> {
    let (kubeconfig, context) = (arguments.kubeconfig.as_deref(), arguments.context.as_deref());
    let is_chosen = kubeconfig.is_some() || context.is_some();
    let config = cli::configure(kubeconfig, context).await.or_else(|why| match Config::incluster() {
        _ if is_chosen => Err(ClientError::NoCluster(why)),
        Ok(config) => Ok(config),
        Err(error) => {
            Err(ClientError::NoCluster(format!("{why}. This is no pod either: {}", explain(&error))))
        }
    })?;
    Ok(ours(config))
}

/// How to reach a server on this machine that speaks HTTP, with nothing but its address.
#[cfg(feature = "sandbox")]
pub(crate) fn loopback(port: u16) -> Result<Config, ClientError> {
    let url = format!("http://127.0.0.1:{port}").parse::<http::Uri>();
    let mut config = Config::new(url.map_err(|error| ClientError::Build(error.to_string()))?);
    // Else the client looks for those of the system, and fails where there are none.
    config.root_cert = Some(Vec::new());
    Ok(ours(config))
}

fn ours(mut config: Config) -> Config {
    // Else nobody could see in an audit log who it was.
    config.headers.push((header::USER_AGENT, HeaderValue::from_static(USER_AGENT)));
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config
}

/// Makes clients of one cluster, each with this layer and a connection pool of its own.
pub(crate) type Dial<'a> = &'a dyn Fn(&Lifeline) -> Result<Client, ClientError>;

/// Makes clients of the cluster that is configured.
pub(crate) fn dial(config: &Config, metrics: &Metrics) -> impl Fn(&Lifeline) -> Result<Client, ClientError> {
    |lifeline| build(config, lifeline, metrics)
}

/// A client with a connection pool of its own, for requests that have a deadline.
pub(crate) fn client(dial: Dial<'_>) -> Result<Client, ClientError> {
    dial(&Lifeline::of_requests())
}

fn build(config: &Config, lifeline: &Lifeline, metrics: &Metrics) -> Result<Client, ClientError> {
    let builder = ClientBuilder::try_from(config.clone());
    let builder = builder.map_err(|error| ClientError::Build(explain(&error)))?;
    let traffic = Traffic::to(&config.cluster_url, metrics);
    Ok(builder.with_layer(lifeline).with_layer(&traffic).build())
}

/// The clients of an API's watches, which have no deadline but must not be silent for long.
pub(crate) struct WatchClients {
    /// One pair for the whole cluster, or one for each namespace.
    pub(crate) pairs: Vec<WatchPair>,
    /// For those of the pods of single Deployments, and of Jobs, which share it.
    pub(crate) others: WatchClient,
}

/// The watches that fill a cache, or its part that is one namespace.
pub(crate) struct WatchPair {
    /// `None` for all.
    pub(crate) namespace: Option<String>,
    pub(crate) workloads: WatchClient,
    pub(crate) sets: WatchClient,
}

/// A client for a watch, with its pulse.
pub(crate) struct WatchClient {
    pub(crate) client: Client,
    pub(crate) pulse: Arc<Pulse>,
}

impl WatchPair {
    /// Both watches of this namespace, or of the cluster.
    pub(crate) fn new(dial: Dial<'_>, namespace: Option<String>) -> Result<Self, ClientError> {
        let client = || WatchClient::new(dial);
        Ok(Self { namespace, workloads: client()?, sets: client()? })
    }
}

impl WatchClient {
    /// With connections of its own.
    pub(crate) fn new(dial: Dial<'_>) -> Result<Self, ClientError> {
        let pulse = Arc::new(Pulse::new());
        let lifeline = Lifeline::of_watch(SILENCE_MAX, pulse.clone());
        let client = dial(&lifeline)?;
        Ok(Self { client, pulse })
    }
}

impl WatchClients {
    /// Whether one that fills a cache is known to be broken.
    pub(crate) fn are_broken(&self) -> bool {
        self.pairs.iter().flat_map(|pair| [&pair.workloads, &pair.sets]).any(|watch| watch.pulse.is_broken())
    }

    /// What time it is by the server, as the first watch that fills a cache has read it.
    pub(crate) fn server_time(&self) -> Option<Timestamp> {
        self.pairs.first().and_then(|pair| pair.workloads.pulse.server_time())
    }

    /// The next answer shows what time it is, whatever is known.
    pub(crate) fn measure_again(&self) {
        self.pairs.iter().for_each(|pair| pair.workloads.pulse.measure_again());
    }

    /// For these namespaces; none stands for all.
    pub(crate) fn new(dial: Dial<'_>, namespaces: &[String]) -> Result<Self, ClientError> {
        let pairs = if namespaces.is_empty() {
            vec![WatchPair::new(dial, None)?]
        } else {
            let pair = |name: &String| WatchPair::new(dial, Some(name.clone()));
            namespaces.iter().map(pair).collect::<Result<_, _>>()?
        };
        Ok(Self { pairs, others: WatchClient::new(dial)? })
    }
}

#[cfg(test)]
mod tests;
