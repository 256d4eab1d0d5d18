use std::sync::Arc;

use http::{HeaderValue, Request, Response};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;

use super::*;
use crate::serve::metrics::Metrics;

/// An API server that knows two tokens: `good` may read /metrics, `weak` may not.
#[derive(Clone, Default)]
pub(crate) struct Authority(Arc<Mutex<Log>>);

#[derive(Default)]
struct Log {
    asked: Vec<Value>,
    is_down: bool,
}

impl Authority {
    pub(crate) fn gate(&self) -> Gate {
        let authority = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let authority = authority.clone();
            async move {
                let path = request.uri().path().to_owned();
                let body = request.into_body().collect().await.expect("body").to_bytes();
                let review: Value = serde_json::from_slice(&body).expect("JSON");
                let (code, answer) = authority.answer(&path, &review);
                let body = serde_json::to_vec(&answer).expect("JSON");
                Ok::<_, std::convert::Infallible>(
                    Response::builder().status(code).body(Body::from(body)).expect("response"),
                )
            }
        });
        Gate::new(Server::new(Client::new(service, "default"), Metrics::new().expect("metrics")))
    }

    fn answer(&self, path: &str, review: &Value) -> (u16, Value) {
        let mut log = self.0.lock().expect("log");
        log.asked.push(review.clone());
        if log.is_down {
            return (500, json!({"kind": "Status", "status": "Failure", "code": 500, "message": "unwell"}));
        }
        let mut answer = review.clone();
        answer["metadata"] = json!({});
        answer["status"] = match path {
            "/apis/authentication.k8s.io/v1/tokenreviews" => match review["spec"]["token"].as_str() {
                Some(token @ ("good" | "weak")) => json!({"authenticated": true, "user": {
                    "username": token, "uid": "u-1", "groups": ["system:authenticated"],
                    "extra": {"scopes": ["a"]},
                }}),
                _ => json!({"error": "unknown token"}),
            },
            "/apis/authorization.k8s.io/v1/subjectaccessreviews" => {
                let is_right =
                    review["spec"]["nonResourceAttributes"] == json!({"path": "/metrics", "verb": "get"});
                json!({"allowed": is_right && review["spec"]["user"] == "good"})
            }
            other => panic!("{other}"),
        };
        (201, answer)
    }

    fn asked(&self) -> usize {
        self.0.lock().expect("log").asked.len()
    }
}

fn with(token: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}")).expect("header"));
    headers
}

#[tokio::test(start_paused = true)]
async fn without_a_token_nobody_is_asked() {
    let authority = Authority::default();
    let gate = authority.gate();
    let mut basic = HeaderMap::new();
    basic.insert(header::AUTHORIZATION, HeaderValue::from_static("Basic Z29vZDo="));
    for headers in [HeaderMap::new(), basic, with(""), with(&"x".repeat(TOKEN_MAX + 1))] {
        assert_eq!(gate.check(&headers, "/metrics").await, Err(Denied::Unauthenticated));
    }
    assert_eq!(authority.asked(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_api_server_says_who_may_read() {
    let authority = Authority::default();
    let gate = authority.gate();
    assert_eq!(gate.check(&with("stolen"), "/metrics").await, Err(Denied::Unauthenticated));
    assert_eq!(gate.check(&with("weak"), "/metrics").await, Err(Denied::Forbidden));
    assert_eq!(gate.check(&with("good"), "/metrics").await, Ok(()));
    let asked = authority.0.lock().expect("log").asked.last().cloned().expect("asked");
    let spec = json!({
        "user": "good", "uid": "u-1", "groups": ["system:authenticated"], "extra": {"scopes": ["a"]},
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    });
    assert_eq!(asked["spec"], spec);
    assert_eq!(gate.check(&with("good"), "/debug/state").await, Err(Denied::Forbidden), "another path");
}

#[tokio::test(start_paused = true)]
async fn answers_are_believed_for_ten_seconds() {
    let authority = Authority::default();
    let gate = authority.gate();
    for token in ["good", "weak", "stolen"] {
        let first = gate.check(&with(token), "/metrics").await;
        let asked = authority.asked();
        assert_eq!(gate.check(&with(token), "/metrics").await, first);
        assert_eq!(authority.asked(), asked, "{token}: remembered");
    }
    tokio::time::advance(REMEMBERED_FOR).await;
    let asked = authority.asked();
    assert_eq!(gate.check(&with("good"), "/metrics").await, Ok(()));
    assert_eq!(authority.asked(), asked + 2, "asked anew");
}

#[tokio::test(start_paused = true)]
async fn whoever_tries_tokens_fills_no_memory() {
    let authority = Authority::default();
    let gate = authority.gate();
    assert_eq!(gate.check(&with("good"), "/metrics").await, Ok(()));
    for number in 0..2 * REMEMBERED_MAX {
        let guess = gate.check(&with(&format!("guess-{number}")), "/metrics").await;
        assert_eq!(guess, Err(Denied::Unauthenticated));
    }
    assert!(gate.known.lock().expect("known").len() <= REMEMBERED_MAX);
    let asked = authority.asked();
    assert_eq!(gate.check(&with("good"), "/metrics").await, Ok(()));
    assert_eq!(authority.asked(), asked, "who may read is still known");
}

#[tokio::test(start_paused = true)]
async fn while_nobody_can_be_asked_nobody_gets_in_and_that_is_not_remembered() {
    let authority = Authority::default();
    let gate = authority.gate();
    authority.0.lock().expect("log").is_down = true;
    assert_eq!(gate.check(&with("good"), "/metrics").await, Err(Denied::Unknown));
    authority.0.lock().expect("log").is_down = false;
    assert_eq!(gate.check(&with("good"), "/metrics").await, Ok(()));
}
