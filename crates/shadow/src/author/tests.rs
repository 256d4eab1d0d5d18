use serde_json::json;

use super::*;

const KCM: &str = "kube-controller-manager";

fn managed() -> Value {
    json!([
        {"manager": KCM, "operation": "Update", "time": "2026-01-01T00:00:05Z",
         "fieldsV1": {"f:metadata": {"f:annotations": {".": {}, "f:a": {}},
                                     "f:ownerReferences": {".": {}, "k:{\"uid\":\"u\"}": {}}}}},
        {"manager": KCM, "operation": "Update", "time": "2026-01-01T00:00:09Z", "subresource": "status",
         "fieldsV1": {"f:status": {"f:replicas": {}, "f:conditions": {".": {},
            "k:{\"type\":\"Progressing\"}": {".": {}, "f:reason": {}, "f:type": {}}}}}},
        {"manager": "kubectl", "operation": "Update", "time": "2026-01-01T00:00:09Z", "subresource": "scale",
         "fieldsV1": {"f:spec": {"f:replicas": {}}}},
    ])
}

#[test]
fn changes_are_told_as_the_server_names_fields() {
    let before = json!({"status": {"replicas": 1, "ready": 1, "conditions": [
        {"type": "Available", "status": "True"}, {"type": "Progressing", "status": "True", "reason": "A"}]}});
    let after = json!({"status": {"replicas": 2, "conditions": [
        {"type": "Progressing", "status": "True", "reason": "B"}, {"type": "Available", "status": "True"}]}});
    let expected: Vec<Path> = vec![
        vec![
            "f:status".into(),
            "f:conditions".into(),
            "k:{\"type\":\"Progressing\"}".into(),
            "f:reason".into(),
        ],
        vec!["f:status".into(), "f:ready".into()],
        vec!["f:status".into(), "f:replicas".into()],
    ];
    assert_eq!(changes(&before, &after, &["status"]), expected);
    assert_eq!(changes(&before, &before, &["status"]), Vec::<Path>::new());
}

#[test]
fn the_owner_of_what_changed_is_the_author() {
    let path = |names: &[&str]| vec![names.iter().map(|name| (*name).to_owned()).collect::<Path>()];
    let annotation = path(&["f:metadata", "f:annotations", "f:a"]);
    assert_eq!(author(&managed(), &annotation, "", KCM), Author::Controller);
    let size = path(&["f:spec", "f:replicas"]);
    assert_eq!(author(&managed(), &size, "", KCM), Author::Other("kubectl".to_owned()));
    let reason = path(&["f:status", "f:conditions", "k:{\"type\":\"Progressing\"}", "f:reason"]);
    assert_eq!(author(&managed(), &reason, "status", KCM), Author::Controller);
    // By the same manager, but through another door: the ReplicaSet controller, an autoscaler.
    assert_eq!(author(&managed(), &reason, "", KCM), Author::Other(KCM.to_owned()));
    // An owner reference is owned as a whole.
    let owner = path(&["f:metadata", "f:ownerReferences", "k:{\"uid\":\"u\"}", "f:controller"]);
    assert_eq!(author(&managed(), &owner, "", KCM), Author::Controller);
}

#[test]
fn what_was_removed_was_removed_by_the_last_writer_there() {
    let gone = vec![vec!["f:status".to_owned(), "f:readyReplicas".to_owned()]];
    assert_eq!(author(&managed(), &gone, "status", KCM), Author::Controller);
    assert_eq!(author(&managed(), &gone, "status", "rollwright"), Author::Other(KCM.to_owned()));
    assert_eq!(author(&Value::Null, &gone, "status", KCM), Author::Unknown);
}
