//! Lists with items that must be unique: sets, and lists merged by key.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::cause::Cause;
use crate::schema::{ListType, Schema};

/// Checks the lists of a value, at any depth.
pub(crate) fn check(schema: &Schema, value: &Value, path: &str, found: &mut Vec<Cause>) {
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                if let Some(property) = schema.properties.get(name) {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    check(property, value, &path, found);
                } else if let Some(entry) = schema.entries.as_deref() {
                    check(entry, value, &format!("{path}[{name}]"), found);
                }
            }
        }
        Value::Array(items) => {
            uniqueness(schema, items, path, found);
            if let Some(schema) = schema.items.as_deref() {
                for (i, item) in items.iter().enumerate() {
                    check(schema, item, &format!("{path}[{i}]"), found);
                }
            }
        }
        _ => {}
    }
}

fn uniqueness(schema: &Schema, items: &[Value], path: &str, found: &mut Vec<Cause>) {
    let keys = match &schema.list_type {
        ListType::Atomic => return,
        ListType::Set => return duplicates(items, path, found),
        ListType::Map(keys) => keys,
    };
    let odd = items.iter().enumerate().find(|(_, item)| !item.is_null() && !item.is_object());
    if let Some((i, item)) = odd {
        let detail = "must be an object for an array of list-type map";
        found.push(Cause::invalid(format!("{path}[{i}]"), item, detail));
        return;
    }
    let key = |item: &Value| -> Value {
        let fields = keys.iter().filter_map(|name| Some((name.clone(), item.get(name)?.clone())));
        fields.collect::<Map<_, _>>().into()
    };
    duplicates(&items.iter().map(key).collect::<Vec<_>>(), path, found);
}

/// Reports each value that is there more than once, at its second place.
fn duplicates(values: &[Value], path: &str, found: &mut Vec<Cause>) {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for (i, value) in values.iter().enumerate() {
        let times = times.entry(value.to_string()).or_default();
        *times += 1;
        if *times == 2 {
            found.push(Cause::duplicate(format!("{path}[{i}]"), value));
        }
    }
}
