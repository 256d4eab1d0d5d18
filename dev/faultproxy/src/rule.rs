//! Which requests meet a fault, and which fault.

use std::time::Duration;

use serde_json::Value;

use crate::request::Request;

/// Selects requests. Whatever is not named matches everything.
#[derive(Clone, Debug, Default)]
pub struct Match {
    verb: Option<String>,
    resource: Option<String>,
    subresource: Option<String>,
    name: Option<String>,
    field: Option<String>,
    owner: Option<String>,
    namespace: Option<String>,
    writes: bool,
}

impl Match {
    /// Every request.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Requests with this verb.
    #[must_use]
    pub fn verb(verb: &str) -> Self {
        Self { verb: Some(verb.to_owned()), ..Self::default() }
    }

    /// Requests that change something, other than events.
    #[must_use]
    pub fn writes() -> Self {
        Self { writes: true, ..Self::default() }
    }

    /// Only those for this resource.
    #[must_use]
    pub fn resource(self, resource: &str) -> Self {
        Self { resource: Some(resource.to_owned()), ..self }
    }

    /// Only those for this subresource; empty for none.
    #[must_use]
    pub fn subresource(self, subresource: &str) -> Self {
        Self { subresource: Some(subresource.to_owned()), ..self }
    }

    /// Only those for an object of this name.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    /// Only those for all namespaces together.
    #[must_use]
    pub fn whole_cluster(self) -> Self {
        Self { namespace: Some(String::new()), ..self }
    }

    /// Only those that have something in their body at this JSON pointer.
    #[must_use]
    pub fn field(self, pointer: &str) -> Self {
        Self { field: Some(pointer.to_owned()), ..self }
    }

    /// Only those that name this object as the first owner in their body.
    #[must_use]
    pub fn owner(self, name: &str) -> Self {
        Self { owner: Some(name.to_owned()), ..self }
    }

    /// Whether a request with this body is selected.
    #[must_use]
    pub fn selects(&self, request: &Request, body: &Value) -> bool {
        let agrees =
            |wanted: &Option<String>, seen: &str| wanted.as_ref().is_none_or(|wanted| wanted == seen);
        let owner = || body.pointer("/metadata/ownerReferences/0/name").and_then(Value::as_str);
        agrees(&self.verb, &request.verb)
            && agrees(&self.resource, &request.resource)
            && agrees(&self.subresource, &request.subresource)
            && agrees(&self.name, &request.name)
            && agrees(&self.namespace, &request.namespace)
            && self.owner.as_deref().is_none_or(|wanted| owner() == Some(wanted))
            && self.field.as_ref().is_none_or(|pointer| body.pointer(pointer).is_some())
            && (!self.writes || (request.is_write() && request.resource != "events"))
    }
}

/// What happens to a request.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The request is forwarded after this time.
    Delay(Duration),
    /// The request is not forwarded; the connection is reset.
    Drop,
    /// The request is carried out; instead of the answer the connection is reset.
    LoseAnswer,
    /// The request is not forwarded, and there is never an answer.
    Hang,
    /// The request is carried out, and there is never an answer.
    HangAfter,
    /// The request is not forwarded; this is the answer.
    Answer(Answer),
    /// The request is carried out; this is the answer nevertheless.
    AnswerAfter(Answer),
    /// A watch that starts and then goes wrong.
    Stream(StreamFault),
}

/// An answer that the server did not give.
#[derive(Clone, Debug)]
pub struct Answer {
    /// HTTP status.
    pub code: u16,
    /// Reason of the API's Status.
    pub reason: &'static str,
    /// Seconds in the header `Retry-After`.
    pub retry_after: Option<u32>,
    /// Whether the body is plain text, as that of an overloaded server, and no Status.
    pub is_plain: bool,
}

impl Answer {
    /// A Status with this code and the reason that the API server gives with it.
    #[must_use]
    pub fn code(code: u16) -> Self {
        let reason = match code {
            409 => "Conflict",
            410 => "Expired",
            429 => "TooManyRequests",
            500 => "InternalError",
            503 => "ServiceUnavailable",
            504 => "Timeout",
            _ => "",
        };
        Self { code, reason, retry_after: None, is_plain: false }
    }

    /// The same in plain text, with `Retry-After`.
    #[must_use]
    pub fn retry_after(self, seconds: u32) -> Self {
        Self { retry_after: Some(seconds), is_plain: true, ..self }
    }
}

/// What happens to a watch under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFault {
    /// The connection is reset.
    Reset,
    /// The connection is reset after this many more bytes, in the middle of a line.
    ResetAfterBytes(usize),
    /// The connection is reset after this many more lines.
    ResetAfterEvents(usize),
    /// The stream ends in order.
    End,
    /// Nothing is forwarded any more, and the connection stays open.
    HalfOpen,
    /// One byte of what the server sends is forwarded each 100 ms.
    Trickle,
    /// An ERROR event with code 410 comes, and the stream ends.
    Expire,
    /// A line comes that is no JSON.
    Garbage,
    /// Lines are held until [`crate::FaultProxy::release`], and then come together.
    Hold,
}

impl Fault {
    /// One word for counts and tables.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Delay(_) => "delay".to_owned(),
            Self::Drop => "drop".to_owned(),
            Self::LoseAnswer => "lose-answer".to_owned(),
            Self::Hang => "hang".to_owned(),
            Self::HangAfter => "hang-after".to_owned(),
            Self::Answer(answer) => format!("answer-{}", answer.code),
            Self::AnswerAfter(answer) => format!("answer-{}-after", answer.code),
            Self::Stream(fault) => fault.name().to_owned(),
        }
    }
}

impl StreamFault {
    /// One word for counts and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::ResetAfterBytes(_) => "reset-after-bytes",
            Self::ResetAfterEvents(_) => "reset-after-events",
            Self::End => "end",
            Self::HalfOpen => "half-open",
            Self::Trickle => "trickle",
            Self::Expire => "expire",
            Self::Garbage => "garbage",
            Self::Hold => "hold",
        }
    }
}

/// A fault for some of the requests that match.
#[derive(Clone, Debug)]
pub struct Rule {
    pub(crate) select: Match,
    pub(crate) fault: Fault,
    pub(crate) skip: u32,
    pub(crate) times: u32,
}

impl Rule {
    /// Whether the request with this number among all that match meets the fault.
    pub(crate) fn meets(&self, number: u32) -> bool {
        number > self.skip
    }

    /// Every matching request, until the rule is removed.
    #[must_use]
    pub fn always(select: Match, fault: Fault) -> Self {
        Self { select, fault, skip: 0, times: u32::MAX }
    }

    /// The first matching request.
    #[must_use]
    pub fn once(select: Match, fault: Fault) -> Self {
        Self { times: 1, ..Self::always(select, fault) }
    }

    /// Leaves out the first matching requests, this many.
    #[must_use]
    pub fn skip(self, skip: u32) -> Self {
        Self { skip, ..self }
    }

    /// Only this many.
    #[must_use]
    pub fn times(self, times: u32) -> Self {
        Self { times, ..self }
    }
}
