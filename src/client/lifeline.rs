//! A layer of the client that bounds every wait for an answer, notes signs of life, and reads the server's
//! `Retry-After`.
//!
//! kube's client bounds how long a connection takes to open, and its watcher bounds how long a watch may be
//! silent. Nothing bounds a list, or the start of a watch, on a connection that is open and dead. Without
//! this layer, such a watch would wait forever. The client also drops `Retry-After`.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use engine::durations::RETRY_AFTER_MAX;
use http::header::RETRY_AFTER;
use http::{HeaderMap, Request, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Bytes;
use kube::client::Body;
use tokio::time::{Instant, Sleep};
use tower::{BoxError, Layer, Service};

use crate::client::pulse::Pulse;
use crate::client::server_time::date_of;

/// The server ends a watch after this long.
pub(crate) const IDLE_SECONDS: u32 = 90;
/// A watch that has been silent for longer is on a dead connection.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(IDLE_SECONDS as u64 + 5);
/// No answer of the server begins later than this, nor pauses for longer, unless it is a watch.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a response asks the client to stay away (`Retry-After` of a 429 or 503).
pub(crate) fn asked_wait(status: http::StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let is_busy = matches!(status.as_u16(), 429 | 503);
    let header = headers.get(RETRY_AFTER).filter(|_| is_busy)?;
    let seconds = header.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds).min(RETRY_AFTER_MAX))
}

/// The layer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lifeline {
    pulse: Option<Arc<Pulse>>,
    /// How long a watch may be silent; `None` leaves all deadlines to the caller.
    silence: Option<Duration>,
}

impl Lifeline {
    /// For requests that have a deadline of their own.
    pub(crate) fn of_requests() -> Self {
        Self::default()
    }

    /// For a watch that may be silent for so long, and its lists.
    pub(crate) fn of_watch(silence: Duration, pulse: Arc<Pulse>) -> Self {
        Self { pulse: Some(pulse), silence: Some(silence) }
    }

    /// What an answer shows before its body.
    fn answered(&self, status: http::StatusCode, headers: &HeaderMap) {
        let Some(pulse) = &self.pulse else { return };
        pulse.beat();
        if status.is_success() {
            pulse.recovered();
        }
        if let Some(date) = date_of(headers) {
            pulse.read(date);
        }
        // kube's watcher shows nobody the headers.
        if let Some(asked) = asked_wait(status, headers) {
            pulse.spare(asked);
        }
    }

    fn beat(&self) {
        if let Some(pulse) = &self.pulse {
            pulse.beat();
        }
    }
}

impl<S> Layer<S> for Lifeline {
    type Service = Line<S>;

    fn layer(&self, inner: S) -> Line<S> {
        Line { inner, lifeline: self.clone() }
    }
}

/// The service of [`Lifeline`].
#[derive(Clone, Debug)]
pub(crate) struct Line<S> {
    inner: S,
    lifeline: Lifeline,
}

impl<S, B> Service<Request<Body>> for Line<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Listened<B>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let lifeline = self.lifeline.clone();
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let silence = lifeline.silence.map(|silence| if is_watch { silence } else { PATIENCE });
        if let Some(pulse) = &lifeline.pulse
            && let Some(version) = version_of(&request).filter(|_| is_watch)
        {
            pulse.starts(version);
        }
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = match silence {
                None => answer.await,
                Some(_) => tokio::time::timeout(PATIENCE, answer).await.map_err(|_| silent(PATIENCE))?,
            };
            let answer = answer.map_err(Into::into)?;
            lifeline.answered(answer.status(), answer.headers());
            Ok(answer.map(|body| Listened::new(body, lifeline, silence)))
        })
    }
}

/// The version at which a watch starts.
fn version_of(request: &Request<Body>) -> Option<u64> {
    let mut parts = request.uri().query()?.split('&');
    let version = parts.find_map(|part| part.strip_prefix("resourceVersion="))?;
    version.parse().ok().filter(|version| *version > 0)
}

fn silent(after: Duration) -> BoxError {
    let text = format!("nothing heard from the server for {} s", after.as_secs());
    std::io::Error::new(std::io::ErrorKind::TimedOut, text).into()
}

/// A body that fails when it is silent for too long.
pub(crate) struct Listened<B> {
    inner: Pin<Box<B>>,
    lifeline: Lifeline,
    timer: Option<(Duration, Pin<Box<Sleep>>)>,
}

impl<B> Listened<B> {
    fn new(inner: B, lifeline: Lifeline, silence: Option<Duration>) -> Self {
        let timer = silence.map(|silence| (silence, Box::pin(tokio::time::sleep(silence))));
        Self { inner: Box::pin(inner), lifeline, timer }
    }
}

impl<B> HttpBody for Listened<B>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        if let Poll::Ready(frame) = this.inner.as_mut().poll_frame(context) {
            this.lifeline.beat();
            if let Some((silence, timer)) = &mut this.timer {
                timer.as_mut().reset(Instant::now() + *silence);
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        if let Some((silence, timer)) = &mut this.timer
            && timer.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Some(Err(silent(*silence))));
        }
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests;
