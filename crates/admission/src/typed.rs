//! The errors of server-side apply for an object that does not fit the schema. It checks before all other
//! checks, has its own messages, and stops at the first error.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::go_text;
use crate::schema::{ListType, Schema, Type};

/// The first field that does not fit, and why.
pub(crate) fn mismatch(schema: &Schema, value: &Value, path: &str) -> Option<String> {
    if value.is_null() {
        return None;
    }
    let wrong = |what: &str| Some(format!("{path}: {what}"));
    let shown = || format!("&{{{}}}", go_text::plain(value));
    match (schema.kind, value) {
        (None, _) => None,
        (Some(Type::Object), Value::Object(entries)) => fields(schema, entries, path),
        (Some(Type::Array), Value::Array(list)) => items(schema, list, path),
        (Some(Type::String), Value::String(_))
        | (Some(Type::Integer | Type::Number), Value::Number(_))
        | (Some(Type::Boolean), Value::Bool(_)) => None,
        (Some(Type::Object), _) => wrong(&format!("expected map, got {}", shown())),
        (Some(Type::Array), _) => wrong(&format!("expected list, got {}", shown())),
        (Some(Type::Boolean), _) => wrong(&format!("expected boolean, got {}", shown())),
        (Some(Type::Integer | Type::Number), _) => {
            wrong(&format!("expected numeric (int or float), got {}", go_text::type_name(value)))
        }
        (Some(Type::String), _) => wrong(&not_a_string(value)),
    }
}

/// The error for a value where a string belongs.
pub(crate) fn not_a_string(value: &Value) -> String {
    format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_text::syntax(value))
}

fn fields(schema: &Schema, entries: &Map<String, Value>, path: &str) -> Option<String> {
    entries.iter().find_map(|(name, value)| {
        let path = format!("{path}.{name}");
        match schema.entry(name) {
            Some(schema) => mismatch(schema, value, &path),
            None if schema.preserve => None,
            None => Some(format!("{path}: field not declared in schema")),
        }
    })
}

fn items(schema: &Schema, list: &[Value], path: &str) -> Option<String> {
    let item_schema = schema.items.as_deref()?;
    let mut seen = BTreeSet::new();
    for (i, item) in list.iter().enumerate() {
        let place = match place(schema, item_schema, item, i) {
            Ok(place) => place,
            Err(why) => return Some(format!("{path}: element {i}: {why}")),
        };
        if seen.contains(&place) {
            return Some(format!("{path}: duplicate entries for key {place}"));
        }
        if let Some(wrong) = mismatch(item_schema, item, &format!("{path}{place}")) {
            return Some(wrong);
        }
        seen.insert(place);
    }
    None
}

/// How an item is named: by its place, its value or its keys.
fn place(schema: &Schema, item_schema: &Schema, item: &Value, index: usize) -> Result<String, String> {
    let keys = match &schema.list_type {
        ListType::Atomic => return Ok(format!("[{index}]")),
        ListType::Set => return Ok(format!("[={}]", go_text::json(item))),
        ListType::Map(keys) => keys,
    };
    if !item.is_object() {
        return Err("associative list with keys may not have non-map elements".to_owned());
    }
    let value = |name: &str| {
        let default = || item_schema.property(name).and_then(|property| property.default.as_ref());
        item.get(name).or_else(default).map(|value| format!("{name}={}", go_text::json(value)))
    };
    let mut parts: Vec<String> = keys.iter().filter_map(|name| value(name)).collect();
    if parts.is_empty() {
        let names: Vec<String> = keys.iter().map(|name| go_text::quoted(name)).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
             values for any key fields)",
            names.join(" ")
        ));
    }
    parts.sort();
    Ok(format!("[{}]", parts.join(",")))
}
