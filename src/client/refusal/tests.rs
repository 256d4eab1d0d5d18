use serde_json::json;

use super::*;

fn answered(status: serde_json::Value) -> Refusal {
    refusal(&kube::Error::Api(Box::new(serde_json::from_value(status).expect("status"))))
}

#[test]
fn conflicts_and_taken_names_are_told_apart() {
    let conflict = answered(json!({ "code": 409, "reason": "Conflict", "message": "changed" }));
    assert!(conflict.is_conflict() && !conflict.is_already_exists());
    let taken = answered(json!({ "code": 409, "reason": "AlreadyExists", "message": "there" }));
    assert!(taken.is_already_exists() && !taken.is_conflict());
}

#[test]
fn a_namespace_that_goes_away_is_recognised_by_the_cause() {
    let refusal = answered(json!({
        "code": 403, "reason": "Forbidden", "message": "unable to create new content",
        "details": { "causes": [{ "reason": "NamespaceTerminating", "field": "metadata.namespace" }] },
    }));
    assert!(refusal.namespace_terminating);
    assert!(!answered(json!({ "code": 403, "reason": "Forbidden" })).namespace_terminating);
}

#[test]
fn an_error_is_explained_down_to_its_cause() {
    #[derive(Debug, thiserror::Error)]
    #[error("cannot connect")]
    struct Outer(#[source] Middle);
    #[derive(Debug, thiserror::Error)]
    #[error("handshake: {0}")]
    struct Middle(#[source] std::io::Error);
    let error = Outer(Middle(std::io::Error::other("unknown issuer")));
    assert_eq!(explain(&error), "cannot connect: handshake: unknown issuer");
}
