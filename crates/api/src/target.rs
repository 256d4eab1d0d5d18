//! `status.target`: what runs instead of the declared revision; and what a failure policy goes by. Any writer may have
//! written what is stored, so what cannot be read counts as absent.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::stored::time;

/// What runs instead of the declared revision, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "What runs instead of the declared revision; absent while the declared one runs.")]
pub struct Target {
    /// Revision that runs; absent if its ReplicaSet is gone.
    #[schemars(range(min = 0))]
    pub revision: Option<i64>,

    /// Label pod-template-hash of its ReplicaSet.
    pub hash: Option<String>,

    /// Why: Pinned by spec.pin, PinTargetMissing when that names no ReplicaSet, Reverted by the failure
    /// policy, or Aborted by somebody.
    pub because: Option<String>,

    /// Revision of the template, which does not run.
    #[schemars(range(min = 0))]
    pub declared_revision: Option<i64>,
}

/// What is stored, if it can be read.
pub(crate) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Target>, D::Error> {
    lenient(deserializer)
}

/// Where a revert would go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fallback {
    /// Revision that would run.
    #[schemars(range(min = 0))]
    pub revision: Option<i64>,
    /// Label pod-template-hash of its ReplicaSet.
    pub hash: Option<String>,
}

/// A revision that bakes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bake {
    /// The revision.
    #[schemars(range(min = 0))]
    pub revision: i64,
    /// Since when.
    #[serde(default, deserialize_with = "time")]
    pub since: Option<Time>,
}

/// High-water marks of a revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Marks {
    /// The revision.
    pub revision: i64,
    /// spec.replicas, at which they were reached.
    pub replicas: i64,
    /// Pods.
    pub updated: i64,
    /// Ready pods.
    pub ready: i64,
    /// Available pods.
    pub available: i64,
    /// Whether all its pods were available at some time, at any number of replicas.
    #[serde(default)]
    pub complete: bool,
}

/// As [`read`].
pub(crate) fn fallback<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Fallback>, D::Error> {
    lenient(deserializer)
}

/// As [`read`].
pub(crate) fn bake<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Bake>, D::Error> {
    lenient(deserializer)
}

/// As [`read`].
pub(crate) fn marks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Marks>, D::Error> {
    lenient(deserializer)
}

fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    let stored = Option::<Value>::deserialize(deserializer)?;
    Ok(stored.and_then(|stored| T::deserialize(stored).ok()))
}
