//! `metadata.managedFields`, where the operator reads who wrote a Deployment's status last. Nothing more is kept: one
//! entry per manager, without the fields.

use jiff::Timestamp;
use serde_json::{Value, json};
use world::Object;

use crate::gate::{Scope, Verb};

/// Notes who writes a status, if the write changes anything.
pub(crate) fn note_status(object: &mut Object, stored: Option<&Object>, scope: &Scope, now: Timestamp) {
    if stored.is_none_or(|stored| stored.status == object.status) {
        return;
    }
    let operation = if scope.verb == Verb::Apply { "Apply" } else { "Update" };
    let mut entries =
        object.metadata.get("managedFields").and_then(Value::as_array).cloned().unwrap_or_default();
    entries.retain(|entry| entry["manager"] != scope.manager.as_str() || entry["operation"] != operation);
    entries.push(json!({
        "manager": scope.manager, "operation": operation, "subresource": "status",
        "apiVersion": object.resource.api_version(), "time": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        "fieldsType": "FieldsV1", "fieldsV1": { "f:status": {} },
    }));
    object.set_metadata("managedFields", Value::from(entries));
}
