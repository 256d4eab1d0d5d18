//! `status.target` and `status.fallback`: what runs instead of the declared revision, and what a revert would run. Any
//! writer may have written what is stored, so what cannot be read counts as absent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What runs instead of the declared revision, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "What runs instead of the declared revision; absent while the declared one runs.")]
pub struct Target {
    /// Revision of that ReplicaSet; absent if the ReplicaSet is gone.
    #[schemars(range(min = 0))]
    pub revision: Option<i64>,

    /// Value of the label pod-template-hash of the ReplicaSet that should run instead.
    pub pod_template_hash: Option<String>,

    /// Why spec.template should not run, in one word: Pinned by spec.pin, PinTargetMissing (no ReplicaSet has the hash
    /// of spec.pin), Reverted by failurePolicy, or Aborted (the annotation rollwright.dev/abort has the revision of
    /// spec.template).
    pub reason: Option<String>,

    /// Revision of spec.template, which does not run now.
    #[schemars(range(min = 0))]
    pub declared_revision: Option<i64>,
}

/// Where a revert would go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fallback {
    /// Revision that would run after a revert or an abort.
    #[schemars(range(min = 0))]
    pub revision: Option<i64>,
    /// Value of the label pod-template-hash of the ReplicaSet of that revision.
    pub pod_template_hash: Option<String>,
}
