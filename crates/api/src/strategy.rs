//! `spec.strategy`. The doc comments are what `kubectl explain` prints.

#![expect(unreachable_pub, reason = "kube's derive copies the structs into functions")]

use std::fmt;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube_derive::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::jobs::{Custom, Hooks};
use crate::numbers::Share;
use crate::rules;
use crate::steps::{SkipStepsFor, UpdateStep};
use crate::words;

/// What an author can still survey.
const MAX_STEPS: usize = 20;

/// How new pods replace old ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(crates(kube_core = "::kube_core"), validation = rules::recreate_has_no_limits(), validation = rules::custom_has_a_process(), validation = rules::custom_has_no_steps())]
pub struct Strategy {
    /// RollingUpdate replaces pods gradually, within the limits of rollingUpdate. Recreate stops all old pods before it
    /// starts new ones. Custom is RollingUpdate as far as a process of yours allows. An empty text means the default.
    /// Default: RollingUpdate.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<StrategyType>,

    /// Limits of a RollingUpdate or Custom, and steps of a RollingUpdate; refused with Recreate. Example: {maxSurge: 1, maxUnavailable: 0}.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling_update: Option<RollingUpdate>,

    /// Process that decides how far each rollout goes: a pod of this image runs with it, and writes the annotation
    /// rollwright.dev/promote. Once it succeeds, the rollout goes to its end. Needs type Custom. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom: Option<Custom>,

    /// Jobs that have to succeed before the first pod of each revision is created, and once its rollout is complete. A
    /// rollback, a pin, and a good revision that skips steps run none. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks: Option<Hooks>,
}

/// `spec.strategy.type`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
// This description would take the place of the field's.
#[schemars(description = "", transform = words::known)]
pub enum StrategyType {
    /// As absent: RollingUpdate, as in apps/v1 (S1.4).
    #[serde(rename = "")]
    Unset,
    /// Start new pods while stopping old ones.
    RollingUpdate,
    /// Stop all old pods before starting the first new one.
    Recreate,
    /// As RollingUpdate, as far as a deployment process allows.
    Custom,
    /// A type of a newer version of the API.
    #[serde(untagged)]
    Other(String),
}

impl fmt::Display for StrategyType {
    /// As in JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Limits of a RollingUpdate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(crates(kube_core = "::kube_core"), validation = rules::limits_are_not_both_zero())]
pub struct RollingUpdate {
    /// Maximum number of pods above replicas during a rollout: a number, or a percentage of replicas,
    /// rounded up. Default: 25%. Example: 1.
    #[schemars(with = "Option<Share>")]
    #[x_kube(validation = rules::max_surge())]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,

    /// Maximum number of unavailable pods during a rollout: a number, or a percentage of replicas,
    /// rounded down. Default: 25%. Example: 0.
    #[schemars(with = "Option<Share>")]
    #[x_kube(validation = rules::max_unavailable())]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,

    /// Numbers of pods of the new template at which a rollout waits until these pods are available, waitSeconds have
    /// passed, and approval is given. A last step of 100% is implied, and a first rollout has no steps. maxSurge and
    /// maxUnavailable hold at all steps. Default: none. Example: [{updated: 1, approval: Required}, {updated: 50%}].
    #[schemars(length(max = MAX_STEPS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<UpdateStep>>,

    /// Which revisions roll out without steps. GoodRevisions: those that were complete and available for
    /// failurePolicy.bakeSeconds. Nothing: none, except for a good revision while no other good one has pods. Default:
    /// GoodRevisions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip_steps_for: Option<SkipStepsFor>,
}
