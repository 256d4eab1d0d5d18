use serde_json::json;

use super::*;

fn case() -> Value {
    let labels = json!({"team": "acme", "app.kubernetes.io/name": "acme-web", "pod-template-hash": "6b5d"});
    json!({
        "id": "shadow-7", "kind": "shadow", "tags": ["scale"], "now": "2026-01-01T00:00:00Z",
        "input": {
            "deployment": {
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "acme-web", "namespace": "acme-prod", "labels": labels, "uid": "u-1",
                    "annotations": {"deployment.kubernetes.io/revision": "3", "acme.example/owner": "acme-jo"}},
                "spec": {
                    "selector": {"matchLabels": {"team": "acme"}},
                    "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}},
                    "template": {"metadata": {"labels": {"team": "acme"}}, "spec": {"containers": [{
                        "name": "acme-app", "image": "registry.acme.example/app:1",
                        "env": [{"name": "ACME_TOKEN", "value": "acme-secret"}],
                        "resources": {"limits": {"cpu": "500m", "acme.example/gpu": "1"}}}]}},
                },
                "status": {"conditions": [
                    {"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated",
                     "message": "ReplicaSet \"acme-web-6b5d\" is progressing."},
                    {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
                     "message": "quota acme-quota exceeded"}]},
            },
            "replicaSets": [{"metadata": {"name": "acme-web-6b5d", "labels": labels}}],
        },
        "sequence": [{"sets": {"acme-web-6b5d": {"replicas": 2}}}],
        "shadow": {"observed": "scale acme-web-6b5d", "deviations": ["S8.12"]},
    })
}

#[test]
fn nothing_of_the_user_stays() {
    let mut masked = case();
    Mask::default().case(&mut masked);
    let text = masked.to_string();
    assert!(!text.to_lowercase().contains("acme"), "{text}");
    for kept in ["RollingUpdate", "25%", "500m", "shadow-7", "u-1", "ReplicaSetUpdated", "S8.12", "\"3\""] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
}

#[test]
fn what_was_equal_stays_equal() {
    let mut masked = case();
    Mask::default().case(&mut masked);
    let at = |pointer: &str| masked.pointer(pointer).cloned().unwrap();
    assert_eq!(at("/input/deployment/metadata/labels"), at("/input/replicaSets/0/metadata/labels"));
    let selected = at("/input/deployment/spec/selector/matchLabels");
    assert_eq!(selected, at("/input/deployment/spec/template/metadata/labels"));
    let set = at("/input/replicaSets/0/metadata/name");
    let set = set.as_str().unwrap();
    let deployment = at("/input/deployment/metadata/name");
    assert_eq!(set, format!("{}-6b5d", deployment.as_str().unwrap()));
    assert!(masked.pointer(&format!("/sequence/0/sets/{set}")).is_some());
    let message = at("/input/deployment/status/conditions/0/message");
    assert_eq!(message, format!("ReplicaSet \"{set}\" is progressing."));
}

#[test]
fn each_run_has_a_key_of_its_own() {
    assert_ne!(Mask::default().word("web"), Mask::default().word("web"));
}
