//! The schema of `spec`: apps/v1's fields, `rollbackTo`, and the limits on both.

use serde_json::{Map, Value, json};

use super::rules;

/// Largest value that apps/v1 can hold in its counters and periods.
const INT32_MAX: i64 = i32::MAX as i64;
/// More pods than one cluster can run, with an order of magnitude to spare.
const MAX_REPLICAS: i64 = 1_000_000;
/// How many labels, selector terms and values of a term there may be: the rules walk them, and
/// the API server refuses rules whose cost it cannot bound.
const MAX_LABELS: i64 = 256;
const MAX_TERMS: i64 = 64;
const MAX_VALUES: i64 = 128;
/// Limits of Kubernetes itself for the parts of a label: prefix, slash and name; and the value.
const MAX_LABEL_KEY: i64 = 253 + 1 + 63;
const MAX_LABEL_VALUE: i64 = 63;

/// The schema of `spec`, around the schema of a pod template.
///
/// The only default is `replicas`: without a value the scale subresource answers with an error.
/// The operator fills in the others in memory (S1.4–S1.10); a default for `rollingUpdate` would
/// also appear under Recreate, where it is forbidden (S1.17). Optional fields take null for absent,
/// as in apps/v1.
pub(super) fn schema(template: Value) -> Value {
    json!({
        "type": "object",
        "description": "What should run, and how to get there.",
        "required": ["template"],
        "properties": {
            "replicas": {
                "type": "integer", "format": "int32", "minimum": 0, "maximum": MAX_REPLICAS, "default": 1,
                "description": "Number of pods wanted.",
            },
            "selector": selector(),
            "template": pod_template(template),
            "strategy": strategy(),
            "minReadySeconds": period(
                "Seconds a new pod must stay ready before it counts as available. 0 when absent."),
            "revisionHistoryLimit": period(
                "Number of idle ReplicaSets kept for rollbacks. 10 when absent; 2147483647 keeps all."),
            "progressDeadlineSeconds": period(
                "Seconds a rollout may stand still before it is reported as failed. 600 when absent; \
                 2147483647 for no deadline."),
            "paused": {
                "type": "boolean", "nullable": true,
                "description": "Scale, but start no rollout and carry none on.",
            },
            "rollbackTo": {
                "type": "object",
                "nullable": true,
                "description": "Asks once for an earlier template: the operator puts it back, removes \
                    this field and reports in status.rollback.",
                "properties": {
                    "revision": {
                        "type": "integer", "format": "int64", "minimum": 0, "nullable": true,
                        "description": "Revision to go back to; 0 or absent for the previous one.",
                    },
                },
            },
        },
        "x-kubernetes-validations": rules::spec(),
    })
}

fn period(description: &str) -> Value {
    json!({
        "type": "integer", "format": "int32", "minimum": 0, "maximum": INT32_MAX, "nullable": true,
        "description": description,
    })
}

fn label_values() -> Value {
    json!({"type": "string", "maxLength": MAX_LABEL_VALUE})
}

fn selector() -> Value {
    json!({
        "type": "object",
        "nullable": true,
        "description": "Which pods belong to this Deployment. When absent, the labels of the template \
            are taken and stored here. Fixed from then on.",
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "matchLabels": {
                "type": "object",
                "nullable": true,
                "description": "Labels that must be present with exactly these values.",
                "maxProperties": MAX_TERMS,
                "additionalProperties": label_values(),
                "x-kubernetes-validations": rules::labels(),
            },
            "matchExpressions": {
                "type": "array",
                "nullable": true,
                "description": "Further requirements, all of which must hold.",
                "maxItems": MAX_TERMS,
                "x-kubernetes-list-type": "atomic",
                "items": {
                    "type": "object",
                    "required": ["key", "operator"],
                    "properties": {
                        "key": {
                            "type": "string", "maxLength": MAX_LABEL_KEY,
                            "x-kubernetes-validations": rules::label_key(),
                        },
                        "operator": {"type": "string", "enum": ["In", "NotIn", "Exists", "DoesNotExist"]},
                        "values": {
                            "type": "array",
                            "nullable": true,
                            "maxItems": MAX_VALUES,
                            "x-kubernetes-list-type": "atomic",
                            "items": label_values(),
                            "x-kubernetes-validations": rules::label_values(),
                        },
                    },
                    "x-kubernetes-validations": rules::expression(),
                },
            },
        },
        "x-kubernetes-validations": rules::selector(),
    })
}

/// An empty type means RollingUpdate, as in apps/v1 (S1.4).
fn strategy() -> Value {
    json!({
        "type": "object",
        "nullable": true,
        "description": "How pods of the old template are replaced.",
        "properties": {
            "type": {
                "type": "string",
                "enum": ["", "RollingUpdate", "Recreate"],
                "description": "RollingUpdate (also when absent) replaces pods step by step; Recreate \
                    stops all old ones first.",
            },
            "rollingUpdate": {
                "type": "object",
                "nullable": true,
                "description": "Limits of a RollingUpdate.",
                "properties": {
                    "maxSurge": share(
                        "Pods above the wanted number during a rollout: a number, or a percentage of \
                         replicas, rounded up. 25% when absent.",
                        &rules::max_surge(),
                    ),
                    "maxUnavailable": share(
                        "Pods that may be missing during a rollout: a number, or a percentage of \
                         replicas, rounded down. 25% when absent.",
                        &rules::max_unavailable(),
                    ),
                },
                "x-kubernetes-validations": rules::rolling_update(),
            },
        },
        "x-kubernetes-validations": rules::strategy(),
    })
}

fn share(description: &str, rules: &Value) -> Value {
    json!({
        "description": description,
        "x-kubernetes-int-or-string": true,
        "nullable": true,
        "maximum": INT32_MAX,
        "x-kubernetes-validations": rules,
    })
}

/// The generated template, with the limits that a Deployment puts on it (S1.24, S1.32).
fn pod_template(mut template: Value) -> Value {
    set(&mut template, "", "description", json!("The pods to run: a pod template as in apps/v1."));
    set(&mut template, "", "required", json!(["spec"]));
    let labels = "/properties/metadata/properties/labels";
    set(&mut template, labels, "maxProperties", json!(MAX_LABELS));
    set(&mut template, labels, "x-kubernetes-validations", rules::labels());
    set(&mut template, labels, "additionalProperties", label_values());
    let spec = "/properties/spec";
    set(&mut template, spec, "x-kubernetes-validations", rules::pod_spec());
    if let Some(spec) = template.pointer_mut(spec).and_then(Value::as_object_mut) {
        // The rules say what to do about a missing container; the schema would only say that.
        spec.remove("required");
        // No rule is asked about a null.
        spec.remove("nullable");
    }
    // Forbidden in a template: a rule refuses any entry, so what one looks like does not matter.
    let entries = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let list = json!({"type": "array", "x-kubernetes-list-type": "atomic", "items": entries});
    set(&mut template, "/properties/spec/properties", "ephemeralContainers", list);
    template
}

fn set(schema: &mut Value, at: &str, key: &str, value: Value) {
    let node: Option<&mut Map<String, Value>> = schema.pointer_mut(at).and_then(Value::as_object_mut);
    if let Some(node) = node {
        node.insert(key.to_owned(), value);
    }
}
