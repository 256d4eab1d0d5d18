//! Parts of JSON that may be missing.

use serde_json::Value;

/// Text at a path; empty if there is none.
#[must_use]
pub fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// The list at a path; empty if there is none.
#[must_use]
pub fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    value.pointer(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// `metadata.uid` of the controller that owns an object.
#[must_use]
pub fn controller_of(object: &Value) -> Option<&str> {
    let mut owners = list(object, "/metadata/ownerReferences").iter();
    let controller = owners.find(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true))?;
    controller.get("uid")?.as_str()
}
