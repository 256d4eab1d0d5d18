//! Records events on Deployments, as client-go does: repeated ones are counted, similar ones
//! merged, and no object gets many (S12.2).
//!
//! Recording never waits and never fails: what does not fit into the queue is dropped, the
//! oldest first, and counted. One task writes, so a slow server costs events, not rollouts.

mod correlator;
mod steps;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{ObjectMeta, Patch};
use plan::{Event, Flavour, Workload};
use serde_json::json;
use tokio::sync::Notify;
use tracing::{debug, warn};

use crate::client::object::{Kind, Object};
use crate::client::requests::{Authority, Server};
use crate::clock;
use crate::write::manager::{patch_params, post_params};
use correlator::{Correlator, Verdict};
use steps::Steps;

/// Events that wait to be written; a rollout makes a handful.
const QUEUE_MAX: usize = 1024;
/// How often somebody looks for waiting steps to report.
const LOOK: Duration = Duration::from_millis(250);
/// What waits when the operator ends gets this long to be written.
const FAREWELL: Duration = Duration::from_millis(250);
/// Room for the suffix that makes an event's name unique within the 253 characters of a name.
const NAME_STEM_MAX: usize = 230;

/// The Deployment that an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) flavour: Flavour,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
}

impl About {
    pub(crate) fn workload(flavour: Flavour, workload: &Workload) -> Self {
        Self {
            flavour,
            namespace: workload.namespace.clone(),
            name: workload.name.clone(),
            uid: workload.uid.clone(),
            resource_version: workload.resource_version.clone(),
        }
    }

    pub(crate) fn object(flavour: Flavour, object: &Object) -> Self {
        Self {
            flavour,
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
            uid: object.uid().to_owned(),
            resource_version: object.resource_version().to_owned(),
        }
    }
}

/// An event and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(crate) about: About,
    pub(crate) event: Event,
}

/// Where events go.
#[derive(Clone)]
pub(crate) struct Events(Arc<Inner>);

struct Inner {
    server: Server,
    queue: Mutex<VecDeque<Recorded>>,
    arrived: Notify,
    recorder: tokio::sync::Mutex<Recorder>,
    dropped: prometheus::IntCounterVec,
}

/// What is known to every writer.
#[derive(Default)]
struct Recorder {
    steps: Steps,
    correlator: Correlator,
}

impl Events {
    pub(crate) fn new(server: Server, dropped: prometheus::IntCounterVec) -> Self {
        let (queue, recorder) = (Mutex::default(), tokio::sync::Mutex::default());
        Self(Arc::new(Inner { server, queue, arrived: Notify::new(), recorder, dropped }))
    }

    /// Takes an event on.
    pub(crate) fn record(&self, about: About, event: Event) {
        let recorded = Recorded { about, event };
        let mut queue = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() >= QUEUE_MAX {
            queue.pop_front();
            self.0.dropped.with_label_values(&["queue_full"]).inc();
        }
        queue.push_back(recorded);
        drop(queue);
        self.0.arrived.notify_one();
    }

    /// Writes events until the task is dropped.
    pub(crate) async fn write_all(self) {
        loop {
            self.write_queued().await;
            let mut recorder = self.0.recorder.lock().await;
            let due = recorder.steps.due(clock::now());
            self.write_each(&mut recorder, due).await;
            let is_idle = recorder.steps.is_empty();
            drop(recorder);
            if is_idle {
                self.0.arrived.notified().await;
            } else {
                let _in_time = tokio::time::timeout(LOOK, self.0.arrived.notified()).await;
            }
        }
    }

    /// Writes what still waits, as far as there is time: the operator is about to end.
    pub(crate) async fn finish(&self) {
        let rest = async {
            self.write_queued().await;
            let mut recorder = self.0.recorder.lock().await;
            let held = recorder.steps.all();
            self.write_each(&mut recorder, held).await;
        };
        let _in_time = tokio::time::timeout(FAREWELL, rest).await;
    }

    async fn write_queued(&self) {
        loop {
            // Taken first, so that two who write keep the order.
            let mut recorder = self.0.recorder.lock().await;
            let next = self.0.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(recorded) = next else { return };
            let told = recorder.steps.take(recorded, clock::now());
            self.write_each(&mut recorder, told).await;
        }
    }

    async fn write_each(&self, recorder: &mut Recorder, events: Vec<Recorded>) {
        for recorded in events {
            self.write(&mut recorder.correlator, &recorded).await;
        }
    }

    async fn write(&self, correlator: &mut Correlator, recorded: &Recorded) {
        let now = clock::timestamp();
        match correlator.consider(recorded, now) {
            Verdict::Drop => self.0.dropped.with_label_values(&["rate"]).inc(),
            Verdict::Create { name, message } => self.create(recorded, &name, &message, now).await,
            Verdict::Repeat { name, message, count } => {
                let patch = json!({ "count": count, "lastTimestamp": Time(now), "message": message });
                let requests = Server::requests(Kind::Event, &recorded.about.namespace);
                let request = requests.patch(&name, &patch_params(), &Patch::Merge(patch));
                match self.0.server.write("patch", "events", request, Authority::default()).await {
                    Ok(_) => {}
                    // The event has expired.
                    Err(refusal) if refusal.is_not_found() => {
                        self.create(recorded, &name, &message, now).await;
                    }
                    Err(refusal) => self.lost(recorded, &refusal),
                }
            }
        }
    }

    async fn create(&self, recorded: &Recorded, name: &str, message: &str, now: Timestamp) {
        // Serializing does not fail.
        let body = serde_json::to_vec(&body(recorded, name, message, now)).unwrap_or_default();
        let requests = Server::requests(Kind::Event, &recorded.about.namespace);
        let request = requests.create(&post_params(false), body);
        if let Err(refusal) = self.0.server.write("create", "events", request, Authority::default()).await {
            self.lost(recorded, &refusal);
        }
    }

    fn lost(&self, recorded: &Recorded, refusal: &engine::reconcile::Refusal) {
        if refusal.is_not_sent() {
            // The leader reports it.
            self.0.dropped.with_label_values(&["standby"]).inc();
            return;
        }
        self.0.dropped.with_label_values(&["refused"]).inc();
        let Recorded { about: About { namespace, name, .. }, event } = recorded;
        if refusal.namespace_terminating || refusal.is_not_found() {
            debug!(namespace, name, reason = event.reason, error = refusal.message, "event not recorded");
        } else {
            warn!(namespace, name, reason = event.reason, error = refusal.message, "event not recorded");
        }
    }
}

fn body(recorded: &Recorded, name: &str, message: &str, now: Timestamp) -> core::Event {
    let Recorded { about, event } = recorded;
    let component = Some(about.flavour.reporter().to_owned());
    core::Event {
        metadata: ObjectMeta {
            namespace: Some(about.namespace.clone()),
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        involved_object: core::ObjectReference {
            api_version: Some(about.flavour.api_version().to_owned()),
            kind: Some("Deployment".to_owned()),
            namespace: Some(about.namespace.clone()),
            name: Some(about.name.clone()),
            uid: Some(about.uid.clone()),
            resource_version: Some(about.resource_version.clone()),
            ..core::ObjectReference::default()
        },
        type_: Some(event.kind.as_str().to_owned()),
        reason: Some(event.reason.to_string()),
        message: Some(message.to_owned()),
        source: Some(core::EventSource { component: component.clone(), host: None }),
        reporting_component: component,
        reporting_instance: Some(String::new()),
        first_timestamp: Some(Time(now)),
        last_timestamp: Some(Time(now)),
        count: Some(1),
        ..core::Event::default()
    }
}

/// A name for an event: the object's, cut if need be, and the time.
fn event_name(object: &str, now: Timestamp) -> String {
    let stem: String = object.chars().take(NAME_STEM_MAX).collect();
    format!("{stem}.{:x}", now.as_nanosecond())
}
