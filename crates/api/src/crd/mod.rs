//! The `CustomResourceDefinition` of `deployments.rollwright.dev`.
//!
//! The definition is built by code, so that the same code serves the file in `crds/`, the
//! `rollwright crd` command, and a cluster whose Kubernetes knows other pod fields than ours:
//! [`crd`] takes the pod template either from the schema that ships with this crate or from a
//! live API server's OpenAPI document. The operator never reads the template by these types; it
//! carries it as opaque JSON, and refreshing the CRD is all that a newer Kubernetes needs.

mod kustomize;
mod missing;
mod rules;
mod spec;
mod status;
mod template;
mod yaml;

use serde_json::{Value, json};

pub use kustomize::{kustomize_openapi, kustomize_text};
pub use missing::missing_pod_fields;
pub use template::template_schema;
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
/// Path of the OpenAPI document that holds the pod template's schema.
pub const OPENAPI_PATH: &str = "/openapi/v3/apis/apps/v1";

/// Path of the OpenAPI document that [`kustomize_openapi`] reads.
pub const OPENAPI_V2_PATH: &str = "/openapi/v2";

/// The pod template of the Kubernetes release we build for, as [`template_schema`] made it.
const EMBEDDED_TEMPLATE: &str = include_str!("pod-template.schema.json");

/// Why a schema could not be built.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// The document has no schemas where an OpenAPI document keeps them.
    #[error("not an OpenAPI document: it has no schemas")]
    NotOpenApi,
    /// A definition is referred to and absent.
    #[error("the OpenAPI document has no definition {0}")]
    Missing(String),
    /// A node has neither a type nor a form that we know.
    #[error("no structural form for {0}: it has no type")]
    Untyped(String),
    /// A definition leads back to itself.
    #[error("{0} is nested too deep for a structural schema")]
    TooDeep(String),
    /// The schema built into this program cannot be read.
    #[error("the built-in pod template schema is damaged: {0}")]
    Embedded(#[from] serde_json::Error),
}

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
    Ok(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": CRD_NAME},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "plural": PLURAL,
                "singular": "deployment",
                "kind": KIND,
                "listKind": "DeploymentList",
                "shortNames": [SHORT_NAME],
                "categories": ["all", "rollwright"],
            },
            "versions": [{
                "name": VERSION,
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": root(template)},
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.scaleReplicas",
                        "labelSelectorPath": ".status.selector",
                    },
                },
                "additionalPrinterColumns": printer_columns(),
            }],
        },
    }))
}

/// The pod template schema built into this program.
///
/// # Errors
///
/// If it is not JSON, which a test excludes.
pub fn embedded_template() -> Result<Value, SchemaError> {
    Ok(serde_json::from_str(EMBEDDED_TEMPLATE)?)
}

fn root(template: Value) -> Value {
    json!({
        "type": "object",
        "description": "Deployment keeps a number of identical pods running and moves them from \
            one template to the next. It means what an apps/v1 Deployment means; Rollwright \
            carries it out with ordinary apps/v1 ReplicaSets.",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec::schema(template),
            "status": status::schema(),
        },
    })
}

/// What `kubectl get deployments -o wide` shows (S15.7). A column takes a single path, so the
/// composed ones are fed by strings that the operator keeps in the status.
fn printer_columns() -> Value {
    json!([
        column("Ready", "string", ".status.ready", 0, "Ready pods out of wanted pods."),
        column("Up-to-date", "integer", ".status.updatedReplicas", 0, "Pods of the current template."),
        column(
            "Available",
            "integer",
            ".status.availableReplicas",
            0,
            "Pods that have been ready for minReadySeconds."
        ),
        column("Age", "date", ".metadata.creationTimestamp", 0, "Time since creation."),
        column("Containers", "string", ".status.containers", 1, "Names of the template's containers."),
        column("Images", "string", ".status.images", 1, "Images of the template's containers."),
        column("Selector", "string", ".status.selector", 1, "Label selector of the pods."),
    ])
}

fn column(name: &str, kind: &str, path: &str, priority: i32, description: &str) -> Value {
    let mut column = json!({"name": name, "type": kind, "jsonPath": path, "description": description});
    if let (true, Some(column)) = (priority > 0, column.as_object_mut()) {
        column.insert("priority".into(), json!(priority));
    }
    column
}

#[cfg(test)]
mod tests;
