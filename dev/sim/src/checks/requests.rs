//! WA-2: a Deployment that nobody can help costs few requests. RW-1: no operator trips over what
//! it wrote itself.

use std::collections::{BTreeMap, VecDeque};

use plan::Event;
use serde_json::{Value, json};
use world::{Object, Patch, Resource, Subresource};

use crate::checks::Verdict;
use crate::engine::{MILLISECOND, SECOND, Time};
use crate::link::{Request, Sent};
use crate::scenario::Millis;
use crate::subject::Which;

/// Requests for one Deployment within [`WINDOW`] that may be refused to one operator by an outage: one or two a
/// second, and those before it slows down.
const REFUSED_MAX: usize = 200;
const WINDOW: Time = 60 * SECOND;

/// A write request that an operator sent, whatever became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentWrite {
    /// When, in virtual time since the start of the run.
    pub at: Millis,
    /// Verb and resource, as an audit log has them.
    pub what: &'static str,
}

/// What operators asked and wrote.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    pub(crate) writes: Vec<SentWrite>,
    /// All requests, whole, if somebody wants them.
    pub(crate) kept: Option<Vec<Value>>,
    refused: BTreeMap<(u64, Which), VecDeque<Time>>,
    /// By object: who wrote it last and knows so, and the outcome.
    written: BTreeMap<String, Written>,
}

#[derive(Debug)]
struct Written {
    operator: u64,
    uid: String,
    version: u64,
}

impl Requests {
    /// A request was sent.
    pub(crate) fn sent(&mut self, operator: u64, sent: &Sent, now: Time) {
        self.keep(operator, now, || whole(&sent.request));
        if let Some(what) = verb_and_resource(&sent.request) {
            self.writes.push(SentWrite { at: now / MILLISECOND, what });
        }
    }

    /// An event was recorded.
    pub(crate) fn told(&mut self, operator: u64, event: &Event, now: Time) {
        self.keep(operator, now, || {
            let body =
                json!({ "type": event.kind.as_str(), "reason": event.reason, "message": event.message });
            json!({ "verb": "create", "resource": "events", "body": body })
        });
    }

    fn keep(&mut self, operator: u64, now: Time, request: impl FnOnce() -> Value) {
        if let Some(kept) = &mut self.kept {
            kept.push(json!({ "at": now / MILLISECOND, "operator": operator, "request": request() }));
        }
    }

    /// An outage refused a request.
    pub(crate) fn refused(&mut self, operator: u64, of: Which, now: Time) -> Verdict {
        let times = self.refused.entry((operator, of)).or_default();
        times.push_back(now);
        while times.front().is_some_and(|first| first + WINDOW < now) {
            times.pop_front();
        }
        if times.len() > REFUSED_MAX {
            return Err(format!("{} requests within a minute of an outage", times.len()));
        }
        Ok(())
    }

    /// A write was answered.
    pub(crate) fn answered(&mut self, operator: u64, object: &Object) {
        let written = Written { operator, uid: object.uid().to_owned(), version: object.version() };
        self.written
            .insert(format!("{:?}/{}/{}", object.resource, object.namespace(), object.name()), written);
    }

    /// A write was refused, since the object is not what it was taken for.
    pub(crate) fn tripped(&self, operator: u64, object: &Object, is_creation: bool) -> Verdict {
        let key = format!("{:?}/{}/{}", object.resource, object.namespace(), object.name());
        let Some(written) = self.written.get(&key).filter(|written| written.operator == operator) else {
            return Ok(());
        };
        let is_own = written.uid == object.uid() && (is_creation || written.version == object.version());
        if is_own { Err(format!("{key} was written by the one that does not know it")) } else { Ok(()) }
    }
}

/// `None` for what does not write.
fn verb_and_resource(request: &Request) -> Option<&'static str> {
    match request {
        Request::Create { object, is_dry_run: false } if Request::created(object) == Resource::Jobs => {
            Some("create jobs")
        }
        Request::Create { is_dry_run: false, .. } => Some("create replicasets"),
        Request::Delete { resource: Resource::Jobs, .. } => Some("delete jobs"),
        Request::Delete { .. } => Some("delete replicasets"),
        Request::Patch { resource: Resource::ReplicaSets, .. } => Some("patch replicasets"),
        Request::Patch { subresource: Subresource::Status, .. } => Some("patch deployments/status"),
        Request::Patch { .. } => Some("patch deployments"),
        Request::Get(..)
        | Request::List(_)
        | Request::Page(..)
        | Request::Warnings(_)
        | Request::Create { is_dry_run: true, .. } => None,
    }
}

/// A request with its body.
fn whole(request: &Request) -> Value {
    match request {
        Request::Get(resource, name) => json!({ "verb": "get", "resource": resource.plural(), "name": name }),
        Request::List(resource) => json!({ "verb": "list", "resource": resource.plural() }),
        Request::Page(selector, after) => {
            json!({ "verb": "list", "resource": "pods", "selector": selector, "after": after })
        }
        Request::Warnings(uid) => json!({ "verb": "list", "resource": "events", "about": uid }),
        Request::Create { object, is_dry_run } => {
            let resource = Request::created(object).plural();
            json!({ "verb": "create", "resource": resource, "dryRun": is_dry_run, "body": object })
        }
        Request::Patch { resource, name, patch, subresource } => {
            let (kind, body) = match patch {
                Patch::Merge(body) => ("merge", body),
                Patch::Json(body) => ("json", body),
                Patch::Strategic(body) => ("strategic", body),
            };
            let (resource, subresource) = (resource.plural(), format!("{subresource:?}"));
            json!({ "verb": "patch", "resource": resource, "name": name, "subresource": subresource,
                    "patch": kind, "body": body })
        }
        Request::Delete { resource, name, uid, version } => {
            let body = json!({ "uid": uid, "resourceVersion": version });
            json!({ "verb": "delete", "resource": resource.plural(), "name": name, "body": body })
        }
    }
}
