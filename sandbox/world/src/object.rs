//! One version of an object.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::metadata::Metadata;
use crate::resource::Resource;
use crate::status::Status;
use crate::store::key::Key;

/// The member of `metadata` that every write changes.
const VERSION: &str = "resourceVersion";

/// One version of an object, as JSON. Its parts are shared between versions that don't differ in
/// them, so a version costs what it changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// What kind it is.
    pub resource: Resource,
    /// `metadata.resourceVersion`; 0 when it has none.
    pub version: u64,
    /// `metadata`, without a resourceVersion that is a number.
    pub metadata: Arc<Metadata>,
    /// `spec`; null when absent.
    pub spec: Arc<Value>,
    /// `status`; null when absent.
    pub status: Arc<Status>,
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
        let mut metadata = match members.remove("metadata") {
            Some(Value::Object(metadata)) => metadata,
            _ => Map::new(),
        };
        let version = take_version(&mut metadata).unwrap_or(0);
        let mut part = |name: &str| members.remove(name).unwrap_or(Value::Null);
        let (spec, status) = (Arc::new(part("spec")), Arc::new(part("status").into()));
        let (metadata, rest) = (Arc::new(Value::Object(metadata).into()), Arc::new(members));
        Self { resource, version, metadata, spec, status, rest }
    }

    /// An object that nobody has stored yet.
    pub(crate) fn new(resource: Resource, metadata: Metadata, spec: Arc<Value>) -> Self {
        let (metadata, status) = (Arc::new(metadata), Arc::new(Value::Null.into()));
        Self { resource, version: 0, metadata, spec, status, rest: Arc::default() }
    }

    /// The whole as JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut members = Map::clone(&self.rest);
        members.insert("apiVersion".to_owned(), Value::from(self.resource.api_version()));
        members.insert("kind".to_owned(), Value::from(self.resource.kind()));
        members.insert("metadata".to_owned(), self.whole_metadata());
        if !self.spec.is_null() {
            members.insert("spec".to_owned(), Value::clone(&self.spec));
        }
        if !self.status.is_null() {
            members.insert("status".to_owned(), Value::clone(&self.status));
        }
        Value::Object(members)
    }

    /// `metadata` as JSON, the resourceVersion in it.
    #[must_use]
    pub fn whole_metadata(&self) -> Value {
        let mut metadata = Value::clone(&self.metadata);
        if let Some(members) = metadata.as_object_mut().filter(|_| self.version > 0) {
            members.insert(VERSION.to_owned(), Value::from(self.version.to_string()));
        }
        metadata
    }

    /// The resourceVersion as it was written: a number, or whatever somebody sent instead.
    pub(crate) fn stated_version(&self) -> Option<String> {
        let stated = Some(self.version).filter(|version| *version > 0).map(|version| version.to_string());
        let other = || self.metadata.get(VERSION).and_then(Value::as_str).map(str::to_owned);
        let other = if self.metadata.facts().has_odd_version { other() } else { None };
        other.filter(|text| !text.is_empty()).or(stated)
    }

    /// `metadata.namespace`; empty when it has none.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.metadata.facts().namespace
    }

    /// `metadata.name`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.metadata.facts().name
    }

    /// `metadata.uid`.
    #[must_use]
    pub fn uid(&self) -> &str {
        &self.metadata.facts().uid
    }

    /// `metadata.resourceVersion`.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Sets `metadata.resourceVersion`.
    pub fn set_version(&mut self, version: u64) {
        self.version = version;
        if self.metadata.facts().has_odd_version {
            self.set_metadata(VERSION, Value::Null);
        }
    }

    /// Takes over the `metadata` of a patch; its resourceVersion stays apart.
    pub(crate) fn put_metadata(&mut self, mut metadata: Value) {
        if let Some(version) = metadata.as_object_mut().and_then(take_version) {
            self.version = version;
        }
        self.metadata = Arc::new(metadata.into());
    }

    /// `metadata.generation`.
    #[must_use]
    pub fn generation(&self) -> i64 {
        self.metadata.facts().generation
    }

    /// Whether a `metadata.deletionTimestamp` is set.
    #[must_use]
    pub fn is_deleting(&self) -> bool {
        self.metadata.facts().is_deleting
    }

    /// A label.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata.get("labels")?.get(key)?.as_str()
    }

    /// An annotation.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotation(key)
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
        self.metadata.facts().controller.as_ref()?.uid.as_deref()
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

    /// Sets a member of `metadata`, but its resourceVersion; null removes it.
    pub fn set_metadata(&mut self, field: &str, value: Value) {
        if value.is_null() && self.metadata.get(field).is_none() {
            return;
        }
        Arc::make_mut(&mut self.metadata).set(field, value);
    }
}

impl Key {
    /// The name of an object.
    #[must_use]
    pub fn of(object: &Object) -> Self {
        Self::new(object.resource, object.namespace(), object.name())
    }
}

/// Takes a resourceVersion out that the server could have written.
fn take_version(metadata: &mut Map<String, Value>) -> Option<u64> {
    let version = version_of(metadata.get(VERSION)?)?;
    metadata.remove(VERSION);
    Some(version)
}

/// The number that a resourceVersion is, if the server could have written it.
pub(crate) fn version_of(value: &Value) -> Option<u64> {
    let text = value.as_str()?;
    let version = text.parse().ok().filter(|version| *version > 0)?;
    (text == u64::to_string(&version)).then_some(version)
}
