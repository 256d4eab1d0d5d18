//! A Deployment that is pinned, or that was reverted, for tests: revision 7 is declared, and revision 6 runs.

use plan::keys::{FINGERPRINTS, REVISION};
use plan::{Flavour, TargetRecord};
use serde_json::{Value, json};

use crate::cluster::Deployment;
use crate::history::{self, Revision};

/// Why it is pinned.
pub(crate) const REASON: &str = "INC-4711";

fn template(number: i64) -> Value {
    json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "image": format!("app:{number}")}]},
    })
}

/// The Deployment, with all pods of revision 6.
pub(crate) fn pinned() -> Deployment {
    let body = json!({
        "metadata": {"name": "web", "namespace": "shop", "uid": "d", "resourceVersion": "1", "generation": 9},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template(7),
                 "pin": {"podTemplateHash": "h6", "reason": REASON}},
        "status": {
            "observedGeneration": 9, "replicas": 3, "updatedReplicas": 0, "readyReplicas": 3,
            "availableReplicas": 3,
            "target": {"revision": 6, "podTemplateHash": "h6", "reason": "Pinned", "declaredRevision": 7},
            "conditions": [{"type": "Progressing", "status": "False", "reason": "RolledBack"},
                           {"type": "Stalled", "status": "True", "reason": "RolledBack"}],
        },
    });
    Deployment { flavour: Flavour::Rollwright, body }
}

/// The same, after somebody deleted the ReplicaSet that is pinned.
pub(crate) fn missing() -> Deployment {
    let mut deployment = pinned();
    deployment.body["spec"]["pin"]["podTemplateHash"] = json!("h9");
    deployment.body["status"]["target"] = json!({"revision": null, "podTemplateHash": "h9", "reason": "PinTargetMissing", "declaredRevision": 7});
    for condition in [0, 1] {
        deployment.body["status"]["conditions"][condition]["reason"] = json!("PinTargetMissing");
    }
    deployment
}

/// What the operator reports of a revert, in the planner's words.
pub(crate) fn reverted_words() -> String {
    let (hash, reason) = ("h6".to_owned(), "Reverted".to_owned());
    TargetRecord { revision: Some(6), hash, reason, declared_revision: Some(7) }.sentence(None)
}

/// The Deployment after revision 7 failed, with all pods of revision 6.
pub(crate) fn reverted() -> Deployment {
    let mut deployment = pinned();
    deployment.body["spec"]["pin"] = Value::Null;
    deployment.body["spec"]["failurePolicy"] = json!({"action": "Revert"});
    deployment.body["status"]["revision"] = json!(7);
    deployment.body["status"]["fallback"] = json!({"revision": 6, "podTemplateHash": "h6"});
    deployment.body["status"]["target"]["reason"] = json!("Reverted");
    deployment
}

/// What the operator reports where nothing is rolled out before somebody acts.
pub(crate) const HELD: &str = "the declared revision 7 failed: apply another template, or try this one again with \
                               `kubectl rollwright retry deployment.rollwright.dev/web -n shop`";

/// The Deployment after revision 7 failed, where somebody has to act for this reason.
pub(crate) fn held(reason: &str) -> Deployment {
    let mut deployment = reverted();
    deployment.body["status"]["target"] = Value::Null;
    deployment.body["status"]["conditions"] = json!([
        {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"},
        {"type": "Stalled", "status": "True", "reason": reason, "message": format!("blocked: {HELD}")},
    ]);
    deployment
}

/// The same after a newer operator left something.
pub(crate) fn newer(mut deployment: Deployment) -> Deployment {
    let stalled = json!({"type": "Stalled", "status": "True", "reason": "NewerSpec", "message": NEWER});
    if let Some(conditions) = deployment.body["status"]["conditions"].as_array_mut() {
        conditions.insert(0, stalled);
    }
    deployment
}

/// What the operator reports of that.
pub(crate) const NEWER: &str =
    "blocked: spec.analysis is newer than this operator: upgrade the operator, or remove the field";

/// What the operator reports of a rollout that waits at a step for some time.
pub(crate) const UNTIL: &str = "step 2 of 4: 1 of 3 updated, rests until 12:10:01Z";
/// The same of one that waits for somebody.
pub(crate) const UNTIL_PROMOTED: &str = "step 2 of 4: 1 of 3 updated, rests until somebody promotes it";

/// The Deployment while the rollout of revision 7 waits at its second step since noon.
pub(crate) fn resting(condition: &Value, words: &str) -> Deployment {
    let mut deployment = held("RolloutInProgress");
    deployment.body["spec"]["failurePolicy"] = Value::Null;
    let mut steps = json!([
        {"updated": 1, "approval": "Required"}, {"updated": "25%"}, {"updated": "50%"},
    ]);
    steps[1].as_object_mut().unwrap().extend(condition.as_object().unwrap().clone());
    deployment.body["spec"]["strategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0, "steps": steps}});
    let status = &mut deployment.body["status"];
    status["updatedReplicas"] = json!(1);
    status["rollout"] = json!({"id": 7, "revision": 7, "podTemplateHash": "h7", "step": 2, "steps": 4, "updated": 1, "targetPods": 1,
                               "restStartTime": "2026-04-01T12:00:00Z"});
    status["conditions"] = json!([
        {"type": "Progressing", "status": "Unknown", "reason": "RestingAtStep", "message": words},
        {"type": "Reconciling", "status": "True", "reason": "RestingAtStep", "message": words},
    ]);
    deployment
}

/// The same, where the rollout continues at ten past twelve.
pub(crate) fn resting_for_some_time() -> Deployment {
    resting(&json!({"waitSeconds": 600}), UNTIL)
}

/// The same, where somebody has to promote it.
pub(crate) fn resting_until_promoted() -> Deployment {
    resting(&json!({"approval": "Required"}), UNTIL_PROMOTED)
}

/// A ReplicaSet with this many pods.
pub(crate) fn set(number: i64, size: i64) -> Value {
    let mut stored = template(number);
    stored["metadata"]["labels"]["pod-template-hash"] = json!(format!("h{number}"));
    let fingerprint = Flavour::Rollwright.fingerprint(&template(number));
    let hash = format!("h{number}");
    json!({
        "metadata": {
            "name": format!("web-{hash}"), "namespace": "shop", "uid": format!("s{number}"),
            "labels": {"app": "web", "pod-template-hash": hash, "rollwright.dev/managed": "true"},
            "annotations": {REVISION: number.to_string(), FINGERPRINTS: fingerprint.as_str()},
            "ownerReferences": [{"uid": "d", "controller": true, "kind": "Deployment"}],
        },
        "spec": {"replicas": size, "template": stored},
        "status": {"replicas": size, "readyReplicas": size, "availableReplicas": size},
    })
}

/// Revisions 7, 6, and 5.
pub(crate) fn revisions() -> Vec<Revision> {
    history::revisions(vec![set(5, 0), set(6, 3), set(7, 0)])
}
