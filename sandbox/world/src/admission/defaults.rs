//! Defaults of the built-in kinds, as the API server fills them in.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::admission::{Admission, Operation, Request};
use crate::object::Object;
use crate::refusal::Refused;
use crate::resource::Resource;
use crate::store::Store;
use crate::write::Subresource;

/// How many answers are remembered.
const REMEMBERED: usize = 8;

/// Fills in defaults of ReplicaSets, pods, Jobs and apps/v1 Deployments.
#[derive(Debug, Default)]
pub struct Defaults {
    /// Specs and what they became. All pods of a ReplicaSet share one spec, which is then filled in once, and stays
    /// shared.
    known: Mutex<Vec<Known>>,
}

#[derive(Debug)]
struct Known {
    resource: Resource,
    sent: Arc<Value>,
    filled: Arc<Value>,
}

impl Defaults {
    fn filled(&self, resource: Resource, sent: &Arc<Value>) -> Arc<Value> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |known: &&Known| known.resource == resource && Arc::ptr_eq(&known.sent, sent);
        if let Some(known) = known.iter().find(is_it) {
            return Arc::clone(&known.filled);
        }
        let mut spec = Value::clone(sent);
        fill(resource, &mut spec);
        let filled = if spec == **sent { Arc::clone(sent) } else { Arc::new(spec) };
        if known.len() >= REMEMBERED {
            known.remove(0);
        }
        known.push(Known { resource, sent: Arc::clone(sent), filled: Arc::clone(&filled) });
        filled
    }
}

impl Admission for Defaults {
    fn admit(&self, _: &Store, request: &Request<'_>, object: &mut Object) -> Result<(), Refused> {
        let has_defaults = matches!(
            request.resource,
            Resource::ReplicaSets | Resource::Pods | Resource::AppsDeployments | Resource::Jobs
        );
        let is_same = request.stored.is_some_and(|stored| Arc::ptr_eq(&stored.spec, &object.spec));
        let is_other = request.subresource == Subresource::Status || request.operation == Operation::Delete;
        if has_defaults && !is_same && !is_other {
            object.spec = self.filled(request.resource, &object.spec);
            if request.resource == Resource::Jobs && request.operation == Operation::Create {
                select_own_pods(object);
            }
        }
        Ok(())
    }
}

fn fill(resource: Resource, spec: &mut Value) {
    if !spec.is_object() {
        *spec = json!({});
    }
    if resource == Resource::Pods {
        let mut pod = json!({ "spec": spec.take() });
        ::admission::default_pod_template(&mut pod);
        *spec = pod.get_mut("spec").map_or(Value::Null, Value::take);
        put(spec, "enableServiceLinks", json!(true));
        return;
    }
    if resource == Resource::Jobs {
        job(spec);
    } else {
        put(spec, "replicas", json!(1));
    }
    put(spec, "template", json!({}));
    if let Some(template) = spec.get_mut("template") {
        ::admission::default_pod_template(template);
    }
    if resource == Resource::AppsDeployments {
        put(spec, "revisionHistoryLimit", json!(10));
        put(spec, "progressDeadlineSeconds", json!(600));
        put(spec, "strategy", json!({}));
        if let Some(strategy) = spec.get_mut("strategy") {
            rolling_update(strategy);
        }
    }
}

fn job(spec: &mut Value) {
    if spec.get("parallelism").is_none_or(Value::is_null) {
        put(spec, "completions", json!(1));
    }
    for (field, default) in [
        ("parallelism", json!(1)),
        ("backoffLimit", json!(6)),
        ("completionMode", json!("NonIndexed")),
        ("suspend", json!(false)),
        ("podReplacementPolicy", json!("TerminatingOrFailed")),
        ("manualSelector", json!(false)),
    ] {
        put(spec, field, default);
    }
}

/// A Job selects its pods by its uid, and they carry its uid and name. Without labels, it has those of its pods.
fn select_own_pods(job: &mut Object) {
    const UID: &str = "batch.kubernetes.io/controller-uid";
    let (uid, name) = (job.uid().to_owned(), job.name().to_owned());
    let spec = Arc::make_mut(&mut job.spec);
    if spec.get("manualSelector") == Some(&Value::Bool(false)) {
        let names = ["batch.kubernetes.io/job-name", "job-name"].map(|label| (label, &name));
        for (label, value) in [UID, "controller-uid"].map(|label| (label, &uid)).into_iter().chain(names) {
            put_at(spec, &["template", "metadata", "labels"], label, json!(value));
        }
        put_at(spec, &["selector", "matchLabels"], UID, json!(uid));
    }
    let labels = spec.pointer("/template/metadata/labels").cloned().unwrap_or(Value::Null);
    let own = job.metadata.get("labels").and_then(Value::as_object);
    if own.is_none_or(serde_json::Map::is_empty) {
        job.set_metadata("labels", labels);
    }
}

/// Sets a member that is absent, of an object that is made if it is absent.
fn put_at(value: &mut Value, path: &[&str], field: &str, default: Value) {
    let Some((first, rest)) = path.split_first() else { return put(value, field, default) };
    put(value, first, json!({}));
    if let Some(member) = value.get_mut(first) {
        put_at(member, rest, field, default);
    }
}

fn rolling_update(strategy: &mut Value) {
    put(strategy, "type", json!("RollingUpdate"));
    if strategy.get("type").and_then(Value::as_str) != Some("RollingUpdate") {
        return;
    }
    put(strategy, "rollingUpdate", json!({}));
    if let Some(bounds) = strategy.get_mut("rollingUpdate") {
        put(bounds, "maxUnavailable", json!("25%"));
        put(bounds, "maxSurge", json!("25%"));
    }
}

/// Sets a member that is absent or null.
fn put(value: &mut Value, field: &str, default: Value) {
    let Some(members) = value.as_object_mut() else { return };
    if members.get(field).is_none_or(Value::is_null) {
        members.insert(field.to_owned(), default);
    }
}
