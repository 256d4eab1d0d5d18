//! What is sent back.

use std::convert::Infallible;

use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use http::{HeaderValue, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use serde_json::Value;
use world::Refused;

/// The body of an answer: whole, or a stream of a watch's events.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A document.
pub(crate) fn json(code: u16, value: &Value) -> Response<Body> {
    typed(code, JSON, Bytes::from(value.to_string()))
}

/// Plain text.
pub(crate) fn text(code: u16, text: &str) -> Response<Body> {
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    typed(code, content_type, Bytes::copy_from_slice(text.as_bytes()))
}

/// Bytes of a media type.
pub(crate) fn typed(code: u16, content_type: HeaderValue, body: Bytes) -> Response<Body> {
    let mut response = Response::new(Full::new(body).boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

/// A refusal, as a `Status`.
pub(crate) fn refusal(refused: &Refused) -> Response<Body> {
    let mut status = refused.to_status();
    if let Some(details) = status.get_mut("details").and_then(Value::as_object_mut) {
        details.retain(|_, value| *value != "");
    } else if let Some(members) = status.as_object_mut() {
        members.remove("details");
    }
    json(refused.code, &status)
}

/// Chunks, sent as they come.
pub(crate) fn stream(chunks: impl Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    let frames = chunks.map(|chunk| Ok::<_, Infallible>(Frame::data(chunk)));
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// Adds warnings, which kubectl prints.
pub(crate) fn with_warnings(mut response: Response<Body>, warnings: &[String]) -> Response<Body> {
    for warning in warnings {
        let text = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{text}\"")) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
    response
}
