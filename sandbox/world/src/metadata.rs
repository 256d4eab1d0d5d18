//! The metadata of one version of an object.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::resource::Resource;
use crate::store::key::Key;

/// The metadata of one version of an object: JSON, and beside it what is read again and again.
pub struct Metadata {
    json: Value,
    facts: OnceLock<Facts>,
    /// The labels that it was made with, shared by all that were made so.
    labels: Option<Arc<Value>>,
}

/// What is read again and again.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) generation: i64,
    pub(crate) is_deleting: bool,
    /// Whether it carries a resourceVersion that the server could not have written.
    pub(crate) has_odd_version: bool,
    pub(crate) controller: Option<Controller>,
}

/// The owner reference with `controller: true`.
#[derive(Debug)]
pub(crate) struct Controller {
    pub(crate) uid: Option<String>,
    /// The ReplicaSet or Job that it names, if it names one.
    pub(crate) key: Option<Key>,
}

impl Facts {
    fn read(metadata: &Value) -> Self {
        let text = |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let namespace = text("namespace");
        Self {
            controller: controller(metadata).map(|owner| Controller::read(owner, &namespace)),
            namespace,
            name: text("name"),
            uid: text("uid"),
            generation: metadata.get("generation").and_then(Value::as_i64).unwrap_or(0),
            is_deleting: metadata.get("deletionTimestamp").is_some_and(|value| !value.is_null()),
            has_odd_version: metadata.get("resourceVersion").is_some(),
        }
    }
}

impl Controller {
    fn read(owner: &Value, namespace: &str) -> Self {
        let text = |field: &str| owner.get(field).and_then(Value::as_str);
        let kinds = [Resource::ReplicaSets, Resource::Jobs].into_iter();
        let resource = kinds.into_iter().find(|resource| text("kind") == Some(resource.kind()));
        let key = resource.map(|resource| Key::new(resource, namespace, text("name").unwrap_or_default()));
        Self { uid: text("uid").map(str::to_owned), key }
    }
}

fn controller(metadata: &Value) -> Option<&Value> {
    let owners = metadata.get("ownerReferences")?.as_array()?;
    owners.iter().find(|owner| owner.get("controller") == Some(&Value::Bool(true)))
}

impl Metadata {
    /// Metadata with these labels, which others have, too.
    pub(crate) fn with_labels(json: Value, labels: &Arc<Value>) -> Self {
        Self { labels: Some(Arc::clone(labels)), ..Self::from(json) }
    }

    /// Whether it has the labels that it was made with, and they are these.
    pub(crate) fn shares_labels(&self, labels: &Arc<Value>) -> bool {
        self.labels.as_ref().is_some_and(|own| Arc::ptr_eq(own, labels))
    }

    pub(crate) fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| Facts::read(&self.json))
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.json.get("annotations")?.get(key)?.as_str()
    }

    /// Its JSON, to be changed.
    pub fn edit(&mut self) -> &mut Value {
        self.labels = None;
        self.facts = OnceLock::new();
        &mut self.json
    }

    /// Sets a member; null removes it.
    pub(crate) fn set(&mut self, field: &str, value: Value) {
        let labels = self.labels.take().filter(|_| field != "labels");
        if let Some(members) = self.edit().as_object_mut() {
            if value.is_null() {
                members.remove(field);
            } else {
                members.insert(field.to_owned(), value);
            }
        }
        self.labels = labels;
    }
}

impl From<Value> for Metadata {
    fn from(json: Value) -> Self {
        Self { json, facts: OnceLock::new(), labels: None }
    }
}

impl Clone for Metadata {
    fn clone(&self) -> Self {
        Self { json: self.json.clone(), facts: OnceLock::new(), labels: self.labels.clone() }
    }
}

impl Deref for Metadata {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.json
    }
}

impl PartialEq for Metadata {
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json
    }
}

impl Eq for Metadata {}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.json.fmt(f)
    }
}
