//! One version of an object.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::resource::Resource;

/// One version of an object, as JSON. Its parts are shared between versions that don't differ in
/// them, so a version costs what it changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// What kind it is.
    pub resource: Resource,
    /// `metadata`.
    pub metadata: Arc<Value>,
    /// `spec`; null when absent.
    pub spec: Arc<Value>,
    /// `status`; null when absent.
    pub status: Arc<Value>,
    /// Every other member but `apiVersion` and `kind`.
    pub rest: Arc<Map<String, Value>>,
}

impl Object {
    /// Takes JSON apart. `apiVersion` and `kind` are the resource's.
    #[must_use]
    pub fn from_value(resource: Resource, value: Value) -> Self {
        let mut members = match value {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        members.remove("apiVersion");
        members.remove("kind");
        let mut part = |name: &str| Arc::new(members.remove(name).unwrap_or(Value::Null));
        let (metadata, spec, status) = (part("metadata"), part("spec"), part("status"));
        let metadata = if metadata.is_object() { metadata } else { Arc::new(Value::Object(Map::new())) };
        Self { resource, metadata, spec, status, rest: Arc::new(members) }
    }

    /// The whole as JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut members = Map::clone(&self.rest);
        members.insert("apiVersion".to_owned(), Value::from(self.resource.api_version()));
        members.insert("kind".to_owned(), Value::from(self.resource.kind()));
        members.insert("metadata".to_owned(), Value::clone(&self.metadata));
        if !self.spec.is_null() {
            members.insert("spec".to_owned(), Value::clone(&self.spec));
        }
        if !self.status.is_null() {
            members.insert("status".to_owned(), Value::clone(&self.status));
        }
        Value::Object(members)
    }

    fn text(&self, field: &str) -> &str {
        self.metadata.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// `metadata.namespace`; empty when it has none.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.text("namespace")
    }

    /// `metadata.name`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text("name")
    }

    /// `metadata.uid`.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.text("uid")
    }

    /// `metadata.resourceVersion`.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.text("resourceVersion").parse().unwrap_or(0)
    }

    /// `metadata.generation`.
    #[must_use]
    pub fn generation(&self) -> i64 {
        self.metadata.get("generation").and_then(Value::as_i64).unwrap_or(0)
    }

    /// Whether a `metadata.deletionTimestamp` is set.
    #[must_use]
    pub fn is_deleting(&self) -> bool {
        self.metadata.get("deletionTimestamp").is_some_and(|value| !value.is_null())
    }

    /// A label.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata.get("labels")?.get(key)?.as_str()
    }

    /// An annotation.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.get("annotations")?.get(key)?.as_str()
    }

    /// `metadata.finalizers`.
    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        let finalizers = self.metadata.get("finalizers").and_then(Value::as_array);
        finalizers.into_iter().flatten().filter_map(Value::as_str)
    }

    /// `metadata.ownerReferences`.
    pub fn owners(&self) -> impl Iterator<Item = &Value> {
        self.metadata.get("ownerReferences").and_then(Value::as_array).into_iter().flatten()
    }

    /// The uids of `metadata.ownerReferences`.
    pub fn owner_uids(&self) -> impl Iterator<Item = &str> {
        self.owners().filter_map(|owner| owner.get("uid")?.as_str())
    }

    /// uid of the owner reference with `controller: true`.
    #[must_use]
    pub fn controller_uid(&self) -> Option<&str> {
        let mut owners = self.owners();
        let controller = owners.find(|owner| owner.get("controller") == Some(&Value::Bool(true)))?;
        controller.get("uid")?.as_str()
    }

    /// An integer of the spec.
    #[must_use]
    pub fn spec_number(&self, field: &str) -> Option<i64> {
        self.spec.get(field)?.as_i64()
    }

    /// An integer of the status.
    #[must_use]
    pub fn status_number(&self, field: &str) -> Option<i64> {
        self.status.get(field)?.as_i64()
    }

    /// Sets a member of `metadata`; null removes it.
    pub fn set_metadata(&mut self, field: &str, value: Value) {
        let Some(members) = Arc::make_mut(&mut self.metadata).as_object_mut() else { return };
        if value.is_null() {
            members.remove(field);
        } else {
            members.insert(field.to_owned(), value);
        }
    }
}
