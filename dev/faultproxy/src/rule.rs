//! Which requests meet a fault, and which fault.

use serde_json::Value;

use crate::request::Request;

/// Selects requests. Whatever is not named matches everything.
#[derive(Clone, Debug, Default)]
pub struct Match {
    verb: Option<String>,
    resource: Option<String>,
    field: Option<String>,
    owner: Option<String>,
    writes: bool,
}

impl Match {
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
            && self.owner.as_deref().is_none_or(|wanted| owner() == Some(wanted))
            && self.field.as_ref().is_none_or(|pointer| body.pointer(pointer).is_some())
            && (!self.writes || (request.is_write() && request.resource != "events"))
    }
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request is not forwarded; the connection is reset.
    Drop,
    /// The request is carried out; instead of the answer the connection is reset.
    LoseAnswer,
    /// The request is not forwarded, and there is never an answer.
    Hang,
    /// The request is carried out, and there is never an answer.
    HangAfter,
}

/// What happens to a watch under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFault {
    /// The connection is reset.
    Reset,
    /// The connection is reset after this many more bytes, in the middle of a line.
    ResetAfterBytes(usize),
    /// Nothing is forwarded any more, and the connection stays open.
    HalfOpen,
}

impl Fault {
    /// One word for a report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::LoseAnswer => "lose-answer",
            Self::Hang => "hang",
            Self::HangAfter => "hang-after",
        }
    }
}

impl StreamFault {
    /// One word for a report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::ResetAfterBytes(_) => "reset-after-bytes",
            Self::HalfOpen => "half-open",
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
