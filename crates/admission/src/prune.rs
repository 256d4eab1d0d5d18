//! What an object loses when it is decoded: fields that its schema does not know, and nulls.

use serde_json::{Map, Value};

use crate::schema::Schema;

/// Fields of every object, which no schema needs to name.
const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Drops the fields that the schema does not know, except in `metadata`, and returns their paths,
/// sorted.
pub fn prune(schema: &Schema, object: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    if let Value::Object(entries) = object {
        fields(Some(schema), entries, "", true, &mut unknown);
    }
    unknown.sort();
    unknown
}

fn value_of(schema: Option<&Schema>, value: &mut Value, path: &str, unknown: &mut Vec<String>) {
    match value {
        Value::Object(entries) => fields(schema, entries, path, false, unknown),
        Value::Array(items) => {
            let preserved = schema.is_some_and(|schema| schema.preserve);
            let schema = schema.and_then(|schema| schema.items.as_deref());
            if preserved && schema.is_none() {
                return;
            }
            for (i, item) in items.iter_mut().enumerate() {
                value_of(schema, item, &format!("{path}[{i}]"), unknown);
            }
        }
        _ => {}
    }
}

fn fields(
    schema: Option<&Schema>,
    entries: &mut Map<String, Value>,
    path: &str,
    root: bool,
    unknown: &mut Vec<String>,
) {
    let preserve = schema.is_some_and(|schema| schema.preserve);
    entries.retain(|name, value| {
        if root && META.contains(&name.as_str()) {
            return true;
        }
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        if let Some(schema) = schema.and_then(|schema| schema.entry(name)) {
            value_of(Some(schema), value, &path, unknown);
            return true;
        }
        if !preserve {
            unknown.push(path);
        }
        preserve
    });
}

/// Drops the nulls of properties that may not be null and have no default.
pub(crate) fn drop_nulls(schema: Option<&Schema>, value: &mut Value) {
    match value {
        Value::Object(entries) => entries.retain(|name, value| {
            let below = schema.and_then(|schema| schema.entry(name));
            if value.is_null() && below.is_some_and(|below| !below.nullable && below.default.is_none()) {
                return false;
            }
            drop_nulls(below, value);
            true
        }),
        Value::Array(items) => {
            let below = schema.and_then(|schema| schema.items.as_deref());
            items.iter_mut().for_each(|item| drop_nulls(below, item));
        }
        _ => {}
    }
}

/// Fills in the defaults of the schema, also for nulls that may not be null.
pub fn default(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(entries) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else { continue };
                let absent = entries.get(name).is_none_or(|value| value.is_null() && !property.nullable);
                if absent {
                    entries.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in entries.iter_mut() {
                if let Some(schema) = schema.entry(name) {
                    replace_null(schema, value);
                    default(schema, value);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.items.as_deref() else { return };
            for item in items {
                replace_null(schema, item);
                default(schema, item);
            }
        }
        _ => {}
    }
}

fn replace_null(schema: &Schema, value: &mut Value) {
    if let (Value::Null, false, Some(default)) = (&*value, schema.nullable, &schema.default) {
        *value = default.clone();
    }
}
