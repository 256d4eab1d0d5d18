//! `status` of a Deployment, which only the operator writes. The doc comments are what
//! `kubectl explain` prints.

#![expect(unreachable_pub, reason = "kube's derive copies the structs into functions")]

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube_derive::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::blocker::{self, BLOCKERS_MAX, Blocker};
use crate::rollout::{self, Author, LastScale, Rollout};
use crate::spec::Deployment;
use crate::stored::{count, time};
use crate::target::{self, Bake, Fallback, Marks, Target};
use crate::words;

/// `observedGeneration` before anything was observed; generations start at 1.
///
/// The default of the status, until the operator first writes it. Without it, tools that wait, such as
/// `kstatus` and `kubectl wait`, would take a Deployment that the operator has not observed for done (S9.1).
const NOT_OBSERVED: i64 = -1;

/// Most recently observed state. Only the operator writes it.
///
/// A field without a value is written as null, so that a merge patch removes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(
    description = "Most recently observed state. Only the operator writes it.",
    extend("default" = {"observedGeneration": NOT_OBSERVED})
)]
#[x_kube(crates(kube_core = "::kube_core"))]
pub struct DeploymentStatus {
    /// The metadata.generation that this status describes; -1 before the operator first observes it.
    #[schemars(range(min = NOT_OBSERVED))]
    pub observed_generation: Option<i64>,

    /// Pods of all ReplicaSets, excluding terminating ones.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub replicas: Option<i32>,

    /// Pods with the current template.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub updated_replicas: Option<i32>,

    /// Ready pods.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub ready_replicas: Option<i32>,

    /// Pods that have been ready for minReadySeconds.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub available_replicas: Option<i32>,

    /// Sizes of all ReplicaSets minus the available pods.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub unavailable_replicas: Option<i32>,

    /// Pods that are terminating; absent while a ReplicaSet does not report them.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub terminating_replicas: Option<i32>,

    /// Number of times that the name for a ReplicaSet was taken; the next name depends on it.
    #[schemars(range(min = 0))]
    pub collision_count: Option<i32>,

    /// Revision of the ReplicaSet of the current template; the previous revision while there is none yet.
    /// Example: 3.
    #[schemars(range(min = 0))]
    pub revision: Option<i64>,

    /// Current size for autoscalers: pods, excluding surge.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub scale_replicas: Option<i32>,

    /// The label selector in text form, for autoscalers. Example: app=web.
    pub selector: Option<String>,

    /// Ready pods out of desired pods, for the READY column. Example: 3/4.
    pub ready: Option<String>,

    /// How the rollout stands, for the STATUS column: Complete, Rolling 3/4, Resting at a step, Blocked:
    /// ImagePull, Queued, Pinned, Reverted, or Paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,

    /// Names of the template's containers, for the CONTAINERS column. Example: web,proxy.
    pub containers: Option<String>,

    /// Images of the template's containers, for the IMAGES column.
    pub images: Option<String>,

    /// Ready when the rollout is complete. Otherwise Reconciling, or Stalled when a user has to act.
    /// Available, Progressing, and ReplicaFailure as in apps/v1. RollbackRefused while the operator refuses
    /// a spec.rollbackTo that keeps returning. CollisionLimitReached while all names tried for the new
    /// ReplicaSet are taken. RevisionLimitReached while there are too many ReplicaSets and too few can be
    /// deleted.
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Option<Vec<Condition>>,

    /// Result of the last spec.rollbackTo.
    pub rollback: Option<Rollback>,

    /// Names that were taken when the operator tried to create the ReplicaSet of the current template.
    pub collisions: Option<Collisions>,

    /// What blocks the rollout, heaviest first. Present only while the rollout does not move for a cause that
    /// the operator knows.
    #[schemars(length(max = BLOCKERS_MAX))]
    #[serde(default, deserialize_with = "blocker::read")]
    pub blockers: Option<Vec<Blocker>>,

    /// What runs instead of the declared revision; absent while the declared one runs.
    #[serde(default, deserialize_with = "target::read")]
    pub target: Option<Target>,

    /// Where a revert would go; present while a failure policy or steps are set, and an earlier revision is good.
    #[serde(default, deserialize_with = "target::fallback")]
    pub fallback: Option<Fallback>,

    /// Since when the current revision, complete, has kept its minimum of available pods.
    #[serde(default, deserialize_with = "target::bake")]
    pub bake: Option<Bake>,

    /// The most pods of the current revision that there ever were. The operator recognizes progress by it, under a
    /// failure policy.
    #[serde(default, deserialize_with = "target::marks")]
    pub marks: Option<Marks>,

    /// The rollout that is running.
    #[serde(default, deserialize_with = "rollout::rollout")]
    pub rollout: Option<Rollout>,

    /// Rollouts that ended, newest first. For people: the operator decides nothing by it.
    #[x_kube(merge_strategy = ListMerge::Map(vec!["id".to_owned()]))]
    #[schemars(length(max = 20))]
    #[serde(default, deserialize_with = "rollout::history", skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<Rollout>>,

    /// The last change of spec.replicas.
    #[serde(default, deserialize_with = "rollout::last_scale", skip_serializing_if = "Option::is_none")]
    pub last_scale: Option<LastScale>,
}

/// One entry of `status.conditions`. Kubernetes has two such types: that of apps/v1 lacks
/// `observedGeneration`, and the newer one lacks `lastUpdateTime`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "")]
pub struct Condition {
    /// Type of the condition. Example: Ready.
    #[serde(rename = "type")]
    pub kind: String,

    /// Whether the condition holds.
    pub status: ConditionStatus,

    /// Machine-readable reason, one word. Example: RolloutComplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,

    /// Explanation for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    /// When the operator last changed status, reason, or message.
    #[serde(default, deserialize_with = "time", skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,

    /// When status last changed.
    #[serde(default, deserialize_with = "time", skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,

    /// The metadata.generation that the condition describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,

    /// Unknown fields, of conditions that others write.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: BTreeMap<String, Value>,
}

/// Whether a condition holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = words::known)]
pub enum ConditionStatus {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// The status of the condition is not known.
    #[default]
    Unknown,
    /// A value that another writer uses.
    #[serde(untagged)]
    Other(String),
}

impl fmt::Display for ConditionStatus {
    /// As in JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// `status.rollback`: the result of the last `spec.rollbackTo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(crates(kube_core = "::kube_core"))]
pub struct Rollback {
    /// Requested revision; 0 means the previous one.
    #[schemars(range(min = 0))]
    pub requested: Option<i64>,

    /// Revision that the request means; 0 if there is none.
    #[schemars(range(min = 0))]
    pub revision: Option<i64>,

    /// RolledBack, RevisionNotFound, TemplateUnchanged, Invalid or Refused.
    #[schemars(with = "Option<String>")]
    pub result: Option<RollbackResult>,

    /// Why the API server refused the template.
    pub message: Option<String>,

    /// Time of the decision.
    #[serde(default, deserialize_with = "time")]
    pub time: Option<Time>,

    /// Who asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,

    /// Rollbacks of the last ten minutes, oldest first. The operator uses them to recognize a request that
    /// keeps returning.
    #[schemars(length(max = 3))]
    pub recent: Option<Vec<RecentRollback>>,
}

/// Result of a request for a rollback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RollbackResult {
    /// The template was restored.
    RolledBack,
    /// There is no such revision.
    RevisionNotFound,
    /// The template equals the current one.
    TemplateUnchanged,
    /// The API server refused the template.
    Invalid,
    /// The request returned too often.
    Refused,
    /// A result of a newer operator.
    #[serde(untagged)]
    Other(String),
}

impl fmt::Display for RollbackResult {
    /// As in JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// One rollback of the last ten minutes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "")]
pub struct RecentRollback {
    /// Time of the decision.
    #[serde(default, deserialize_with = "time")]
    pub time: Option<Time>,
    /// Fingerprint of the template that was replaced.
    pub from: Option<String>,
    /// Fingerprint of the template that was restored.
    pub to: Option<String>,
}

/// `status.collisions`: how often the name for a template's ReplicaSet was taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Collisions {
    /// Fingerprint of the template.
    pub template: Option<String>,
    /// Number of collisions since the template was set.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub count: Option<i32>,
    /// Time of the last collision.
    #[serde(default, deserialize_with = "time")]
    pub time: Option<Time>,
}

impl DeploymentStatus {
    /// The condition of a type.
    #[must_use]
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().flatten().find(|condition| condition.kind == kind)
    }
}

impl Deployment {
    /// Whether the operator has seen this generation, and the rollout is complete.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.status.as_ref().is_some_and(|status| {
            let is_seen = status.observed_generation >= self.metadata.generation;
            let ready = status.condition("Ready").map(|condition| &condition.status);
            is_seen && ready == Some(&ConditionStatus::True)
        })
    }
}
