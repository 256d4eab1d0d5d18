//! `SelfSubjectAccessReview` and `SubjectAccessReview`: everybody may do everything, except what [`read::authorize`]
//! refuses.

use serde_json::{Value, json};
use world::{Refused, Resource, Store};

use crate::member::put;
use crate::read;

/// Answers the question in a body.
pub(crate) fn answer(store: &Store, mut review: Value) -> Result<Value, Refused> {
    let attributes = review.pointer("/spec/resourceAttributes").cloned().unwrap_or_default();
    let text = |field: &str| attributes.get(field).and_then(Value::as_str).unwrap_or_default();
    let namespace = Some(text("namespace")).filter(|namespace| !namespace.is_empty());
    let refused = Resource::find(text("group"), text("resource"))
        .and_then(|resource| read::authorize(store, resource, namespace, text("verb")).err());
    if !review.is_object() {
        return Err(Refused::bad_request("a review must be an object"));
    }
    put(&mut review, "status", json!({ "allowed": refused.is_none() }));
    Ok(review)
}
