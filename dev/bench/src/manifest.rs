//! The Deployments of the bench.

use serde_json::{Value, json};

use crate::side::Side;

/// A small Deployment with a template that carries this version.
pub(crate) fn deployment(side: Side, name: &str, replicas: i64) -> Value {
    json!({
        "apiVersion": side.api_version(),
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}, "annotations": {VERSION: "1"}},
                "spec": {"containers": [{"name": "app", "image": "registry.example.org/shop/web:1.0"}]},
            },
        },
    })
}

/// What makes one template differ from the next.
const VERSION: &str = "example.org/version";

/// The merge patch for another template.
pub(crate) fn template(version: usize) -> Value {
    json!({"spec": {"template": {"metadata": {"annotations": {VERSION: version.to_string()}}}}})
}

/// The merge patch for another size.
pub(crate) fn size(replicas: i64) -> Value {
    json!({"spec": {"replicas": replicas}})
}
