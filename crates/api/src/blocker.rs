//! `status.blockers`: what blocks a rollout. Any writer may have written what is stored, so what cannot be read
//! counts as absent.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::stored::{count, time};

/// The most entries of `status.blockers`.
pub(crate) const BLOCKERS_MAX: usize = 5;
/// The longest message of a blocker, in characters.
pub const BLOCKER_MESSAGE_MAX: usize = 400;

/// One entry of `status.blockers`: a cause that blocks the rollout, and in how many pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "")]
pub struct Blocker {
    /// Cause that keeps pods from being available, in one word. Example: ImagePull.
    pub cause: String,

    /// Number of pods that have this cause.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count", skip_serializing_if = "Option::is_none")]
    pub pods: Option<i32>,

    /// How many pods of the ReplicaSet the operator examined, whether or not they have this cause.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count", skip_serializing_if = "Option::is_none")]
    pub total_pods: Option<i32>,

    /// Name of the container that has this cause; absent if whole pods have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,

    /// Reason that Kubernetes gives for this cause. Example: ImagePullBackOff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,

    /// Explanation for people, to be read after words such as "2 of 4 pods". Example: cannot pull the image web:2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    /// When the operator first reported this cause.
    #[serde(default, deserialize_with = "time", skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
}

/// Entries that are none count as absent, because any writer may have written them.
pub(crate) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Blocker>>, D::Error> {
    let stored = Option::<Value>::deserialize(deserializer)?;
    let Some(Value::Array(entries)) = stored else { return Ok(None) };
    let read = entries.into_iter().filter_map(|entry| serde_json::from_value(entry).ok());
    let cut = |blocker: Blocker| Blocker { message: blocker.message.map(short), ..blocker };
    Ok(Some(read.map(cut).take(BLOCKERS_MAX).collect()))
}

fn short(text: String) -> String {
    match text.char_indices().nth(BLOCKER_MESSAGE_MAX) {
        Some((end, _)) => text.get(..end).unwrap_or_default().to_owned(),
        None => text,
    }
}
