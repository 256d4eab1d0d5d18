//! /livez, /readyz and /metrics, and /debug/state if it is wanted.

pub(crate) mod access;
pub(crate) mod state;
pub(crate) mod tls;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch as signal;
use tracing::{debug, info};

use crate::serve::admin::access::{Denied, Gate};
use crate::serve::admin::tls::Tls;
use crate::serve::health::Health;
use crate::serve::metrics::Metrics;
use crate::serve::metrics::objects::Objects;

/// A client that does not get on with TLS is not waited for.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// What the pages show.
#[derive(Clone)]
pub(crate) struct Pages {
    pub(crate) metrics: Metrics,
    /// Whether all caches have been filled.
    pub(crate) ready: signal::Receiver<bool>,
    pub(crate) health: Arc<Health>,
    /// Series per Deployment, if they are wanted.
    pub(crate) objects: Option<Objects>,
    /// Further pages.
    pub(crate) more: Option<More>,
    /// Who may read; everybody if there is nobody to ask.
    pub(crate) gate: Option<Arc<Gate>>,
}

/// The JSON document at a path, if there is one.
pub(crate) type More = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Opens the port.
pub(crate) async fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind(address).await?;
    info!(address = %listener.local_addr()?, "serving /livez, /readyz and /metrics");
    Ok(listener)
}

/// Answers until the task is dropped.
pub(crate) async fn serve(listener: TcpListener, tls: Option<Arc<Tls>>, pages: Pages) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                debug!(%error, "connection not accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (pages, acceptor) = (pages.clone(), tls.as_ref().map(|tls| tls.acceptor()));
        tokio::spawn(async move {
            let Some(acceptor) = acceptor else { return converse(stream, pages).await };
            match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => converse(stream, pages).await,
                Ok(Err(error)) => debug!(%error, "no TLS"),
                Err(_) => debug!("no TLS within {} s", HANDSHAKE.as_secs()),
            }
        });
    }
}

async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin, pages: Pages) {
    let service = service_fn(move |request| {
        let pages = pages.clone();
        async move { Ok::<_, Infallible>(answer(&pages, &request).await) }
    });
    // The header timeout of hyper (30 s) bounds idle connections.
    let mut server = http1::Builder::new();
    let connection = server.timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        debug!(%error, "connection ended");
    }
}

async fn answer(pages: &Pages, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    match request.uri().path() {
        // A task that dies ends the process; this tells of those that only stand still.
        "/livez" => match pages.health.complaints() {
            complaints if complaints.is_empty() => text(StatusCode::OK, "ok"),
            complaints => text(StatusCode::SERVICE_UNAVAILABLE, complaints.trim_end()),
        },
        "/readyz" if *pages.ready.borrow() => text(StatusCode::OK, "ok"),
        "/readyz" => text(StatusCode::SERVICE_UNAVAILABLE, "caches are not filled yet"),
        path => guarded(pages, request, path).await,
    }
}

/// What not everybody needs to see. Probes bring no token, so they are not among it.
async fn guarded(pages: &Pages, request: &Request<Incoming>, path: &str) -> Response<Full<Bytes>> {
    if let Some(gate) = &pages.gate
        && let Err(denied) = gate.check(request.headers(), path).await
    {
        let mut response = text(denied.status(), &denied.text(path));
        if denied == Denied::Unauthenticated {
            let bearer = http::HeaderValue::from_static("Bearer");
            response.headers_mut().insert(http::header::WWW_AUTHENTICATE, bearer);
        }
        return response;
    }
    if path == "/metrics" {
        return metrics(pages);
    }
    match pages.more.as_ref().and_then(|more| more(path)) {
        Some(document) => {
            let mut response = text(StatusCode::OK, &document);
            let json = http::HeaderValue::from_static("application/json");
            response.headers_mut().insert(http::header::CONTENT_TYPE, json);
            response
        }
        None => text(StatusCode::NOT_FOUND, "try /livez, /readyz or /metrics"),
    }
}

fn metrics(pages: &Pages) -> Response<Full<Bytes>> {
    pages.health.observe(&pages.metrics);
    match pages.metrics.render() {
        Ok(mut metrics) => {
            if let Some(objects) = &pages.objects {
                objects.render(&mut metrics);
            }
            let mut response = Response::new(Full::from(metrics));
            let plain = http::HeaderValue::from_static("text/plain; version=0.0.4");
            response.headers_mut().insert(http::header::CONTENT_TYPE, plain);
            response
        }
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

fn text(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(format!("{text}\n")));
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests;
