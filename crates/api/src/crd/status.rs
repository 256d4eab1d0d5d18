//! The schema of `status`, which only the operator writes.

use serde_json::{Map, Value, json};

/// The schema of `status`.
///
/// The default holds until the operator first writes the status: without an `observedGeneration`
/// that is not the present one, whoever waits would take a Deployment that nobody has looked at
/// for done (S9.1; `kstatus` and `kubectl wait` go by it).
pub(super) fn schema() -> Value {
    let mut properties = Map::new();
    counters(&mut properties);
    columns(&mut properties);
    properties.insert("conditions".into(), conditions());
    properties.insert("rollback".into(), rollback());
    properties.insert("collisions".into(), collisions());
    reserved(&mut properties);
    json!({
        "type": "object",
        "description": "What was found and done; written by the operator.",
        "properties": properties,
        "default": {"observedGeneration": NOT_OBSERVED},
    })
}

/// `observedGeneration` before anything was observed; generations start at 1.
const NOT_OBSERVED: i64 = -1;

/// S9.1–S9.5, the revision, and the size that the scale subresource reports.
fn counters(properties: &mut Map<String, Value>) {
    let fields = [
        (
            "observedGeneration",
            "int64",
            "Generation of the spec that this status is about; -1 before the first look.",
        ),
        ("replicas", "int32", "Pods of all ReplicaSets."),
        ("updatedReplicas", "int32", "Pods of the current template."),
        ("readyReplicas", "int32", "Ready pods."),
        ("availableReplicas", "int32", "Pods that have been ready for minReadySeconds."),
        ("unavailableReplicas", "int32", "Pods still missing from the sizes of the ReplicaSets."),
        ("terminatingReplicas", "int32", "Pods that are shutting down."),
        ("collisionCount", "int32", "How often a ReplicaSet's name was taken; varies the next name."),
        (
            "revision",
            "int64",
            "Revision of the ReplicaSet that stands for the current template; the last one while there is none yet.",
        ),
        ("scaleReplicas", "int32", "Current size for autoscalers: pods without the surge."),
    ];
    for (name, format, description) in fields {
        let minimum = if name == "observedGeneration" { NOT_OBSERVED } else { 0 };
        let schema =
            json!({"type": "integer", "format": format, "minimum": minimum, "description": description});
        properties.insert(name.into(), schema);
    }
}

fn columns(properties: &mut Map<String, Value>) {
    let fields = [
        ("selector", "The label selector in the form that autoscalers read."),
        ("ready", "Ready pods out of wanted pods, for the READY column."),
        ("containers", "Names of the template's containers, for the CONTAINERS column."),
        ("images", "Images of the template's containers, for the IMAGES column."),
    ];
    for (name, description) in fields {
        properties.insert(name.into(), json!({"type": "string", "description": description}));
    }
}

fn conditions() -> Value {
    json!({
        "type": "array",
        "description": "Ready when the rollout is complete, else Reconciling, or Stalled when somebody \
            has to do something; \
            Available, Progressing and ReplicaFailure as in apps/v1; RollbackRefused \
            while a spec.rollbackTo that keeps coming back is not carried out; CollisionLimitReached \
            while all names that were tried for the new ReplicaSet are taken; RevisionLimitReached \
            while there are too many ReplicaSets and none that could be deleted.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status"],
            "properties": {
                "type": {"type": "string"},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                "reason": {"type": "string"},
                "message": {"type": "string"},
                "lastUpdateTime": {"type": "string", "format": "date-time"},
                "lastTransitionTime": {"type": "string", "format": "date-time"},
                "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
            },
        },
    })
}

fn rollback() -> Value {
    json!({
        "type": "object",
        "description": "Outcome of the last spec.rollbackTo.",
        "properties": {
            "requested": {
                "type": "integer", "format": "int64", "minimum": 0,
                "description": "Revision asked for; 0 for the previous one.",
            },
            "revision": {
                "type": "integer", "format": "int64", "minimum": 0,
                "description": "Revision whose template was put back.",
            },
            "result": {
                "type": "string",
                "description": "RolledBack, RevisionNotFound, TemplateUnchanged, Invalid or Refused.",
            },
            "message": {"type": "string", "description": "Why the server did not take the template."},
            "time": {"type": "string", "format": "date-time", "description": "When it was decided."},
            "recent": {
                "type": "array", "maxItems": 3, "x-kubernetes-list-type": "atomic",
                "items": {
                    "type": "object",
                    "properties": {
                        "time": {"type": "string", "format": "date-time", "description": "When."},
                        "from": {"type": "string", "description": "Fingerprint of the template that was replaced."},
                        "to": {"type": "string", "description": "Fingerprint of the template that was put back."},
                    },
                },
                "description": "The latest rollbacks, by which a request that returns over and over is recognised.",
            },
        },
    })
}

fn collisions() -> Value {
    json!({
        "type": "object",
        "description": "The names that were taken when a ReplicaSet of the current template was to be created.",
        "properties": {
            "template": {"type": "string", "description": "Fingerprint of the template."},
            "count": {
                "type": "integer", "format": "int32", "minimum": 0,
                "description": "How often, since the template came.",
            },
            "time": {"type": "string", "format": "date-time", "description": "When last."},
        },
    })
}

/// Names set aside, so that an older CRD does not prune what a newer operator writes there.
fn reserved(properties: &mut Map<String, Value>) {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    properties.insert("target".into(), open.clone());
    properties.insert("rollout".into(), open.clone());
    let list = json!({"type": "array", "x-kubernetes-list-type": "atomic", "items": open});
    properties.insert("history".into(), list);
}
