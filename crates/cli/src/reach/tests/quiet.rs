//! What is printed while an answer is awaited, on a clock of the test's own.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use http::{Request, Response};
use kube::Client;
use tokio::time::Instant;

use super::super::patience::Patience;
use super::super::unserved::{Place, Unserved};
use super::*;

type Answer = Result<Response<Body>, Unserved>;

fn patience(client: Client, limit: Option<Duration>) -> Patience {
    let place =
        Place { server: "https://api".to_owned(), origin: "given by --server".to_owned(), user: None };
    Patience::new(client, Arc::new(place), limit)
}

/// A server that never answers.
fn mute() -> Client {
    let service = tower::service_fn(|_: Request<Body>| async {
        std::future::pending::<Result<Response<Body>, Infallible>>().await
    });
    Client::new(service, "shop")
}

/// A server that answers after this time with 503, with this header.
fn overloaded(after: Duration, header: &'static str, tries: Arc<AtomicU32>) -> Client {
    let service = tower::service_fn(move |_: Request<Body>| {
        tries.fetch_add(1, Relaxed);
        async move {
            tokio::time::sleep(after).await;
            let answer = Response::builder().status(503).header("Retry-After", header);
            Ok::<_, Infallible>(answer.body(Body::empty()).unwrap())
        }
    });
    Client::new(service, "shop")
}

async fn asked(patience: Patience, method: &str, path: &str) -> (Duration, Answer) {
    let begun = Instant::now();
    let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
    let answer = patience.send(request).await;
    (begun.elapsed(), answer)
}

#[tokio::test(start_paused = true)]
async fn a_mute_server_is_given_up() {
    for (method, path, limit, ends) in [
        ("GET", "/api", None, 10),
        ("GET", "/api?watch=true", None, 10),
        ("PATCH", "/api?dryRun=All", None, 10),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", None, 10),
        ("PATCH", "/api?fieldManager=x", None, 40),
        ("GET", "/api", Some(2), 2),
        ("PATCH", "/api", Some(2), 2),
    ] {
        let (elapsed, answer) = asked(patience(mute(), limit.map(Duration::from_secs)), method, path).await;
        assert_eq!(elapsed, Duration::from_secs(ends), "{method} {path}");
        let text = answer.err().map(|unserved| unserved.to_string()).unwrap_or_default();
        assert!(text.contains(&format!("has not answered within {ends}s")), "{text}");
        assert_eq!(text.contains("look before you repeat it"), method == "PATCH" && !path.contains("dryRun"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_told_after_a_second_and_rarely_again() {
    let unlimited = patience(mute(), Some(Duration::ZERO));
    let all = ["/a", "/b", "/c"].map(|path| asked(unlimited.clone(), "GET", path));
    let waiting = tokio::time::timeout(Duration::from_millis(900), futures::future::join_all(all)).await;
    assert!(waiting.is_err());
    assert_eq!(told(), Vec::<String>::new(), "within the first second");
    let all = ["/a", "/b", "/c"].map(|path| asked(unlimited.clone(), "GET", path));
    let waiting = tokio::time::timeout(Duration::from_secs(24), futures::future::join_all(all)).await;
    assert!(waiting.is_err());
    // After 1 s, 11 s, and 21 s, once for all of them.
    let lines =
        [1, 11, 21].map(|after| format!("waiting for https://api to answer for {after}s, tried once"));
    assert_eq!(told(), lines);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_a_pause_gets_it_within_the_limit() {
    for (header, limit, tries, ends) in
        [("2", None, 3, 4), ("2", Some(3), 2, 2), ("9", None, 2, 9), ("3600", None, 1, 0)]
    {
        let count = Arc::new(AtomicU32::new(0));
        let client = overloaded(Duration::ZERO, header, count.clone());
        let (elapsed, answer) = asked(patience(client, limit.map(Duration::from_secs)), "GET", "/api").await;
        let text = answer.err().map(|unserved| unserved.to_string()).unwrap_or_default();
        assert_eq!((count.load(Relaxed), elapsed.as_secs()), (tries, ends), "{header}: {text}");
        assert!(text.ends_with(&format!("try again in {header}s")), "{text}");
        let told = told();
        let word = "waiting for https://api to answer for 1s, tried once; the last answer was 503 Service Unavailable";
        assert_eq!(told.first().map(String::as_str), (ends > 0).then_some(word), "{header}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_that_comes_piece_by_piece_is_no_silence() {
    let service = tower::service_fn(|_: Request<Body>| async {
        let pieces = futures::stream::unfold(0, |piece| async move {
            tokio::time::sleep(Duration::from_secs(6)).await;
            let text = ["{", "\"kind\"", ":\"A\"", "}"].get(piece)?;
            Some((Ok::<_, Infallible>(http_body::Frame::data((*text).into())), piece + 1))
        });
        Ok::<_, Infallible>(Response::new(http_body_util::StreamBody::new(pieces)))
    });
    let client = Client::new(service, "shop");
    let (elapsed, answer) = asked(patience(client, None), "GET", "/api").await;
    let body = answer.unwrap().into_body().collect_bytes().await.unwrap();
    assert_eq!((elapsed.as_secs(), &body[..]), (30, &b"{\"kind\":\"A\"}"[..]));
}
