//! How objects are written: what may be asked for, and what the server makes of it.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::object::Object;
use crate::refusal::Refused;
use crate::resource::Resource;
use crate::stamp::stamp;
use crate::status::Status;

/// Which part of an object a write is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subresource {
    /// All but what has a subresource of its own.
    Main,
    /// The status.
    Status,
    /// The size, as an `autoscaling/v1` Scale.
    Scale,
}

/// Whether a write lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The object is stored.
    Store,
    /// The answer is as if the object were stored (`dryRun=All`).
    DryRun,
}

/// What must be true of the object that a write finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// Its uid.
    pub uid: Option<String>,
    /// Its resourceVersion.
    pub resource_version: Option<String>,
}

impl Preconditions {
    /// # Errors
    /// 409 when the object is another one, or another version.
    pub(crate) fn check(&self, stored: &Object) -> Result<(), Refused> {
        if let Some(uid) = &self.uid
            && uid != stored.uid()
        {
            let why = format!(
                "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
                stored.uid()
            );
            return Err(Refused::conflict(stored.resource, stored.name(), &why));
        }
        match &self.resource_version {
            Some(expected) if *expected != stored.version().to_string() => {
                Err(Refused::modified(stored.resource, stored.name()))
            }
            _ => Ok(()),
        }
    }

    /// Checks what a sent object states about the one that it replaces.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub(crate) fn check_stated(sent: &Object, stored: &Object) -> Result<(), Refused> {
        if Arc::ptr_eq(&sent.metadata, &stored.metadata) && [0, stored.version].contains(&sent.version) {
            return Ok(());
        }
        Self::stated_by(sent).check(stored)
    }

    /// What a sent object states about the one that it replaces.
    fn stated_by(object: &Object) -> Self {
        let uid = Some(object.uid()).filter(|uid| !uid.is_empty()).map(str::to_owned);
        Self { uid, resource_version: object.stated_version() }
    }
}

/// The fate of the objects that a deleted one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// The objects are deleted afterwards.
    Background,
    /// The objects are deleted first.
    Foreground,
    /// The objects stay, without owner.
    Orphan,
}

/// How an object is deleted.
#[derive(Clone, Debug)]
pub struct Deletion {
    /// What must be true of it.
    pub preconditions: Preconditions,
    /// The fate of what it owns; if that is left open, the object's finalizers decide, or else it is deleted
    /// afterwards.
    pub propagation: Option<Propagation>,
    /// Seconds that a pod gets; 0 removes it immediately.
    pub grace_seconds: Option<i64>,
    /// Whether it is meant.
    pub mode: Mode,
}

impl Default for Deletion {
    fn default() -> Self {
        let preconditions = Preconditions::default();
        Self { preconditions, propagation: None, grace_seconds: None, mode: Mode::Store }
    }
}

/// A new object, stamped: who it is, when it came, and nothing of its status.
pub(crate) fn newborn(mut object: Object, uid: String, now: Timestamp) -> Object {
    object.set_metadata("uid", Value::from(uid));
    object.set_metadata("creationTimestamp", stamp(now));
    object.set_metadata("deletionTimestamp", Value::Null);
    object.set_metadata("deletionGracePeriodSeconds", Value::Null);
    let generation = if object.resource.has_generation() { Value::from(1) } else { Value::Null };
    object.set_metadata("generation", generation);
    if object.resource.has_status() {
        object.status = match object.resource {
            Resource::Pods => Status::pending(),
            _ => Arc::new(first_status(object.resource, &object.status).into()),
        };
    }
    if object.resource == Resource::Namespaces {
        object.spec = Arc::new(json!({ "finalizers": ["kubernetes"] }));
    }
    object
}

/// Seconds that an object gets until it has to be gone. Only pods get any, and only where
/// something may run.
pub(crate) fn grace(object: &Object, asked: Option<i64>) -> i64 {
    let is_bound = object.spec.get("nodeName").is_some();
    if object.resource != Resource::Pods || !is_bound || object.status.pod().phase.is_finished() {
        return 0;
    }
    asked.or_else(|| object.spec_number("terminationGracePeriodSeconds")).unwrap_or(30).max(0)
}

/// Whether nothing is in the way of the end of an object that is being deleted.
pub(crate) fn is_finished(object: &Object) -> bool {
    let grace = object.metadata.get("deletionGracePeriodSeconds").and_then(Value::as_i64);
    let is_over = object.resource != Resource::Pods || grace.unwrap_or(0) == 0;
    is_over && object.finalizers().next().is_none() && is_emptied(object)
}

/// Whether an object is no namespace with something in it.
pub(crate) fn is_emptied(object: &Object) -> bool {
    let finalizers = object.spec.get("finalizers").and_then(Value::as_array);
    object.resource != Resource::Namespaces || finalizers.is_none_or(Vec::is_empty)
}

/// Pod specs with and without a node. Pods of a ReplicaSet share their spec, and keep sharing it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bindings(VecDeque<(Arc<Value>, Arc<Value>)>);

impl Bindings {
    const REMEMBERED: usize = 32;

    /// A spec with its node.
    pub(crate) fn spec(&mut self, spec: &Arc<Value>, node: &str) -> Arc<Value> {
        let is_it = |(before, after): &&(Arc<Value>, Arc<Value>)| {
            Arc::ptr_eq(before, spec) && after.get("nodeName").and_then(Value::as_str) == Some(node)
        };
        if let Some((_, after)) = self.0.iter().find(is_it) {
            return Arc::clone(after);
        }
        let mut after = Value::clone(spec);
        if let Some(members) = after.as_object_mut() {
            members.insert("nodeName".to_owned(), Value::from(node));
        }
        let after = Arc::new(after);
        if self.0.len() >= Self::REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((Arc::clone(spec), Arc::clone(&after)));
        after
    }
}

fn first_status(resource: Resource, sent: &Value) -> Value {
    match resource {
        // The default of Rollwright's CustomResourceDefinition: not observed yet.
        Resource::Deployments => json!({ "observedGeneration": -1 }),
        Resource::AppsDeployments | Resource::Jobs => json!({}),
        Resource::ReplicaSets => json!({ "replicas": 0 }),
        Resource::Namespaces => json!({ "phase": "Active" }),
        _ => sent.clone(),
    }
}

/// What a write makes of the stored object: only what the subresource is for changes, and what
/// belongs to the server stays.
pub(crate) fn merged(stored: &Object, mut sent: Object, subresource: Subresource) -> Object {
    match subresource {
        Subresource::Main | Subresource::Scale => {
            if stored.resource.has_status() {
                sent.status = stored.status.clone();
            }
            if stored.resource == Resource::Namespaces {
                // Its finalizers have a subresource of their own.
                sent.spec = stored.spec.clone();
            }
            if !Arc::ptr_eq(&sent.metadata, &stored.metadata) {
                SERVER_FIELDS.iter().for_each(|field| keep(&mut sent, stored, field));
            }
            sent
        }
        Subresource::Status => {
            let mut object = stored.clone();
            object.status = sent.status;
            if stored.resource != Resource::Deployments
                && !Arc::ptr_eq(&sent.metadata, &stored.metadata)
                && sent.metadata.get("annotations") != stored.metadata.get("annotations")
            {
                // Built-in kinds store what metadata comes along; custom resources don't.
                let annotations = sent.metadata.get("annotations").cloned().unwrap_or(Value::Null);
                object.set_metadata("annotations", annotations);
            }
            object
        }
    }
}

/// Counts a change of the spec, as admission leaves it.
pub(crate) fn count_generation(stored: &Object, object: &mut Object) {
    let is_new = stored.resource.has_generation() && has_new_spec(stored, object);
    let generation = stored.generation() + i64::from(is_new);
    if object.generation() != generation {
        object.set_metadata("generation", Value::from(generation));
    }
}

const SERVER_FIELDS: [&str; 7] = [
    "uid",
    "namespace",
    "name",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
];

fn keep(sent: &mut Object, stored: &Object, field: &str) {
    if sent.metadata.get(field) != stored.metadata.get(field) {
        sent.set_metadata(field, stored.metadata.get(field).cloned().unwrap_or(Value::Null));
    }
}

fn has_new_spec(stored: &Object, sent: &Object) -> bool {
    let is_same = Arc::ptr_eq(&stored.spec, &sent.spec) || stored.spec == sent.spec;
    let is_custom = stored.resource == Resource::Deployments;
    !is_same || (is_custom && stored.rest != sent.rest)
}

/// The object as an `autoscaling/v1` Scale shows it; surge never shows as current size.
pub(crate) fn scale_of(object: &Object) -> Value {
    let selector = match object.resource {
        Resource::Deployments => object.status.get("selector").and_then(Value::as_str).map(str::to_owned),
        _ => object.spec.pointer("/selector/matchLabels").and_then(Value::as_object).map(label_text),
    };
    let whole = object.whole_metadata();
    let metadata = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    let metadata = metadata
        .into_iter()
        .filter_map(|field| whole.get(field).map(|value| (field.to_owned(), value.clone())));
    let mut status = Map::new();
    status.insert("replicas".to_owned(), json!(object.status_number("replicas").unwrap_or(0)));
    if let Some(selector) = selector {
        status.insert("selector".to_owned(), Value::from(selector));
    }
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": Map::from_iter(metadata),
        "spec": { "replicas": object.spec_number("replicas").unwrap_or(1) },
        "status": status,
    })
}

fn label_text(labels: &Map<String, Value>) -> String {
    let parts = labels.iter().filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)));
    parts.collect::<Vec<_>>().join(",")
}

/// The object with the size that a Scale asks for.
pub(crate) fn scaled(stored: &Object, scale: &Value) -> Result<Object, Refused> {
    let size = scale.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(0);
    if size < 0 {
        let cause = format!("spec.replicas: Invalid value: {size}: must be greater than or equal to 0");
        let message = format!("Scale.autoscaling \"{}\" is invalid: {cause}", stored.name());
        return Err(Refused::new(422, "Invalid", message));
    }
    let mut object = stored.clone();
    if stored.spec_number("replicas") != Some(size)
        && let Some(spec) = Arc::make_mut(&mut object.spec).as_object_mut()
    {
        spec.insert("replicas".to_owned(), Value::from(size));
    }
    Ok(object)
}
