//! Each fault, between a small HTTP server and a client.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use faultproxy::{Fault, FaultProxy, Match, Rule, StreamFault};
use futures::{AsyncBufReadExt as _, StreamExt as _, TryStreamExt as _};
use http_body::Frame;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use tokio::net::TcpListener;

const SETS: &str = "/apis/apps/v1/namespaces/n/replicasets";
const WATCH: &str = "/apis/apps/v1/replicasets?watch=true";
/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(10);
/// Long enough for ten lines.
const SHORT: Duration = Duration::from_millis(300);

/// A server that counts requests, and sends a line each 10 ms to each watcher.
async fn server(asked: Arc<AtomicUsize>) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let asked = asked.clone();
            let service = service_fn(move |request: http::Request<Incoming>| {
                asked.fetch_add(1, Ordering::SeqCst);
                let body = answer(request.uri().query().unwrap_or_default());
                async move { Ok::<_, Infallible>(http::Response::new(body)) }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    url
}

fn answer(query: &str) -> BoxBody<Bytes, Infallible> {
    if query != "watch=true" {
        return Full::new(Bytes::from_static(b"{}")).boxed();
    }
    let lines = futures::stream::unfold(0, |number| async move {
        tokio::time::sleep(Duration::from_millis(10)).await;
        Some((Ok(Frame::data(Bytes::from(format!("line {number}\n")))), number + 1))
    });
    http_body_util::BodyExt::boxed(StreamBody::new(lines))
}

struct Setting {
    proxy: FaultProxy,
    client: Client,
    asked: Arc<AtomicUsize>,
}

impl Setting {
    async fn new() -> Self {
        let asked = Arc::new(AtomicUsize::new(0));
        let url = server(asked.clone()).await;
        let proxy = FaultProxy::start(kube::Config::new(url.parse().unwrap())).await.unwrap();
        let mut config = kube::Config::new(proxy.url().parse().unwrap());
        config.default_retry = false;
        Self { proxy, client: Client::try_from(config).unwrap(), asked }
    }

    async fn create(&self) -> Result<String, kube::Error> {
        let request = http::Request::post(SETS).body(br#"{"spec": {"replicas": 3}}"#.to_vec()).unwrap();
        tokio::time::timeout(LONG, self.client.request_text(request)).await.expect("an end")
    }

    /// How many requests have reached the server.
    fn reached(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    async fn watch(&self) -> impl futures::Stream<Item = std::io::Result<String>> + Unpin + use<> {
        let request = http::Request::get(WATCH).body(Vec::new()).unwrap();
        self.client.request_stream(request).await.unwrap().lines()
    }
}

#[tokio::test]
async fn relays_and_records() {
    let setting = Setting::new().await;
    assert_eq!(setting.create().await.unwrap(), "{}");
    let journal = setting.proxy.journal();
    let seen = &journal.exchanges()[0];
    assert_eq!((seen.request.label().as_str(), seen.request.namespace.as_str()), ("create replicasets", "n"));
    assert_eq!(seen.body["spec"]["replicas"], 3);
    assert_eq!((seen.server_code, seen.client_code, seen.fault), (Some(200), Some(200), None));
    assert_eq!((journal.writes().count(), journal.faults()), (1, 0));
}

#[tokio::test]
async fn the_nth_request_meets_the_fault() {
    let setting = Setting::new().await;
    let creates = Match::verb("create").resource("replicasets").field("/spec/replicas");
    let rule = setting.proxy.arm(Rule::once(creates, Fault::Drop).skip(1));
    let other = Match::verb("create").resource("pods");
    setting.proxy.arm(Rule::always(other, Fault::Drop));
    let mut answered = Vec::new();
    for _ in 0..3 {
        answered.push(setting.create().await.is_ok());
    }
    assert_eq!(answered, [true, false, true]);
    assert_eq!((setting.proxy.met(rule), setting.reached()), (1, 2));
    assert_eq!(setting.proxy.journal().faults(), 1);
}

#[tokio::test]
async fn what_is_dropped_does_not_arrive_and_what_is_lost_does() {
    let setting = Setting::new().await;
    for (fault, reached) in [(Fault::Drop, 0), (Fault::LoseAnswer, 1)] {
        setting.proxy.arm(Rule::once(Match::writes(), fault));
        let error = setting.create().await.expect_err("no answer");
        assert!(!matches!(error, kube::Error::Api(_)), "{fault:?}: {error}");
        assert_eq!(setting.reached(), reached, "{fault:?}");
    }
}

#[tokio::test]
async fn who_hangs_waits_for_ever() {
    let setting = Setting::new().await;
    for (fault, reached) in [(Fault::Hang, 0), (Fault::HangAfter, 1)] {
        let rule = setting.proxy.arm(Rule::once(Match::writes(), fault));
        assert!(tokio::time::timeout(SHORT, setting.create()).await.is_err());
        assert_eq!((setting.proxy.met(rule), setting.reached()), (1, reached));
    }
    assert!(setting.create().await.is_ok());
}

#[tokio::test]
async fn a_watch_that_is_reset_fails() {
    for fault in [StreamFault::Reset, StreamFault::ResetAfterBytes(15)] {
        let setting = Setting::new().await;
        let mut lines = setting.watch().await;
        assert_eq!(lines.next().await.unwrap().unwrap(), "line 0");
        assert_eq!(setting.proxy.strike(&Match::verb("watch"), fault), 1);
        let end = async {
            while lines.try_next().await?.is_some() {}
            std::io::Result::Ok(())
        };
        assert!(tokio::time::timeout(LONG, end).await.expect("an end").is_err(), "{fault:?}");
        assert_eq!(setting.proxy.journal().faults(), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_half_open_watch_is_silent_and_stays() {
    let setting = Setting::new().await;
    let mut lines = setting.watch().await;
    assert!(lines.next().await.unwrap().is_ok());
    let watches = Match::verb("watch").resource("replicasets");
    assert_eq!(setting.proxy.strike(&watches, StreamFault::HalfOpen), 1);
    let silence = async {
        // A line or two may be on their way.
        while tokio::time::timeout(SHORT, lines.next()).await.is_ok() {}
        tokio::time::timeout(SHORT, lines.next()).await
    };
    assert!(silence.await.is_err());
    assert_eq!(setting.proxy.strike(&watches, StreamFault::HalfOpen), 1, "it is still under way");
    drop(lines);
}
