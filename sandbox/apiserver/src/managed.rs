//! `metadata.managedFields` of Deployments: who wrote what, and when. The operator reads there who wrote a status last
//! and who changed the template, and the command line when a change was made.
//!
//! One entry for each manager and operation, with the fields that they changed. Nobody loses a field to another one.

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use world::{Object, Subresource};

use crate::gate::{Scope, Verb};

/// Notes who writes, if the write changes anything.
pub(crate) fn note(
    object: &mut Object,
    stored: Option<&Object>,
    subresource: Subresource,
    scope: &Scope,
    now: Timestamp,
) {
    let fields = match subresource {
        Subresource::Status => {
            let is_new = stored.is_some_and(|stored| stored.status != object.status);
            if is_new { json!({ "f:status": {} }) } else { json!({}) }
        }
        Subresource::Main | Subresource::Scale => {
            let before = stored.map(Object::to_value).unwrap_or_default();
            let after = object.to_value();
            let part = |path: &str| changed(before.pointer(path), after.pointer(path));
            let metadata = nested([
                ("f:labels", part("/metadata/labels")),
                ("f:annotations", part("/metadata/annotations")),
            ]);
            Value::Object(nested([("f:metadata", metadata), ("f:spec", part("/spec"))]))
        }
    };
    if fields.as_object().is_none_or(Map::is_empty) {
        return;
    }
    let operation = if scope.verb == Verb::Apply { "Apply" } else { "Update" };
    let part = match subresource {
        Subresource::Main => Value::Null,
        Subresource::Scale => "scale".into(),
        Subresource::Status => "status".into(),
    };
    let mut entries =
        object.metadata.get("managedFields").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_own = |entry: &Value| {
        entry["manager"] == scope.manager.as_str()
            && entry["operation"] == operation
            && entry["subresource"] == part
    };
    let known = entries.iter().find(|entry| is_own(entry)).map(|entry| entry["fieldsV1"].clone());
    entries.retain(|entry| !is_own(entry));
    let mut entry = json!({
        "manager": scope.manager, "operation": operation,
        "apiVersion": object.resource.api_version(), "time": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        "fieldsType": "FieldsV1", "fieldsV1": merged(known.unwrap_or_default(), fields),
    });
    if let (Some(members), false) = (entry.as_object_mut(), part.is_null()) {
        members.insert("subresource".to_owned(), part);
    }
    entries.push(entry);
    object.set_metadata("managedFields", Value::from(entries));
}

/// The fields of `after` that `before` has not, or has with another value. A list is one field.
fn changed(before: Option<&Value>, after: Option<&Value>) -> Map<String, Value> {
    let Some(after) = after.and_then(Value::as_object) else { return Map::new() };
    let before = |name: &str| before.and_then(|before| before.get(name));
    let others = after.iter().filter(|(name, value)| before(name) != Some(*value));
    others
        .map(|(name, value)| (format!("f:{name}"), Value::Object(changed(before(name), Some(value)))))
        .collect()
}

/// Those of these fields that have any below them.
fn nested<const N: usize>(fields: [(&str, Map<String, Value>); N]) -> Map<String, Value> {
    let fields = fields.into_iter().filter(|(_, below)| !below.is_empty());
    fields.map(|(name, below)| (name.to_owned(), Value::Object(below))).collect()
}

/// Both together.
fn merged(known: Value, fields: Value) -> Value {
    match (known, fields) {
        (Value::Object(mut known), Value::Object(fields)) => {
            for (name, below) in fields {
                let before = known.remove(&name).unwrap_or_default();
                known.insert(name, merged(before, below));
            }
            Value::Object(known)
        }
        (_, fields) => fields,
    }
}
