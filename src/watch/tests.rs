#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::convert::Infallible;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use tower::service_fn;

use super::*;
use crate::client::object::Kind;

/// The newest version that a watch has been shown; 0 for none.
#[derive(Default)]
struct Shown(AtomicU64);

impl Sink for &Shown {
    type Item = ();

    fn read(&self, _object: Object) -> Option<()> {
        None
    }

    fn newest(&self) -> Option<u64> {
        Some(self.0.load(Ordering::SeqCst)).filter(|newest| *newest > 0)
    }

    fn reset(&self, _items: Vec<()>) {}
    fn apply(&self, (): ()) {}
    fn delete(&self, _object: &Object) {}
    fn failed(&self, _error: &watcher::Error, _failures: u32) {}
}

/// A server that gives these answers to lists of one object, one after the other.
fn server(answers: Vec<(u16, u64)>) -> Api<Object> {
    let answers = Mutex::new(answers.into_iter());
    let server = service_fn(move |request: Request<Body>| {
        assert!(request.uri().query().unwrap_or_default().contains("limit=1"), "{}", request.uri());
        let (code, version) = answers.lock().unwrap().next().expect("an answer");
        let text = match code {
            200 => format!(
                r#"{{"kind":"PartialObjectMetadataList","metadata":{{"resourceVersion":"{version}"}},"items":[]}}"#
            ),
            _ => {
                format!(r#"{{"kind":"Status","status":"Failure","reason":"x","message":"x","code":{code}}}"#)
            }
        };
        let answer = Response::builder().status(code).body(Body::from(text.into_bytes()));
        async move { Ok::<_, Infallible>(answer.unwrap()) }
    });
    Api::all_with(Client::new(server, "default"), &Kind::ReplicaSet)
}

/// What is found when watches start at these versions, each with an answer of the server.
async fn found(shown: &Shown, starts: &[u64], answers: &[(u16, u64)]) -> Option<(u64, u64)> {
    let (api, pulse) = (server(answers.to_owned()), Pulse::new());
    for start in starts {
        pulse.starts(*start);
        let found = tokio::time::timeout(Duration::from_secs(5), restore(&api, None, &pulse, &shown)).await;
        if let Ok(found) = found {
            return Some(found);
        }
    }
    None
}

#[tokio::test(start_paused = true)]
async fn a_server_that_has_lost_what_it_has_shown_was_restored() {
    let shown = Shown::default();
    assert_eq!(found(&shown, &[7], &[(200, 7)]).await, None);
    assert_eq!(found(&shown, &[7], &[(200, 9)]).await, None);
    assert_eq!(found(&shown, &[7], &[(200, 6)]).await, Some((6, 7)), "the watch starts where nothing is");
    shown.0.store(8, Ordering::SeqCst);
    assert_eq!(found(&shown, &[7], &[(200, 7)]).await, Some((7, 8)), "a new list is older than the last");
    assert_eq!(found(&shown, &[7, 7], &[(200, 8), (200, 7)]).await, Some((7, 8)), "each start counts");
}

#[tokio::test(start_paused = true)]
async fn a_failure_says_nothing_about_a_restore() {
    let shown = Shown::default();
    assert_eq!(found(&shown, &[7], &[(503, 0), (429, 0), (200, 6)]).await, Some((6, 7)), "it is tried again");
    assert_eq!(found(&shown, &[7], &[(403, 0)]).await, None, "it is not for us to ask");
}
