//! The two APIs that the same code serves. All differences, in and around the planner, are methods here. No
//! other code checks which of the two it is.

use crate::model::equality;
use crate::model::keys::{FINGERPRINTS, MANAGED_LABEL, MANAGED_VALUE};
use crate::model::labels::Map;
use crate::model::template::{self, Digest, Fingerprint, Json};

/// The API of a Deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Flavour {
    /// `rollwright.dev/v1`: a custom resource.
    Rollwright,
    /// `apps/v1`: the built-in kind, in the place of the built-in controller.
    AppsV1,
}

impl Flavour {
    /// `apiVersion` of the Deployment, as it stands in owner references.
    #[must_use]
    pub fn api_version(self) -> &'static str {
        match self {
            Self::Rollwright => "rollwright.dev/v1",
            Self::AppsV1 => "apps/v1",
        }
    }

    /// Identity of a Deployment's template: its raw text on rollwright.dev, and what remains when everything that API
    /// types cannot distinguish is taken away on apps/v1 (S16.5).
    #[must_use]
    pub fn fingerprint<'a>(self, template: impl Into<Json<'a>>) -> Fingerprint {
        match self {
            Self::Rollwright => Fingerprint::of(template),
            Self::AppsV1 => Fingerprint::from_digest(&equality::digest(template)),
        }
    }

    /// The templates that a ReplicaSet stands for: what it was made from, as its annotation records, or on apps/v1 the
    /// template that it has.
    #[must_use]
    pub fn fingerprints_of_set<'a>(self, annotations: &Map, stored: impl Into<Json<'a>>) -> Vec<Fingerprint> {
        match self {
            Self::Rollwright => {
                annotations.get(FINGERPRINTS).map_or_else(Vec::new, |text| Fingerprint::list(text))
            }
            Self::AppsV1 => vec![Fingerprint::from_digest(&equality::digest(stored))],
        }
    }

    /// Digest of a template as the server stores it, to compare with what a dry run returns.
    #[must_use]
    pub fn stored_digest<'a>(self, stored: impl Into<Json<'a>>) -> Digest {
        match self {
            Self::Rollwright => template::digest(stored),
            // Never compared: apps/v1 asks for no dry run.
            Self::AppsV1 => Digest::default(),
        }
    }

    /// Whether the fingerprint is written to the ReplicaSet it belongs to; and whether, for ReplicaSets without one, a
    /// server-side dry run shows what the template becomes.
    #[must_use]
    pub fn marks_sets(self) -> bool {
        self == Self::Rollwright
    }

    /// Labels in the metadata of a new ReplicaSet beside those of the template.
    #[must_use]
    pub fn set_labels(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Rollwright => Some((MANAGED_LABEL, MANAGED_VALUE)),
            Self::AppsV1 => None,
        }
    }

    /// Whether the status has fields and conditions that apps/v1 has not, and events report its transitions.
    #[must_use]
    pub fn has_status_extras(self) -> bool {
        self == Self::Rollwright
    }

    /// Whether the Deployment's annotations carry its revision (S5.6) and the request for a rollback (S10.1), which
    /// then restores all annotations of the ReplicaSet (S10.7). On rollwright.dev these are fields of status and spec,
    /// nothing is written to the object's metadata, and the operator restores only the change-cause.
    #[must_use]
    pub fn goes_by_annotations(self) -> bool {
        self == Self::AppsV1
    }

    /// Whether ReplicaSets are bounded in number, and a rollback makes no pods; upstream has no
    /// such bounds (NS-1, NS-2, AV-4 of docs/internals/invariants.md).
    #[must_use]
    pub fn has_safeguards(self) -> bool {
        self == Self::Rollwright
    }

    /// Whether the kind is a custom resource: the server knows it only once its definition is installed, and stores the
    /// spec as its author wrote it. The operator fills in defaults, the selector's too (S1.1–S1.10).
    #[must_use]
    pub fn is_custom_resource(self) -> bool {
        self == Self::Rollwright
    }

    /// The controller's name in metrics that other controllers have too (`workqueue_*`,
    /// `controller_runtime_*`), as kubectl writes resources.
    #[must_use]
    pub fn controller_name(self) -> &'static str {
        match self {
            Self::Rollwright => "deployment",
            Self::AppsV1 => "deployment.apps",
        }
    }

    /// Who reports events: on apps/v1, tools look for the controller that the operator replaces.
    #[must_use]
    pub fn reporter(self) -> &'static str {
        match self {
            Self::Rollwright => "rollwright",
            Self::AppsV1 => "deployment-controller",
        }
    }
}
