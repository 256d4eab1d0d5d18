//! What an error of the client means, in the words of the server if it has spoken.

use std::pin::pin;

use cli::explain;
use engine::reconcile::Refusal;
use http::StatusCode;
use http_body_util::BodyExt as _;
use kube::client::Body;
use kube::core::Status;

/// As many bytes of the server's words go into conditions, events, and the log. Three conditions and an event may show
/// them, and an object of 1.5 MB is the largest that the server stores.
const WORDS_MAX: usize = 2048;

/// The beginning of an answer, and how long it is.
pub(super) struct Beginning {
    bytes: Vec<u8>,
    length: usize,
}

/// Reads an answer to its end, and keeps its beginning.
pub(super) async fn read_at_most(limit: usize, body: Body) -> Result<Beginning, kube::Error> {
    let (mut body, mut read) = (pin!(body), Beginning { bytes: Vec::new(), length: 0 });
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        read.length += data.len();
        let room = limit.saturating_sub(read.bytes.len()).min(data.len());
        read.bytes.extend_from_slice(data.get(..room).unwrap_or_default());
    }
    Ok(read)
}

/// The failure of a request that a server refuses; a proxy before it may refuse in other words.
pub(super) fn failure(status: StatusCode, read: &Beginning) -> Status {
    let Beginning { bytes, length } = read;
    let mut failure = serde_json::from_slice(bytes).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(bytes);
        let (message, reason) = match begun_message(&text) {
            // If the message was cut off, the reason follows from the code.
            Some(message) if *length > bytes.len() => (message, reason_of(status)),
            _ => (text.trim().to_owned(), "Failed to parse error data"),
        };
        Status::failure(&message, reason).with_code(status.as_u16())
    });
    let unread = length - bytes.len();
    failure.message = cut(&failure.message, unread);
    failure
}

/// The message of a Status with a missing end.
fn begun_message(text: &str) -> Option<String> {
    const MESSAGE: &str = "\"message\":";
    let (_, rest) = text.split_once(MESSAGE)?;
    let quoted = rest.trim_start().strip_prefix('"')?;
    // What follows the last place where the text could be cut is part of an escape.
    let ends = quoted.char_indices().rev().map(|(end, _)| end).take(ESCAPE_LENGTH);
    let mut read = ends.filter_map(|end| serde_json::from_str(&format!("\"{}\"", quoted.get(..end)?)).ok());
    read.next()
}

/// The longest escape in JSON is a pair of surrogates.
const ESCAPE_LENGTH: usize = 12;

/// The reason that belongs to a code. A conflict needs no more: who takes it for one looks again.
fn reason_of(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 => "BadRequest",
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        413 => "RequestEntityTooLarge",
        422 => "Invalid",
        _ => "",
    }
}

/// As much of the server's words as may be shown, and how much is missing. What was cut stays as it is.
fn cut(words: &str, unread: usize) -> String {
    const ROOM_FOR_THE_COUNT: usize = 48;
    if words.len() <= WORDS_MAX && unread == 0 {
        return words.to_owned();
    }
    let mut ends = (0..=WORDS_MAX - ROOM_FOR_THE_COUNT).rev();
    let shown = ends.find_map(|end| words.get(..end)).unwrap_or(words);
    format!("{shown}... ({} more bytes)", words.len() - shown.len() + unread)
}

pub(super) fn unanswered(problem: &impl ToString) -> Refusal {
    Refusal::new(0, "", problem.to_string())
}

/// What an error of the client means for a reconcile.
pub(crate) fn refusal(error: &kube::Error) -> Refusal {
    match error {
        kube::Error::Api(status) => {
            let causes = status.details.iter().flat_map(|details| &details.causes);
            Refusal {
                // S14.3
                namespace_terminating: causes.into_iter().any(|cause| cause.reason == "NamespaceTerminating"),
                ..Refusal::new(status.code, &status.reason, cut(&status.message, 0))
            }
        }
        other => unanswered(&cut(&explain(other), 0)),
    }
}

#[cfg(test)]
mod tests;
