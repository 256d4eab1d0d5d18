//! What the server answers that refuses, or does not answer any more.

use http::Response;
use http_body::Frame;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use tower::BoxError;

use super::Answer;

/// The connection ends.
pub(super) fn broken() -> BoxError {
    std::io::Error::new(std::io::ErrorKind::ConnectionReset, "the connection is broken").into()
}

/// Something on a watch.
pub(super) fn bytes(bytes: &'static [u8]) -> Frame<Bytes> {
    Frame::data(Bytes::from_static(bytes))
}

/// A refusal with this many words. That of an overloaded server, 429, is plain text and no Status.
pub(super) fn refused(code: u16, retry_after: Option<u64>, words: usize) -> Answer {
    let reason = match code {
        409 => "Conflict",
        410 => "Expired",
        _ => "Injected",
    };
    let words = "injected".repeat(words);
    let status = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
        "message": words, "reason": reason,
    });
    let text = if code == 429 { words } else { status.to_string() };
    let body = Full::new(Bytes::from(text)).map_err(|never| match never {});
    let mut answer = Response::new(body.boxed_unsync());
    *answer.status_mut() = code.try_into().unwrap();
    if let Some(seconds) = retry_after {
        answer.headers_mut().insert(http::header::RETRY_AFTER, seconds.into());
    }
    answer
}

/// The same, written at this time.
pub(super) fn dated(mut answer: Answer, date: Timestamp) -> Answer {
    let text = rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&date).unwrap();
    answer.headers_mut().insert(http::header::DATE, text.parse().unwrap());
    answer
}
