//! The behaviours of webhooks in memory, as answers to a real API server.

use serde_json::{Value, json};
use world::Behaviour;

use crate::credentials::random_suffix;
use crate::webhook::{Registration, Verdict};

/// Registration for the `ReplicaSets` of one namespace.
pub(super) fn registration(behaviour: Behaviour, namespace: &str) -> Registration {
    let sees_updates = behaviour == Behaviour::AppendEnv;
    let operations: &[&str] = if sees_updates { &["CREATE", "UPDATE"] } else { &["CREATE"] };
    Registration::replica_sets(namespace, operations)
}

/// The answer to one admission request.
pub(super) fn judge(behaviour: Behaviour, request: &Value) -> Verdict {
    if behaviour == Behaviour::RefuseDryRun && request.get("dryRun") == Some(&Value::Bool(true)) {
        // The words that the API server itself has for webhooks that do not support dry runs.
        let message = "admission webhook \"test.rollwright.dev\" does not support dry run".to_owned();
        return Verdict::Deny { code: 400, message };
    }
    let Some(mut template) = request.pointer("/object/spec/template").cloned() else { return Verdict::Allow };
    behaviour.change(&mut template, &random_suffix());
    Verdict::Patch(vec![json!({"op": "replace", "path": "/spec/template", "value": template})])
}
