//! `status.memory`: what the operator has to know again after a restart, and what nobody else should read. The schema
//! names none of its fields, so that a newer operator can change them. Any writer may have written what is stored, so
//! each field that cannot be read counts as absent.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use crate::stored::{count, lenient, time};

/// Rollbacks that count towards the limit; more are never stored.
const ROLLBACKS_MAX: usize = 3;

/// The operator's memory. Programs that use the API neither read it nor write it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// Since when the current revision, complete, has kept its minimum of available pods (FP-1).
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) bake: Option<Bake>,
    /// The most pods of the current revision that there ever were, by which the operator recognizes progress (FP-3).
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) marks: Option<Marks>,
    /// `spec.replicas` when the status was written, by which the operator recognizes a change of it.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) replicas: Option<i64>,
    /// Digests of parts of the template of the last rollout, by which the operator finds the next trigger.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) outline: Option<String>,
    /// Names that were taken when the operator tried to create the ReplicaSet of the current template (NS-1).
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) collisions: Option<Collisions>,
    /// Rollbacks of the last ten minutes, oldest first, by which the operator recognizes a request that keeps returning
    /// (S10.8).
    #[serde(default, deserialize_with = "rollbacks")]
    pub(crate) rollbacks: Option<Vec<RecentRollback>>,
}

impl JsonSchema for Memory {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Memory".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "x-kubernetes-preserve-unknown-fields": true,
        })
    }
}

/// A revision that bakes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Bake {
    /// The revision.
    pub(crate) revision: i64,
    /// Since when.
    #[serde(default, deserialize_with = "time")]
    pub(crate) start_time: Option<Time>,
}

/// High-water marks of a revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Marks {
    /// The revision.
    pub(crate) revision: i64,
    /// `spec.replicas`, at which they were reached.
    pub(crate) replicas: i64,
    /// Pods.
    pub(crate) updated: i64,
    /// Ready pods.
    pub(crate) ready: i64,
    /// Available pods.
    pub(crate) available: i64,
    /// Whether all its pods were available at some time, at any number of replicas.
    #[serde(default)]
    pub(crate) complete: bool,
}

/// How often the name for a template's ReplicaSet was taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Collisions {
    /// Fingerprint of the template.
    pub(crate) template: Option<String>,
    /// Number of collisions since the template was set.
    #[serde(default, deserialize_with = "count")]
    pub(crate) count: Option<i32>,
    /// Time of the last collision.
    #[serde(default, deserialize_with = "time")]
    pub(crate) time: Option<Time>,
}

/// One rollback of the last ten minutes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecentRollback {
    /// Time of the decision.
    #[serde(default, deserialize_with = "time")]
    pub(crate) time: Option<Time>,
    /// Fingerprint of the template that was replaced.
    pub(crate) from: Option<String>,
    /// Fingerprint of the template that was restored.
    pub(crate) to: Option<String>,
}

/// The last ones, if they can be read.
fn rollbacks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<RecentRollback>>, D::Error> {
    let stored: Option<Vec<RecentRollback>> = lenient(deserializer)?;
    Ok(stored.map(|mut stored| stored.split_off(stored.len().saturating_sub(ROLLBACKS_MAX))))
}
