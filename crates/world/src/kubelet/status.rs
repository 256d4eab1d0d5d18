//! The status of a pod, as a kubelet reports it.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::kubelet::course::image;
use crate::kubelet::{Shape, Shown, bound_to};
use crate::object::Object;
use crate::write::stamp;

const OURS: [&str; 4] = ["PodScheduled", "Initialized", "ContainersReady", "Ready"];
const READY: usize = 3;

/// Since when each of our conditions has its present value.
#[derive(Clone, Debug, Default)]
pub(super) struct Transitions([Option<(bool, Timestamp)>; OURS.len()]);

impl Transitions {
    /// Notes the value of a condition and answers since when it has it.
    fn note(&mut self, index: usize, value: bool, now: Timestamp) -> Timestamp {
        let Some(entry) = self.0.get_mut(index) else { return now };
        match entry {
            Some((noted, since)) if *noted == value => *since,
            _ => {
                *entry = Some((value, now));
                now
            }
        }
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

/// The status that shows a shape.
pub(super) fn of(
    pod: &Object,
    shown: Shown,
    transitions: &mut Transitions,
    address: u32,
    nodes: usize,
    now: Timestamp,
) -> Value {
    let mut status = match &*pod.status {
        Value::Object(members) => members.clone(),
        _ => Map::new(),
    };
    let mut set = |field: &str, value: Value| _ = status.insert(field.to_owned(), value);
    set("phase", Value::from(phase(shown.shape)));
    set("conditions", Value::Array(conditions(pod, shown, transitions, nodes, now)));
    if bound_to(pod).is_empty() {
        return Value::Object(status);
    }
    let start = pod.status.get("startTime").cloned().unwrap_or_else(|| stamp(now));
    let [_, second, third, fourth] = address.to_be_bytes();
    let ip = format!("10.{second}.{third}.{fourth}");
    let containers = containers(pod, "containers");
    let any = |part: &str| containers.iter().any(|container| image(container).contains(part));
    // When no image says which container it is, it is all of them.
    let culprits = Culprits { are_named: any(culprit(shown.shape)) };
    let statuses = containers.iter().map(|container| culprits.container(container, shown, &start, now));
    set("containerStatuses", statuses.collect());
    let inits = self::containers(pod, "initContainers");
    if !inits.is_empty() {
        set("initContainerStatuses", inits.iter().map(|container| init_status(container, &start)).collect());
    }
    set("podIPs", json!([{ "ip": ip }]));
    set("podIP", Value::from(ip));
    set("hostIP", Value::from("127.0.0.1"));
    set("startTime", start);
    Value::Object(status)
}

fn containers<'a>(pod: &'a Object, field: &str) -> &'a [Value] {
    pod.spec.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn phase(shape: Shape) -> &'static str {
    match shape {
        Shape::NotReady | Shape::Ready | Shape::Crashing => "Running",
        Shape::ImagePull | Shape::Unschedulable { .. } => "Pending",
        Shape::Succeeded => "Succeeded",
        Shape::Failed => "Failed",
    }
}

/// Our conditions after everybody else's.
fn conditions(
    pod: &Object,
    shown: Shown,
    transitions: &mut Transitions,
    nodes: usize,
    now: Timestamp,
) -> Vec<Value> {
    let stored = pod.status.get("conditions").and_then(Value::as_array).into_iter().flatten();
    let is_ours = |condition: &Value| {
        condition.get("type").and_then(Value::as_str).is_some_and(|kind| OURS.contains(&kind))
    };
    let mut all: Vec<Value> = stored.filter(|condition| !is_ours(condition)).cloned().collect();
    if let Shape::Unschedulable { cordoned } = shown.shape {
        let since = transitions.note(0, false, now);
        let why = if cordoned { "node(s) were unschedulable" } else { "Insufficient cpu" };
        let message = format!("0/{nodes} nodes are available: {nodes} {why}.");
        all.push(json!({
            "type": "PodScheduled", "status": "False", "lastTransitionTime": stamp(since),
            "reason": "Unschedulable", "message": message,
        }));
        return all;
    }
    let containers_ready = shown.shape == Shape::Ready;
    for (index, kind) in OURS.into_iter().enumerate() {
        let value = match kind {
            "ContainersReady" => containers_ready,
            "Ready" => containers_ready && shown.gates_met,
            _ => true,
        };
        let mut condition = Map::new();
        condition.insert("type".to_owned(), Value::from(kind));
        condition.insert("status".to_owned(), Value::from(if value { "True" } else { "False" }));
        condition.insert("lastTransitionTime".to_owned(), stamp(transitions.note(index, value, now)));
        if !value {
            let reason = match shown.shape {
                Shape::Succeeded => "PodCompleted",
                Shape::Failed => "PodFailed",
                Shape::Ready => "ReadinessGatesNotReady",
                _ => "ContainersNotReady",
            };
            condition.insert("reason".to_owned(), Value::from(reason));
        }
        all.push(Value::Object(condition));
    }
    all
}

/// The part of an image's name that makes its container the one that fails.
fn culprit(shape: Shape) -> &'static str {
    if shape == Shape::ImagePull { "bad" } else { "crash" }
}

struct Culprits {
    are_named: bool,
}

impl Culprits {
    fn container(&self, container: &Value, shown: Shown, start: &Value, now: Timestamp) -> Value {
        let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
        let image = image(container);
        let is_culprit = !self.are_named || image.contains(culprit(shown.shape));
        let ended = |code: i32, reason: &str| json!({"terminated": {"exitCode": code, "reason": reason, "startedAt": start, "finishedAt": stamp(now)}});
        let waiting =
            |reason: &str, message: String| json!({"waiting": {"reason": reason, "message": message}});
        let (state, last) = match shown.shape {
            Shape::ImagePull if is_culprit => {
                let message = format!("Back-off pulling image \"{image}\"");
                (waiting("ImagePullBackOff", message), Value::Null)
            }
            Shape::Crashing if is_culprit => {
                let message = format!("back-off restarting failed container={name}");
                (waiting("CrashLoopBackOff", message), ended(1, "Error"))
            }
            Shape::Failed if is_culprit => (ended(1, "Error"), Value::Null),
            Shape::Succeeded | Shape::Failed => (ended(0, "Completed"), Value::Null),
            _ if shown.restarts > 0 => (json!({"running": {"startedAt": start}}), ended(1, "Error")),
            _ => (json!({"running": {"startedAt": start}}), Value::Null),
        };
        let is_running = state.get("running").is_some();
        let restarts = if shown.shape == Shape::Crashing && !is_culprit { 0 } else { shown.restarts };
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

/// Init containers are over at once; those that restart always are sidecars.
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
