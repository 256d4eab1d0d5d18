//! Builds the operator's tasks and ends them; no logic of its own.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{error, info};

use crate::admin::{self, Pages};
use crate::args::{Bind, RunArguments};
use crate::caches;
use crate::client::{self, ClientError, WatchClients};
use crate::controller::Controller;
use crate::events::Events;
use crate::health::{Dispatcher, Health, WatchPulse};
use crate::index::Key;
use crate::metrics::objects::Objects;
use crate::metrics::{Metrics, standard};
use crate::requests::Server;
use crate::rivalry::Rivalry;
use crate::{schema, worker};

/// Passes that run when we are told to stop get this long to end.
const DRAIN: Duration = Duration::from_millis(800);
/// Every Deployment is looked at once an hour even if nothing seems to happen: in 60 groups,
/// one each minute. A pass that finds nothing to do makes no request.
const RESYNC_GROUPS: u64 = 60;
const RESYNC_INTERVAL: Duration = Duration::from_secs(60);

/// Why the operator ended, other than by being told to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("metrics: {0}")]
    Metrics(#[from] prometheus::Error),
    #[error("--bind-address {address}: {source}; 0 serves nothing")]
    Bind { address: std::net::SocketAddr, source: std::io::Error },
    #[error("signals: {0}")]
    Signals(std::io::Error),
    #[error("a task of the operator ended; starting anew is all that helps")]
    TaskEnded,
}

/// Runs the operator until SIGTERM or SIGINT.
pub(crate) async fn run(arguments: &RunArguments) -> Result<(), RunError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(RunError::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(RunError::Signals)?;
    let metrics = Metrics::new()?;
    let config = client::config(&arguments.client).await?;
    let server = Server::new(client::client(&config, &metrics)?, metrics.clone());
    info!(server = %config.cluster_url, version = env!("CARGO_PKG_VERSION"), "rollwright starts");
    let (ready, is_ready) = watch::channel(false);
    let mut tasks = JoinSet::new();
    // Its own queue and client, so that events never hold up a rollout.
    let events = Events::new(
        Server::new(client::client(&config, &metrics)?, metrics.clone()),
        metrics.events_dropped.clone(),
    );
    tasks.spawn(events.clone().write_all());
    let mut flavours = arguments.api.clone();
    flavours.sort_unstable();
    flavours.dedup();
    let controllers = flavours.iter().map(|flavour| {
        let (server, watches) = (server.clone(), WatchClients::new(&config, &metrics)?);
        let (events, metrics) = (events.clone(), metrics.clone());
        let rivalry = Rivalry::new(arguments.force);
        Ok(Arc::new(Controller::new(*flavour, arguments.adopt, server, watches, events, metrics, rivalry)))
    });
    let controllers: Vec<_> = controllers.collect::<Result<_, ClientError>>()?;
    for controller in &controllers {
        standard::watch_queue(&metrics, Arc::downgrade(controller));
    }
    if let Bind::At(address) = arguments.bind_address {
        let listener = admin::listen(address).await.map_err(|source| RunError::Bind { address, source })?;
        let stalled_after = Duration::from_secs(arguments.stalled_after.into());
        let health = Arc::new(health(&controllers, stalled_after));
        let objects =
            arguments.object_metrics.then(|| Objects::of(&controllers, arguments.object_metrics_limit));
        tasks.spawn(admin::serve(
            listener,
            Pages { metrics: metrics.clone(), ready: is_ready, health, objects, more: None },
        ));
    }
    let workers = start(&controllers, arguments.workers, ready, &mut tasks);
    let ended = tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
        _ = tasks.join_next() => Err(RunError::TaskEnded),
    };
    stop(&controllers, workers).await;
    ended
}

/// All that must move, of all APIs.
fn health(controllers: &[Arc<Controller>], stalled_after: Duration) -> Health {
    let watches = controllers.iter().flat_map(|controller| {
        let api = controller.flavour.api_version();
        let pulses =
            [("deployments", &controller.watches.workloads), ("replicasets", &controller.watches.sets)];
        pulses.map(|(kind, watch)| WatchPulse { api, kind, pulse: watch.pulse.clone() })
    });
    let dispatchers = controllers.iter().map(|controller| {
        let (of_queue, progress) = (controller.clone(), controller.progress.clone());
        let overdue = Box::new(move || of_queue.queue.overdue());
        Dispatcher { api: controller.flavour.api_version(), progress, overdue }
    });
    Health { stalled_after, watches: watches.collect(), dispatchers: dispatchers.collect() }
}

type Workers = tokio::task::JoinHandle<JoinSet<()>>;

/// Starts watches at once, and workers when all caches of their flavour have been filled.
fn start(
    controllers: &[Arc<Controller>],
    count: u16,
    ready: watch::Sender<bool>,
    tasks: &mut JoinSet<()>,
) -> Vec<Workers> {
    let mut all_caches = Vec::new();
    let mut workers = Vec::new();
    for controller in controllers {
        let mut synced = caches::start(controller, tasks);
        all_caches.extend(synced.iter().cloned());
        tasks.spawn(resync(controller.clone()));
        let controller = controller.clone();
        workers.push(tokio::spawn(async move {
            caches::all_synced(&mut synced).await;
            controller.progress.start();
            controller.meters.has_workers(count);
            let mut workers = JoinSet::new();
            for _ in 0..count {
                workers.spawn(worker::work(controller.clone()));
            }
            info!(api = controller.flavour.api_version(), "ready");
            if controller.flavour.is_custom_resource() {
                tokio::spawn(schema::report_lag(controller.server.clone(), controller.metrics.clone()));
            }
            workers
        }));
    }
    tokio::spawn(async move {
        caches::all_synced(&mut all_caches).await;
        ready.send_replace(true);
    });
    workers
}

/// The safety net (S2.8).
async fn resync(controller: Arc<Controller>) {
    let mut group = 0;
    loop {
        tokio::time::sleep(RESYNC_INTERVAL).await;
        let keys: Vec<Key> =
            controller.index().keys().filter(|key| group_of(key) == group).cloned().collect();
        controller.queue.wake(keys);
        group = (group + 1) % RESYNC_GROUPS;
    }
}

fn group_of(key: &Key) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish() % RESYNC_GROUPS
}

/// No new passes; those that run end, unless they take too long.
async fn stop(controllers: &[Arc<Controller>], workers: Vec<Workers>) {
    info!("stopping");
    for controller in controllers {
        controller.queue.close();
    }
    let drained = async {
        for workers in workers {
            if !workers.is_finished() {
                // Its caches have never been filled.
                workers.abort();
            } else if let Ok(workers) = workers.await {
                workers.join_all().await;
            }
        }
    };
    if tokio::time::timeout(DRAIN, drained).await.is_err() {
        error!("some passes did not end in time and are cut off");
    }
}
