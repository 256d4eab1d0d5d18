//! What the Kubernetes API server does to an object before it stores it, in the same order and with the
//! same messages: decoding, pruning, defaults, validation by schema and by CEL rules.
//!
//! This is for an in-memory cluster, which must refuse what a real one refuses, with the same
//! message. It does no IO. Where the server's order is that of a Go map, and so differs from one
//! request to the next, the order here is that of the names.
//!
//! `tests/messages` holds requests with the answers of a real server, and the tests of this crate compare
//! it with them. What differs, or is not here:
//!
//! - A schema with a keyword that Rollwright's CRD does not use (`anyOf`, `multipleOf`, …) is refused, not
//!   half checked. Rules on the root of a resource are, too.
//! - Rules have no cost limit.
//! - An invalid value that has not changed is accepted silently; the server warns of a rule that fails so.
//! - Of pods only what [`built_in`] names is checked, and their unknown fields are kept.
//! - What server-side apply refuses because it does not fit the schema, in words of its own, is not here.
//! - Finalizers without a domain get no warning.
//! - What a server answers before it reads the object (unknown versions, names that differ from the
//!   URL, conflicts) is the task of the code that serves requests.
//!
//! For a custom resource, [`Crd`] holds all steps of a request:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use serde_json::json;
//!
//! let crd = admission::Crd::parse(&api::crd::crd(None)?)?;
//! let mut object = json!({
//!     "apiVersion": "rollwright.dev/v1", "kind": "Deployment",
//!     "metadata": {"name": "web", "namespace": "default"},
//!     "spec": {"replicas": -1, "colour": "red"},
//! });
//! let complaints = crd.decode(&mut object)?;
//! assert_eq!(admission::strict_error(&complaints), "strict decoding error: unknown field \"spec.colour\"");
//! crd.prepare_create(&mut object);
//! let causes = crd.create(&object);
//! assert_eq!(
//!     causes[0].to_string(),
//!     "spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0"
//! );
//! let status = crd.invalid("web", &causes); // the body of the answer, with code 422
//! # Ok(())
//! # }
//! ```

mod body;
pub mod built_in;
mod cause;
mod correlate;
mod crd;
mod format;
mod go_text;
pub mod job;
pub mod lint;
mod lists;
pub mod metadata;
pub mod names;
mod nearest;
mod pod_spec;
mod prune;
mod quantity;
mod rules;
mod schema;
mod strict;
mod template;

use serde_json::Value;

pub use cause::{Cause, Reason, invalid, undecodable};
pub use crd::Crd;
pub use nearest::nearest;
pub use prune::{default, prune};
pub use schema::{Schema, SchemaError};
pub use strict::{FieldValidation, duplicate_fields, patch_refused, strict_error};
pub use template::default_pod_template;

/// What is wrong with an object by its schema: values, lists that need unique items, rules. With an
/// old object, rules about changes apply, and what has not changed is not refused.
///
/// [`Crd::create`] and [`Crd::update`] add what holds for every resource.
#[must_use]
pub fn validate(schema: &Schema, new: &Value, old: Option<&Value>) -> Vec<Cause> {
    let root = old.map(|old| correlate::Correlated::root(schema, new, old));
    let mut found = body::check(schema, new, "", root);
    lists::check(schema, new, "", &mut found);
    if !found.iter().any(|cause| cause.reason.blocks_rules()) {
        found.extend(rules::check(schema, new, old));
    }
    found
}
