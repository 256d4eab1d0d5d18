//! Mutating webhooks for ReplicaSets, each of a kind that trips controllers which compare what
//! they wrote with what is stored.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::admission::{Admission, Operation, Request};
use crate::object::Object;
use crate::refusal::Refused;
use crate::resource::Resource;
use crate::store::Store;
use crate::write::Subresource;

/// Name of the container that [`Behaviour::AddSidecar`] adds.
const SIDECAR: &str = "injected-sidecar";
/// Registry that [`Behaviour::RewriteRegistry`] moves images to.
const REGISTRY: &str = "mirror.example";
/// Template annotation that [`Behaviour::RandomAnnotation`] sets.
const ANNOTATION: &str = "webhook.rollwright.dev/random";
/// Environment variable that [`Behaviour::AppendEnv`] appends.
const VARIABLE: &str = "APPENDED";

/// How a webhook treats the pod template of a ReplicaSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Adds a container, once.
    AddSidecar,
    /// Prefixes all images with another registry, once.
    RewriteRegistry,
    /// Sets an annotation of the template to another value at every creation, so that equal
    /// requests lead to different objects.
    RandomAnnotation,
    /// Appends an environment variable at every call, updates included: not idempotent.
    AppendEnv,
    /// Adds a container, and has dry runs refused.
    RefuseDryRun,
}

impl Behaviour {
    /// All behaviours.
    pub const ALL: [Self; 5] = [
        Self::AddSidecar,
        Self::RewriteRegistry,
        Self::RandomAnnotation,
        Self::AppendEnv,
        Self::RefuseDryRun,
    ];
}

/// A mutating webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// Its name.
    pub name: String,
    /// What it does.
    pub behaviour: Behaviour,
}

impl Admission for Webhook {
    fn admit(&self, _: &Store, request: &Request<'_>, object: &mut Object) -> Result<(), Refused> {
        let is_called = match request.operation {
            Operation::Create => true,
            Operation::Update => self.behaviour == Behaviour::AppendEnv,
            Operation::Delete => false,
        };
        if !is_called || request.resource != Resource::ReplicaSets || request.subresource != Subresource::Main
        {
            return Ok(());
        }
        if self.behaviour == Behaviour::RefuseDryRun && request.is_dry_run {
            let message = format!("admission webhook \"{}\" does not support dry run", self.name);
            return Err(Refused::bad_request(message));
        }
        // No two calls see the same: each creation has a uid of its own, each update a version.
        let nonce = format!("{}-{}", object.uid(), object.version());
        if let Some(template) = Arc::make_mut(&mut object.spec).get_mut("template") {
            self.behaviour.change(template, &nonce);
        }
        Ok(())
    }
}

impl Behaviour {
    /// Changes a template. The caller gives each call another `nonce`.
    pub fn change(self, template: &mut Value, nonce: &str) {
        match self {
            Self::AddSidecar | Self::RefuseDryRun => add_sidecar(template),
            Self::RewriteRegistry => rewrite_registry(template),
            Self::RandomAnnotation => random_annotation(template, nonce),
            Self::AppendEnv => append_env(template, nonce),
        }
    }
}

fn containers(template: &mut Value) -> Option<&mut Vec<Value>> {
    template.pointer_mut("/spec/containers")?.as_array_mut()
}

fn add_sidecar(template: &mut Value) {
    let Some(containers) = containers(template) else { return };
    if !containers.iter().any(|container| container.get("name") == Some(&Value::from(SIDECAR))) {
        containers.push(json!({ "name": SIDECAR, "image": "sidecar:1" }));
    }
}

fn rewrite_registry(template: &mut Value) {
    for container in containers(template).into_iter().flatten() {
        let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
        if !image.starts_with(REGISTRY) {
            let image = format!("{REGISTRY}/{image}");
            put(container, "image", Value::from(image));
        }
    }
}

fn random_annotation(template: &mut Value, nonce: &str) {
    let annotations = member(template, "metadata").and_then(|metadata| member(metadata, "annotations"));
    if let Some(annotations) = annotations {
        put(annotations, ANNOTATION, Value::from(nonce));
    }
}

fn append_env(template: &mut Value, nonce: &str) {
    let Some(first) = containers(template).and_then(|containers| containers.first_mut()) else { return };
    let entry = json!({ "name": VARIABLE, "value": nonce });
    match first.get_mut("env").and_then(Value::as_array_mut) {
        Some(env) => env.push(entry),
        None => put(first, "env", json!([entry])),
    }
}

/// A member that is an object, made if it is not there.
fn member<'a>(value: &'a mut Value, field: &str) -> Option<&'a mut Value> {
    let member = value.as_object_mut()?.entry(field).or_insert(Value::Null);
    if member.is_null() {
        *member = json!({});
    }
    Some(member)
}

fn put(value: &mut Value, field: &str, new: Value) {
    if let Some(members) = value.as_object_mut() {
        members.insert(field.to_owned(), new);
    }
}
