//! Server-side apply, in part: what is applied is created or merged in, lists by their keys. Who
//! owns which field is not kept, so there are no conflicts, and nothing is removed because it is
//! applied no more.

use admission::Cause;
use serde_json::Value;
use world::{Mode, Object, Patch, Refused, Store, Subresource};

use crate::invalid;
use crate::write::{Call, Written, create_object};

/// A PATCH of type apply.
pub(crate) fn apply(store: &mut Store, call: &Call<'_>, mode: Mode) -> Result<Written, Refused> {
    if call.query.text("fieldManager").is_none() {
        let cause = Cause::required("fieldManager", "is required for apply patch");
        return Err(invalid::options("PatchOptions", cause));
    }
    let mut configuration = call.json()?;
    without_nulls(&mut configuration);
    if let Some(metadata) = configuration.get_mut("metadata").and_then(Value::as_object_mut) {
        if metadata.contains_key("managedFields") {
            return Err(Refused::bad_request("metadata.managedFields must be nil"));
        }
        if !call.namespace.is_empty() {
            metadata.insert("namespace".to_owned(), call.namespace.into());
        }
        metadata.insert("name".to_owned(), call.name.into());
    }
    if store.get(&call.key()).is_none() && call.subresource == Subresource::Main {
        let object = Object::from_value(call.resource, configuration);
        return create_object(store, call, object);
    }
    let patch = Patch::Strategic(configuration);
    let written = store.patch(&call.key(), &patch, call.subresource, mode)?;
    Ok(Written::Object(200, written))
}

/// A null that is applied is a value that is not there.
fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}
