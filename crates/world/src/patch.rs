//! Patches: a change of an object that names only what changes.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::object::Object;
use crate::refusal::Refused;
use crate::strategic;

/// A patch, as its content type says.
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
            Self::Merge(patch) => merge_parts(object, patch, merge),
            Self::Strategic(patch) => merge_parts(object, patch, strategic::merge_member),
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
            Self::Merge(patch) => merge(value, patch, ""),
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

type Merge = fn(&mut Value, &Value, &str);

fn merge_parts(object: &Object, patch: &Value, merge: Merge) -> Result<Object, Refused> {
    let Some(members) = patch.as_object() else {
        return Err(Refused::bad_request("a patch must be a JSON object"));
    };
    let mut patched = object.clone();
    for (name, change) in members {
        let part = match name.as_str() {
            "metadata" => &mut patched.metadata,
            "spec" => &mut patched.spec,
            "status" => &mut patched.status,
            "apiVersion" | "kind" => continue,
            _ => {
                merge_rest(Arc::make_mut(&mut patched.rest), name, change, merge);
                continue;
            }
        };
        if change.is_null() {
            *part = Arc::new(Value::Null);
        } else {
            merge(Arc::make_mut(part), change, name);
        }
    }
    if !patched.metadata.is_object() {
        patched.metadata = object.metadata.clone();
    }
    Ok(patched)
}

fn merge_rest(rest: &mut Map<String, Value>, name: &str, change: &Value, merge: Merge) {
    if change.is_null() {
        rest.remove(name);
    } else {
        merge(rest.entry(name).or_insert(Value::Null), change, name);
    }
}

/// RFC 7396.
fn merge(target: &mut Value, patch: &Value, _: &str) {
    let Some(changes) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(members) = target.as_object_mut() else { return };
    for (name, change) in changes {
        if change.is_null() {
            members.remove(name);
        } else {
            merge(members.entry(name.as_str()).or_insert(Value::Null), change, name);
        }
    }
}
