//! The two APIs that every scenario runs against, and where they differ for a user.

use kube::api::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

/// The API of the Deployments that a scenario works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Flavour {
    /// `rollwright.dev/v1`.
    Rollwright,
    /// `apps/v1`.
    AppsV1,
}

impl Flavour {
    pub(crate) const ALL: [Self; 2] = [Self::Rollwright, Self::AppsV1];

    /// The last part of a test's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rollwright => "rollwright",
            Self::AppsV1 => "apps",
        }
    }

    pub(crate) fn is_ours(self) -> bool {
        self == Self::Rollwright
    }

    /// `apiVersion` of the Deployment, and value of the operator's `--api`.
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::Rollwright => "rollwright.dev/v1",
            Self::AppsV1 => "apps/v1",
        }
    }

    /// The resource as kubectl takes it, unambiguously.
    pub(crate) fn resource(self) -> &'static str {
        match self {
            Self::Rollwright => "deployments.rollwright.dev",
            Self::AppsV1 => "deployments.apps",
        }
    }

    pub(crate) fn api_resource(self) -> ApiResource {
        let group = match self {
            Self::Rollwright => "rollwright.dev",
            Self::AppsV1 => "apps",
        };
        ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", "Deployment"))
    }

    /// The merge patch that asks for a rollback; 0 is the previous revision (S1.12).
    pub(crate) fn rollback_request(self, revision: i64) -> Value {
        match self {
            Self::Rollwright => json!({"spec": {"rollbackTo": {"revision": revision}}}),
            Self::AppsV1 => json!({"metadata": {"annotations": {ROLLBACK_TO: revision.to_string()}}}),
        }
    }

    /// Whether the rollback request is still there.
    pub(crate) fn asks_for_rollback(self, deployment: &Value) -> bool {
        match self {
            Self::Rollwright => deployment.pointer("/spec/rollbackTo").is_some(),
            Self::AppsV1 => deployment
                .pointer("/metadata/annotations")
                .is_some_and(|annotations| annotations.get(ROLLBACK_TO).is_some()),
        }
    }

    /// The revision that the Deployment reports (S5.6); 0 if it reports none.
    pub(crate) fn revision(self, deployment: &Value) -> i64 {
        let found = match self {
            Self::Rollwright => deployment.pointer("/status/revision").and_then(Value::as_i64),
            Self::AppsV1 => deployment
                .pointer("/metadata/annotations")
                .and_then(|annotations| annotations.get(REVISION)?.as_str()?.parse().ok()),
        };
        found.unwrap_or(0)
    }
}

/// Annotation with the revision of a ReplicaSet, and of an apps/v1 Deployment (S5.1, S5.6).
pub(crate) const REVISION: &str = "deployment.kubernetes.io/revision";
/// Annotation with the rollback request on an apps/v1 Deployment (S10.1).
const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";
