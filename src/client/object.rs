//! Objects as they travel between the operator and the API server: JSON, with the little that kube needs.
//!
//! Nothing is decoded here. So no object can break the watch that delivers it, and no unknown field is
//! lost. `unread.rs` reads them.

use std::borrow::Cow;
use std::fmt;

use api::decode::Parts;
use engine::rivalry::{ManagedFields, Writer};
use kube::api::ObjectMeta;
use kube::core::DynamicResourceScope;
use plan::Flavour;
use plan::template::Template;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// The kinds of objects that the operator reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Deployment(Flavour),
    ReplicaSet,
    Job,
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
    /// What was read as a tree: all but the template.
    pub(crate) body: Value,
    /// `spec.template`, as text.
    pub(crate) template: Option<Template>,
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
        Self { metadata, body, template: None, status_writer: None }
    }

    /// What a decoder reads.
    pub(crate) fn parts(&self) -> Parts<'_> {
        let parts = Parts::from(&self.body);
        match &self.template {
            Some(template) => Parts { template: template.into(), ..parts },
            None => parts,
        }
    }

    #[cfg(test)]
    pub(crate) fn whole(&self) -> Value {
        let mut body = self.body.clone();
        if let Some(template) = &self.template {
            body["spec"]["template"] = template.tree();
        }
        body
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

/// `metadata` with little of its `managedFields`: those are about half of an object's size, and hardly
/// anything of them is read, so they are skipped in the text.
pub(crate) struct Metadata {
    pub(crate) members: Map<String, Value>,
    pub(crate) status_writer: Option<Writer>,
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MetadataVisitor)
    }
}

struct MetadataVisitor;

impl<'de> Visitor<'de> for MetadataVisitor {
    type Value = Metadata;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Metadata, A::Error> {
        let mut metadata = Metadata { members: Map::new(), status_writer: None };
        while let Some(name) = members.next_key::<String>()? {
            if name == "managedFields" {
                let managed: ManagedFields = members.next_value()?;
                // Nothing else of them reaches the decoder.
                let owners = managed.owners().map(|owners| (name, owners));
                metadata.members.extend(owners);
                metadata.status_writer = Writer::of_status(managed);
            } else {
                metadata.members.insert(name, members.next_value()?);
            }
        }
        Ok(metadata)
    }
}

/// What a write returns, as far as anybody reads it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Written {
    metadata: Stamp,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Stamp {
    resource_version: String,
}

impl Written {
    pub(crate) fn resource_version(&self) -> &str {
        &self.metadata.resource_version
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
            Kind::Job => "Job",
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
            Kind::Job => "batch",
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
            Kind::Job => "jobs",
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

/// An object, and what its watch keeps besides.
#[derive(Clone, Debug)]
pub(crate) struct With<T> {
    pub(crate) object: Object,
    pub(crate) more: T,
}

impl<T> kube::Resource for With<T> {
    type DynamicType = Kind;
    type Scope = DynamicResourceScope;

    fn kind(kind: &Kind) -> Cow<'_, str> {
        Object::kind(kind)
    }

    fn group(kind: &Kind) -> Cow<'_, str> {
        Object::group(kind)
    }

    fn version(kind: &Kind) -> Cow<'_, str> {
        Object::version(kind)
    }

    fn plural(kind: &Kind) -> Cow<'_, str> {
        Object::plural(kind)
    }

    fn meta(&self) -> &ObjectMeta {
        self.object.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.object.meta_mut()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_is_kept_but_who_manages_which_field() {
        let entry = json!({"manager": "kubectl", "operation": "Update", "time": "2026-04-01T12:00:00Z",
            "subresource": "status", "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {"f:replicas": {}}}});
        let plain = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"namespace": "ns", "name": "web", "uid": "u", "resourceVersion": "7", "new": [1, null]},
            "spec": {"template": {"spec": {"unknown": {"deep": [{}, 1.5, "\u{0}"]}}}}, "status": null, "else": 1,
        });
        let mut managed = plain.clone();
        managed["metadata"]["managedFields"] = json!([entry, {"manager": null}, {}]);
        for (sent, writer) in [(&plain, None), (&managed, Some("kubectl"))] {
            let object: Object = serde_json::from_str(&sent.to_string()).unwrap();
            assert_eq!(object.whole(), plain);
            assert_eq!((object.name(), object.uid(), object.resource_version()), ("web", "u", "7"));
            assert_eq!(object.status_writer.as_ref().map(|writer| writer.manager.as_str()), writer);
        }
        managed["metadata"]["managedFields"][1] = json!({"manager": "kubectl", "operation": "Update",
            "subresource": null, "time": "2026-04-01T12:00:00Z", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:annotations": {"f:x": {}}},
                "f:spec": {"f:paused": {}, "f:template": {"f:spec": {"f:x": {}}}}}});
        managed["metadata"]["managedFields"][2] = json!({"manager": "alice", "operation": "Update",
            "time": "2026-04-01T12:00:00Z",
            "fieldsV1": {"f:metadata": {"f:annotations": {"f:rollwright.dev/promote": {}, "f:x": {}}}}});
        // Who owns another field of the spec may have removed one.
        let other = json!({"manager": "argocd", "operation": "Apply", "time": "2026-04-01T12:00:00Z",
            "fieldsV1": {"f:spec": {"f:paused": {}}}});
        // Server-side apply needs to know what it owns.
        let label = json!({"manager": "shop", "operation": "Apply", "time": "2026-04-01T12:00:00Z",
            "fieldsV1": {"f:metadata": {"f:labels": {"f:team": {}}}}});
        managed["metadata"]["managedFields"].as_array_mut().unwrap().extend([other, label]);
        let object: Object = serde_json::from_str(&managed.to_string()).unwrap();
        let owners = json!([{"manager": "kubectl", "operation": "Update", "subresource": null,
            "time": "2026-04-01T12:00:00Z", "fieldsV1": {"f:spec": {"f:template": {}}}},
            {"manager": "alice", "operation": "Update", "subresource": null, "time": "2026-04-01T12:00:00Z",
            "fieldsV1": {"f:metadata": {"f:annotations": {"f:rollwright.dev/promote": {}}}}},
            {"manager": "argocd", "operation": "Apply", "subresource": null, "time": "2026-04-01T12:00:00Z",
            "fieldsV1": {"f:spec": {}}},
            {"manager": "shop", "operation": "Apply", "subresource": null, "time": "2026-04-01T12:00:00Z",
            "fieldsV1": {}}]);
        assert_eq!(object.body["metadata"]["managedFields"], owners);
        for odd in [json!({}), json!({"metadata": null}), json!({"metadata": {"managedFields": null}})] {
            let object: Object = serde_json::from_value(odd.clone()).unwrap();
            assert_eq!((object.name(), object.status_writer.is_none()), ("", true), "{odd}");
        }
    }

    #[test]
    fn of_an_answer_to_a_write_the_version_is_read() {
        let version =
            |answer: Value| serde_json::from_value::<Written>(answer).unwrap().resource_version().to_owned();
        assert_eq!(version(json!({"metadata": {"resourceVersion": "7", "name": "web"}, "spec": {}})), "7");
        assert_eq!(version(json!({"kind": "Status", "metadata": {}})), "");
    }
}
