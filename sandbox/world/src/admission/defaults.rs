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

/// Fills in defaults of ReplicaSets, pods and apps/v1 Deployments.
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
        let has_defaults =
            matches!(request.resource, Resource::ReplicaSets | Resource::Pods | Resource::AppsDeployments);
        let is_same = request.stored.is_some_and(|stored| Arc::ptr_eq(&stored.spec, &object.spec));
        let is_other = request.subresource == Subresource::Status || request.operation == Operation::Delete;
        if has_defaults && !is_same && !is_other {
            object.spec = self.filled(request.resource, &object.spec);
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
    put(spec, "replicas", json!(1));
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
