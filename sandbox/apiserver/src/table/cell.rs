//! What a column and a cell of it show.

use jiff::Timestamp;
use serde_json::{Value, json};
use world::Object;

use crate::duration::since;

/// A column: name, type, and priority; one with a priority is printed by `-o wide` only.
pub(super) type Column = (&'static str, &'static str, u8);

pub(super) fn definition(name: &str, kind: &str, priority: u8, description: &str) -> Value {
    let format = if name == "Name" { "name" } else { "" };
    json!({ "name": name, "type": kind, "format": format, "description": description, "priority": priority })
}

pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn number(value: &Value, pointer: &str) -> i64 {
    value.pointer(pointer).and_then(Value::as_i64).unwrap_or(0)
}

pub(super) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn age(object: &Object, now: Timestamp) -> String {
    since(text(&object.metadata, "/creationTimestamp"), now)
}

pub(super) fn or(text: &str, other: &str) -> String {
    if text.is_empty() { other.to_owned() } else { text.to_owned() }
}
