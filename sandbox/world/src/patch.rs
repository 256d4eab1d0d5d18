//! Patches: a change of an object that names only what changes.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::object::{Object, version_of};
use crate::refusal::Refused;
use crate::strategic;

/// A patch of this content type.
#[derive(Clone, Debug, PartialEq)]
pub enum Patch {
    /// RFC 7396.
    Merge(Value),
    /// RFC 6902.
    Json(Value),
    /// Kubernetes' own, for built-in kinds: lists of objects merge by key.
    Strategic(Value),
}

impl Patch {
    /// The object as the patch would have it. Parts that it does not touch stay shared.
    pub(crate) fn apply(&self, object: &Object) -> Result<Object, Refused> {
        match self {
            Self::Merge(patch) => merge_parts(object, patch, merged),
            Self::Strategic(patch) => merge_parts(object, patch, strategically_merged),
            Self::Json(patch) => {
                let mut value = object.to_value();
                apply_json(&mut value, patch)?;
                Ok(Object::from_value(object.resource, value))
            }
        }
    }

    /// The same for plain JSON, such as a Scale.
    pub(crate) fn apply_to_value(&self, value: &mut Value) -> Result<(), Refused> {
        match self {
            Self::Merge(patch) => *value = merged(value, patch, ""),
            Self::Strategic(patch) => strategic::merge_member(value, patch, ""),
            Self::Json(patch) => apply_json(value, patch)?,
        }
        Ok(())
    }
}

fn apply_json(value: &mut Value, patch: &Value) -> Result<(), Refused> {
    let operations: json_patch::Patch = serde_json::from_value(patch.clone())
        .map_err(|error| Refused::bad_request(format!("error decoding patch: {error}")))?;
    json_patch::patch(value, &operations).map_err(|error| {
        Refused::new(
            422,
            "Invalid",
            format!("the server rejected our request due to an error in our request: {error}"),
        )
    })
}

/// What a value becomes by a change of the member of that name.
type Merge = fn(&Value, &Value, &str) -> Value;

fn merge_parts(object: &Object, patch: &Value, merge: Merge) -> Result<Object, Refused> {
    let Some(members) = patch.as_object() else {
        return Err(Refused::bad_request("a patch must be a JSON object"));
    };
    let mut patched = object.clone();
    for (name, change) in members {
        match name.as_str() {
            "metadata" => merge_metadata(&mut patched, change, merge),
            "spec" => patched.spec = Arc::new(merge_part(&patched.spec, name, change, merge)),
            "status" => patched.status = Arc::new(merge_part(&patched.status, name, change, merge).into()),
            "apiVersion" | "kind" => {}
            _ => merge_rest(Arc::make_mut(&mut patched.rest), name, change, merge),
        }
    }
    Ok(patched)
}

/// Metadata that only identifies the object stays shared.
fn merge_metadata(patched: &mut Object, change: &Value, merge: Merge) {
    let Some(changes) = change.as_object() else { return };
    let is_said = |(name, change): (&String, &Value)| match version_of(change) {
        Some(_) if name == "resourceVersion" => true,
        _ => says(patched.metadata.get(name), change),
    };
    if changes.iter().all(is_said) {
        if let Some(version) = changes.get("resourceVersion").and_then(version_of) {
            patched.set_version(version);
        }
        return;
    }
    let metadata = merge(&patched.metadata, change, "metadata");
    patched.put_metadata(metadata);
}

/// Whether a value has everything already that a change asks for.
fn says(value: Option<&Value>, change: &Value) -> bool {
    match (value, change) {
        (None, change) => change.is_null(),
        (Some(Value::Object(members)), Value::Object(changes)) => {
            changes.iter().all(|(name, change)| says(members.get(name), change))
        }
        (Some(value), change) => value == change,
    }
}

fn merge_part(part: &Value, name: &str, change: &Value, merge: Merge) -> Value {
    if change.is_null() { Value::Null } else { merge(part, change, name) }
}

fn merge_rest(rest: &mut Map<String, Value>, name: &str, change: &Value, merge: Merge) {
    if change.is_null() {
        rest.remove(name);
    } else {
        let merged = merge(rest.get(name).unwrap_or(&Value::Null), change, name);
        rest.insert(name.to_owned(), merged);
    }
}

/// RFC 7396. What the patch replaces is not copied first.
fn merged(value: &Value, patch: &Value, _: &str) -> Value {
    let Some(changes) = patch.as_object() else { return patch.clone() };
    let empty = Map::new();
    let members = value.as_object().unwrap_or(&empty);
    let mut after = Map::new();
    for (name, member) in members.iter().filter(|(name, _)| !changes.contains_key(*name)) {
        after.insert(name.clone(), member.clone());
    }
    for (name, change) in changes.iter().filter(|(_, change)| !change.is_null()) {
        let before = members.get(name).unwrap_or(&Value::Null);
        after.insert(name.clone(), merged(before, change, name));
    }
    Value::Object(after)
}

fn strategically_merged(value: &Value, patch: &Value, name: &str) -> Value {
    let mut value = value.clone();
    strategic::merge_member(&mut value, patch, name);
    value
}
