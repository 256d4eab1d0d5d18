//! What a Deployment demands of its pod template, beyond what a pod demands (S1.24, S1.32).

use serde_json::{Map, Value, json};

use crate::rules;

/// How many labels there may be: the rules walk them, and the API server refuses rules when it cannot bound their cost.
const MAX_LABELS: i64 = 256;
/// Kubernetes' own limit for the value of a label.
const MAX_LABEL_VALUE: i64 = 63;

/// The generated template, with the limits that a Deployment puts on it.
pub(super) fn pod_template(mut template: Value, description: Value) -> Value {
    set(&mut template, "", "description", description);
    set(&mut template, "", "required", json!(["spec"]));
    let labels = "/properties/metadata/properties/labels";
    set(&mut template, labels, "maxProperties", json!(MAX_LABELS));
    let of_labels = json!([rules::keys_are_label_keys(), rules::values_are_label_values()]);
    set(&mut template, labels, "x-kubernetes-validations", of_labels);
    let value = json!({"type": "string", "maxLength": MAX_LABEL_VALUE});
    set(&mut template, labels, "additionalProperties", value);
    let spec = "/properties/spec";
    set(&mut template, spec, "x-kubernetes-validations", json!(rules::pod_spec()));
    if let Some(spec) = template.pointer_mut(spec).and_then(Value::as_object_mut) {
        // The rules name the fix for a missing container; the schema would only report it.
        spec.remove("required");
        // No rule is asked about a null.
        spec.remove("nullable");
    }
    // Forbidden in a template: a rule refuses any entry, so what one looks like does not matter.
    let entries = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    set(
        &mut template,
        "/properties/spec/properties",
        "ephemeralContainers",
        json!({"type": "array", "items": entries}),
    );
    template
}

fn set(schema: &mut Value, at: &str, key: &str, value: Value) {
    let node: Option<&mut Map<String, Value>> = schema.pointer_mut(at).and_then(Value::as_object_mut);
    if let Some(node) = node {
        node.insert(key.to_owned(), value);
    }
}
