//! Writes down a pod's shape as the status a real kubelet would report.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::kubelet::decide::{Shape, Shown};
use crate::kubelet::pod::{Container, SlimPod};

const OURS: [&str; 4] = ["PodScheduled", "Initialized", "ContainersReady", "Ready"];

/// Since when each of the kubelet's conditions has its present value.
pub(super) type Transitions = BTreeMap<&'static str, (bool, jiff::Timestamp)>;

/// RFC 3339 with whole seconds, as Kubernetes stores times.
pub(super) fn timestamp(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A merge patch of the status. The uid keeps it from hitting another pod
/// that has taken the name.
pub(super) fn patch(
    pod: &SlimPod,
    shown: Shown,
    transitions: &mut Transitions,
    ip: &str,
    now: jiff::Timestamp,
) -> Value {
    let start = pod.status.start_time.unwrap_or(now);
    let containers: Vec<Value> = pod
        .spec
        .containers
        .iter()
        .map(|container| container_status(container, shown.shape, pod, (start, now)))
        .collect();
    let inits: Vec<Value> =
        pod.spec.init_containers.iter().map(|container| init_status(container, start)).collect();
    json!({
        "metadata": {"uid": pod.uid()},
        "status": {
            "phase": phase(shown.shape),
            "observedGeneration": pod.metadata.generation,
            "startTime": timestamp(start),
            "hostIP": "127.0.0.1",
            "podIP": ip,
            "podIPs": [{"ip": ip}],
            "conditions": conditions(pod, shown, transitions, now),
            "containerStatuses": containers,
            "initContainerStatuses": inits,
        },
    })
}

fn phase(shape: Shape) -> &'static str {
    match shape {
        Shape::NotReady | Shape::Ready | Shape::Crashing { .. } => "Running",
        Shape::ImagePull | Shape::Waiting => "Pending",
        Shape::Succeeded => "Succeeded",
        Shape::Failed => "Failed",
    }
}

/// The kubelet's conditions after everybody else's, which a merge patch would drop.
fn conditions(
    pod: &SlimPod,
    shown: Shown,
    transitions: &mut Transitions,
    now: jiff::Timestamp,
) -> Vec<Value> {
    let is_foreign =
        |kind: Option<&Value>| !kind.and_then(Value::as_str).is_some_and(|kind| OURS.contains(&kind));
    let foreign = pod.status.conditions.iter().filter(|condition| is_foreign(condition.get("type")));
    let mut all: Vec<Value> = foreign.cloned().map(Value::Object).collect();
    let containers_ready = shown.shape == Shape::Ready;
    for kind in OURS {
        let value = match kind {
            "ContainersReady" => containers_ready,
            "Ready" => containers_ready && shown.gates_met,
            _ => true,
        };
        let entry = transitions.entry(kind).or_insert((value, now));
        if entry.0 != value {
            *entry = (value, now);
        }
        let mut condition = json!({
            "type": kind,
            "status": if value { "True" } else { "False" },
            "observedGeneration": pod.metadata.generation,
            "lastTransitionTime": timestamp(entry.1),
        });
        if let (false, Some(object)) = (value, condition.as_object_mut()) {
            let reason = match shown.shape {
                Shape::Succeeded => "PodCompleted",
                Shape::Failed => "PodFailed",
                Shape::Ready => "ReadinessGatesNotReady",
                _ => "ContainersNotReady",
            };
            object.insert("reason".to_owned(), reason.into());
        }
        all.push(condition);
    }
    all
}

fn container_status(
    container: &Container,
    shape: Shape,
    pod: &SlimPod,
    (start, now): (jiff::Timestamp, jiff::Timestamp),
) -> Value {
    let running = json!({"running": {"startedAt": timestamp(start)}});
    let ended = |code: i32, reason: &str| {
        json!({"terminated": {"exitCode": code, "reason": reason, "message": pod.last_words(),
            "startedAt": timestamp(start), "finishedAt": timestamp(now)}})
    };
    let waiting = |reason: &str, message: String| json!({"waiting": {"reason": reason, "message": message}});
    let none = json!({});
    let (state, last, restarts) = match shape {
        Shape::ImagePull if container.is_bad() => {
            let message = format!("Back-off pulling image \"{}\"", container.image);
            (waiting("ImagePullBackOff", message), none, 0)
        }
        Shape::Crashing { restarts } if container.is_crashing() => {
            let message = format!("back-off restarting failed container={}", container.name);
            (waiting("CrashLoopBackOff", message), ended(1, "Error"), restarts)
        }
        Shape::Waiting => {
            let (reason, message) = pod.waits().unwrap_or_default();
            (waiting(reason, message.to_owned()), none, 0)
        }
        Shape::Succeeded => (ended(0, "Completed"), none, 0),
        Shape::Failed if container.is_crashing() => (ended(1, "Error"), none, 0),
        Shape::Failed => (ended(0, "Completed"), none, 0),
        Shape::Ready | Shape::NotReady | Shape::ImagePull | Shape::Crashing { .. } => (running, none, 0),
    };
    let is_running = state.get("running").is_some();
    let ready = is_running && shape != Shape::NotReady;
    json!({
        "name": container.name,
        "image": container.image,
        "imageID": if is_running { format!("fake://{}", container.image) } else { String::new() },
        "ready": ready,
        "started": is_running,
        "restartCount": restarts,
        "state": state,
        "lastState": last,
    })
}

/// Init containers are over immediately; those that restart always are sidecars.
fn init_status(container: &Container, start: jiff::Timestamp) -> Value {
    let is_sidecar = container.restart_policy.as_deref() == Some("Always");
    let at = timestamp(start);
    let state = if is_sidecar {
        json!({"running": {"startedAt": at}})
    } else {
        json!({"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": at, "finishedAt": at}})
    };
    json!({
        "name": container.name,
        "image": container.image,
        "imageID": format!("fake://{}", container.image),
        "ready": true,
        "started": is_sidecar,
        "restartCount": 0,
        "state": state,
    })
}
