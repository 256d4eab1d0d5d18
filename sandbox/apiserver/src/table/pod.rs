//! Pods: what state a pod is in, in a word.

use jiff::Timestamp;
use serde_json::{Value, json};
use world::Object;

use super::cell::{Column, age, list, number, or, text};
use crate::duration::since;

pub(super) const COLUMNS: [Column; 9] = [
    ("Name", "string", 0),
    ("Ready", "string", 0),
    ("Status", "string", 0),
    ("Restarts", "string", 0),
    ("Age", "string", 0),
    ("IP", "string", 1),
    ("Node", "string", 1),
    ("Nominated Node", "string", 1),
    ("Readiness Gates", "string", 1),
];

/// What is counted on the way through the containers.
#[derive(Default)]
struct Tally {
    ready: usize,
    restarts: i64,
    last_restart: String,
}

impl Tally {
    fn add_restarts(&mut self, container: &Value) {
        self.restarts += number(container, "/restartCount");
        let ended = text(container, "/lastState/terminated/finishedAt");
        if ended > self.last_restart.as_str() {
            self.last_restart = ended.to_owned();
        }
    }
}

pub(super) fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (object.spec.as_ref(), object.status.as_ref());
    let init_containers = list(spec, "/initContainers");
    let sidecars = init_containers.iter().filter(|container| is_sidecar(container)).count();
    let total = list(spec, "/containers").len() + sidecars;
    let mut reason = or(text(status, "/reason"), text(status, "/phase"));
    if conditions(status).any(|condition| {
        text(condition, "/type") == "PodScheduled" && text(condition, "/reason") == "SchedulingGated"
    }) {
        "SchedulingGated".clone_into(&mut reason);
    }
    let mut tally = Tally::default();
    let mut sidecar_tally = Tally::default();
    let initializing = initialize(object, &mut tally, &mut sidecar_tally);
    if let Some(state) = &initializing {
        reason.clone_from(state);
    }
    if initializing.is_none() || is_true(status, "Initialized") {
        let ready = tally.ready;
        tally = Tally { ready, ..sidecar_tally };
        reason = run(status, reason, &mut tally);
    }
    if object.is_deleting() {
        if text(status, "/reason") == "NodeLost" {
            "Unknown".clone_into(&mut reason);
        } else if !matches!(text(status, "/phase"), "Succeeded" | "Failed") {
            "Terminating".clone_into(&mut reason);
        }
    }
    let restarts = if tally.restarts != 0 && !tally.last_restart.is_empty() {
        format!("{} ({} ago)", tally.restarts, since(&tally.last_restart, now))
    } else {
        tally.restarts.to_string()
    };
    vec![
        json!(object.name()),
        json!(format!("{}/{total}", tally.ready)),
        json!(reason),
        json!(restarts),
        json!(age(object, now)),
        json!(or(text(status, "/podIPs/0/ip"), "<none>")),
        json!(or(text(spec, "/nodeName"), "<none>")),
        json!(or(text(status, "/nominatedNodeName"), "<none>")),
        json!(gates(spec, status)),
    ]
}

/// The conditions of a row, by which kubectl knows pods that have ended.
pub(super) fn row_conditions(object: &Object) -> Option<Value> {
    let (reason, message) = match text(&object.status, "/phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{ "type": "Completed", "status": "True", "reason": reason, "message": message }]))
}

/// Goes through the init containers up to the first that has not ended; returns what it is at.
fn initialize(object: &Object, tally: &mut Tally, sidecars: &mut Tally) -> Option<String> {
    let declared = list(&object.spec, "/initContainers");
    for (index, container) in list(&object.status, "/initContainerStatuses").iter().enumerate() {
        let name = text(container, "/name");
        let is_sidecar = declared.iter().any(|one| text(one, "/name") == name && is_sidecar(one));
        tally.add_restarts(container);
        if is_sidecar {
            sidecars.add_restarts(container);
        }
        let terminated = container.pointer("/state/terminated");
        if terminated.is_some_and(|state| number(state, "/exitCode") == 0) {
            continue;
        }
        if is_sidecar && container.get("started") == Some(&Value::Bool(true)) {
            tally.ready += usize::from(container.get("ready") == Some(&Value::Bool(true)));
            continue;
        }
        let waiting = text(container, "/state/waiting/reason");
        return Some(match terminated {
            Some(state) => format!("Init:{}", ended(state)),
            None if !waiting.is_empty() && waiting != "PodInitializing" => format!("Init:{waiting}"),
            None => format!("Init:{index}/{}", declared.len()),
        });
    }
    None
}

/// Goes through the containers, the last first, and returns what the pod is at.
fn run(status: &Value, mut reason: String, tally: &mut Tally) -> String {
    let (mut has_running, mut error) = (false, String::new());
    for container in list(status, "/containerStatuses").iter().rev() {
        tally.add_restarts(container);
        let waiting = text(container, "/state/waiting/reason");
        if !waiting.is_empty() {
            waiting.clone_into(&mut reason);
        } else if let Some(state) = container.pointer("/state/terminated") {
            reason = ended(state);
            if number(state, "/exitCode") != 0 {
                error.clone_from(&reason);
            }
        } else if container.get("ready") == Some(&Value::Bool(true))
            && container.pointer("/state/running").is_some()
        {
            has_running = true;
            tally.ready += 1;
        }
    }
    if reason != "Completed" {
        return reason;
    }
    match has_running {
        true if is_true(status, "Ready") => "Running".to_owned(),
        _ if !error.is_empty() => error,
        true => "NotReady".to_owned(),
        false => reason,
    }
}

fn ended(state: &Value) -> String {
    match (text(state, "/reason"), number(state, "/signal")) {
        ("", 0) => format!("ExitCode:{}", number(state, "/exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn is_sidecar(container: &Value) -> bool {
    text(container, "/restartPolicy") == "Always"
}

fn conditions(status: &Value) -> impl Iterator<Item = &Value> {
    list(status, "/conditions").iter()
}

fn is_true(status: &Value, kind: &str) -> bool {
    conditions(status)
        .any(|condition| text(condition, "/type") == kind && text(condition, "/status") == "True")
}

fn gates(spec: &Value, status: &Value) -> String {
    let gates = list(spec, "/readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let met = gates.iter().filter(|gate| is_true(status, text(gate, "/conditionType"))).count();
    format!("{met}/{}", gates.len())
}
