//! What processes a write before it is stored: defaults, webhooks, quota, validation.

pub(crate) mod defaults;
pub(crate) mod pod_rules;
pub(crate) mod quota;
pub(crate) mod webhook;

use crate::object::Object;
use crate::refusal::Refused;
use crate::resource::Resource;
use crate::store::Store;
use crate::write::Subresource;

/// What a write does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// A new version of one.
    Update,
    /// The end of one.
    Delete,
}

/// A write on its way.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What it does.
    pub operation: Operation,
    /// To what.
    pub resource: Resource,
    /// To which part of it.
    pub subresource: Subresource,
    /// Whether nothing will be stored.
    pub is_dry_run: bool,
    /// The object as stored; `None` on create.
    pub stored: Option<&'a Object>,
}

/// A step of admission. Steps run in the order in which they were added, for every write that
/// is not refused before.
pub trait Admission: Send + Sync {
    /// May change the object, or refuse the write.
    ///
    /// # Errors
    /// The refusal, in the server's words.
    fn admit(&self, store: &Store, request: &Request<'_>, object: &mut Object) -> Result<(), Refused>;

    /// Whether a write that changes nothing of what was read changes what is stored: then it counts
    /// as a write. A real server fills in defaults when it reads, and a write makes them stay.
    fn persists(&self, _stored: &Object) -> bool {
        false
    }
}
