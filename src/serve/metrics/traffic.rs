//! A layer of the client that counts requests as client-go does: all of them, watches too, by
//! code, method and host.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use http::{Request, Response};
use kube::client::Body;
use prometheus::{HistogramVec, IntCounterVec};
use tower::{BoxError, Layer, Service};

use super::Metrics;

/// What client-go reports for a request without an answer.
const NO_ANSWER: &str = "<error>";

/// The layer.
#[derive(Clone)]
pub(crate) struct Traffic {
    requests: IntCounterVec,
    seconds: HistogramVec,
    host: String,
}

impl Traffic {
    /// For requests to this server.
    pub(crate) fn to(server: &http::Uri, metrics: &Metrics) -> Self {
        let host = server.authority().map_or_else(String::new, ToString::to_string);
        let standard = &metrics.standard;
        Self { requests: standard.requests.clone(), seconds: standard.request_seconds.clone(), host }
    }
}

impl<S> Layer<S> for Traffic {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted { inner, traffic: self.clone() }
    }
}

/// The service of [`Traffic`].
#[derive(Clone)]
pub(crate) struct Counted<S> {
    inner: S,
    traffic: Traffic,
}

impl<S, B> Service<Request<Body>> for Counted<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: 'static,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<B>, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let open = Open {
            traffic: self.traffic.clone(),
            method: request.method().clone(),
            begun: Instant::now(),
            code: None,
        };
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await.map_err(Into::into)?;
            open.end(answer.status());
            Ok(answer)
        })
    }
}

/// A request that is under way. Counted when it is dropped, so that one which its caller gives up
/// is not forgotten.
struct Open {
    traffic: Traffic,
    method: http::Method,
    begun: Instant,
    code: Option<http::StatusCode>,
}

impl Open {
    fn end(mut self, code: http::StatusCode) {
        self.code = Some(code);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let Traffic { requests, seconds, host } = &self.traffic;
        let code = self.code.as_ref().map_or(NO_ANSWER, http::StatusCode::as_str);
        let method = known(&self.method);
        requests.with_label_values(&[code, method, host]).inc();
        seconds.with_label_values(&[method, host]).observe(self.begun.elapsed().as_secs_f64());
    }
}

/// Only these are ever sent.
fn known(method: &http::Method) -> &'static str {
    match *method {
        http::Method::GET => "GET",
        http::Method::POST => "POST",
        http::Method::PUT => "PUT",
        http::Method::PATCH => "PATCH",
        http::Method::DELETE => "DELETE",
        _ => "OTHER",
    }
}

#[cfg(test)]
mod tests;
