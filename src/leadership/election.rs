//! The shell around [`lease::Elector`]: sends its requests, publishes the leadership, and watches the Lease, so that a
//! released Lease is taken immediately.

use std::time::{Duration, Instant};

use engine::reconcile::Refusal;
use jiff::Timestamp;
use kube::runtime::watcher;
use kube::{Api, Client};
use lease::{Elector, Lead, Record, Reply, Request, Timings, Todo};
use prometheus::IntGauge;
use serde_json::{Value, json};
use tokio::sync::watch as signal;
use tracing::{debug, info, warn};

use crate::client::WatchClient;
use crate::client::object::{Kind, Object};
use crate::client::requests::Server;
use crate::clock;
use crate::leadership::Announcer;
use crate::serve::metrics::Metrics;
use crate::watch::renewal::Orders;
use crate::watch::{self, Sink};
use crate::write::manager::post_params;

/// Giving the lease back may take so long; after that it is left to expire.
const RELEASE: Duration = Duration::from_millis(250);
/// Of attempts that fail in a row, the log reports the first, and then one of this many.
const FAILURES_NOTABLE: u32 = 15;

/// The Lease, and the name of this candidate.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) identity: String,
}

impl Seat {
    /// A seat for this process, under a name that no other process has ever had.
    pub(crate) fn new(namespace: String, name: String) -> Self {
        let host = hostname::get().map(|host| host.to_string_lossy().into_owned());
        let host = host.unwrap_or_else(|_| "unknown".to_owned());
        Self { namespace, name, identity: format!("{host}_{}", uuid::Uuid::new_v4()) }
    }
}

/// One candidate's election.
pub(crate) struct Election {
    seat: Seat,
    server: Server,
    elector: Elector,
    announcer: Announcer,
    metrics: Metrics,
    gauge: IntGauge,
    shown: signal::Sender<Option<Shown>>,
    timeout: Duration,
    /// The Lease as it was last read or written; its labels and annotations are kept.
    body: Value,
    failures: u32,
    /// The holder that the log has reported.
    told: Option<String>,
}

impl Election {
    pub(crate) fn new(
        seat: Seat,
        timings: Timings,
        client: Client,
        metrics: &Metrics,
        announcer: Announcer,
    ) -> Self {
        let gauge = metrics.standard.leader.with_label_values(&[&seat.name]);
        gauge.set(0);
        Self {
            elector: Elector::new(seat.identity.clone(), timings),
            // Who elects cannot wait to be elected.
            server: Server::new(client, metrics.clone()),
            announcer,
            metrics: metrics.clone(),
            gauge,
            shown: signal::channel(None).0,
            timeout: timings.renew() / 2,
            body: json!({
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": { "namespace": seat.namespace, "name": seat.name },
            }),
            failures: 0,
            told: None,
            seat,
        }
    }

    /// Listens to the Lease until the task is dropped. Only a hint: without it, it is read in time.
    pub(crate) fn listen(&self, watch: WatchClient) -> impl Future<Output = ()> + use<> {
        let WatchClient { client, pulse } = watch;
        let api = Api::namespaced_with(client, &self.seat.namespace, &Kind::Lease);
        let config = watch::config(None).fields(&format!("metadata.name={}", self.seat.name));
        let sink = Listener { shown: self.shown.clone(), metrics: self.metrics.clone() };
        watch::watch(api, config, pulse, Orders::none(), sink)
    }

    /// Runs for the lease, and keeps it, until `stop`; then gives it back.
    pub(crate) async fn run(mut self, mut stop: signal::Receiver<Stop>) {
        info!(lease = %self.lease(), identity = self.seat.identity, "running for leader");
        let stop = tokio::select! {
            biased;
            stop = stop.wait_for(|stop| *stop != Stop::No) => stop.map_or(Stop::Abandon, |stop| *stop),
            () = self.campaign() => Stop::Abandon,
        };
        self.elector.resign();
        self.announce(None);
        if stop == Stop::GiveBack && tokio::time::timeout(RELEASE, self.step_through()).await.is_err() {
            warn!(lease = %self.lease(), "not given back in time: it will expire");
        }
    }

    fn lease(&self) -> String {
        format!("{}/{}", self.seat.namespace, self.seat.name)
    }

    async fn campaign(&mut self) {
        let mut shown = self.shown.subscribe();
        while let Some(until) = self.step_through().await {
            tokio::select! {
                () = tokio::time::sleep_until(until.into()) => {}
                Ok(()) = shown.changed() => if let Some(Shown { at, reply }) = shown.borrow_and_update().clone() {
                    self.elector.observe(at, reply);
                },
            }
        }
    }

    /// Sends the requests that are due; returns when the next request is due, if ever.
    async fn step_through(&mut self) -> Option<Instant> {
        loop {
            let todo = self.elector.next(clock::now(), Timestamp::now(), watch::jitter());
            self.announce(self.elector.lead(clock::now()));
            match todo {
                Todo::Send(request) => {
                    let sent = clock::now();
                    let reply = self.carry_out(request).await;
                    self.elector.answered(sent, clock::now(), reply);
                }
                Todo::Sleep(until) => return Some(until),
                Todo::Done => return None,
            }
        }
    }

    fn announce(&mut self, lead: Option<Lead>) {
        let before = self.announcer.send_replace(lead);
        self.gauge.set(lead.is_some().into());
        match (before, lead) {
            (None, Some(Lead { term, .. })) => info!(lease = %self.lease(), term, "this replica leads"),
            (Some(_), None) => warn!(lease = %self.lease(), "this replica does not lead any more"),
            _ => {}
        }
        let holder = self.elector.holder().filter(|holder| *holder != self.seat.identity);
        if holder != self.told.as_deref() {
            self.told = holder.map(str::to_owned);
            if let Some(leader) = &self.told {
                info!(lease = %self.lease(), leader, "another replica leads; standing by");
            }
        }
    }

    async fn carry_out(&mut self, request: Request) -> Reply {
        let api: Api<Object> = self.server.objects(Kind::Lease, &self.seat.namespace);
        let params = post_params(false);
        let sent = async {
            match request {
                Request::Read => self.server.send("get", "leases", api.get(&self.seat.name)).await,
                Request::Create(record) => {
                    let body = self.with(&record, None);
                    self.server.send("create", "leases", api.create(&params, &body)).await
                }
                Request::Replace { version, record } => {
                    let body = self.with(&record, Some(version));
                    self.server.send("update", "leases", api.replace(&self.seat.name, &params, &body)).await
                }
            }
        };
        match tokio::time::timeout(self.timeout, sent).await {
            Ok(Ok(object)) => self.read(object),
            Ok(Err(refusal)) if refusal.is_not_found() && !is_about_the_namespace(&refusal) => Reply::Missing,
            Ok(Err(refusal)) => {
                self.failed(&refusal.message, refusal.is_conflict() || refusal.is_already_exists())
            }
            Err(_) => self.failed("no answer", false),
        }
    }

    fn read(&mut self, object: Object) -> Reply {
        self.failures = 0;
        let reply = lease_of(&object);
        self.body = object.body;
        reply
    }

    fn failed(&mut self, error: &str, is_race: bool) -> Reply {
        if is_race {
            debug!(lease = %self.lease(), error, "somebody else has written the lease");
            return Reply::Failed;
        }
        if self.failures.is_multiple_of(FAILURES_NOTABLE) {
            warn!(lease = %self.lease(), error, "the lease cannot be read or written; it is tried again");
        }
        self.failures = self.failures.saturating_add(1);
        Reply::Failed
    }

    /// The Lease with another spec; what others put into its metadata stays.
    fn with(&self, record: &Record, version: Option<String>) -> Object {
        let mut body = self.body.clone();
        if let Some(members) = body.as_object_mut() {
            members.insert("spec".to_owned(), record.to_spec());
        }
        if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
            match version {
                Some(version) => metadata.insert("resourceVersion".to_owned(), version.into()),
                // The Lease was deleted: a new one is another object.
                None => {
                    metadata.retain(|field, _| field == "name" || field == "namespace");
                    None
                }
            };
        }
        Object::new(body)
    }
}

/// How an election ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Not yet.
    No,
    /// With the lease given back: nothing is under way under it.
    GiveBack,
    /// With the lease left to expire: something may be.
    Abandon,
}

/// A Lease cannot be created where there is no namespace.
fn is_about_the_namespace(refusal: &Refusal) -> bool {
    refusal.message.starts_with("namespaces ")
}

/// The Lease as the watch shows it, and when.
#[derive(Clone, Debug)]
struct Shown {
    at: Instant,
    reply: Reply,
}

struct Listener {
    shown: signal::Sender<Option<Shown>>,
    metrics: Metrics,
}

impl Listener {
    fn tell(&self, reply: Reply) {
        self.shown.send_replace(Some(Shown { at: clock::now(), reply }));
    }
}

impl Sink for Listener {
    type Item = Reply;

    fn read(&self, object: Object) -> Option<Reply> {
        Some(lease_of(&object))
    }

    fn reset(&self, items: Vec<Reply>) {
        self.tell(items.into_iter().next().unwrap_or(Reply::Missing));
    }

    fn apply(&self, item: Reply) {
        self.tell(item);
    }

    fn delete(&self, _: &Object) {
        self.tell(Reply::Missing);
    }

    fn failed(&self, error: &watcher::Error, failures: u32) {
        watch::log_failure(&self.metrics, "leases", error, failures);
    }
}

fn lease_of(object: &Object) -> Reply {
    let record = Record::from_spec(object.body.get("spec").unwrap_or(&Value::Null));
    Reply::Lease { version: object.resource_version().to_owned(), record }
}
