//! A request, as far as a fault or a judge has to know it.

use http::{Method, Request};
use kube::client::Body;
use world::Object;

/// Which requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum On {
    /// The start of a watch of this kind.
    Watch(&'static str),
    /// A list of this kind.
    List(&'static str),
    /// A read of one object of this kind.
    Get(&'static str),
    /// Whatever would change something of this kind, dry runs aside.
    Write(&'static str),
    /// Whatever creates something of this kind.
    Create(&'static str),
    /// Whatever deletes something of this kind.
    Delete(&'static str),
    /// Whatever concerns this kind, watches too.
    All(&'static str),
    /// Any but watches.
    Request,
}

/// What is known of a request.
pub(super) struct Asked {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: String,
}

impl Asked {
    pub(super) fn of(request: &Request<Body>) -> Self {
        let uri = request.uri();
        let (path, query) = (uri.path().to_owned(), uri.query().unwrap_or_default().to_owned());
        Self { method: request.method().clone(), path, query }
    }

    pub(super) fn is_watch(&self) -> bool {
        self.query.contains("watch=true")
    }

    /// Whether it would change something.
    pub(super) fn is_write(&self) -> bool {
        self.method != Method::GET && !self.query.contains("dryRun")
    }

    /// Whether an object is the one that it creates or changes.
    pub(super) fn concerns(&self, object: &Object) -> bool {
        let mut parts = self.path.rsplit('/').skip_while(|part| matches!(*part, "status" | "scale"));
        let kind = object.resource.plural();
        match parts.next() {
            Some(part) if self.method == Method::POST => part == kind,
            Some(name) => name == object.name() && parts.next() == Some(kind),
            None => false,
        }
    }

    pub(super) fn is(&self, on: On) -> bool {
        let is_of = |kind: &str| self.path.split('/').any(|part| part == kind);
        let is_list = |kind: &str| self.method == Method::GET && self.path.ends_with(kind);
        match on {
            On::Watch(kind) => self.is_watch() && is_of(kind),
            On::List(kind) => is_list(kind) && !self.is_watch(),
            On::Get(kind) => {
                let parent = self.path.rsplit_once('/').map_or("", |(parent, _)| parent);
                self.method == Method::GET && parent.ends_with(kind)
            }
            On::Write(kind) => self.is_write() && is_of(kind),
            On::Create(kind) => self.is_write() && self.method == Method::POST && self.path.ends_with(kind),
            On::Delete(kind) => self.is_write() && self.method == Method::DELETE && is_of(kind),
            On::All(kind) => is_of(kind),
            On::Request => !self.is_watch(),
        }
    }
}
