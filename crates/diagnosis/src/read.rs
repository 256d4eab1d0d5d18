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
