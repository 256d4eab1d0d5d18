//! `rollwright shadow`: runs the planner beside the active controller.
//!
//! Shadow only gets, lists, and watches. It compares each write of the active controller to a ReplicaSet, or to the
//! status of a Deployment, with the writes of the production planner. The planner would have made them from the states
//! that this controller may have read.
//!
//! The `shadow` crate compares. This module connects it to the API server: it watches, reports, and serves.

mod follow;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::index::Key;
use engine::reconcile::Refusal;
use engine::rivalry::FIELD_MANAGER;
use jiff::Timestamp;
use kube::api::ListParams;
use plan::Flavour;
use serde_json::{Map, Value, json};
use shadow::{Keep, News, Observer, Reasons, Tally, Which};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::args::{Bind, Report, ShadowArguments};
use crate::client::object::Object;
use crate::client::requests::Server;
use crate::client::{self, ClientError, WatchPair};
use crate::commands::print::print;
use crate::serve::admin::{self, Pages};
use crate::serve::health::{Health, WatchPulse};
use crate::serve::metrics::Metrics;
use follow::Order;

/// How often what is due is done.
const TICK: Duration = Duration::from_millis(100);
/// After this long without a sign of life of a watch, `/livez` reports it.
const STALLED_AFTER: Duration = Duration::from_secs(300);
/// When a controller by another name is suspected, one line reports it.
const OTHERS_REPORTED_AFTER: Duration = Duration::from_secs(60);

/// Why shadow ended, except by a signal.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShadowError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("metrics: {0}")]
    Metrics(#[from] prometheus::Error),
    #[error("--bind-address {address}: {source}; 0 serves nothing")]
    Bind { address: std::net::SocketAddr, source: std::io::Error },
    #[error("--divergences {}: {source}; name a directory that can be written to", .path.display())]
    Divergences { path: PathBuf, source: std::io::Error },
    #[error(
        "not allowed to list {plural}: {message}. `kubectl apply -f deploy/shadow/rbac.yaml` gives the \
         rights; --namespace NAME does with those in one namespace; --kubeconfig names another user"
    )]
    Forbidden { plural: &'static str, message: String },
    #[error(
        "--api {api}: the cluster does not know this kind. `rollwright crd | kubectl apply -f -` installs \
         ours; --api apps/v1 shadows the built-in Deployments"
    )]
    NoKind { api: &'static str },
    #[error("the API server does not answer: {message}; is --kubeconfig, or its --context, the right one?")]
    NoAnswer { message: String },
    #[error("signals: {0}")]
    Signals(std::io::Error),
    #[error("standard output: {0}")]
    Output(std::io::Error),
    #[error("a watch ended; starting anew is all that helps")]
    TaskEnded,
}

/// Shadows until SIGTERM or SIGINT, or for the time of `--for`.
pub(crate) async fn run(arguments: &ShadowArguments) -> Result<(), ShadowError> {
    let flavour = arguments.api;
    let metrics = Metrics::new()?;
    let tally = Tally::new(flavour.api_version(), metrics.registry())?;
    let keep = Keep::new(arguments.divergences.as_deref(), arguments.hash_names).map_err(|source| {
        ShadowError::Divergences { path: arguments.divergences.clone().unwrap_or_default(), source }
    })?;
    let config = client::config(&arguments.client).await?;
    let dial = client::dial(&config, &metrics);
    let server = Server::new(client::client(&dial)?, metrics.clone());
    let clients = WatchPair::new(&dial, arguments.namespace.clone())?;
    check(&server, flavour, arguments.namespace.as_deref()).await?;
    let manager = arguments.manager.clone().unwrap_or_else(|| default_manager(flavour).to_owned());
    info!(server = %config.cluster_url, api = flavour.api_version(), manager, "shadow starts; it reads only");
    let reasons = Reasons::default();
    let report = Arc::new(Mutex::new(String::new()));
    let (ready, is_ready) = watch::channel(false);
    let mut tasks = JoinSet::new();
    if let Bind::At(address) = arguments.bind_address {
        let listener =
            admin::listen(address).await.map_err(|source| ShadowError::Bind { address, source })?;
        let more = Some(pages(reasons.clone(), report.clone()));
        let health = Arc::new(health(&clients, flavour));
        tasks.spawn(admin::serve(
            listener,
            None,
            Pages { metrics: metrics.clone(), ready: is_ready, health, objects: None, more, gate: None },
        ));
    }
    let (sender, news) = mpsc::unbounded_channel();
    follow::start(&clients, flavour, &metrics, &sender, &mut tasks);
    let observer = Observer::new(flavour, manager, tally, keep, reasons);
    let mut session = Session {
        arguments,
        observer,
        news,
        order: Order::default(),
        ready,
        report,
        started: Instant::now(),
    };
    session.run(&mut tasks).await
}

/// The watches must move; there is nothing else that could stand still.
fn health(clients: &WatchPair, flavour: Flavour) -> Health {
    let watch = |which: Which| WatchPulse {
        api: flavour.api_version(),
        kind: which.plural(),
        namespace: clients.namespace.clone(),
        pulse: follow::client(which, clients).pulse.clone(),
    };
    let watches = Which::ALL.map(watch).into();
    Health { stalled_after: STALLED_AFTER, watches, dispatchers: Vec::new() }
}

/// Who writes for the controller in charge.
fn default_manager(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::AppsV1 => "kube-controller-manager",
        Flavour::Rollwright => FIELD_MANAGER,
    }
}

/// Whether the server lets shadow read what it has to watch: a watch would try for ever.
async fn check(server: &Server, flavour: Flavour, namespace: Option<&str>) -> Result<(), ShadowError> {
    for which in Which::ALL {
        let kind = follow::kind(which, flavour);
        let api: kube::Api<Object> = match namespace {
            Some(namespace) => server.objects(kind, namespace),
            None => server.cluster_objects(kind),
        };
        let plural = which.plural();
        let listed = server.send("list", plural, api.list(&ListParams::default().limit(1))).await;
        match listed {
            Ok(_) => {}
            Err(Refusal { code: 401 | 403, message, .. }) => {
                return Err(ShadowError::Forbidden { plural, message });
            }
            Err(Refusal { code: 404, .. }) => {
                return Err(ShadowError::NoKind { api: flavour.api_version() });
            }
            Err(Refusal { message, .. }) => return Err(ShadowError::NoAnswer { message }),
        }
    }
    Ok(())
}

/// One run, from the first list to the last report.
struct Session<'a> {
    arguments: &'a ShadowArguments,
    observer: Observer,
    news: mpsc::UnboundedReceiver<News>,
    order: Order,
    ready: watch::Sender<bool>,
    report: Arc<Mutex<String>>,
    started: Instant,
}

impl Session<'_> {
    async fn run(&mut self, tasks: &mut JoinSet<()>) -> Result<(), ShadowError> {
        let mut terminate = signal(SignalKind::terminate()).map_err(ShadowError::Signals)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(ShadowError::Signals)?;
        let mut tick = tokio::time::interval(TICK);
        let mut next_report = self.arguments.report_every.map(|every| self.started + every);
        let end = self.arguments.duration.map(|duration| self.started + duration);
        let mut are_others_reported = false;
        loop {
            tokio::select! {
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
                _ = tasks.join_next() => return Err(ShadowError::TaskEnded),
                Some(news) = self.news.recv() => self.take(news),
                _ = tick.tick() => {
                    self.tick(false);
                    let now = Instant::now();
                    if let (Some(due), Some(every)) = (next_report, self.arguments.report_every)
                        && due <= now
                    {
                        self.print()?;
                        next_report = Some(now + every);
                    }
                    if !are_others_reported && self.started.elapsed() > OTHERS_REPORTED_AFTER {
                        are_others_reported = true;
                        self.report_others();
                    }
                    if end.is_some_and(|end| end <= now) {
                        break;
                    }
                }
            }
        }
        while let Ok(news) = self.news.try_recv() {
            self.take(news);
        }
        self.tick(true);
        self.print()
    }

    fn take(&mut self, news: News) {
        match news {
            News::Object { ref object, .. } => self.order.add(object.version(), news),
            News::Listed { which, at, objects } => {
                // What came before the list is older.
                if self.observer.is_ready() {
                    self.hand_on(true);
                }
                self.observer.list(which, at, objects);
                if self.observer.is_ready() && !self.ready.send_replace(true) {
                    let deployments = self.observer.deployments();
                    info!(deployments, "ready");
                    if deployments == 0 {
                        warn!("there are no Deployments yet; --namespace and --api say which are looked at");
                    }
                }
            }
        }
    }

    /// Before both kinds were listed, nothing is known about anything.
    fn tick(&mut self, is_end: bool) {
        if self.observer.is_ready() {
            self.hand_on(is_end);
            self.observer.tick(Timestamp::now(), is_end);
        }
        let text = self.json().to_string();
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    fn hand_on(&mut self, at_once: bool) {
        while let Some((version, news)) = self.order.next(at_once) {
            self.observer.see(version, news);
        }
    }

    fn json(&self) -> Value {
        self.observer.tally.json(self.observer.deployments(), self.started.elapsed().as_secs())
    }

    fn print(&self) -> Result<(), ShadowError> {
        let line = match self.arguments.output {
            Report::Json => self.json().to_string(),
            Report::Text => {
                self.observer.tally.line(self.observer.deployments(), self.started.elapsed().as_secs())
            }
        };
        print(&format!("{line}\n")).map_err(ShadowError::Output)
    }

    fn report_others(&self) {
        if self.observer.tally.sees_only_others() {
            warn!(
                "statuses are written, but not by the controller expected; --manager names the one in charge, \
                 as metadata.managedFields calls it (kubectl get deployment NAME -o yaml --show-managed-fields)"
            );
        }
    }
}

/// `/why`, `/why/NAMESPACE/NAME` and `/report`, beside what the operator serves.
fn pages(reasons: Reasons, report: Arc<Mutex<String>>) -> admin::More {
    Arc::new(move |path: &str| {
        let reasons = || reasons.lock().unwrap_or_else(PoisonError::into_inner);
        if path == "/report" {
            return Some(report.lock().unwrap_or_else(PoisonError::into_inner).clone());
        }
        if path == "/why" {
            let all: Map<String, Value> =
                reasons().iter().map(|(key, why)| (key.to_string(), json!(why))).collect();
            return Some(Value::Object(all).to_string());
        }
        let (namespace, name) = path.strip_prefix("/why/")?.split_once('/')?;
        let key = Key { namespace: namespace.to_owned(), name: name.to_owned() };
        reasons().get(&key).map(|why| json!({ "deployment": key.to_string(), "why": why }).to_string())
    })
}
