//! Refusals of what is not valid, with their causes.

use admission::Cause;
use serde_json::Value;
use world::{Refused, Resource};

/// A refusal from the `Status` that it is answered with.
pub(crate) fn refused(status: &Value) -> Refused {
    let text = |field: &str| status.get(field).and_then(Value::as_str).unwrap_or_default();
    let code = status.get("code").and_then(Value::as_u64).and_then(|code| code.try_into().ok());
    let mut refused = Refused::new(code.unwrap_or(500), text("reason"), text("message"));
    refused.details = status.get("details").cloned().unwrap_or(Value::Null);
    refused
}

/// Options of a request that are not valid.
pub(crate) fn options(kind: &str, cause: Cause) -> Refused {
    refused(&admission::invalid("meta.k8s.io", kind, "", &[cause]))
}

/// An object that is not valid.
pub(crate) fn object(resource: Resource, name: &str, causes: &[Cause]) -> Refused {
    refused(&admission::invalid(resource.group(), resource.kind(), name, causes))
}
