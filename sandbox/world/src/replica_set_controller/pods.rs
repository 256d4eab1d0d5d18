//! The pods of a ReplicaSet: which of them count, and what a new one contains.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use crate::metadata::Metadata;
use crate::object::Object;
use crate::resource::Resource;

/// The pods of a ReplicaSet, counted as its status reports them (S9.18).
#[derive(Debug, Default)]
pub(super) struct Census<'a> {
    /// Neither finished nor terminating.
    pub(super) active: Vec<&'a Object>,
    pub(super) fully_labeled: usize,
    pub(super) ready: usize,
    pub(super) available: usize,
    pub(super) terminating: usize,
    /// When the next pod that is ready becomes available.
    pub(super) next_available: Option<Timestamp>,
}

/// Counts pods that the ReplicaSet controls; those that its selector does not match are not its own.
pub(super) fn count<'a>(
    set: &Object,
    blueprint: Option<&Blueprint>,
    pods: impl Iterator<Item = &'a Object>,
    now: Timestamp,
) -> Census<'a> {
    let mut census = Census::default();
    let selector = set.spec.get("selector").unwrap_or(&Value::Null);
    let template = set.spec.get("template").and_then(|template| template.get("metadata"));
    let labels = template.and_then(|metadata| metadata.get("labels")?.as_object());
    let lasting = SignedDuration::from_secs(set.spec_number("minReadySeconds").unwrap_or(0));
    for pod in pods.filter(|pod| !is_finished(pod)) {
        // A selector always selects the labels of its template; most pods have just these.
        let is_like_new = blueprint.is_some_and(|blueprint| pod.metadata.shares_labels(&blueprint.labels));
        let is_fully_labeled = is_like_new || labels.is_none_or(|labels| has_labels(pod, labels));
        if !is_fully_labeled && !is_selected(pod, selector) {
            continue;
        }
        if pod.is_deleting() {
            census.terminating += 1;
            continue;
        }
        census.active.push(pod);
        census.fully_labeled += usize::from(is_fully_labeled);
        let state = pod.status.pod();
        if !state.is_ready {
            continue;
        }
        census.ready += 1;
        let available_at = if lasting.is_zero() {
            Some(now)
        } else {
            state.ready_since.and_then(|since| since.checked_add(lasting).ok())
        };
        match available_at {
            Some(at) if at <= now => census.available += 1,
            Some(at) => census.next_available = Some(census.next_available.map_or(at, |next| next.min(at))),
            None => {}
        }
    }
    census
}

fn is_finished(pod: &Object) -> bool {
    pod.status.pod().phase.is_finished()
}

/// Whether a pod is neither finished nor terminating.
pub(crate) fn is_active(pod: &Object) -> bool {
    !is_finished(pod) && !pod.is_deleting()
}

/// The node of a pod; empty when it has none.
pub(super) fn node(pod: &Object) -> &str {
    pod.spec.get("nodeName").and_then(Value::as_str).unwrap_or_default()
}

fn has_labels(pod: &Object, labels: &Map<String, Value>) -> bool {
    let present = pod.metadata.get("labels");
    labels.iter().all(|(key, value)| present.and_then(|present| present.get(key)?.as_str()) == value.as_str())
}

fn is_selected(pod: &Object, selector: &Value) -> bool {
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    labels.is_none_or(|labels| has_labels(pod, labels))
        && expressions.is_none_or(|expressions| expressions.iter().all(|expression| meets(pod, expression)))
}

fn meets(pod: &Object, expression: &Value) -> bool {
    let text = |field: &str| expression.get(field).and_then(Value::as_str).unwrap_or_default();
    let label = pod.label(text("key"));
    let is_listed = || {
        let mut values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
        values.any(|value| value.as_str() == label)
    };
    match text("operator") {
        "In" => label.is_some() && is_listed(),
        "NotIn" => label.is_none() || !is_listed(),
        "Exists" => label.is_some(),
        "DoesNotExist" => label.is_none(),
        _ => false,
    }
}

/// What all pods of a ReplicaSet or a Job have in common, made once per template.
#[derive(Clone, Debug)]
pub(crate) struct Blueprint {
    /// The spec of the ReplicaSet that it was made from.
    source: Arc<Value>,
    metadata: Value,
    labels: Arc<Value>,
    spec: Arc<Value>,
}

impl Blueprint {
    /// The blueprint of a ReplicaSet; the one from before when the template is still the same.
    pub(crate) fn of(set: &Object, before: Option<Self>) -> Self {
        let template = |spec: &Arc<Value>| spec.get("template").cloned().unwrap_or(Value::Null);
        match before {
            Some(before) if Arc::ptr_eq(&before.source, &set.spec) => before,
            Some(before) if before.source.get("template") == set.spec.get("template") => {
                Self { source: Arc::clone(&set.spec), ..before }
            }
            _ => {
                let mut template = template(&set.spec);
                let spec = template.get_mut("spec").map_or(Value::Null, Value::take);
                let metadata = pod_metadata(set, template.get("metadata"));
                let labels = Arc::new(metadata.get("labels").cloned().unwrap_or(Value::Null));
                Self { source: Arc::clone(&set.spec), metadata, labels, spec: Arc::new(spec) }
            }
        }
    }

    /// A pod that nobody has created yet.
    pub(crate) fn pod(&self) -> Object {
        let metadata = Metadata::with_labels(self.metadata.clone(), &self.labels);
        Object::new(Resource::Pods, metadata, Arc::clone(&self.spec))
    }
}

fn pod_metadata(set: &Object, template: Option<&Value>) -> Value {
    let mut metadata = json!({
        "generateName": format!("{}-", set.name()),
        "namespace": set.namespace(),
        "ownerReferences": [{
            "apiVersion": set.resource.api_version(), "kind": set.resource.kind(), "name": set.name(),
            "uid": set.uid(), "controller": true, "blockOwnerDeletion": true,
        }],
    });
    for field in ["labels", "annotations", "finalizers"] {
        let value = template.and_then(|template| template.get(field)).filter(|value| !value.is_null());
        if let (Some(value), Some(members)) = (value, metadata.as_object_mut()) {
            members.insert(field.to_owned(), value.clone());
        }
    }
    metadata
}
