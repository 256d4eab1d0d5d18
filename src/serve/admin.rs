//! /livez, /readyz and /metrics, and /debug/state if it is wanted.

pub(crate) mod access;
mod clients;
mod documents;
pub(crate) mod state;
pub(crate) mod tls;

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch as signal;
use tracing::{debug, info};

use crate::serve::admin::access::{Denied, Gate};
use crate::serve::admin::clients::Clients;
use crate::serve::admin::documents::Documents;
use crate::serve::admin::tls::Tls;
use crate::serve::health::Health;
use crate::serve::metrics::Metrics;
use crate::serve::objects::Objects;

/// All that a connection may take, from TLS to the last byte that the client reads: the time that Prometheus waits for
/// a scrape.
const DEADLINE: Duration = Duration::from_secs(10);

/// Bytes of a request's head. Most of them are a bearer token.
const HEAD_MAX: usize = 16 << 10;

/// Headers of a request.
const HEADERS_MAX: usize = 32;

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
    serve_within(DEADLINE, listener, tls, pages).await;
}

async fn serve_within(deadline: Duration, listener: TcpListener, tls: Option<Arc<Tls>>, pages: Pages) {
    let (mut clients, documents) = (Clients::default(), Documents::default());
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                debug!(%error, "connection not accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let desk = Desk { pages: pages.clone(), documents: documents.clone() };
        let tls = tls.clone();
        let connection = tokio::spawn(async move {
            match tokio::time::timeout(deadline, desk.welcome(stream, tls)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => debug!(error, "connection ended"),
                Err(_) => debug!("connection closed after {} s", deadline.as_secs()),
            }
        });
        clients.admit(peer.ip(), connection.abort_handle());
        // The new connection runs before the next one can displace it.
        tokio::task::yield_now().await;
    }
}

/// What a connection needs.
struct Desk {
    pages: Pages,
    documents: Documents,
}

impl Desk {
    async fn welcome(
        self,
        stream: TcpStream,
        tls: Option<Arc<Tls>>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        // A connection that is cut takes along what the kernel would still send for minutes.
        stream.set_zero_linger()?;
        match tls {
            None => self.converse(stream).await,
            Some(tls) => self.converse(tls.acceptor().accept(stream).await?).await,
        }
    }

    /// One request and its response.
    async fn converse(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let desk = Arc::new(self);
        let service = service_fn(move |request| {
            let desk = desk.clone();
            Box::pin(async move { Ok::<_, Infallible>(answer(&desk, &request).await) })
        });
        let mut server = http1::Builder::new();
        server.keep_alive(false).max_buf_size(HEAD_MAX).max_headers(HEADERS_MAX);
        let connection = server.serve_connection(TokioIo::new(stream), service);
        let mut stream = connection.without_shutdown().await?.io.into_inner();
        stream.shutdown().await?;
        // Closing it now would throw away what the client has not read yet.
        let mut rest = [0; 512];
        while stream.read(&mut rest).await? > 0 {}
        Ok(())
    }
}

async fn answer(desk: &Desk, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let pages = &desk.pages;
    match request.uri().path() {
        // A task that dies ends the process; this reports those that only stand still.
        "/livez" => match pages.health.complaints() {
            complaints if complaints.is_empty() => text(StatusCode::OK, "ok"),
            complaints => text(StatusCode::SERVICE_UNAVAILABLE, complaints.trim_end()),
        },
        "/readyz" if *pages.ready.borrow() => text(StatusCode::OK, "ok"),
        "/readyz" => text(StatusCode::SERVICE_UNAVAILABLE, "caches are not filled yet"),
        path => guarded(desk, request, path).await,
    }
}

/// What not everybody needs to see. Probes bring no token, so they are not among it.
async fn guarded(desk: &Desk, request: &Request<Incoming>, path: &str) -> Response<Full<Bytes>> {
    if let Some(gate) = &desk.pages.gate
        && let Err(denied) = gate.check(request.headers(), path).await
    {
        let mut response = text(denied.status(), &denied.text(path));
        if denied == Denied::Unauthenticated {
            let bearer = http::HeaderValue::from_static("Bearer");
            response.headers_mut().insert(http::header::WWW_AUTHENTICATE, bearer);
        }
        return response;
    }
    let document = desk.documents.get(path, || document(&desk.pages, path));
    let (media_type, document) = match document {
        Ok(Some(document)) if path == "/metrics" => ("text/plain; version=0.0.4", document),
        Ok(Some(document)) => ("application/json", document),
        Ok(None) => return text(StatusCode::NOT_FOUND, "try /livez, /readyz or /metrics"),
        Err(error) => return text(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    };
    let mut response = Response::new(Full::from(document));
    response.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(media_type));
    response
}

fn document(pages: &Pages, path: &str) -> Result<Option<Vec<u8>>, prometheus::Error> {
    if path != "/metrics" {
        let more = pages.more.as_ref().and_then(|more| more(path));
        return Ok(more.map(|document| format!("{document}\n").into_bytes()));
    }
    pages.health.observe(&pages.metrics);
    let mut metrics = pages.metrics.render()?;
    if let Some(objects) = &pages.objects {
        objects.render(&mut metrics);
    }
    Ok(Some(metrics))
}

fn text(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(format!("{text}\n")));
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests;
