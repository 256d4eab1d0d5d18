//! Strategic merge patches: lists of objects are merged by a key instead of replaced.

use serde_json::{Map, Value};

/// Lists that merge, by the name of their member, with the keys that identify entries; where there are several, the
/// first that the entries carry counts.
const MERGE_KEYS: [(&str, &[&str]); 14] = [
    ("ownerReferences", &["uid"]),
    ("conditions", &["type"]),
    ("containers", &["name"]),
    ("initContainers", &["name"]),
    ("ephemeralContainers", &["name"]),
    ("env", &["name"]),
    ("ports", &["containerPort", "port"]),
    ("volumes", &["name"]),
    ("volumeMounts", &["mountPath"]),
    ("volumeDevices", &["devicePath"]),
    ("imagePullSecrets", &["name"]),
    ("hostAliases", &["ip"]),
    ("topologySpreadConstraints", &["topologyKey"]),
    ("resourceClaims", &["name"]),
];

/// Lists of plain values that merge as sets.
const MERGED_SETS: [&str; 1] = ["finalizers"];

/// Merges a patch into a value that is the member `name` of its parent.
pub(crate) fn merge_member(target: &mut Value, patch: &Value, name: &str) {
    match patch {
        Value::Object(changes) => merge_object(target, changes),
        Value::Array(changes) => merge_list(target, changes, name),
        other => *target = other.clone(),
    }
}

fn merge_object(target: &mut Value, changes: &Map<String, Value>) {
    if changes.get("$patch").and_then(Value::as_str) == Some("replace") {
        let mut changes = changes.clone();
        changes.remove("$patch");
        *target = Value::Object(changes);
        return;
    }
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(members) = target.as_object_mut() else { return };
    if let Some(retained) = changes.get("$retainKeys").and_then(Value::as_array) {
        members.retain(|name, _| retained.iter().any(|kept| kept.as_str() == Some(name)));
    }
    for (name, change) in changes {
        if let Some(list) = name.strip_prefix("$deleteFromPrimitiveList/") {
            remove_values(members.get_mut(list), change);
        } else if name.starts_with('$') {
            // Orders and kept keys are directives, not members.
        } else if change.is_null() {
            members.remove(name);
        } else {
            merge_member(members.entry(name.as_str()).or_insert(Value::Null), change, name);
        }
    }
}

fn remove_values(list: Option<&mut Value>, gone: &Value) {
    let gone = gone.as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(entries) = list.and_then(Value::as_array_mut) {
        entries.retain(|entry| !gone.contains(entry));
    }
}

fn merge_list(target: &mut Value, changes: &[Value], name: &str) {
    let keys = MERGE_KEYS.iter().find(|(list, _)| *list == name).map(|(_, keys)| *keys);
    if !target.is_array() {
        *target = Value::Array(Vec::new());
    }
    let Some(entries) = target.as_array_mut() else { return };
    match keys {
        Some(keys) => changes.iter().for_each(|change| merge_entry(entries, change, keys)),
        None if MERGED_SETS.contains(&name) => {
            let missing = changes.iter().filter(|change| !entries.contains(change));
            let missing: Vec<_> = missing.cloned().collect();
            // New ones come first.
            entries.splice(0..0, missing);
        }
        None => *entries = changes.to_vec(),
    }
}

fn merge_entry(entries: &mut Vec<Value>, change: &Value, keys: &[&str]) {
    let Some(key) = keys.iter().find(|key| change.get(**key).is_some()) else {
        if change.get("$patch").and_then(Value::as_str) == Some("replace") {
            entries.clear();
        }
        return;
    };
    let position = entries.iter().position(|entry| entry.get(*key) == change.get(*key));
    let directive = change.get("$patch").and_then(Value::as_str);
    match (position, directive) {
        (Some(position), Some("delete")) => {
            entries.remove(position);
        }
        (None, Some("delete")) => {}
        (Some(position), _) => {
            if let Some(entry) = entries.get_mut(position) {
                merge_member(entry, change, "");
            }
        }
        (None, _) => entries.push(change.clone()),
    }
}
