//! `spec` and `status` of a Deployment of either API, by the types of `crates/api`. Everything that a
//! server sends can be read. Invented values count as absent.

use api::decode::{self, Parts};
use api::{DeploymentSpec, DeploymentStatus};
use serde_json::Value;

/// `spec`, without its template.
pub(crate) fn spec(deployment: &Value) -> DeploymentSpec {
    decode::spec(Parts::from(deployment).spec).unwrap_or_default()
}

/// `status`.
pub(crate) fn status(deployment: &Value) -> DeploymentStatus {
    decode::status(Parts::from(deployment).status).unwrap_or_default()
}
