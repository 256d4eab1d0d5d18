//! A quota: how many objects of a kind a namespace may have.

use crate::admission::{Admission, Operation, Request};
use crate::object::Object;
use crate::refusal::Refused;
use crate::resource::Resource;
use crate::store::Store;

/// How many objects of a kind a namespace may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Its own name.
    pub name: String,
    /// The namespace.
    pub namespace: String,
    /// The kind.
    pub resource: Resource,
    /// How many at most.
    pub hard: usize,
}

impl Quota {
    /// What is counted, as a quota names it.
    fn measure(&self) -> String {
        match self.resource {
            Resource::Pods => "pods".to_owned(),
            other => format!("count/{}", other.qualified()),
        }
    }
}

/// Pods that have ended use nothing up any more.
fn counts(object: &Object) -> bool {
    object.resource != Resource::Pods || !object.status.pod().phase.is_finished()
}

impl Admission for Quota {
    fn admit(&self, store: &Store, request: &Request<'_>, object: &mut Object) -> Result<(), Refused> {
        let is_concerned = request.operation == Operation::Create
            && request.resource == self.resource
            && object.namespace() == self.namespace;
        if !is_concerned {
            return Ok(());
        }
        let used = store.list(self.resource, Some(&self.namespace)).filter(|object| counts(object)).count();
        if used < self.hard {
            return Ok(());
        }
        let (measure, hard) = (self.measure(), self.hard);
        let why = format!(
            "exceeded quota: {}, requested: {measure}=1, used: {measure}={used}, limited: {measure}={hard}",
            self.name
        );
        Err(Refused::forbidden(self.resource, object.name(), &why))
    }
}
