//! Who wrote a status last, by `metadata.managedFields`.

use std::fmt;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

/// The operator's name in `metadata.managedFields`.
pub const FIELD_MANAGER: &str = "rollwright";

/// Who wrote a status last, and when, by `metadata.managedFields`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// `manager` of the entry.
    pub manager: String,
    /// As it stands there: whole seconds.
    pub(super) time: String,
}

impl Writer {
    /// The last one that wrote the subresource `status`. Of two in the same second it is the
    /// other, since who asks knows its own writes by their versions.
    #[must_use]
    pub fn of_status(managed_fields: ManagedFields) -> Option<Self> {
        let entries = managed_fields.0.into_iter();
        let of_status = entries.filter(|entry| entry.subresource.as_deref() == Some("status"));
        let writers = of_status.map(|entry| Self {
            manager: entry.manager.unwrap_or_default(),
            time: entry.time.unwrap_or_default(),
        });
        writers.max_by(|a, b| (&a.time, a.is_foreign()).cmp(&(&b.time, b.is_foreign())))
    }

    pub(super) fn is_foreign(&self) -> bool {
        self.manager != FIELD_MANAGER
    }
}

/// `metadata.managedFields`; empty if it is no list, since one odd object must not end a watch.
#[derive(Debug, Default)]
pub struct ManagedFields(Vec<Managed>);

impl<'de> Deserialize<'de> for ManagedFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ManagedFieldsVisitor)
    }
}

struct ManagedFieldsVisitor;

impl<'de> Visitor<'de> for ManagedFieldsVisitor {
    type Value = ManagedFields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("managed fields")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<ManagedFields, A::Error> {
        let mut managed = ManagedFields::default();
        while let Some(entry) = entries.next_element()? {
            managed.0.push(entry);
        }
        Ok(managed)
    }

    fn visit_unit<E>(self) -> Result<ManagedFields, E> {
        Ok(ManagedFields::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<ManagedFields, E> {
        Ok(ManagedFields::default())
    }
}

impl ManagedFields {
    /// The entries that own a part of `spec`, or an annotation that somebody asks about, with nothing but that, and those
    /// of server-side apply; `None` if there is none.
    #[must_use]
    pub fn owners(&self) -> Option<Value> {
        let owners: Vec<Value> = self.0.iter().filter_map(Managed::owner).collect();
        (!owners.is_empty()).then(|| owners.into())
    }
}

/// One entry of `metadata.managedFields`; of the fields, only those that somebody asks about.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Managed {
    manager: Option<String>,
    operation: Option<String>,
    time: Option<String>,
    subresource: Option<String>,
    #[serde(rename = "fieldsV1")]
    fields: Option<Fields>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Fields {
    #[serde(rename = "f:spec")]
    spec: Option<Spec>,
    #[serde(rename = "f:metadata")]
    metadata: Option<Metadata>,
}

/// What is below these fields is skipped in the text: it is most of an object.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Spec {
    #[serde(rename = "f:template")]
    template: Option<IgnoredAny>,
    #[serde(rename = "f:rollbackTo")]
    rollback: Option<IgnoredAny>,
    #[serde(rename = "f:replicas")]
    replicas: Option<IgnoredAny>,
    #[serde(rename = "f:pin")]
    pin: Option<IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    #[serde(rename = "f:annotations")]
    annotations: Option<Annotations>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Annotations {
    #[serde(rename = "f:rollwright.dev/promote")]
    promote: Option<IgnoredAny>,
}

impl Managed {
    fn owner(&self) -> Option<Value> {
        let Fields { spec, metadata } = self.fields.as_ref()?;
        let applies = self.operation.as_deref() == Some(api::authors::APPLY);
        let owned =
            spec.as_ref().map_or([None; 4], |spec| [spec.template, spec.rollback, spec.replicas, spec.pin]);
        let owned = api::authors::FIELDS.into_iter().zip(owned).filter(|(_, owned)| owned.is_some());
        let owned: Map<String, Value> = owned.map(|(name, _)| (name.to_owned(), json!({}))).collect();
        let promote = metadata.as_ref().and_then(|metadata| metadata.annotations.as_ref()?.promote);
        let mut fields = Map::new();
        if spec.is_some() {
            fields.insert("f:spec".to_owned(), owned.into());
        }
        if promote.is_some() {
            let annotations = json!({ "f:annotations": { api::authors::PROMOTE: {} } });
            fields.insert("f:metadata".to_owned(), annotations);
        }
        (applies || !fields.is_empty()).then(|| {
            json!({
                "manager": self.manager, "operation": self.operation, "subresource": self.subresource,
                "time": self.time, "fieldsV1": fields,
            })
        })
    }
}
