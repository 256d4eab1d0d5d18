//! The operator as a whole: what runs in its process, and in which order it starts and ends.

use std::collections::hash_map::DefaultHasher;
use std::error::Error;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use clap::Parser as _;
use diagnosis::Words;
use engine::index::{Key, Stray};
use engine::{Looking, Settings};
use http::{Request, Response};
use http_body::Body as HttpBody;
use hyper::body::Bytes;
use kube::client::{Body, ClientBuilder};
use lease::Timings;
use plan::durations::SLOTS_LOOK;
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
use crate::reconcile::controller::Controller;
use crate::reconcile::{rollouts, worker};
use crate::serve::health::{Dispatcher, Health, WatchPulse};
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

/// The operator of this process: a controller for each API, and its part in the election.
pub struct Operator {
    pub(crate) metrics: Metrics,
    pub(crate) controllers: Vec<Arc<Controller>>,
    pub(crate) tasks: JoinSet<()>,
    /// Whether all caches are filled.
    pub(crate) ready: watch::Sender<bool>,
    workers: Vec<JoinSet<()>>,
    candidacy: Option<Candidacy>,
}

/// Our part in the election.
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
                let seat = seat(arguments, default_namespace);
                let (leadership, candidacy) = run_for_leader(seat, timings, dial, &metrics, &mut tasks)?;
                (leadership, Some(candidacy))
            }
            None => (Leadership::unneeded(), None),
        };
        let controllers = controllers(arguments, dial, &metrics, &leadership, &mut tasks)?;
        let (ready, workers) = (watch::channel(false).0, Vec::new());
        Ok(Self { metrics, controllers, tasks, ready, workers, candidacy })
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
        for controller in &self.controllers {
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
            self.workers.push(of_this);
            tokio::spawn(async move {
                caches::all_filled(&caches).await;
                info!(api = controller.flavour.api_version(), "ready");
                if controller.flavour.is_custom_resource() && may_see_the_kind {
                    crd::report_lag(controller.server.clone(), controller.metrics.clone()).await;
                }
            });
        }
        if let Some(shard) = self.controllers.first().and_then(|controller| controller.shard.as_ref()) {
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
        let Some(Candidacy { stop, task, .. }) = self.candidacy else { return };
        stop.send_replace(if is_drained { election::Stop::GiveBack } else { election::Stop::Abandon });
        if !task.is_finished() {
            let _ended = task.await;
        }
    }

    /// No new reconciles; those that run end, unless they take too long. Returns whether all have.
    async fn drain(&mut self) -> bool {
        info!("stopping");
        for controller in &self.controllers {
            controller.queue.close();
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
        if let Some(controller) = self.controllers.first() {
            controller.events.finish().await;
        }
        is_drained
    }

    /// All that must move, of all APIs.
    pub(crate) fn health(&self, stalled_after: Duration) -> Health {
        let watches = self.controllers.iter().flat_map(|controller| {
            let api = controller.flavour.api_version();
            controller.watches.pairs.iter().flat_map(move |pair| {
                [("deployments", &pair.workloads), ("replicasets", &pair.sets)].map(|(kind, watch)| {
                    let (namespace, pulse) = (pair.namespace.clone(), watch.pulse.clone());
                    WatchPulse { api, kind, namespace, pulse }
                })
            })
        });
        let shard = self.controllers.first().and_then(|controller| controller.shard.as_ref());
        let watches = watches.chain(shard.map(|shard| {
            let pulse = shard.watch.pulse.clone();
            WatchPulse { api: "v1", kind: "namespaces", namespace: None, pulse }
        }));
        let dispatchers = self.controllers.iter().map(|controller| {
            let (of_queue, progress) = (controller.clone(), controller.progress.clone());
            let overdue = Box::new(move || of_queue.queue.overdue());
            Dispatcher { api: controller.flavour.api_version(), progress, overdue }
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
        self.controllers.iter().all(|controller| controller.leadership.term().is_some())
    }

    /// Whether its workers work, under the lease.
    pub fn works(&self) -> bool {
        self.controllers.iter().all(|controller| controller.term().is_some())
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
        self.controllers.iter().flat_map(|controller| controller.index().strays(key)).collect()
    }
}

/// The Lease that we run for, and under which name.
fn seat(arguments: &RunArguments, default_namespace: &str) -> Seat {
    let election = &arguments.election;
    let namespace = election.leader_elect_resource_namespace.as_deref().unwrap_or(default_namespace);
    Seat::new(namespace.to_owned(), election.lease_name(arguments.selector.as_ref()))
}

/// Runs for the lease from now on.
fn run_for_leader(
    seat: Seat,
    timings: Timings,
    dial: Dial<'_>,
    metrics: &Metrics,
    tasks: &mut JoinSet<()>,
) -> Result<(Leadership, Candidacy), ClientError> {
    let (announcer, leadership) = Leadership::elected();
    let identity = seat.identity.clone();
    // A client of its own: what else is under way never holds up a renewal.
    let election = Election::new(seat, timings, client::client(dial)?, metrics, announcer);
    tasks.spawn(election.listen(WatchClient::new(dial)?));
    let (stop, is_stopped) = watch::channel(election::Stop::No);
    let task = tokio::spawn(election.run(is_stopped));
    Ok((leadership, Candidacy { identity, stop, task }))
}

/// One controller for each API, and the task that writes their events.
fn controllers(
    arguments: &RunArguments,
    dial: Dial<'_>,
    metrics: &Metrics,
    leadership: &Leadership,
    tasks: &mut JoinSet<()>,
) -> Result<Vec<Arc<Controller>>, ClientError> {
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
    let controllers: Vec<_> = controllers.collect::<Result<_, _>>()?;
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
