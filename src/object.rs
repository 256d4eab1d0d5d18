//! Objects as they travel between us and the API server: JSON, with the little that kube needs.
//!
//! Nothing is decoded here, so no object can break the watch that brings it, and no field that
//! we do not know is lost.

use std::borrow::Cow;

use kube::api::ObjectMeta;
use kube::core::DynamicResourceScope;
use plan::Flavour;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::rivalry::Writer;

/// The kinds of objects that the operator reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Deployment(Flavour),
    ReplicaSet,
    Pod,
    Event,
    Crd,
    Lease,
    Namespace,
    TokenReview,
    SubjectAccessReview,
}

/// An object of any [`Kind`].
#[derive(Clone, Debug)]
pub(crate) struct Object {
    metadata: ObjectMeta,
    pub(crate) body: Value,
    /// All that is kept of `metadata.managedFields`.
    pub(crate) status_writer: Option<Writer>,
}

impl Object {
    pub(crate) fn new(body: Value) -> Self {
        let text = |field: &str| body.pointer(field).and_then(Value::as_str).map(str::to_owned);
        let metadata = ObjectMeta {
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
            uid: text("/metadata/uid"),
            resource_version: text("/metadata/resourceVersion"),
            ..ObjectMeta::default()
        };
        Self { metadata, body, status_writer: None }
    }

    pub(crate) fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    pub(crate) fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    pub(crate) fn resource_version(&self) -> &str {
        self.metadata.resource_version.as_deref().unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut body = Value::deserialize(deserializer)?;
        let metadata = body.get_mut("metadata").and_then(Value::as_object_mut);
        // About half of an object's size, and hardly anything of it is read.
        let managed_fields = metadata.and_then(|metadata| metadata.remove("managedFields"));
        let status_writer = managed_fields.as_ref().and_then(Writer::of_status);
        Ok(Self { status_writer, ..Self::new(body) })
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.body.serialize(serializer)
    }
}

impl kube::Resource for Object {
    type DynamicType = Kind;
    type Scope = DynamicResourceScope;

    fn kind(kind: &Kind) -> Cow<'_, str> {
        Cow::Borrowed(match kind {
            Kind::Deployment(_) => "Deployment",
            Kind::ReplicaSet => "ReplicaSet",
            Kind::Pod => "Pod",
            Kind::Event => "Event",
            Kind::Crd => "CustomResourceDefinition",
            Kind::Lease => "Lease",
            Kind::Namespace => "Namespace",
            Kind::TokenReview => "TokenReview",
            Kind::SubjectAccessReview => "SubjectAccessReview",
        })
    }

    fn group(kind: &Kind) -> Cow<'_, str> {
        Cow::Borrowed(match kind {
            Kind::Deployment(flavour) => flavour.api_version().split_once('/').map_or("", |(group, _)| group),
            Kind::ReplicaSet => "apps",
            Kind::Pod | Kind::Event | Kind::Namespace => "",
            Kind::Crd => "apiextensions.k8s.io",
            Kind::Lease => "coordination.k8s.io",
            Kind::TokenReview => "authentication.k8s.io",
            Kind::SubjectAccessReview => "authorization.k8s.io",
        })
    }

    fn version(_: &Kind) -> Cow<'_, str> {
        Cow::Borrowed("v1")
    }

    fn plural(kind: &Kind) -> Cow<'_, str> {
        Cow::Borrowed(match kind {
            Kind::Deployment(_) => "deployments",
            Kind::ReplicaSet => "replicasets",
            Kind::Pod => "pods",
            Kind::Event => "events",
            Kind::Crd => "customresourcedefinitions",
            Kind::Lease => "leases",
            Kind::Namespace => "namespaces",
            Kind::TokenReview => "tokenreviews",
            Kind::SubjectAccessReview => "subjectaccessreviews",
        })
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
