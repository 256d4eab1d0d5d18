//! What all nodes of the schema share, so that no field has to repeat it.

use serde_json::{Value, json};

/// Whether the nodes of a subtree take null for absent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Nulls {
    /// Optional ones do, as in apps/v1. Without `nullable` so do creating and updating, but not
    /// server-side apply, which Helm and others use.
    Taken,
    /// None does: the operator alone writes there.
    Refused,
}

/// Turns a schema of Rollwright into that of the definition, from what schemars and kube make of the types.
pub(super) fn finish(node: &mut Value, nulls: Nulls) {
    let Some(members) = node.as_object_mut() else { return };
    members.remove("title");
    members.retain(|key, value| key != "default" || !value.is_null());
    // Enumerations cannot list a null in a CRD, and for a null a default is filled in.
    let takes_null =
        nulls == Nulls::Taken && !members.contains_key("enum") && !members.contains_key("default");
    members.retain(|key, _| key != "nullable" || takes_null);
    for (key, value) in members.iter_mut() {
        match (key.as_str(), value) {
            // As the lines of the comment are broken.
            ("description", Value::String(text)) => *text = text.replace('\n', " "),
            // kube's types hold limits as fractions.
            ("minimum" | "maximum", value) => whole(value),
            ("enum", Value::Array(words)) => words.retain(|word| !word.is_null()),
            ("items" | "additionalProperties", child) => finish(child, nulls),
            ("properties", Value::Object(children)) => {
                children.values_mut().for_each(|child| finish(child, nulls));
            }
            _ => {}
        }
    }
}

/// Makes each part of the status a single field of `metadata.managedFields`, since only the operator writes there.
/// Lists are that already, but for the conditions, where others may add some of their own.
///
/// Otherwise, the API server goes through every field of a part in each status write.
pub(super) fn tracked_as_one_field(status: &mut Value) {
    let parts = status.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten();
    for (_, part) in parts.filter(|(_, part)| part.get("properties").is_some()) {
        part["x-kubernetes-map-type"] = json!("atomic");
    }
}

#[expect(clippy::cast_possible_truncation, reason = "limits are far below 2^53")]
fn whole(number: &mut Value) {
    if let Some(limit) = number.as_f64().filter(|limit| limit.fract() == 0.0) {
        *number = json!(limit as i64);
    }
}

/// Leaves out what holds by default, which a definition of this size can do without.
pub(super) fn without_defaults(node: &mut Value) {
    match node {
        Value::Object(members) => {
            let is_default = |key: &str, value: &Value| key == "x-kubernetes-list-type" && value == "atomic";
            members.retain(|key, value| !is_default(key, value));
            members.values_mut().for_each(without_defaults);
        }
        Value::Array(items) => items.iter_mut().for_each(without_defaults),
        _ => {}
    }
}
