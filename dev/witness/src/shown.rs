//! What the API shows, read as a user would read it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value};
use world::Object;

/// The label and the annotations of a ReplicaSet.
const HASH: &str = "pod-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";
const ROLLOUT: &str = "rollwright.dev/rollout";

pub(crate) fn label(set: &Object) -> Option<&str> {
    set.metadata.pointer(&format!("/labels/{HASH}"))?.as_str()
}

pub(crate) fn annotation<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.metadata.get("annotations")?.get(key)?.as_str()
}

/// The revision that an annotation of the Deployment asks something for.
pub(crate) fn request(deployment: &Object, key: &str) -> Option<i64> {
    annotation(deployment, key)?.split('/').next()?.parse().ok()
}

pub(crate) fn revision(set: &Object) -> Option<i64> {
    annotation(set, REVISION)?.parse().ok()
}

/// What a ReplicaSet stores about its revision.
fn memory(set: &Object) -> Option<Value> {
    let memory: Value = serde_json::from_str(annotation(set, ROLLOUT)?).ok()?;
    (memory.get("revision")?.as_i64() == revision(set)).then_some(memory)
}

/// The verdict on a revision.
pub(crate) fn verdict(set: &Object) -> Option<String> {
    Some(memory(set)?.get("verdict")?.as_str()?.to_owned())
}

/// Whether a ReplicaSet remembers anything of its steps.
pub(crate) fn has_steps(set: &Object) -> bool {
    memory(set).is_some_and(|memory| memory.get("steps").is_some())
}

/// When a revision reached the step where it is.
pub(crate) fn reached(set: &Object) -> Option<Timestamp> {
    memory(set)?.pointer("/steps/reached")?.as_str()?.parse().ok()
}

pub(crate) fn replicas(object: &Object) -> Option<i64> {
    object.spec.get("replicas")?.as_i64()
}

pub(crate) fn is_paused(deployment: &Object) -> bool {
    deployment.spec.get("paused").and_then(Value::as_bool).unwrap_or(false)
}

pub(crate) fn is_recreate(deployment: &Object) -> bool {
    deployment.spec.pointer("/strategy/type").and_then(Value::as_str) == Some("Recreate")
}

/// How many pods a step allows, before the last one.
pub(crate) fn allowed(step: &Value, replicas: i64) -> i64 {
    let pods = match step.get("updated") {
        Some(Value::String(text)) => {
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(0);
            (percent * replicas + 99) / 100
        }
        Some(number) => number.as_i64().unwrap_or(0),
        None => 0,
    };
    pods.min(replicas - 1)
}

/// A number of the status.
pub(crate) fn number(object: &Object, pointer: &str) -> Option<i64> {
    object.status.pointer(pointer)?.as_i64()
}

/// The rollout of a Deployment, and the step where it is.
pub(crate) fn step(deployment: &Object) -> Option<(i64, i64)> {
    number(deployment, "/rollout/id").zip(number(deployment, "/rollout/step"))
}

/// A text of the status.
pub(crate) fn text<'a>(object: &'a Object, pointer: &str) -> Option<&'a str> {
    object.status.pointer(pointer)?.as_str()
}

/// Whether a status is of the present spec.
pub(crate) fn is_observed(deployment: &Object) -> bool {
    number(deployment, "/observedGeneration") == Some(deployment.generation())
}

/// All records of rollouts that have ended, with their ids.
pub(crate) fn records(deployment: &Object) -> BTreeMap<i64, &Value> {
    let history = deployment.status.get("history").and_then(Value::as_array);
    let records = history.into_iter().flatten();
    records.filter_map(|record| Some((record.get("id")?.as_i64()?, record))).collect()
}

/// All sentences of a status, each with its condition or cause.
pub(crate) fn sentences(deployment: &Object) -> impl Iterator<Item = (&str, &str)> {
    let lists = [("conditions", "type"), ("blockers", "cause")];
    lists.into_iter().flat_map(|(list, about)| {
        let entries = deployment.status.get(list).and_then(Value::as_array).into_iter().flatten();
        entries.filter_map(move |entry| Some((entry.get(about)?.as_str()?, entry.get("message")?.as_str()?)))
    })
}

/// Whether a sentence names an object: with nothing before or after that would make it another name. A pod's name
/// begins with that of its ReplicaSet.
pub(crate) fn names(sentence: &str, name: &str) -> bool {
    let is_of_name = |character: char| character.is_ascii_alphanumeric();
    sentence.match_indices(name).any(|(at, _)| {
        let (before, after) = (sentence.get(..at), sentence.get(at + name.len()..));
        let follows = |text: Option<&str>| text.and_then(|text| text.chars().next()).is_some_and(is_of_name);
        let precedes = before.and_then(|text| text.chars().next_back());
        !precedes.is_some_and(|last| is_of_name(last) || last == '-') && !follows(after)
    })
}

/// A template, by what a person distinguishes in a change of it.
#[derive(Debug, PartialEq)]
pub(crate) struct Parts {
    pub(crate) images: Vec<Value>,
    pub(crate) restarted: Option<Value>,
    pub(crate) rest: Value,
}

impl Parts {
    /// The parts of the template of a ReplicaSet.
    pub(crate) fn of(template: &Value) -> Self {
        let mut rest = template.clone();
        let mut take = |pointer: &str, key: &str| {
            let members = rest.pointer_mut(pointer).and_then(Value::as_object_mut);
            members.and_then(|members| members.remove(key))
        };
        take("/metadata/labels", HASH);
        let restarted = take("/metadata/annotations", "kubectl.kubernetes.io/restartedAt");
        let is_empty =
            rest.pointer("/metadata/annotations").and_then(Value::as_object).is_some_and(Map::is_empty);
        if let Some(metadata) = rest.get_mut("metadata").and_then(Value::as_object_mut).filter(|_| is_empty) {
            metadata.remove("annotations");
        }
        let mut images = Vec::new();
        for list in ["/spec/initContainers", "/spec/containers"] {
            let containers = rest.pointer_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
            let members = containers.filter_map(Value::as_object_mut);
            images.extend(members.filter_map(|container| container.remove("image")));
        }
        Self { images, restarted, rest }
    }
}
