//! Who made a change, by `metadata.managedFields`.
//!
//! The server notes for every field who set it last. So the author of a change is the owner of the changed
//! fields. Times do not help: they have whole seconds, and do not change when the same manager writes twice
//! in one second.

use std::collections::BTreeSet;

use serde_json::Value;

/// Who wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// The controller in charge, through the endpoint that it writes this part with.
    Controller,
    /// Somebody else, by the name of the field manager.
    Other(String),
    /// The object does not show its author.
    Unknown,
}

/// A field, in the form of `fieldsV1`: `f:spec`, `f:replicas`.
pub(crate) type Path = Vec<String>;

/// The fields below `root` (a list of names) that differ.
pub(crate) fn changes(before: &Value, after: &Value, root: &[&str]) -> Vec<Path> {
    let pointer: String = root.iter().map(|name| format!("/{name}")).collect();
    let path = root.iter().map(|name| format!("f:{name}")).collect();
    let mut found = Vec::new();
    compare(path, before.pointer(&pointer), after.pointer(&pointer), &mut found);
    found
}

fn compare(path: Path, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<Path>) {
    if before == after {
        return;
    }
    let children = match (members(before), members(after)) {
        (Some(old), Some(new)) => (old, new),
        (Some(old), None) if after.is_none() => (old, Vec::new()),
        (None, Some(new)) if before.is_none() => (Vec::new(), new),
        _ => (Vec::new(), Vec::new()),
    };
    let (old, new) = children;
    if old.is_empty() && new.is_empty() {
        found.push(path);
        return;
    }
    let keys: BTreeSet<&String> = old.iter().chain(&new).map(|(key, _)| key).collect();
    let of = |list: &[(String, Value)], wanted: &String| {
        list.iter().find(|(key, _)| key == wanted).map(|(_, value)| value.clone())
    };
    for key in keys {
        let path = path.iter().chain([key]).cloned().collect();
        compare(path, of(&old, key).as_ref(), of(&new, key).as_ref(), found);
    }
}

/// What is owned apart: members of an object, and entries of the lists that have keys.
fn members(value: Option<&Value>) -> Option<Vec<(String, Value)>> {
    match value? {
        Value::Object(members) => {
            Some(members.iter().map(|(key, value)| (format!("f:{key}"), value.clone())).collect())
        }
        Value::Array(entries) => entries
            .iter()
            .map(|entry| {
                let key = ["type", "uid"].into_iter().find(|key| entry.get(key).is_some())?;
                let value = entry.get(key)?;
                Some((format!("k:{{\"{key}\":{value}}}"), entry.clone()))
            })
            .collect(),
        _ => None,
    }
}

/// Who made these changes. `subresource` is the endpoint that `manager` would have used.
pub(crate) fn author(managed_fields: &Value, changes: &[Path], subresource: &str, manager: &str) -> Author {
    let entries: Vec<&Value> = managed_fields.as_array().into_iter().flatten().collect();
    let owns = |entry: &&&Value| {
        let fields = entry.get("fieldsV1").unwrap_or(&Value::Null);
        changes.iter().any(|path| contains(fields, path))
    };
    let is_controller =
        |entry: &Value| text(entry, "manager") == manager && text(entry, "subresource") == subresource;
    let newest = |entry: &&&Value| (text(entry, "time").to_owned(), is_controller(entry));
    let owner = entries.iter().filter(owns).max_by_key(newest);
    // What was removed belongs to nobody any more: then it was the last that wrote there at all.
    let at_endpoint = |entry: &&&Value| text(entry, "subresource") == subresource;
    let owner = owner.or_else(|| entries.iter().filter(at_endpoint).max_by_key(newest));
    match owner {
        None => Author::Unknown,
        Some(entry) if is_controller(entry) => Author::Controller,
        Some(entry) => Author::Other(text(entry, "manager").to_owned()),
    }
}

/// Whether these fields contain the path; what is owned as a whole has no members.
fn contains(fields: &Value, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    match fields.get(first) {
        None => false,
        Some(Value::Object(members)) if members.is_empty() => true,
        Some(below) => contains(below, rest),
    }
}

fn text<'a>(entry: &'a Value, field: &str) -> &'a str {
    entry.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
