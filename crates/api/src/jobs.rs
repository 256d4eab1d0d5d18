//! Gates of steps, and hooks: Jobs that have to succeed (GA-1). The doc comments are what `kubectl explain` prints.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::numbers::INT32_MAX;

/// Jobs that run before and after each rollout.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "")]
pub struct Hooks {
    /// Job that has to succeed before the first pod of a new revision is created, such as a database migration. If it
    /// fails, so does the rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<RequiredJob>,

    /// Job that has to succeed once a rollout is complete. If it fails, so does the rollout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<RequiredJob>,
}

/// A Job that has to succeed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "")]
pub struct RequiredJob {
    /// The Job. The operator creates it with a single pod that runs once: parallelism 1 and backoffLimit 0.
    pub job: JobOf,

    /// Seconds for which the pod of the Job may run before it counts as failed. The time begins when the pod is ready.
    /// Default: 600.
    #[schemars(range(min = 1, max = INT32_MAX))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<i32>,
}

/// What of the Job an author writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(description = "")]
pub struct JobOf {
    /// Pod template of the Job, as in a Job of batch/v1; restartPolicy is Never if absent. Its labels may not match
    /// spec.selector. Each container gets the environment variables ROLLWRIGHT_DEPLOYMENT, ROLLWRIGHT_NAMESPACE,
    /// ROLLWRIGHT_REVISION, ROLLWRIGHT_POD_TEMPLATE_HASH, ROLLWRIGHT_STEP, ROLLWRIGHT_UPDATED, and ROLLWRIGHT_REPLICAS.
    #[schemars(schema_with = "opaque")]
    pub template: Value,
}

/// A deployment process: a pod that decides how far a rollout goes, and when.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "")]
pub struct Custom {
    /// Image of its container. Example: registry.k8s.io/kubectl:v1.36.0.
    #[schemars(length(min = 1))]
    pub image: String,

    /// Command of its container. If absent, that of the image runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,

    /// Arguments of its command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,

    /// Environment variables of its container, as in a pod template. It also gets those of a gate, and ROLLWRIGHT_JOB.
    #[schemars(schema_with = "all_opaque")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<Vec<Value>>,

    /// ServiceAccount with the right to patch this Deployment. Default: that of pods without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,

    /// Resources of its container, as in a pod template.
    #[schemars(schema_with = "opaque")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Value>,

    /// Seconds for which the process may run before it counts as failed. The time begins when its pod is ready.
    /// Default: 3600.
    #[schemars(range(min = 1, max = INT32_MAX))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<i32>,
}

fn all_opaque(_: &mut SchemaGenerator) -> Schema {
    let item = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    json_schema!({ "type": "array", "items": item })
}

/// The server checks the template when it is asked for the Job.
fn opaque(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}
