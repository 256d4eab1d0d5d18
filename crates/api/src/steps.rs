//! The steps of a RollingUpdate. The doc comments are what `kubectl explain` prints.

#![expect(unreachable_pub, reason = "kube's derive copies the structs into functions")]

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube_derive::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::numbers::{INT32_MAX, Share};
use crate::rules;
use crate::words;

/// One step of a RollingUpdate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "")]
#[x_kube(
    crates(kube_core = "::kube_core"),
    validation = rules::pause_is_written_out(),
    validation = rules::the_last_step_has_no_pause()
)]
pub struct UpdateStep {
    /// How many pods are to have the new template: a number, or a percentage of replicas, rounded up. Only 100%
    /// replaces the last old pod. Example: 25%.
    // By its length, the API server knows that the rules of twenty steps cost little.
    #[schemars(with = "Share", extend("maxLength" = 8))]
    #[x_kube(validation = rules::some_pods())]
    pub updated: IntOrString,

    /// What the rollout waits for once these pods are available. If absent, it continues. Example: {seconds:
    /// 600}.
    // An author who writes `pause:` and nothing more wants one. The API server drops a null that the type excludes, so
    // the type allows it, and a rule does not.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
}

/// What ends the pause of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(crates(kube_core = "::kube_core"), validation = rules::pause_has_one_end())]
pub struct Pause {
    /// Promoted: somebody promotes the revision. Excludes seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<PauseUntil>,

    /// This time, from when the pods are available, and again after a break of that. Excludes until. Example: 600.
    #[schemars(range(min = 1, max = INT32_MAX))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<i32>,
}

/// `pause.until` of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
// This description would take the place of the field's.
#[schemars(description = "", transform = words::known)]
pub enum PauseUntil {
    /// Somebody promotes the revision.
    Promoted,
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
    Proven,
    /// No revision.
    None,
    /// A word of a newer version of the API.
    #[serde(untagged)]
    Other(String),
}

/// A value that is not null.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
