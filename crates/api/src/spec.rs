//! The Deployment and its `spec`. The doc comments are what `kubectl explain` prints.

#![expect(clippy::duplicated_attributes, reason = "clippy takes the parts of a column for attributes")]
#![expect(unreachable_pub, reason = "kube's derive copies the structs into functions")]

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube_derive::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::numbers::{INT32_MAX, Share};
use crate::resume::ResumePolicy;
use crate::rollback::RollbackTo;
use crate::rules;
use crate::selector::Selector;
use crate::status::DeploymentStatus;
use crate::strategy::Strategy;
use crate::words;

/// A day.
const MAX_BAKE_SECONDS: i32 = 86_400;
/// More pods than one cluster can run, with an order of magnitude to spare.
const MAX_REPLICAS: i32 = 1_000_000;

/// Desired pods, and how to roll out a change of their template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "rollwright.dev",
    version = "v1",
    kind = "Deployment",
    plural = "deployments",
    shortname = "rwd",
    category = "all",
    category = "rollwright",
    namespaced,
    status = "DeploymentStatus",
    derive = "PartialEq",
    doc = "Deployment runs a number of identical pods and rolls out changes of their template. It has the \
        fields and the meaning of an apps/v1 Deployment. Rollwright implements it with apps/v1 ReplicaSets.",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.scaleReplicas",
        label_selector_path = ".status.selector"
    ),
    // A column takes a single path, so the operator keeps the composed ones in the status (S15.7).
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.display.ready",
        description = "Ready pods out of desired pods."
    ),
    printcolumn(
        name = "Up-to-date",
        type_ = "integer",
        json_path = ".status.updatedReplicas",
        description = "Pods with the current template."
    ),
    printcolumn(
        name = "Available",
        type_ = "integer",
        json_path = ".status.availableReplicas",
        description = "Pods that have been ready for minReadySeconds."
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Time since creation."
    ),
    printcolumn(
        name = "Status",
        type_ = "string",
        json_path = ".status.display.summary",
        description = "How the rollout stands: Complete, Rolling, Resting, Blocked, Queued, Pinned, Reverted, or \
            Paused."
    ),
    printcolumn(
        name = "Target",
        type_ = "integer",
        json_path = ".status.target.revision",
        description = "Revision that runs, if it is not the declared one."
    ),
    printcolumn(
        name = "Containers",
        type_ = "string",
        json_path = ".status.display.containers",
        description = "Names of the template's containers.",
        priority = 1
    ),
    printcolumn(
        name = "Images",
        type_ = "string",
        json_path = ".status.display.images",
        description = "Images of the template's containers.",
        priority = 1
    ),
    printcolumn(
        name = "Selector",
        type_ = "string",
        json_path = ".status.selector",
        description = "Label selector of the pods.",
        priority = 1
    ),
    printcolumn(
        name = "Revision",
        type_ = "integer",
        json_path = ".status.revision",
        description = "Revision of the ReplicaSet of the current template.",
        priority = 1
    ),
    crates(kube_core = "::kube_core")
)]
#[x_kube(
    crates(kube_core = "::kube_core"),
    validation = rules::selector_is_kept(),
    validation = rules::selector_is_immutable(),
    validation = rules::selector_or_labels(),
    validation = rules::labels_match(),
    validation = rules::expressions_match(),
    validation = rules::deadline_is_long_enough(),
    validation = rules::revert_needs_history()
)]
pub struct DeploymentSpec {
    // The only default in the schema: without a value the scale subresource answers with an error.
    // The operator fills in the others in memory (S1.4–S1.10); a default for `rollingUpdate` would
    // also appear under Recreate, where it is forbidden (S1.17).
    /// Number of pods to run, from 0 to 1000000. Default: 1. Example: 4.
    #[schemars(range(min = 0, max = MAX_REPLICAS), extend("default" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,

    /// Label selector of the pods of this Deployment. If absent, the operator stores the labels of the
    /// template here. Immutable once set. Example: {matchLabels: {app: web}}.
    #[schemars(with = "Option<Selector>")]
    #[x_kube(merge_strategy = MapMerge::Atomic)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,

    /// Template of the pods, as in apps/v1.
    pub template: PodTemplate,

    /// How new pods replace old ones. Example: {type: Recreate}.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,

    /// Seconds for which a new pod must be ready to count as available. Default: 0. Example: 30.
    #[schemars(range(min = 0, max = INT32_MAX))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_ready_seconds: Option<i32>,

    /// Number of old ReplicaSets to keep for rollbacks. 2147483647 keeps all. Default: 10. Example: 3.
    #[schemars(range(min = 0, max = INT32_MAX))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision_history_limit: Option<i32>,

    /// Seconds without progress after which Progressing becomes False with the reason ProgressDeadlineExceeded. A pause
    /// and the wait at a step do not count. 2147483647 means no deadline. Default: 600. Example: 120.
    #[schemars(range(min = 0, max = INT32_MAX))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress_deadline_seconds: Option<i32>,

    /// Pauses rollouts: none starts, and one in progress waits until the field is false again. The Deployment still
    /// scales. Default: false. Example: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,

    /// What happens to a rollout when the operator restarts, or another replica leads. Manual holds it until somebody asks
    /// to continue: kubectl rollwright resume. Default: Automatic, so that it continues. Example: Manual.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume_policy: Option<ResumePolicy>,

    /// Requests a rollback to an earlier revision. The operator restores the template of that revision, removes this
    /// field, and reports the result in status.rollback. For a manifest in Git, use spec.pin instead, because Git would
    /// bring this field back. Example: {revision: 3}.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback_to: Option<RollbackTo>,

    /// Runs another ReplicaSet of this Deployment instead of spec.template, which stays as it is. status.target reports
    /// what runs. Default: spec.template runs. Example: {podTemplateHash: 5d9f7b6c48}.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<Pin>,

    /// What the operator does when a rollout fails. Default: the rollout continues, as on apps/v1. Example: {action:
    /// Revert}.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_policy: Option<FailurePolicy>,
}

/// A pod template as JSON. It has no typed fields here, so a field that is newer than this program
/// arrives unchanged. The CustomResourceDefinition has the schema of the cluster's Kubernetes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PodTemplate(pub Value);

impl From<Value> for PodTemplate {
    fn from(template: Value) -> Self {
        Self(template)
    }
}

impl JsonSchema for PodTemplate {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PodTemplate".into()
    }

    /// Anything; [`crate::crd::crd`] puts the API server's schema in its place.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
    }
}

/// The ReplicaSet that runs, whatever the template is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(crates(kube_core = "::kube_core"))]
pub struct Pin {
    /// Value of the label pod-template-hash of the ReplicaSet to run. If no ReplicaSet has it, the running pods stay,
    /// and status.target.reason is PinTargetMissing. Example: 5d9f7b6c48.
    #[schemars(length(max = 63))]
    #[x_kube(validation = rules::is_hash())]
    pub pod_template_hash: String,

    /// Limits the pin to one spec.template: while there is another one, the pin has no effect. Copy one of the
    /// comma-separated values of the annotation rollwright.dev/fingerprints of the ReplicaSet of that template. If
    /// absent, the pin overrides every template.
    #[schemars(length(max = 80))]
    #[x_kube(validation = rules::is_fingerprint())]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_fingerprint: Option<String>,

    /// Reason for the pin, for people. Example: INC-4711.
    #[schemars(length(max = 200))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What follows when a rollout fails.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(crates(kube_core = "::kube_core"))]
pub struct FailurePolicy {
    /// Continue keeps rolling out. Stop freezes the rollout where it is. Revert runs status.fallback, and is like Stop
    /// if there is none; spec.template stays as it is. Both last until there is another template, a spec.rollbackTo, a
    /// spec.pin, or the annotation rollwright.dev/retry with the number of the failed revision. Default: Continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<FailureAction>,

    /// When a rollout fails: deadlineExceeded, restarts, or stuckSeconds; any one of them is enough. Default:
    /// {deadlineExceeded: true}.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<FailureCriteria>,

    /// Seconds for which a complete revision has to stay available to become good. The time starts again if the
    /// available pods fall below replicas minus maxUnavailable, which is 0 for Recreate. Only a good revision can be
    /// reverted to. Default: 0. Example: 300.
    #[schemars(range(min = 0, max = MAX_BAKE_SECONDS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bake_seconds: Option<i32>,
}

/// `spec.failurePolicy.action`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
// This description would take the place of the field's.
#[schemars(description = "", transform = words::known)]
pub enum FailureAction {
    /// Keep rolling out.
    Continue,
    /// Roll nothing out before a user acts.
    Stop,
    /// Run the newest good revision.
    Revert,
    /// An action of a newer version of the API.
    #[serde(untagged)]
    Other(String),
}

/// When a rollout fails: any one is enough.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(crates(kube_core = "::kube_core"), validation = rules::names_a_criterion())]
pub struct FailureCriteria {
    /// Whether a rollout fails when progressDeadlineSeconds pass without progress. A pod that becomes ready again is
    /// not progress. Default: true, even if other criteria are set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_exceeded: Option<bool>,

    /// Number of restarts of a container at which a pod of the new revision counts for minPods. They count from a
    /// change of spec.template or a retry until bakeSeconds have passed. If absent, restarts are ignored. Example: 3.
    #[schemars(range(min = 1, max = INT32_MAX))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restarts: Option<i32>,

    /// Seconds after which a stuck pod of a new revision that was never complete counts for minPods: its image cannot
    /// be pulled, its container cannot be created, or it keeps crashing. If absent, stuck pods are ignored. Example:
    /// 120.
    #[schemars(range(min = 10, max = INT32_MAX))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stuck_seconds: Option<i32>,

    /// How many pods of the new revision have to reach restarts, or be stuck by the same cause for stuckSeconds, for
    /// the rollout to fail. A number, or a percentage of the pods of the revision, rounded up. Default: 1. Example:
    /// 50%.
    #[schemars(with = "Option<Share>")]
    #[x_kube(validation = rules::some_pods())]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_pods: Option<IntOrString>,
}
