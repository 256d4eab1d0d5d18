use kube::client::Body;
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

/// The refusal from an answer of this code with this body.
async fn read(code: u16, body: &serde_json::Value) -> Refusal {
    let bytes = body.to_string().into_bytes();
    let read = read_at_most(64 << 10, Body::from(bytes)).await.expect("a body in memory");
    refusal(&kube::Error::Api(Box::new(failure(StatusCode::from_u16(code).expect("a code"), &read))))
}

#[tokio::test]
async fn a_refusal_is_cut_and_says_how_much_is_missing() {
    let short = json!({ "code": 422, "reason": "Invalid", "message": "spec.x: Required value" });
    assert_eq!(read(422, &short).await.message, "spec.x: Required value");
    for count in [3_000, 100_000] {
        let words = "x.ip: Invalid value: \"\u{e9}\": must be valid, ".repeat(count / 40);
        let refused =
            json!({ "code": 422, "reason": "Invalid", "message": words, "details": { "causes": [] } });
        let refusal = read(422, &refused).await;
        assert!(refusal.is_invalid() && refusal.reason == "Invalid", "{refusal:?}");
        assert!(refusal.message.len() <= WORDS_MAX, "{}", refusal.message.len());
        let (shown, missing) = refusal.message.split_once("... (").expect("a cut");
        assert!(shown.len() > WORDS_MAX - 100 && words.starts_with(shown), "{shown}");
        let missing: usize = missing.trim_end_matches(" more bytes)").parse().expect("a number");
        assert!(shown.len() + missing >= words.len(), "{missing} of {}", words.len());
    }
}

#[tokio::test]
async fn what_is_cut_off_within_an_escape_is_left_out() {
    let words = "\u{1F600}".repeat(20_000);
    // As some servers write it: each character takes twelve bytes.
    let text: String = words.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    for odd in 0..12 {
        let text = format!("{{\"kind\": \"Status\", {} \"message\": \"{text}\"}}", " ".repeat(odd));
        let read = read_at_most(64 << 10, Body::from(text.into_bytes())).await.expect("a body in memory");
        let refused = failure(StatusCode::FORBIDDEN, &read);
        assert!(refused.message.starts_with('\u{1F600}') && refused.message.ends_with(" more bytes)"));
        assert_eq!((refused.code, refused.reason.as_str()), (403, "Forbidden"));
    }
}
