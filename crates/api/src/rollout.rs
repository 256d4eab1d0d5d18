//! `status.rollout`, `status.history`, and `status.lastScale`: what was rolled out, by whom, and how it ended.
//! Any writer may have written what is stored, so what cannot be read counts as absent.

#![expect(unreachable_pub, reason = "kube's derive copies the structs into functions")]

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube_derive::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::stored::time;

/// The most bytes that a record has as JSON; what has more is none.
const RECORD_BYTES_MAX: usize = 3000;
/// All ids are below this: what every reader of JSON can hold.
const ID_MAX: i64 = (1 << 53) - 1;

/// One rollout: `status.rollout` while it runs, an entry of `status.history` once it has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "")]
#[x_kube(crates(kube_core = "::kube_core"))]
pub struct Rollout {
    /// Counts the rollouts of the Deployment, from 1. A revision can be rolled out twice.
    #[schemars(range(min = 1))]
    pub id: i64,

    /// Revision that is rolled out.
    #[schemars(range(min = 0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,

    /// Value of the label pod-template-hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,

    /// Revision before; absent for the first rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,

    /// Images by container, at most eight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<BTreeMap<String, String>>,

    /// Number of images that `images` leaves out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_images: Option<i64>,

    /// Why it began: NewImage, Restart, Rollback, Pin, Revert, or TemplateChanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,

    /// Who changed the template. After a rollback, who asked for it; of a pin, who set it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,

    /// The annotation kubernetes.io/change-cause; of a pin, its reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,

    /// When the operator began it.
    #[serde(default, deserialize_with = "time", skip_serializing_if = "Option::is_none")]
    pub started: Option<Time>,

    /// Step at which it is, counted from 1. This and the next four are absent without steps, and once it has ended.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<i64>,

    /// Number of steps, with the last one of 100%, also where that is implied.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<i64>,

    /// Pods with the new template.
    #[schemars(range(min = 0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated: Option<i64>,

    /// Pods that are to have it at this step.
    #[schemars(range(min = 0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub want: Option<i64>,

    /// Since when it rests at this step; absent while it is on its way there.
    #[serde(default, deserialize_with = "time", skip_serializing_if = "Option::is_none")]
    pub resting_since: Option<Time>,

    /// Promotions of the revision, oldest first, at most the last 20. An earlier record of the same revision can have
    /// some of them, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promotions: Option<Vec<Promotion>>,

    /// When it ended.
    #[serde(default, deserialize_with = "time", skip_serializing_if = "Option::is_none")]
    pub ended: Option<Time>,

    /// How it ended: Succeeded, Failed, Superseded, or Cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,

    /// Why it failed, one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,

    /// Why it failed, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    /// The fewest available pods that the status reported meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowest_available: Option<i64>,

    /// The most pods that the status reported meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highest_pods: Option<i64>,

    /// Digests of parts of the template. The operator compares them to find the next trigger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outline: Option<String>,
}

/// Who made a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "")]
pub struct Author {
    /// Field manager, from metadata.managedFields. Example: argocd-controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manager: Option<String>,
    /// Apply or Update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The person, from the annotation rollwright.dev/changed-by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// One promotion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "")]
pub struct Promotion {
    /// Step that it leads to, counted from 1.
    #[schemars(range(min = 1))]
    pub step: i64,
    /// Field manager of the annotation rollwright.dev/promote, from metadata.managedFields. Example: kubectl-annotate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manager: Option<String>,
    /// When the operator carried it out.
    #[serde(default, deserialize_with = "time", skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
}

/// The last change of spec.replicas. What is absent is written as null, so that a merge patch removes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "The last change of spec.replicas.")]
pub struct LastScale {
    /// Number of pods before.
    pub from: i64,
    /// Number of pods after.
    pub to: i64,
    /// Field manager, from metadata.managedFields. Example: kube-controller-manager.
    pub manager: Option<String>,
    /// The subresource that was written; scale for an autoscaler.
    pub subresource: Option<String>,
    /// When.
    #[serde(default, deserialize_with = "time")]
    pub at: Option<Time>,
}

/// A rollout as stored.
pub(crate) fn rollout<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Rollout>, D::Error> {
    let value = Option::<Value>::deserialize(deserializer)?;
    Ok(value.as_ref().map(read).filter(|rollout| is_id(rollout.id)))
}

/// The history as stored. An entry that cannot be read has no id, and what is no list has no entry.
pub(crate) fn history<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Rollout>>, D::Error> {
    let value = Option::<Value>::deserialize(deserializer)?;
    Ok(value.map(|value| value.as_array().into_iter().flatten().map(read).collect()))
}

/// What cannot be read is not shown.
pub(crate) fn last_scale<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<LastScale>, D::Error> {
    let value = Option::<Value>::deserialize(deserializer)?;
    Ok(value.and_then(|value| LastScale::deserialize(value).ok()))
}

fn read(value: &Value) -> Rollout {
    let is_small = weight(value) <= RECORD_BYTES_MAX;
    if is_small { Rollout::deserialize(value).unwrap_or_default() } else { Rollout::default() }
}

pub(crate) fn is_id(id: i64) -> bool {
    (1..ID_MAX).contains(&id)
}

/// Not more than the bytes of a value as JSON.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + 2,
        Value::Object(members) => {
            members.iter().map(|(key, member)| key.len() + 3 + weight(member)).sum::<usize>() + 2
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}
