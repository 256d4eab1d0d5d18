//! The steps of a RollingUpdate. The doc comments are what `kubectl explain` prints.

#![expect(unreachable_pub, reason = "kube's derive copies the structs into functions")]

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube_derive::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::jobs::RequiredJob;
use crate::numbers::{INT32_MAX, Share};
use crate::rules;
use crate::words;

/// One step of a RollingUpdate. All conditions that are set have to be met before the rollout continues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "")]
#[x_kube(
    crates(kube_core = "::kube_core"),
    validation = rules::conditions_are_written_out(),
    validation = rules::the_last_step_needs_no_approval(),
    validation = rules::the_last_step_has_no_wait(),
    validation = rules::the_last_step_has_no_gate()
)]
pub struct UpdateStep {
    /// Number of pods of the new template at this step, or a percentage of replicas, rounded up. Below 100%, at least
    /// one old pod stays, so a single replica is updated by the last step only. Example: 25%.
    // By its length, the API server knows that the rules of twenty steps cost little.
    #[schemars(with = "Share", extend("maxLength" = 8))]
    #[x_kube(validation = rules::some_pods())]
    pub updated: IntOrString,

    /// Required makes the rollout wait at this step for a promotion: the annotation rollwright.dev/promote of the
    /// Deployment with the revision and the field updated of a later step, such as 7/50%, or 7/all. If absent, no
    /// approval is needed. Example: Required.
    // An author who writes `approval:` and nothing more wants one. The API server drops a null that the type excludes,
    // and an enumeration excludes it, so the type allows it, and a rule does not.
    #[schemars(with = "Option<String>", length(max = 63))]
    #[x_kube(validation = rules::is_required())]
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub approval: Option<StepApproval>,

    /// Seconds to wait at this step once all its pods are available; they start again if one becomes unavailable. A
    /// promotion, as for approval, ends this wait, too. If absent, there is no timed wait. Example: 600.
    #[schemars(range(min = 1, max = INT32_MAX))]
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub wait_seconds: Option<i32>,

    /// Job that has to succeed at this step once all its pods are available. If it fails, so does the rollout, if there
    /// is a failure policy; otherwise the rollout waits here. If absent, there is no gate.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub gate: Option<RequiredJob>,
}

/// `approval` of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepApproval {
    /// Somebody has to promote the revision.
    Required,
    /// A word of a newer version of the API.
    #[serde(untagged)]
    Other(String),
}

/// `spec.strategy.rollingUpdate.skipStepsFor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
// This description would take the place of the field's.
#[schemars(description = "", transform = words::known)]
pub enum SkipStepsFor {
    /// Revisions that are known to be good.
    GoodRevisions,
    /// No revision.
    Nothing,
    /// A word of a newer version of the API.
    #[serde(untagged)]
    Other(String),
}

/// A value that is not null.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
