//! The status of a pod, as a kubelet reports it.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::annotations::{LAST_WORDS, OF_VOLUMES, waits};
use crate::metadata::Metadata;
use crate::stamp::stamp;
use crate::status::{Phase, PodState, Status};

const OURS: [&str; 4] = ["PodScheduled", "Initialized", "ContainersReady", "Ready"];
const CONTAINERS_READY: usize = 2;
const READY: usize = 3;

/// The state of a pod as its status shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// No node takes it; `cordoned` when that is because somebody cordoned them.
    Unschedulable {
        cordoned: bool,
    },
    NotReady,
    Ready,
    ImagePull,
    /// Containers wait for what an annotation names.
    Waiting,
    Crashing,
    /// All containers have ended, the ones that failed with this code.
    Ended {
        code: u8,
    },
}

/// What a status shows. Gates and restarts are part of it: they change the status although
/// the containers are in the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    pub(super) shape: Shape,
    pub(super) gates_met: bool,
    pub(super) restarts: u64,
    /// When a container ended last, if that is known: otherwise now.
    pub(super) ended: Option<Timestamp>,
}

impl Shown {
    /// The value of one of the kubelet's conditions.
    fn condition(self, index: usize) -> bool {
        let containers_ready = self.shape == Shape::Ready;
        match index {
            CONTAINERS_READY => containers_ready,
            READY => containers_ready && self.gates_met,
            _ => true,
        }
    }
}

/// Since when each of the kubelet's conditions has its present value.
#[derive(Clone, Debug, Default)]
pub(super) struct Transitions([Option<(bool, Timestamp)>; OURS.len()]);

impl Transitions {
    /// Notes the value of a condition.
    fn note(&mut self, index: usize, value: bool, now: Timestamp) {
        if let Some(entry) = self.0.get_mut(index)
            && entry.is_none_or(|(noted, _)| noted != value)
        {
            *entry = Some((value, now));
        }
    }

    /// Notes the value that each condition has when a shape is shown.
    fn note_all(&mut self, shown: Shown, now: Timestamp) {
        if let Shape::Unschedulable { .. } = shown.shape {
            self.note(0, false, now);
            return;
        }
        for index in 0..OURS.len() {
            self.note(index, shown.condition(index), now);
        }
    }

    /// Since when a condition has its present value.
    fn since(&self, index: usize, now: Timestamp) -> Timestamp {
        self.0.get(index).copied().flatten().map_or(now, |(_, since)| since)
    }

    /// The pod has got its node.
    pub(super) fn set_scheduled(&mut self, now: Timestamp) {
        self.note(0, true, now);
    }

    /// Somebody else has changed whether the pod is ready.
    pub(super) fn set_ready(&mut self, value: bool, now: Timestamp) {
        self.note(READY, value, now);
    }
}

/// The parts of a pod that a report is made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts<'a> {
    pub(super) metadata: &'a Arc<Metadata>,
    pub(super) spec: &'a Arc<Value>,
    pub(super) status: &'a Arc<Status>,
}

/// What a kubelet reports of a pod: all that its status is made from.
#[derive(Debug)]
pub(crate) struct Report {
    /// The last status that no kubelet wrote. The conditions of others in it stay.
    pub(crate) before: Arc<Status>,
    /// The metadata may decide why containers wait, and what they write at their end.
    metadata: Arc<Metadata>,
    spec: Arc<Value>,
    shown: Shown,
    transitions: Transitions,
    address: u32,
    nodes: usize,
    now: Timestamp,
    start: Start,
}

/// When a pod got its node.
#[derive(Clone, Debug)]
enum Start {
    /// Somebody wrote it down.
    Written(Value),
    /// A kubelet saw it.
    Seen(Timestamp),
}

impl Report {
    pub(super) fn new(
        pod: &Parts<'_>,
        shown: Shown,
        transitions: &mut Transitions,
        address: u32,
        nodes: usize,
        now: Timestamp,
    ) -> Self {
        transitions.note_all(shown, now);
        let before = pod.status.of_others();
        let reported = pod.status.report().filter(|report| report.has_node());
        let start = match reported {
            Some(report) => report.start.clone(),
            None => before.get("startTime").cloned().map_or(Start::Seen(now), Start::Written),
        };
        let (metadata, spec) = (Arc::clone(pod.metadata), Arc::clone(pod.spec));
        let transitions = transitions.clone();
        Self { before, metadata, spec, shown, transitions, address, nodes, now, start }
    }

    /// Whether the pod has a node. Its spec may have been read before it got one.
    fn has_node(&self) -> bool {
        !matches!(self.shown.shape, Shape::Unschedulable { .. })
    }

    /// Pods have a generation in a real cluster only.
    fn generation(&self) -> Option<&Value> {
        self.metadata.get("generation")
    }

    /// What controllers read of the status.
    pub(crate) fn state(&self) -> PodState {
        let phase = match self.shown.shape {
            Shape::NotReady | Shape::Ready | Shape::Crashing => Phase::Running,
            Shape::ImagePull | Shape::Waiting | Shape::Unschedulable { .. } => Phase::Pending,
            Shape::Ended { code: 0 } => Phase::Succeeded,
            Shape::Ended { .. } => Phase::Failed,
        };
        let is_ready = self.shown.shape == Shape::Ready && self.shown.gates_met;
        let since = || Timestamp::from_second(self.transitions.since(READY, self.now).as_second()).ok();
        PodState { phase, is_ready, ready_since: is_ready.then(since).flatten() }
    }

    /// Most restarts of a container; `None` when there are none yet.
    pub(crate) fn restarts(&self) -> Option<u64> {
        let has_containers = !containers(&self.spec, "containers").is_empty();
        self.has_node().then_some(if has_containers { self.shown.restarts } else { 0 })
    }

    /// The status that shows it.
    pub(crate) fn to_json(&self) -> Value {
        let mut status = match &**self.before {
            Value::Object(members) => members.clone(),
            _ => Map::new(),
        };
        let mut set = |field: &str, value: Value| _ = status.insert(field.to_owned(), value);
        let shown = self.shown;
        set("phase", Value::from(phase(shown.shape)));
        if let Some(generation) = self.generation() {
            set("observedGeneration", generation.clone());
        }
        set("conditions", Value::Array(self.conditions()));
        if !self.has_node() {
            return Value::Object(status);
        }
        let start = match &self.start {
            Start::Written(start) => start.clone(),
            Start::Seen(at) => stamp(*at),
        };
        let [_, second, third, fourth] = self.address.to_be_bytes();
        let ip = format!("10.{second}.{third}.{fourth}");
        let containers = self::containers(&self.spec, "containers");
        let any = |part: &str| containers.iter().any(|container| image(container).contains(part));
        // When no image names the culprit, all containers are culprits.
        let culprits = Culprits {
            are_named: any(culprit(shown.shape)),
            waits: waits(&self.metadata).unwrap_or_default(),
            last_words: self.metadata.annotation(LAST_WORDS).unwrap_or_default(),
        };
        let statuses =
            containers.iter().map(|container| culprits.container(container, shown, &start, self.now));
        set("containerStatuses", statuses.collect());
        let inits = self::containers(&self.spec, "initContainers");
        if !inits.is_empty() {
            let statuses = inits.iter().map(|container| init_status(container, &start));
            set("initContainerStatuses", statuses.collect());
        }
        set("podIPs", json!([{ "ip": ip }]));
        set("podIP", Value::from(ip));
        set("hostIP", Value::from("127.0.0.1"));
        set("startTime", start);
        Value::Object(status)
    }

    /// The kubelet's conditions after everybody else's.
    fn conditions(&self) -> Vec<Value> {
        let (shown, nodes) = (self.shown, self.nodes);
        let stored = self.before.get("conditions").and_then(Value::as_array).into_iter().flatten();
        let is_ours = |condition: &Value| {
            condition.get("type").and_then(Value::as_str).is_some_and(|kind| OURS.contains(&kind))
        };
        let mut all: Vec<Value> = stored.filter(|condition| !is_ours(condition)).cloned().collect();
        let since = |index: usize| stamp(self.transitions.since(index, self.now));
        if let Shape::Unschedulable { cordoned } = shown.shape {
            let why = if cordoned { "node(s) were unschedulable" } else { "Insufficient cpu" };
            let message = format!("0/{nodes} nodes are available: {nodes} {why}.");
            all.push(json!({
                "type": "PodScheduled", "status": "False", "lastTransitionTime": since(0),
                "reason": "Unschedulable", "message": message,
            }));
            return all;
        }
        for (index, kind) in OURS.into_iter().enumerate() {
            let value = shown.condition(index);
            let mut condition = Map::new();
            condition.insert("type".to_owned(), Value::from(kind));
            condition.insert("status".to_owned(), Value::from(if value { "True" } else { "False" }));
            condition.insert("lastTransitionTime".to_owned(), since(index));
            if let Some(generation) = self.generation() {
                condition.insert("observedGeneration".to_owned(), generation.clone());
            }
            if !value {
                let reason = match shown.shape {
                    Shape::Ended { code: 0 } => "PodCompleted",
                    Shape::Ended { .. } => "PodFailed",
                    Shape::Ready => "ReadinessGatesNotReady",
                    _ => "ContainersNotReady",
                };
                condition.insert("reason".to_owned(), Value::from(reason));
            }
            all.push(Value::Object(condition));
        }
        all
    }
}

/// The name of a node; empty when there is none.
pub(super) fn node_in(spec: &Value) -> &str {
    spec.get("nodeName").and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn image(container: &Value) -> &str {
    container.get("image").and_then(Value::as_str).unwrap_or_default()
}

fn containers<'a>(spec: &'a Value, field: &str) -> &'a [Value] {
    spec.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn phase(shape: Shape) -> &'static str {
    match shape {
        Shape::NotReady | Shape::Ready | Shape::Crashing => "Running",
        Shape::ImagePull | Shape::Waiting | Shape::Unschedulable { .. } => "Pending",
        Shape::Ended { code: 0 } => "Succeeded",
        Shape::Ended { .. } => "Failed",
    }
}

/// The part of an image's name that makes its container the one that fails.
fn culprit(shape: Shape) -> &'static str {
    if shape == Shape::ImagePull { "bad" } else { "crash" }
}

struct Culprits<'a> {
    are_named: bool,
    waits: (&'a str, &'a str),
    last_words: &'a str,
}

impl Culprits<'_> {
    fn container(&self, container: &Value, shown: Shown, start: &Value, now: Timestamp) -> Value {
        let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
        let image = image(container);
        let is_culprit = !self.are_named || image.contains(culprit(shown.shape));
        let restarts = if shown.shape == Shape::Crashing && !is_culprit { 0 } else { shown.restarts };
        let ended = |code: u8, reason: &str| {
            let finished = stamp(shown.ended.unwrap_or(now));
            let mut end =
                json!({"exitCode": code, "reason": reason, "startedAt": start, "finishedAt": finished});
            if let Some(members) = end.as_object_mut().filter(|_| !self.last_words.is_empty()) {
                members.insert("message".to_owned(), Value::from(self.last_words));
            }
            json!({"terminated": end})
        };
        let waiting =
            |reason: &str, message: String| json!({"waiting": {"reason": reason, "message": message}});
        let (state, last) = match shown.shape {
            Shape::ImagePull if is_culprit => {
                let message = format!("Back-off pulling image \"{image}\"");
                (waiting("ImagePullBackOff", message), Value::Null)
            }
            Shape::Waiting if OF_VOLUMES.contains(&self.waits.0) => {
                (json!({"waiting": {"reason": "ContainerCreating"}}), Value::Null)
            }
            Shape::Waiting => (waiting(self.waits.0, self.waits.1.to_owned()), Value::Null),
            Shape::Crashing if is_culprit => {
                let message = format!("back-off restarting failed container={name}");
                (waiting("CrashLoopBackOff", message), ended(1, "Error"))
            }
            Shape::Ended { code } if code > 0 && is_culprit => (ended(code, "Error"), Value::Null),
            Shape::Ended { .. } => (ended(0, "Completed"), Value::Null),
            _ if restarts > 0 => (json!({"running": {"startedAt": start}}), ended(1, "Error")),
            _ => (json!({"running": {"startedAt": start}}), Value::Null),
        };
        let is_running = state.get("running").is_some();
        json!({
            "name": name,
            "image": image,
            "imageID": if is_running { format!("fake://{image}") } else { String::new() },
            "ready": is_running && shown.shape != Shape::NotReady,
            "started": is_running,
            "restartCount": restarts,
            "state": state,
            "lastState": if last.is_null() { json!({}) } else { last },
        })
    }
}

/// Init containers are over immediately; those that restart always are sidecars.
fn init_status(container: &Value, start: &Value) -> Value {
    let is_sidecar = container.get("restartPolicy").and_then(Value::as_str) == Some("Always");
    let state = if is_sidecar {
        json!({"running": {"startedAt": start}})
    } else {
        json!({"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": start, "finishedAt": start}})
    };
    json!({
        "name": container.get("name").unwrap_or(&Value::Null),
        "image": image(container),
        "imageID": format!("fake://{}", image(container)),
        "ready": true,
        "started": is_sidecar,
        "restartCount": 0,
        "state": state,
    })
}

#[cfg(test)]
mod tests;
