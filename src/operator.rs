//! The operator as a whole: what runs in its process, and in which order it starts and ends.

use std::collections::hash_map::DefaultHasher;
use std::error::Error;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use clap::Parser as _;
use diagnosis::Words;
use engine::durations::SLOTS_LOOK;
use engine::index::{Extent, Index, Key, Sight, Stray};
use engine::{Engine, Looking, Settings};
use http::{Request, Response};
use http_body::Body as HttpBody;
use hyper::body::Bytes;
use kube::client::{Body, ClientBuilder};
use lease::Timings;
use plan::Flavour;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tower::{BoxError, Service};
use tracing::{error, info};

use crate::args::{Arguments, Command, RunArguments};
use crate::client::lifeline::Lifeline;
use crate::client::requests::Server;
use crate::client::{self, ClientError, Dial, WatchClient, WatchClients};
use crate::clock;
use crate::commands::crd;
use crate::leadership::Leadership;
use crate::leadership::election::{self, Election, Seat};
use crate::leadership::terms;
use crate::reconcile::queue::Queue;
use crate::reconcile::reconciler::Reconciler;
use crate::reconcile::{rollouts, worker};
use crate::serve::health::{Dispatcher, Health, WatchPulse};
use crate::serve::metrics::Metrics;
use crate::serve::queue;
use crate::shard::Shard;
use crate::watch::caches;
use crate::watch::jobs;
use crate::watch::pods::PodWatches;
use crate::write::Writer;
use crate::write::events::Events;

/// Reconciles that run at a signal to stop get this long to end.
const DRAIN: Duration = Duration::from_millis(700);
/// Every Deployment is looked at once an hour even if nothing seems to happen: in 60 groups,
/// one each minute. A reconcile that finds nothing to do makes no request.
const RESYNC_GROUPS: u64 = 60;
const RESYNC_INTERVAL: Duration = Duration::from_secs(60);
/// How often the time of blocked rollouts is counted.
const BLOCKED_TICK: Duration = Duration::from_secs(1);

/// The operator of this process: a reconciler for each API, and its part in the election.
pub struct Operator {
    pub(crate) metrics: Metrics,
    pub(crate) reconcilers: Vec<Arc<Reconciler>>,
    pub(crate) tasks: JoinSet<()>,
    /// Whether all caches are filled.
    pub(crate) ready: watch::Sender<bool>,
    workers: Vec<JoinSet<()>>,
    candidacy: Option<Candidacy>,
}

/// The part of this operator in the election.
struct Candidacy {
    identity: String,
    stop: watch::Sender<election::Stop>,
    task: JoinHandle<()>,
}

impl Operator {
    /// Runs for the lease from now on if there is an election, and does nothing else until it is started.
    pub(crate) fn new(
        arguments: &RunArguments,
        timings: Option<Timings>,
        default_namespace: &str,
        metrics: Metrics,
        dial: Dial<'_>,
    ) -> Result<Self, ClientError> {
        let mut tasks = JoinSet::new();
        let (leadership, candidacy) = match timings {
            Some(timings) => {
                let election = &arguments.election;
                let namespace =
                    election.leader_elect_resource_namespace.as_deref().unwrap_or(default_namespace);
                let lease = election.lease_name(arguments.selector.as_ref());
                let seat = Seat::new(namespace.to_owned(), lease);
                let identity = seat.identity.clone();
                let (announcer, leadership) = Leadership::elected();
                // A client of its own: what else is under way never holds up a renewal.
                let election = Election::new(seat, timings, client::client(dial)?, &metrics, announcer);
                tasks.spawn(election.listen(WatchClient::new(dial)?));
                let (stop, is_stopped) = watch::channel(election::Stop::No);
                let task = tokio::spawn(election.run(is_stopped));
                (leadership, Some(Candidacy { identity, stop, task }))
            }
            None => (Leadership::unneeded(), None),
        };
        let reconcilers = reconcilers(arguments, dial, &metrics, &leadership, &mut tasks)?;
        let (ready, workers) = (watch::channel(false).0, Vec::new());
        Ok(Self { metrics, reconcilers, tasks, ready, workers, candidacy })
    }

    /// Starts the operator of a command line over this service, which stands for the connection to the server.
    ///
    /// # Errors
    /// If the command line is none that runs an operator.
    #[doc(hidden)]
    pub fn over<S, B>(service: &S, line: &[&str]) -> Result<Self, Box<dyn Error>>
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
        S::Future: Send,
        S::Error: Into<BoxError>,
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let Command::Run(arguments) = Arguments::try_parse_from(line)?.command else {
            return Err("the command line runs no operator".into());
        };
        let dial = |lifeline: &Lifeline| {
            Ok(ClientBuilder::new(service.clone(), "default").with_layer(lifeline).build())
        };
        let timings = arguments.election.timings()?;
        let mut operator = Self::new(&arguments, timings, "default", Metrics::new()?, &dial)?;
        operator.start(&arguments);
        Ok(operator)
    }

    /// Starts watches and workers. The workers get nothing to do until this replica leads.
    pub(crate) fn start(&mut self, arguments: &RunArguments) {
        let (mut all_caches, mut members) = (Vec::new(), Vec::new());
        let tasks = &mut self.tasks;
        for reconciler in &self.reconcilers {
            let caches = caches::start(reconciler, tasks);
            if arguments.jobs && reconciler.flavour.has_safeguards() {
                jobs::start(reconciler, tasks);
            }
            all_caches.extend(caches.iter().cloned());
            members.push((reconciler.clone(), caches.clone()));
            tasks.spawn(resync(reconciler.clone()));
            tasks.spawn(grant_slots(reconciler.clone()));
            tasks.spawn(count_blocked(reconciler.clone()));
            reconciler.stand_by();
            tasks.spawn(terms::lead_and_stand_by(reconciler.clone(), caches.clone()));
            let (reconciler, count) = (reconciler.clone(), arguments.workers);
            // The definition and the API's document are nobody's namespace.
            let may_see_the_kind = arguments.watch_namespace.is_empty();
            reconciler.meters.has_workers(count);
            let mut of_this = JoinSet::new();
            for _ in 0..count {
                of_this.spawn(worker::work(reconciler.clone()));
            }
            self.workers.push(of_this);
            tokio::spawn(async move {
                caches::all_filled(&caches).await;
                info!(api = reconciler.flavour.api_version(), "ready");
                if reconciler.flavour.is_custom_resource() && may_see_the_kind {
                    crd::report_lag(reconciler.writer.server.clone(), reconciler.metrics.clone()).await;
                }
            });
        }
        if let Some(shard) = self.reconcilers.first().and_then(|reconciler| reconciler.shard()) {
            shard.start(members, tasks);
        }
        let ready = self.ready.clone();
        tokio::spawn(async move {
            caches::all_filled(&all_caches).await;
            ready.send_replace(true);
        });
    }

    /// Waits until a task ends by itself, which none ever should.
    pub(crate) async fn ended(&mut self) {
        let candidacy = async {
            match &mut self.candidacy {
                Some(candidacy) => _ = (&mut candidacy.task).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.tasks.join_next() => {}
            () = candidacy => {}
        }
    }

    /// Ends it as its process ends: reconciles that run end first, unless they take too long, and the lease is
    /// given back if nothing is under way under it any more.
    pub async fn end(mut self) {
        let is_drained = self.drain().await;
        // Its port is free then.
        self.tasks.shutdown().await;
        let Some(Candidacy { stop, task, .. }) = self.candidacy else { return };
        stop.send_replace(if is_drained { election::Stop::GiveBack } else { election::Stop::Abandon });
        if !task.is_finished() {
            let _ended = task.await;
        }
    }

    /// No new reconciles; those that run end, unless they take too long. Returns whether all have.
    async fn drain(&mut self) -> bool {
        info!("stopping");
        for reconciler in &self.reconcilers {
            reconciler.queue.close();
        }
        let drained = async {
            for workers in std::mem::take(&mut self.workers) {
                workers.join_all().await;
            }
        };
        let is_drained = tokio::time::timeout(DRAIN, drained).await.is_ok();
        if !is_drained {
            error!("some passes did not end in time and are cut off");
        }
        // All share one.
        if let Some(reconciler) = self.reconcilers.first() {
            reconciler.writer.events.finish().await;
        }
        is_drained
    }

    /// All that must move, of all APIs.
    pub(crate) fn health(&self, stalled_after: Duration) -> Health {
        let watches = self.reconcilers.iter().flat_map(|reconciler| {
            let api = reconciler.flavour.api_version();
            reconciler.watches.pairs.iter().flat_map(move |pair| {
                [("deployments", &pair.workloads), ("replicasets", &pair.sets)].map(|(kind, watch)| {
                    let (namespace, pulse) = (pair.namespace.clone(), watch.pulse.clone());
                    WatchPulse { api, kind, namespace, pulse }
                })
            })
        });
        let shard = self.reconcilers.first().and_then(|reconciler| reconciler.shard());
        let watches = watches.chain(shard.map(|shard| {
            let pulse = shard.watch.pulse.clone();
            WatchPulse { api: "v1", kind: "namespaces", namespace: None, pulse }
        }));
        let dispatchers = self.reconcilers.iter().map(|reconciler| {
            let (of_queue, progress) = (reconciler.clone(), reconciler.progress.clone());
            let overdue = Box::new(move || of_queue.queue.overdue());
            Dispatcher { api: reconciler.flavour.api_version(), progress, overdue }
        });
        Health { stalled_after, watches: watches.collect(), dispatchers: dispatchers.collect() }
    }
}

/// What tests ask of it.
#[doc(hidden)]
impl Operator {
    /// Under which name it runs for the lease.
    pub fn identity(&self) -> Option<&str> {
        self.candidacy.as_ref().map(|candidacy| candidacy.identity.as_str())
    }

    /// Whether it may write.
    pub fn leads(&self) -> bool {
        self.reconcilers.iter().all(|reconciler| reconciler.leadership().term().is_some())
    }

    /// Whether its workers work, under the lease.
    pub fn works(&self) -> bool {
        self.reconcilers.iter().all(|reconciler| reconciler.term().is_some())
    }

    /// What `/metrics` shows.
    pub fn metrics(&self) -> String {
        String::from_utf8(self.metrics.render().unwrap_or_default()).unwrap_or_default()
    }

    /// What `/livez` complains of; empty if all is well.
    pub fn complaints(&self, stalled_after: Duration) -> String {
        self.health(stalled_after).complaints()
    }

    /// The ReplicaSets of a Deployment that left the watch.
    pub fn strays(&self, key: &Key) -> Vec<Stray> {
        self.reconcilers.iter().flat_map(|reconciler| reconciler.index().strays(key)).collect()
    }
}

/// One reconciler for each API, and the task that writes their events.
fn reconcilers(
    arguments: &RunArguments,
    dial: Dial<'_>,
    metrics: &Metrics,
    leadership: &Leadership,
    tasks: &mut JoinSet<()>,
) -> Result<Vec<Arc<Reconciler>>, ClientError> {
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
    let reconcilers = flavours.iter().map(|flavour| {
        let watches = Arc::new(WatchClients::new(dial, &namespaces)?);
        let settings = Settings {
            adoption: arguments.adopt.into(),
            force: arguments.force,
            looking: looking(arguments, flavours.len()),
            runs_jobs: arguments.jobs,
            ..Settings::default()
        };
        let index = index(*flavour, &server, &watches);
        let queue = Arc::new(Queue::new(Arc::new(Engine::new(*flavour, settings, index, clock::now()))));
        let pods = Box::new(PodWatches::new(watches.clone(), queue.clone(), metrics.clone()));
        let writer = Writer { flavour: *flavour, server: server.clone(), events: events.clone(), pods };
        Ok(Arc::new(Reconciler::new(queue, writer, watches, metrics.clone())))
    });
    let reconcilers: Vec<_> = reconcilers.collect::<Result<_, _>>()?;
    for reconciler in &reconcilers {
        queue::watch(metrics, Arc::downgrade(reconciler));
    }
    Ok(reconcilers)
}

/// An empty cache, for what these watches will show of an API.
fn index(flavour: Flavour, server: &Server, watches: &WatchClients) -> Index {
    let is_split = watches.pairs.iter().any(|pair| pair.namespace.is_some());
    let extent = if is_split { Extent::Namespace } else { Extent::Cluster };
    let sight = if flavour.set_labels().is_some() { Sight::ByLabel } else { Sight::Whole };
    match server.shard() {
        Some(_) => Index::of_shard(sight),
        None => Index::watched(sight, extent),
    }
}

/// How rollouts that do not move are looked at: all APIs share the requests.
fn looking(arguments: &RunArguments, apis: usize) -> Option<Looking> {
    let after = arguments.blocked_after?;
    let words = if arguments.termination_messages { Words::All } else { Words::Withheld };
    Some(Looking { after, words, engines: u32::try_from(apis).unwrap_or(1) })
}

/// The safety net (S2.8).
async fn resync(reconciler: Arc<Reconciler>) {
    let mut group = 0;
    loop {
        tokio::time::sleep(RESYNC_INTERVAL).await;
        let keys: Vec<Key> = reconciler.index().keys().filter(|key| group_of(key) == group).collect();
        reconciler.queue.requeue(keys);
        group = (group + 1) % RESYNC_GROUPS;
    }
}

/// Rollouts that wait begin when those under way wait for their pods.
async fn grant_slots(reconciler: Arc<Reconciler>) {
    loop {
        tokio::time::sleep(SLOTS_LOOK).await;
        if reconciler.engine.grant_slots(clock::now()) {
            reconciler.queue.nudge();
        }
    }
}

/// Counts the time of rollouts that are blocked.
async fn count_blocked(reconciler: Arc<Reconciler>) {
    let mut last = clock::now();
    loop {
        tokio::time::sleep(BLOCKED_TICK).await;
        let now = clock::now();
        rollouts::blocked(&reconciler, now.saturating_duration_since(last));
        last = now;
    }
}

fn group_of(key: &Key) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish() % RESYNC_GROUPS
}
