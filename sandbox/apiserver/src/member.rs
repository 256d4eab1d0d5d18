//! Setting members of JSON objects.

use serde_json::Value;

/// Sets a member, if the value is an object.
pub(crate) fn put(value: &mut Value, name: &str, member: impl Into<Value>) {
    if let Some(members) = value.as_object_mut() {
        members.insert(name.to_owned(), member.into());
    }
}
