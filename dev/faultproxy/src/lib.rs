//! A proxy between an operator and a real API server. It injects faults and records requests.
//!
//! The operator's side is plain HTTP on loopback; towards the server the proxy uses the
//! credentials that it was started with, and replaces whatever the client sent.
//!
//! ```no_run
//! # async fn example(config: kube::Config) -> std::io::Result<()> {
//! use faultproxy::{Fault, FaultProxy, Match, Rule, StreamFault};
//!
//! let proxy = FaultProxy::start(config).await?;
//! // The second patch of a ReplicaSet is carried out, and its answer lost.
//! let patches = Match::verb("patch").resource("replicasets");
//! proxy.arm(Rule::once(patches, Fault::LoseAnswer).skip(1));
//! // All watches of ReplicaSets go silent without being closed.
//! proxy.strike(&Match::verb("watch").resource("replicasets"), StreamFault::HalfOpen);
//! # Ok(())
//! # }
//! ```
//!
//! [`shapes::violations`] checks what was recorded: only requests that a Deployment controller
//! may make (OW-1), each with its preconditions (OW-2).

mod connection;
mod forward;
mod journal;
mod request;
mod rule;
pub mod shapes;
mod state;
mod stream;

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use crate::connection::{Doom, Socket};
use crate::forward::Door;
use crate::state::Shared;

pub use journal::{Exchange, Journal};
pub use request::Request;
pub use rule::{Fault, Match, Rule, StreamFault};
pub use state::RuleId;

/// A running proxy. Dropping it ends it and all connections.
pub struct FaultProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<Infallible>,
}

impl FaultProxy {
    /// Starts a proxy in front of this server, on a free port of loopback. It lives as long as
    /// the runtime that it is started on.
    ///
    /// # Errors
    /// If there is no port, or the configuration cannot be used.
    pub async fn start(mut config: kube::Config) -> io::Result<Self> {
        config.default_retry = false;
        let upstream = Client::try_from(config).map_err(io::Error::other)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let task = tokio::spawn(serve(listener, shared.clone(), upstream));
        Ok(Self { address, shared, task })
    }

    /// Where the proxy listens.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Writes a kubeconfig that leads to the proxy.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_kubeconfig(&self, path: &Path) -> io::Result<()> {
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "proxy", "cluster": {"server": self.url()}}],
            "users": [{"name": "proxy", "user": {}}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
            "current-context": "proxy",
        });
        std::fs::write(path, config.to_string())
    }

    /// Adds a rule. Where several match a request, the one that was armed first and is not used
    /// up wins.
    pub fn arm(&self, rule: Rule) -> RuleId {
        self.shared.arm(rule)
    }

    /// Removes all rules. Requests that hang continue to hang.
    pub fn heal(&self) {
        self.shared.disarm_all();
    }

    /// How many requests met the fault of a rule that is armed.
    #[must_use]
    pub fn met(&self, rule: RuleId) -> u32 {
        self.shared.met(rule)
    }

    /// Does this to the matching watches that are under way; returns how many there are.
    pub fn strike(&self, select: &Match, fault: StreamFault) -> u32 {
        self.shared.strike(select, fault)
    }

    /// What was recorded so far.
    #[must_use]
    pub fn journal(&self) -> Journal {
        self.shared.journal().clone()
    }

    /// Starts the record again.
    pub fn clear_journal(&self) {
        self.shared.journal().clear();
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>, upstream: Client) -> Infallible {
    // Connections end with this task.
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else { continue };
        let doom = Doom::default();
        let door = Door { shared: shared.clone(), upstream: upstream.clone(), doom: doom.clone() };
        let service = service_fn(move |request| door.clone().answer(request));
        let socket = TokioIo::new(Socket::new(stream, doom));
        connections.spawn(async move {
            // An error is an end that the proxy or the client wanted.
            let _ = http1::Builder::new().serve_connection(socket, service).await;
        });
    }
}
