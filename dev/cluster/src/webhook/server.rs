//! The HTTPS server: one `AdmissionReview` in, one out.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::{Arc, PoisonError};

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

use crate::credentials::ServingCertificate;
use crate::error::Error;
use crate::webhook::registration::{PROBE_LABEL, PROBE_MESSAGE};
use crate::webhook::{Call, Shared, Verdict};

/// Objects are at most 3 MiB, and a review holds an old and a new one.
const REVIEW_BYTES_MAX: usize = 8 << 20;

pub(super) fn tls(certificate: &ServingCertificate) -> Result<TlsAcceptor, Error> {
    let bad = |error| rustls::Error::General(format!("{error:?}"));
    let chain = CertificateDer::from_pem_slice(certificate.certificate_pem.as_bytes()).map_err(bad)?;
    let key = PrivateKeyDer::from_pem_slice(certificate.key_pem.as_bytes()).map_err(bad)?;
    // Named, because other crates may bring a second provider along.
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![chain], key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

pub(super) async fn run(
    tls: TlsAcceptor,
    shared: Arc<Shared>,
    report: oneshot::Sender<std::io::Result<u16>>,
) {
    let bound = match TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await {
        Ok(listener) => listener.local_addr().map(|address| (listener, address.port())),
        Err(error) => Err(error),
    };
    let (listener, port) = match bound {
        Ok(bound) => bound,
        Err(error) => {
            let _ = report.send(Err(error));
            return;
        }
    };
    let _ = report.send(Ok(port));
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(connection(tls.clone(), Arc::clone(&shared), stream));
        }
    }
}

async fn connection(tls: TlsAcceptor, shared: Arc<Shared>, stream: TcpStream) {
    let Ok(stream) = tls.accept(stream).await else { return };
    let service = service_fn(|request| answer(&shared, request));
    // A connection that breaks is the API server's to repeat.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(shared: &Shared, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = Limited::new(request.into_body(), REVIEW_BYTES_MAX).collect().await;
    let review = body.ok().and_then(|body| serde_json::from_slice::<Value>(&body.to_bytes()).ok());
    let request = review.as_ref().and_then(|review| review.get("request"));
    let mut response = Response::new(Full::default());
    match request {
        Some(request) => *response.body_mut() = Full::from(review_response(shared, request).to_string()),
        None => *response.status_mut() = StatusCode::BAD_REQUEST,
    }
    Ok(response)
}

fn review_response(shared: &Shared, request: &Value) -> Value {
    let verdict = if is_probe(request) {
        Verdict::Deny { code: 418, message: PROBE_MESSAGE.to_owned() }
    } else {
        shared.calls.lock().unwrap_or_else(PoisonError::into_inner).push(Call::read(request));
        (shared.handler)(request)
    };
    let uid = request.get("uid").cloned().unwrap_or_default();
    let response = match verdict {
        Verdict::Allow => json!({"uid": uid, "allowed": true}),
        Verdict::Patch(operations) => {
            let patch = ByteString(Value::Array(operations).to_string().into_bytes());
            json!({"uid": uid, "allowed": true, "patchType": "JSONPatch", "patch": patch})
        }
        Verdict::Deny { code, message } => {
            json!({"uid": uid, "allowed": false, "status": {"code": code, "message": message}})
        }
    };
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

fn is_probe(request: &Value) -> bool {
    let labels = request.pointer("/object/metadata/labels");
    labels.and_then(|labels| labels.get(PROBE_LABEL)).is_some()
}

impl Call {
    fn read(request: &Value) -> Self {
        let text = |pointer| request.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self {
            operation: text("/operation"),
            resource: text("/resource/resource"),
            namespace: text("/namespace"),
            name: text("/name"),
            user: text("/userInfo/username"),
            dry_run: request.get("dryRun").and_then(Value::as_bool).unwrap_or_default(),
        }
    }
}
