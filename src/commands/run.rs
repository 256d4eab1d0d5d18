//! Builds the operator's tasks and ends them; no logic of its own.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use diagnosis::Words;
use engine::{Looking, Settings};
use kube::Config;
use lease::Timings;
use plan::durations::SLOTS_LOOK;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{error, info, warn};

use crate::args::{Bind, MetricsAuth, RunArguments};
use crate::client::requests::Server;
use crate::client::{self, ClientError, Dial, WatchClient, WatchClients};
use crate::clock;
use crate::commands::crd;
use crate::index::Key;
use crate::leadership::Leadership;
use crate::leadership::election::{self, Election, Seat};
use crate::leadership::terms;
use crate::reconcile::controller::Controller;
use crate::reconcile::{rollouts, worker};
use crate::serve::admin::access::Gate;
use crate::serve::admin::state::State;
use crate::serve::admin::tls::{Tls, TlsError};
use crate::serve::admin::{self, Pages};
use crate::serve::health::{Dispatcher, Health, WatchPulse};
use crate::serve::metrics::objects::Objects;
use crate::serve::metrics::{Metrics, queue};
use crate::shard::Shard;
use crate::watch::caches;
use crate::write::events::Events;

/// Reconciles that run when we are told to stop get this long to end.
const DRAIN: Duration = Duration::from_millis(700);
/// Every Deployment is looked at once an hour even if nothing seems to happen: in 60 groups,
/// one each minute. A reconcile that finds nothing to do makes no request.
const RESYNC_GROUPS: u64 = 60;
const RESYNC_INTERVAL: Duration = Duration::from_secs(60);
/// How often the time of blocked rollouts is counted.
const BLOCKED_TICK: Duration = Duration::from_secs(1);

/// Why the operator ended, other than by being told to.
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

/// Runs the operator until SIGTERM or SIGINT, on the cluster that is found out in time.
pub(crate) async fn run(
    arguments: &RunArguments,
    config: impl Future<Output = Result<Config, ClientError>>,
) -> Result<(), RunError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(RunError::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(RunError::Signals)?;
    let timings = arguments.election.timings().map_err(RunError::Timings)?;
    let metrics = Metrics::new()?;
    let config = config.await?;
    info!(server = %config.cluster_url, version = env!("CARGO_PKG_VERSION"), "rollwright starts");
    let (ready, is_ready) = watch::channel(false);
    let mut tasks = JoinSet::new();
    let (leadership, mut candidacy) = match timings {
        Some(timings) => {
            let seat = seat(arguments, &config.default_namespace);
            let dial = client::dial(&config, &metrics);
            let (leadership, candidacy) = run_for_leader(seat, timings, &dial, &metrics, &mut tasks)?;
            (leadership, Some(candidacy))
        }
        None => (Leadership::unneeded(), None),
    };
    let controllers =
        controllers(arguments, &client::dial(&config, &metrics), &metrics, &leadership, &mut tasks)?;
    if let Bind::At(address) = arguments.bind_address {
        open_port(address, arguments, &config, &metrics, &controllers, is_ready, &mut tasks).await?;
    }
    let workers = start(&controllers, arguments, ready, &mut tasks);
    let ended = tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
        _ = tasks.join_next() => Err(RunError::TaskEnded),
        () = Candidacy::ended(candidacy.as_mut()) => Err(RunError::TaskEnded),
    };
    let is_drained = stop(&controllers, workers).await;
    if let Some(candidacy) = candidacy {
        candidacy.end(is_drained).await;
    }
    ended
}

/// Our part in the election.
pub(crate) struct Candidacy {
    stop: watch::Sender<election::Stop>,
    task: tokio::task::JoinHandle<()>,
}

impl Candidacy {
    /// Waits until the election ends by itself, which it never should.
    async fn ended(candidacy: Option<&mut Self>) {
        match candidacy {
            Some(candidacy) => _ = (&mut candidacy.task).await,
            None => std::future::pending().await,
        }
    }

    /// Ends it; the lease is given back if nothing is under way under it any more.
    pub(crate) async fn end(self, is_drained: bool) {
        self.stop.send_replace(if is_drained { election::Stop::GiveBack } else { election::Stop::Abandon });
        if !self.task.is_finished() {
            let _ended = self.task.await;
        }
    }
}

/// The Lease that we run for, and under which name.
pub(crate) fn seat(arguments: &RunArguments, default_namespace: &str) -> Seat {
    let election = &arguments.election;
    let namespace = election.leader_elect_resource_namespace.as_deref().unwrap_or(default_namespace);
    Seat::new(namespace.to_owned(), election.lease_name(arguments.selector.as_ref()))
}

/// Runs for the lease from now on.
pub(crate) fn run_for_leader(
    seat: Seat,
    timings: Timings,
    dial: Dial<'_>,
    metrics: &Metrics,
    tasks: &mut JoinSet<()>,
) -> Result<(Leadership, Candidacy), RunError> {
    let (announcer, leadership) = Leadership::elected();
    // A client of its own: what else is under way never holds up a renewal.
    let election = Election::new(seat, timings, client::client(dial)?, metrics, announcer);
    tasks.spawn(election.listen(WatchClient::new(dial)?));
    let (stop, is_stopped) = watch::channel(election::Stop::No);
    let task = tokio::spawn(election.run(is_stopped));
    Ok((leadership, Candidacy { stop, task }))
}

/// One controller for each API, and the task that writes their events.
pub(crate) fn controllers(
    arguments: &RunArguments,
    dial: Dial<'_>,
    metrics: &Metrics,
    leadership: &Leadership,
    tasks: &mut JoinSet<()>,
) -> Result<Vec<Arc<Controller>>, RunError> {
    let limit = arguments.namespace_metrics_limit;
    metrics.rollouts.label_namespaces(arguments.namespace_metrics.then_some(limit));
    let guarded = || {
        let client = client::client(dial)?;
        Ok::<_, ClientError>(Server::guarded(client, metrics.clone(), leadership.clone()))
    };
    let shard = arguments.selector.clone().map(|selector| Shard::new(selector, dial, metrics)).transpose()?;
    let server = guarded()?.of_shard(shard);
    // Its own queue and client, so that events never hold up a rollout.
    let events = Events::new(guarded()?, metrics.events_dropped.clone());
    tasks.spawn(events.clone().write_all());
    let mut flavours = arguments.api.clone();
    flavours.sort_unstable();
    flavours.dedup();
    let mut namespaces = arguments.watch_namespace.clone();
    namespaces.sort_unstable();
    namespaces.dedup();
    let controllers = flavours.iter().map(|flavour| {
        let (server, watches) = (server.clone(), WatchClients::new(dial, &namespaces)?);
        let (events, metrics) = (events.clone(), metrics.clone());
        let settings = Settings {
            adoption: arguments.adopt.into(),
            force: arguments.force,
            looking: looking(arguments, flavours.len()),
            ..Settings::default()
        };
        Ok(Arc::new(Controller::new(*flavour, settings, server, watches, events, metrics)))
    });
    let controllers: Vec<_> = controllers.collect::<Result<_, ClientError>>()?;
    for controller in &controllers {
        queue::watch(metrics, Arc::downgrade(controller));
    }
    Ok(controllers)
}

/// How rollouts that do not move are looked at: all APIs share the requests.
fn looking(arguments: &RunArguments, apis: usize) -> Option<Looking> {
    let after = arguments.blocked_after?;
    let words = if arguments.termination_messages { Words::All } else { Words::Withheld };
    Some(Looking { after, words, engines: u32::try_from(apis).unwrap_or(1) })
}

/// Serves health and metrics.
async fn open_port(
    address: SocketAddr,
    arguments: &RunArguments,
    config: &Config,
    metrics: &Metrics,
    controllers: &[Arc<Controller>],
    ready: watch::Receiver<bool>,
    tasks: &mut JoinSet<()>,
) -> Result<(), RunError> {
    let (cert, key) = (&arguments.metrics_tls_cert_file, &arguments.metrics_tls_key_file);
    let tls = Tls::read(cert.as_deref(), key.as_deref())?;
    let gate = match arguments.metrics_auth {
        MetricsAuth::None => None,
        MetricsAuth::Token => {
            if tls.is_none() {
                warn!("--metrics-auth=token without a certificate: tokens cross the network in clear text");
            }
            let client = client::client(&client::dial(config, metrics))?;
            Some(Arc::new(Gate::new(Server::new(client, metrics.clone()))))
        }
    };
    let listener = admin::listen(address).await.map_err(|source| RunError::Bind { address, source })?;
    let stalled_after = Duration::from_secs(arguments.stalled_after.into());
    let health = Arc::new(health(controllers, stalled_after));
    let objects = arguments.object_metrics.then(|| Objects::of(controllers, arguments.object_metrics_limit));
    let more = arguments.debug_state.then(|| State::of(controllers, &health).page());
    if let Some(tls) = &tls {
        tasks.spawn(tls.clone().keep_fresh());
    }
    let pages = Pages { metrics: metrics.clone(), ready, health, objects, more, gate };
    tasks.spawn(admin::serve(listener, tls, pages));
    Ok(())
}

/// All that must move, of all APIs.
pub(crate) fn health(controllers: &[Arc<Controller>], stalled_after: Duration) -> Health {
    let watches = controllers.iter().flat_map(|controller| {
        let api = controller.flavour.api_version();
        controller.watches.pairs.iter().flat_map(move |pair| {
            [("deployments", &pair.workloads), ("replicasets", &pair.sets)].map(|(kind, watch)| {
                let (namespace, pulse) = (pair.namespace.clone(), watch.pulse.clone());
                WatchPulse { api, kind, namespace, pulse }
            })
        })
    });
    let shard = controllers.first().and_then(|controller| controller.shard.as_ref());
    let watches = watches.chain(shard.map(|shard| {
        let pulse = shard.watch.pulse.clone();
        WatchPulse { api: "v1", kind: "namespaces", namespace: None, pulse }
    }));
    let dispatchers = controllers.iter().map(|controller| {
        let (of_queue, progress) = (controller.clone(), controller.progress.clone());
        let overdue = Box::new(move || of_queue.queue.overdue());
        Dispatcher { api: controller.flavour.api_version(), progress, overdue }
    });
    Health { stalled_after, watches: watches.collect(), dispatchers: dispatchers.collect() }
}

/// Starts watches and workers. The workers get nothing to do until this replica leads.
pub(crate) fn start(
    controllers: &[Arc<Controller>],
    arguments: &RunArguments,
    ready: watch::Sender<bool>,
    tasks: &mut JoinSet<()>,
) -> Vec<JoinSet<()>> {
    let (mut all_caches, mut members) = (Vec::new(), Vec::new());
    let mut workers = Vec::new();
    for controller in controllers {
        let caches = caches::start(controller, tasks);
        all_caches.extend(caches.iter().cloned());
        members.push((controller.clone(), caches.clone()));
        tasks.spawn(resync(controller.clone()));
        tasks.spawn(grant_slots(controller.clone()));
        tasks.spawn(count_blocked(controller.clone()));
        controller.stand_by();
        tasks.spawn(terms::lead_and_stand_by(controller.clone(), caches.clone()));
        let (controller, count) = (controller.clone(), arguments.workers);
        // The definition and the API's document are nobody's namespace.
        let may_see_the_kind = arguments.watch_namespace.is_empty();
        controller.meters.has_workers(count);
        let mut of_this = JoinSet::new();
        for _ in 0..count {
            of_this.spawn(worker::work(controller.clone()));
        }
        workers.push(of_this);
        tokio::spawn(async move {
            caches::all_filled(&caches).await;
            info!(api = controller.flavour.api_version(), "ready");
            if controller.flavour.is_custom_resource() && may_see_the_kind {
                crd::report_lag(controller.server.clone(), controller.metrics.clone()).await;
            }
        });
    }
    if let Some(shard) = controllers.first().and_then(|controller| controller.shard.as_ref()) {
        shard.start(members, tasks);
    }
    tokio::spawn(async move {
        caches::all_filled(&all_caches).await;
        ready.send_replace(true);
    });
    workers
}

/// The safety net (S2.8).
async fn resync(controller: Arc<Controller>) {
    let mut group = 0;
    loop {
        tokio::time::sleep(RESYNC_INTERVAL).await;
        let keys: Vec<Key> = controller.index().keys().filter(|key| group_of(key) == group).collect();
        controller.queue.requeue(keys);
        group = (group + 1) % RESYNC_GROUPS;
    }
}

/// Rollouts that wait begin when those under way wait for their pods.
async fn grant_slots(controller: Arc<Controller>) {
    loop {
        tokio::time::sleep(SLOTS_LOOK).await;
        if controller.engine.grant_slots(clock::now()) {
            controller.queue.nudge();
        }
    }
}

/// Counts the time of rollouts that are blocked.
async fn count_blocked(controller: Arc<Controller>) {
    let mut last = clock::now();
    loop {
        tokio::time::sleep(BLOCKED_TICK).await;
        let now = clock::now();
        rollouts::blocked(&controller, now.saturating_duration_since(last));
        last = now;
    }
}

fn group_of(key: &Key) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish() % RESYNC_GROUPS
}

/// No new reconciles; those that run end, unless they take too long. Returns whether all have.
pub(crate) async fn stop(controllers: &[Arc<Controller>], workers: Vec<JoinSet<()>>) -> bool {
    info!("stopping");
    for controller in controllers {
        controller.queue.close();
    }
    let drained = async {
        for workers in workers {
            workers.join_all().await;
        }
    };
    let is_drained = tokio::time::timeout(DRAIN, drained).await.is_ok();
    if !is_drained {
        error!("some passes did not end in time and are cut off");
    }
    // All share one.
    if let Some(controller) = controllers.first() {
        controller.events.finish().await;
    }
    is_drained
}
