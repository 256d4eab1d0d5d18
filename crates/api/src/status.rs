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
use crate::memory::Memory;
use crate::rollout::{self, Author, LastScale, Rollout};
use crate::spec::Deployment;
use crate::stored::{count, lenient, time};
use crate::target::{Fallback, Target};
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
    /// Value of metadata.generation that this status describes; -1 before the operator first observes it.
    #[schemars(range(min = NOT_OBSERVED))]
    pub observed_generation: Option<i64>,

    /// Number of pods of all ReplicaSets, excluding terminating ones.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub replicas: Option<i32>,

    /// Number of pods with the current spec.template.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub updated_replicas: Option<i32>,

    /// Number of ready pods.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub ready_replicas: Option<i32>,

    /// Number of pods that have been ready for minReadySeconds.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub available_replicas: Option<i32>,

    /// Number of desired pods of all ReplicaSets minus the number of available ones.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub unavailable_replicas: Option<i32>,

    /// Number of pods that are terminating; absent while a ReplicaSet does not report them.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub terminating_replicas: Option<i32>,

    /// Number of times that the name for a ReplicaSet was taken; the next name depends on it.
    #[schemars(range(min = 0))]
    pub collision_count: Option<i32>,

    /// Revision of the ReplicaSet of the current spec.template. Until that ReplicaSet exists, the revision before.
    /// Example: 3.
    #[schemars(range(min = 0))]
    pub revision: Option<i64>,

    /// Number of pods that the scale subresource shows to autoscalers: status.replicas, but at most spec.replicas.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub scale_replicas: Option<i32>,

    /// Label selector of the pods in text form, for autoscalers. Example: app=web.
    pub selector: Option<String>,

    /// Texts for the columns of kubectl get. Any version of the operator may change them. Programs should read the
    /// conditions.
    #[serde(default, deserialize_with = "lenient")]
    pub display: Option<Display>,

    /// Conditions of the Deployment. Ready: spec.template is rolled out. Reconciling: its rollout is under way.
    /// Stalled: a user has to act. Available, Progressing, and ReplicaFailure are those of apps/v1. RollbackRefused,
    /// CollisionLimitReached, and RevisionLimitReached are present only while there is such a problem, which the
    /// message explains.
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Option<Vec<Condition>>,

    /// Result of the last spec.rollbackTo.
    pub rollback: Option<Rollback>,

    /// Causes that block the rollout, the one with the most pods first; present only while the rollout does not move
    /// and the operator knows why.
    #[schemars(length(max = BLOCKERS_MAX))]
    #[serde(default, deserialize_with = "blocker::read")]
    pub blockers: Option<Vec<Blocker>>,

    /// What should run instead of spec.template; absent if spec.template should run.
    #[serde(default, deserialize_with = "lenient")]
    pub target: Option<Target>,

    /// Revision that would run after a revert by failurePolicy, or after an abort by the annotation
    /// rollwright.dev/abort: the good one that ran before. Present only with a failure policy or steps.
    #[serde(default, deserialize_with = "lenient")]
    pub fallback: Option<Fallback>,

    /// Internal state of the operator, which may change in any version.
    #[serde(default, deserialize_with = "lenient")]
    pub memory: Option<Memory>,

    /// Rollout that is running; absent while there is none.
    #[serde(default, deserialize_with = "rollout::rollout")]
    pub rollout: Option<Rollout>,

    /// Rollouts that ended, newest first, at most 10; for information only. Each has a completionTime, an outcome, and
    /// the fields of status.rollout, except for those about the current step. Outcomes: Succeeded (it was complete),
    /// Failed, Superseded by another template, or Cancelled by a rollback, a pin, or an abort. One that failed has a
    /// reason, in one word, and a message for people.
    // Size and schema of this add to what each write of the status costs the API server.
    #[schemars(schema_with = "rollout::ended")]
    #[serde(default, deserialize_with = "rollout::history", skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<Rollout>>,

    /// Last change of spec.replicas.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub last_scale: Option<LastScale>,
}

/// Texts for the columns of `kubectl get`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "")]
pub struct Display {
    /// State of the rollout, for people: Complete, Rolling 3/4 (pods), Resting (at a step), Blocked: ImagePull, Queued
    /// (behind rollouts of other Deployments), Pinned, Reverted (also after an abort), or Paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,

    /// Ready pods out of desired pods. Example: 3/4.
    pub ready: Option<String>,

    /// Names of the template's containers. Example: web,proxy.
    pub containers: Option<String>,

    /// Images of the template's containers. Example: web:2,proxy:1.
    pub images: Option<String>,
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

    /// Whether the condition holds: True, False, or Unknown.
    pub status: ConditionStatus,

    /// Reason for the status of the condition, in one word for programs. Example: RolloutComplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,

    /// Explanation of the reason, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    /// Time at which the operator last changed status, reason, or message of the condition.
    #[serde(default, deserialize_with = "time", skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,

    /// Time at which the status of the condition last changed.
    #[serde(default, deserialize_with = "time", skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,

    /// Value of metadata.generation that the condition describes.
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
    /// Revision that spec.rollbackTo named; 0 means the previous one.
    #[schemars(range(min = 0))]
    pub requested: Option<i64>,

    /// Revision that was found for the request, also if it was not rolled back to; 0 if there is no such revision.
    #[schemars(range(min = 0))]
    pub revision: Option<i64>,

    /// How the rollback ended: RolledBack, RevisionNotFound, TemplateUnchanged, Invalid (the API server refused the
    /// template), or Refused (somebody, such as a GitOps tool, set the same request again and again).
    #[schemars(with = "Option<String>")]
    pub result: Option<RollbackResult>,

    /// Why the API server refused the template of the requested revision; present with the result Invalid.
    pub message: Option<String>,

    /// Time at which the operator handled the request.
    #[serde(default, deserialize_with = "time")]
    pub time: Option<Time>,

    /// Author of the request for the rollback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,
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
