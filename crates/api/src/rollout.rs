//! `status.rollout`, `status.history`, and `status.lastScale`: what was rolled out, by whom, and how it ended.
//! Any writer may have written what is stored, so what cannot be read counts as absent.

#![expect(unreachable_pub, reason = "kube's derive copies the structs into functions")]

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube_derive::KubeSchema;
use plan::RECORDS_MAX;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
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
    /// Number of the rollout, counted from 1 for each Deployment. A revision can be rolled out more than once.
    #[schemars(range(min = 1))]
    pub id: i64,

    /// Revision that is rolled out.
    #[schemars(range(min = 0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,

    /// Value of the label pod-template-hash of the ReplicaSet of this revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_template_hash: Option<String>,

    /// Revision that ran before this rollout; absent for the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,

    /// Images of the template by container, at most eight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<BTreeMap<String, String>>,

    /// Number of images of the template that are not in the field images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_images: Option<i64>,

    /// What started the rollout: NewImage, Restart, Rollback, Pin (set or removed), Revert (also an abort), or
    /// TemplateChanged (any other change, and the first rollout).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,

    /// Author of the change of the template, of the rollback, or of the pin that started the rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,

    /// Value of the annotation kubernetes.io/change-cause, or the reason of a pin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,

    /// Time at which the operator began the rollout.
    #[serde(default, deserialize_with = "time", skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,

    /// Step at which the rollout waits, or to which it is moving, counted from 1; absent without steps.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<i64>,

    /// Number of steps of the rollout, including the last one of 100%.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<i64>,

    /// Number of pods with the new template; absent without steps.
    #[schemars(range(min = 0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated: Option<i64>,

    /// Number of pods that have the new template once the step is reached; absent without steps.
    #[schemars(range(min = 0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_pods: Option<i64>,

    /// Number of pods, or percentage of replicas, that the deployment process lets the rollout update; absent without
    /// spec.strategy.custom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<String>,

    /// Time at which the wait at the step last began; absent before the step is reached.
    #[serde(default, deserialize_with = "time", skip_serializing_if = "Option::is_none")]
    pub rest_start_time: Option<Time>,

    /// Promotions by the annotation rollwright.dev/promote, oldest first, at most the last 20.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promotions: Option<Vec<Promotion>>,

    // The definition describes the next four with the history, which alone has them.
    /// Time at which the rollout ended.
    #[schemars(skip)]
    #[serde(default, deserialize_with = "time", skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,

    /// How the rollout ended: Succeeded, Failed, Superseded, or Cancelled.
    #[schemars(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,

    /// Why the rollout failed, in one word.
    #[schemars(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,

    /// Why the rollout failed, for people.
    #[schemars(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    /// Lowest number of available pods that the status reported during the rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowest_available: Option<i64>,

    /// Highest number of pods that the status reported during the rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highest_pods: Option<i64>,
}

/// Who made a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "")]
pub struct Author {
    /// Field manager of the author, from metadata.managedFields. Example: argocd-controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manager: Option<String>,
    /// Operation of the field manager: Apply or Update.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Name of the person, from the annotation rollwright.dev/changed-by. Example: jane@example.com.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// One promotion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "")]
pub struct Promotion {
    /// Step to which the promotion leads, counted from 1.
    #[schemars(range(min = 1))]
    pub step: i64,
    /// Field manager that wrote the annotation rollwright.dev/promote. Example: kubectl-annotate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manager: Option<String>,
    /// Time at which the operator carried the promotion out.
    #[serde(default, deserialize_with = "time", skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
    /// Whether the promotion passed a gate that had not passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forced: Option<bool>,
}

/// The last change of spec.replicas. What is absent is written as null, so that a merge patch removes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "The last change of spec.replicas.")]
pub struct LastScale {
    /// Value of spec.replicas before the change.
    pub from: i64,
    /// Value of spec.replicas after the change.
    pub to: i64,
    /// Field manager that changed spec.replicas. Example: kube-controller-manager.
    pub manager: Option<String>,
    /// scale, if the change came through the scale subresource, as from an autoscaler; absent if the Deployment itself
    /// was written.
    pub subresource: Option<String>,
    /// Time of the change.
    #[serde(default, deserialize_with = "time")]
    pub time: Option<Time>,
}

/// Schema of the history. A schema of its entries would make a status write cost the API server a third more.
pub(crate) fn ended(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": RECORDS_MAX,
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    })
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
