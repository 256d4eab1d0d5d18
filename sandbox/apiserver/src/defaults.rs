//! What the server adds to built-in kinds beside the defaults of [`world::Defaults`].

use std::sync::Arc;

use serde_json::{Value, json};
use world::{Object, Resource};

use crate::member::put;

/// Completes a new object.
pub(crate) fn complete(object: &mut Object) {
    match object.resource {
        Resource::Namespaces => {
            let mut labels = object.metadata.get("labels").cloned().unwrap_or_else(|| json!({}));
            put(&mut labels, "kubernetes.io/metadata.name", object.name());
            object.set_metadata("labels", labels);
            object.spec = Arc::new(json!({ "finalizers": ["kubernetes"] }));
        }
        Resource::Pods => {
            let spec = Arc::make_mut(&mut object.spec).as_object_mut();
            if let Some(spec) = spec {
                spec.entry("priority").or_insert(json!(0));
                spec.entry("preemptionPolicy").or_insert(json!("PreemptLowerPriority"));
            }
        }
        Resource::Events => {
            let members = Arc::make_mut(&mut object.rest);
            for (name, value) in [
                ("eventTime", Value::Null),
                ("reportingComponent", json!("")),
                ("reportingInstance", json!("")),
            ] {
                members.entry(name).or_insert(value);
            }
        }
        _ => {}
    }
}

/// Drops lists and maps of the metadata that hold nothing: the server does not write those.
pub(crate) fn drop_empty(object: &mut Object) {
    for field in ["ownerReferences", "finalizers", "labels", "annotations"] {
        let is_empty = match object.metadata.get(field) {
            Some(Value::Array(items)) => items.is_empty(),
            Some(Value::Object(members)) => members.is_empty(),
            _ => false,
        };
        if is_empty {
            object.set_metadata(field, Value::Null);
        }
    }
}
