#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::convert::Infallible;

use futures::StreamExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use tower::service_fn;

use super::*;

const SILENCE: Duration = Duration::from_secs(95);
/// Ends immediately, since time passes when nothing else can happen; so a wait without an end is a failure.
const AN_HOUR: Duration = Duration::from_secs(3600);
const WATCH: &str = "/apis/apps/v1/replicasets?watch=true";
const LIST: &str = "/apis/apps/v1/replicasets?limit=500";

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// A server that sends a line each `every`, and then nothing any more.
fn talkative(lines: usize, every: Duration) -> Answer {
    let lines = futures::stream::iter(0..lines).then(move |_| async move {
        tokio::time::sleep(every).await;
        Ok(Frame::data(Bytes::from_static(b"{}\n")))
    });
    Response::new(StreamBody::new(lines.chain(futures::stream::pending())).boxed_unsync())
}

fn refusing(code: u16, retry_after: &'static str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::new()).boxed_unsync());
    *answer.status_mut() = code.try_into().unwrap();
    answer.headers_mut().insert(RETRY_AFTER, http::HeaderValue::from_static(retry_after));
    answer
}

async fn ask<A>(
    lifeline: &Lifeline,
    uri: &str,
    answer: A,
) -> Result<Response<Listened<UnsyncBoxBody<Bytes, Infallible>>>, BoxError>
where
    A: Future<Output = Answer> + Send + 'static,
{
    let answer = std::sync::Mutex::new(Some(answer));
    let server = service_fn(move |_: Request<Body>| {
        let answer = answer.lock().unwrap().take().unwrap();
        async move { Ok::<_, Infallible>(answer.await) }
    });
    lifeline.layer(server).call(Request::get(uri).body(Body::empty()).unwrap()).await
}

/// Reads to the end, and returns how long that took.
async fn drain(answer: Response<Listened<UnsyncBoxBody<Bytes, Infallible>>>) -> (Duration, usize) {
    let started = Instant::now();
    let mut body = answer.into_body();
    let mut lines = 0;
    let read = async {
        while let Some(Ok(_)) = body.frame().await {
            lines += 1;
        }
    };
    let _ = tokio::time::timeout(AN_HOUR, read).await;
    (started.elapsed(), lines)
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_never_begins_is_given_up() {
    let lifeline = Lifeline::of_watch(SILENCE, Arc::new(Pulse::new()));
    for uri in [WATCH, LIST] {
        let started = Instant::now();
        let answer = ask(&lifeline, uri, std::future::pending());
        assert!(tokio::time::timeout(AN_HOUR, answer).await.expect("an end").is_err());
        assert_eq!(started.elapsed(), PATIENCE, "{uri}");
    }
    // Requests have deadlines of their own.
    let of_requests = Lifeline::of_requests();
    let forever = ask(&of_requests, LIST, std::future::pending());
    assert!(tokio::time::timeout(PATIENCE * 10, forever).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_ends_and_a_talkative_one_does_not() {
    let lifeline = Lifeline::of_watch(SILENCE, Arc::new(Pulse::new()));
    for (uri, silence) in [(WATCH, SILENCE), (LIST, PATIENCE)] {
        let every = Duration::from_secs(20);
        let answer = ask(&lifeline, uri, async move { talkative(20, every) }).await.unwrap();
        assert_eq!(drain(answer).await, (every * 20 + silence, 20), "{uri}");
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_comes_is_a_sign_of_life() {
    let pulse = Arc::new(Pulse::new());
    let lifeline = Lifeline::of_watch(SILENCE, pulse.clone());
    tokio::time::advance(Duration::from_secs(60)).await;
    let answer = ask(&lifeline, WATCH, async { talkative(2, Duration::from_secs(10)) }).await.unwrap();
    assert_eq!(pulse.age(), Duration::ZERO);
    assert!(tokio::time::timeout(Duration::from_secs(50), drain(answer)).await.is_err());
    assert_eq!(pulse.age(), Duration::from_secs(30));
}

#[tokio::test]
async fn a_watch_is_broken_until_the_server_lets_it_in_again() {
    let pulse = Arc::new(Pulse::new());
    let lifeline = Lifeline::of_watch(SILENCE, pulse.clone());
    pulse.fell_ill();
    assert!(ask(&lifeline, WATCH, async { refusing(503, "1") }).await.is_ok());
    assert!(pulse.is_broken());
    assert!(ask(&lifeline, WATCH, async { talkative(0, SILENCE) }).await.is_ok());
    assert!(!pulse.is_broken());
}

#[tokio::test(start_paused = true)]
async fn hears_how_long_to_stay_away() {
    let heard = async |code, text| {
        let pulse = Arc::new(Pulse::new());
        let lifeline = Lifeline::of_watch(SILENCE, pulse.clone());
        let _ = ask(&lifeline, LIST, async move { refusing(code, text) }).await;
        pulse.patience()
    };
    let seconds = Duration::from_secs;
    assert_eq!(heard(429, "3").await, seconds(3));
    assert_eq!(heard(503, "7").await, seconds(7));
    assert_eq!(heard(429, "86400").await, seconds(120));
    assert_eq!(heard(500, "3").await, Duration::ZERO);
    assert_eq!(heard(429, "Wed, 21 Oct 2026 07:28:00 GMT").await, Duration::ZERO);
    assert_eq!(heard(429, "\u{2d}1").await, Duration::ZERO);
}
