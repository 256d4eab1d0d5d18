//! /livez, /readyz and /metrics.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::watch as signal;
use tracing::{debug, info};

use crate::health::Health;
use crate::metrics::Metrics;
use crate::metrics::objects::Objects;

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
pub(crate) async fn serve(listener: TcpListener, pages: Pages) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                debug!(%error, "connection not accepted");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                continue;
            }
        };
        let pages = pages.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let response = answer(&pages, &request);
                async move { Ok::<_, Infallible>(response) }
            });
            // The header timeout of hyper (30 s) bounds idle connections.
            let mut server = http1::Builder::new();
            let connection = server.timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
            if let Err(error) = connection.await {
                debug!(%error, "connection ended");
            }
        });
    }
}

fn answer(pages: &Pages, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    match request.uri().path() {
        // A task that dies ends the process; this tells of those that only stand still.
        "/livez" => match pages.health.complaints() {
            complaints if complaints.is_empty() => text(StatusCode::OK, "ok"),
            complaints => text(StatusCode::SERVICE_UNAVAILABLE, complaints.trim_end()),
        },
        "/readyz" if *pages.ready.borrow() => text(StatusCode::OK, "ok"),
        "/readyz" => text(StatusCode::SERVICE_UNAVAILABLE, "caches are not filled yet"),
        "/metrics" => metrics(pages),
        path => match pages.more.as_ref().and_then(|more| more(path)) {
            Some(document) => {
                let mut response = text(StatusCode::OK, &document);
                let json = http::HeaderValue::from_static("application/json");
                response.headers_mut().insert(http::header::CONTENT_TYPE, json);
                response
            }
            None => text(StatusCode::NOT_FOUND, "try /livez, /readyz or /metrics"),
        },
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
