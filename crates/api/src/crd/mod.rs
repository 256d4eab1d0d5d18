//! The `CustomResourceDefinition` of `deployments.rollwright.dev`.
//!
//! kube's derive makes the definition from the types. The same code serves the file in `crds/` and the `rollwright crd`
//! command. It also serves a cluster with a Kubernetes that knows other pod fields: [`crd`] takes the pod template
//! either from the schema that ships with this crate or from a live API server's OpenAPI document. The operator never
//! reads the template by these types; it carries it as opaque JSON, and refreshing the CRD is all that a newer
//! Kubernetes needs.

mod finish;
mod kustomize;
mod limits;
mod missing;
mod template;
mod yaml;

use kube_core::crd::CustomResourceExt as _;
use serde_json::{Value, json};

use crate::Deployment;
use finish::Nulls;

pub use kustomize::{kustomize_openapi, kustomize_text};
pub use missing::{missing_pod_fields, missing_template_fields};
pub use template::{SchemaError, template_schema};
pub use yaml::to_yaml;

/// API group of the resource.
pub const GROUP: &str = "rollwright.dev";
/// The one version that is served and stored.
pub const VERSION: &str = "v1";
/// Kind of the resource.
pub const KIND: &str = "Deployment";
/// Plural, as it appears in URLs.
pub const PLURAL: &str = "deployments";
/// Short name for kubectl; `deployments` alone means apps/v1 there.
pub const SHORT_NAME: &str = "rwd";
/// Name of the `CustomResourceDefinition` object.
pub const CRD_NAME: &str = "deployments.rollwright.dev";
/// Number of this definition: higher than that of every definition before it, so that a guard in the cluster can refuse
/// an older one. It goes up with every change of the definition, which `revisions.txt` records.
pub const REVISION: u32 = 4;
/// Annotation of the definition with that number.
pub const REVISION_ANNOTATION: &str = "rollwright.dev/definition-revision";
/// Path of the OpenAPI document that holds the pod template's schema.
pub const OPENAPI_PATH: &str = "/openapi/v3/apis/apps/v1";

/// Path of the OpenAPI document that [`kustomize_openapi`] reads.
pub const OPENAPI_V2_PATH: &str = "/openapi/v2";

/// Where a definition has its schema.
const ROOT: &str = "/spec/versions/0/schema/openAPIV3Schema";

/// The pod template of the Kubernetes release that Rollwright is built for, as [`template_schema`] made it.
const EMBEDDED_TEMPLATE: &str = include_str!("pod-template.schema.json");

/// Builds the `CustomResourceDefinition`, with the pod template of `openapi` (the document at
/// [`OPENAPI_PATH`]) or, without one, the template schema built into this program.
///
/// # Errors
///
/// If the document cannot be turned into a structural schema.
pub fn crd(openapi: Option<&Value>) -> Result<Value, SchemaError> {
    let template = match openapi {
        Some(openapi) => template_schema(openapi)?,
        None => embedded_template()?,
    };
    with_template(template)
}

/// The same with the schema of a pod template that [`template_schema`] made before.
///
/// # Errors
///
/// If the definition cannot be written as JSON, which a test excludes.
pub fn with_template(template: Value) -> Result<Value, SchemaError> {
    let mut definition = serde_json::to_value(Deployment::crd())?;
    if let Some(metadata) = definition.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("annotations".to_owned(), json!({ REVISION_ANNOTATION: REVISION.to_string() }));
    }
    if let Some(root) = definition.pointer_mut(ROOT) {
        complete(root, template);
    }
    Ok(definition)
}

/// Completes the schema that kube makes of the types.
fn complete(root: &mut Value, template: Value) {
    finish::finish(root, Nulls::Taken);
    let Some(properties) = root.get_mut("properties") else { return };
    if let Some(status) = properties.get_mut("status") {
        finish::finish(status, Nulls::Refused);
        finish::tracked_as_one_field(status);
    }
    if let Some(node) = properties.pointer_mut("/spec/properties/template") {
        *node = limits::pod_template(template, node["description"].take());
    }
    if let Some(properties) = properties.as_object_mut() {
        for (name, kind) in [("apiVersion", "string"), ("kind", "string"), ("metadata", "object")] {
            properties.insert(name.to_owned(), json!({ "type": kind }));
        }
    }
    finish::without_defaults(root);
}

/// The pod template schema built into this program.
///
/// # Errors
///
/// If it is not JSON, which a test excludes.
pub fn embedded_template() -> Result<Value, SchemaError> {
    Ok(serde_json::from_str(EMBEDDED_TEMPLATE)?)
}

#[cfg(test)]
mod tests;
