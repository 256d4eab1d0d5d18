//! A fake kubelet: one node, on which every pod "runs" without any container.
//!
//! It schedules pods, reports them ready after a while, and removes them when
//! they are deleted. [`Conventions`] decide what happens to a pod, and [`world::Life`]
//! decides which status shows it, as with the kubelets in memory. Unlike them, it
//! writes no events.
//!
//! The kubelet has a thread and a runtime of its own, so it outlives the
//! runtime of the test that started it.

mod agent;
mod node;
mod pod;

use std::path::Path;

use tokio::sync::{oneshot, watch};

use crate::background::Background;
use crate::error::Error;

pub use world::{Conventions, LAST_WORDS, NEVER_READY, READY_AFTER_MS, TERMINATE_AFTER_MS};

/// Name of the node that all pods run on.
pub const NODE_NAME: &str = "fake-node";

/// How the kubelet behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeletOptions {
    /// How pods behave.
    pub pods: Conventions,
    /// No pod gets the node while this is set, as by its `spec.unschedulable` (`kubectl cordon`).
    pub cordoned: bool,
    /// Label of pods that are left to somebody else, as if they were on another node.
    pub not_ours: Option<(String, String)>,
    /// How many requests are under way at the same time at most.
    pub parallel_requests: usize,
}

impl Default for KubeletOptions {
    fn default() -> Self {
        Self { pods: Conventions::default(), cordoned: false, not_ours: None, parallel_requests: 32 }
    }
}

/// A running fake kubelet. Dropping it ends it; pods stay as they are.
#[derive(Debug)]
pub struct Kubelet {
    options: watch::Sender<KubeletOptions>,
    _background: Background,
}

impl Kubelet {
    /// Registers the node and starts to act on pods.
    pub async fn start(config: kube::Config, options: KubeletOptions) -> Result<Self, Error> {
        let options = watch::Sender::new(options);
        let (report, registered) = oneshot::channel();
        let background = Background::start("fake-kubelet", run(config, options.clone(), report))
            .map_err(Error::io("starting", Path::new("fake-kubelet")))?;
        registered.await.map_err(|_| Error::Kubelet("ended before it registered its node".to_owned()))??;
        Ok(Self { options, _background: background })
    }

    /// Changes how pods behave from now on, those that run already included.
    pub fn configure(&self, change: impl FnOnce(&mut KubeletOptions)) {
        self.options.send_modify(change);
    }
}

async fn run(
    config: kube::Config,
    options: watch::Sender<KubeletOptions>,
    report: oneshot::Sender<Result<(), Error>>,
) {
    match register(config).await {
        Ok(client) => {
            let _ = report.send(Ok(()));
            let pods = agent::watch_pods(client.clone(), options.subscribe());
            tokio::join!(pods, node::watch(client, options));
        }
        Err(error) => {
            let _ = report.send(Err(error));
        }
    }
}

async fn register(config: kube::Config) -> Result<kube::Client, Error> {
    let client = kube::Client::try_from(config)?;
    node::register(&client).await?;
    Ok(client)
}
