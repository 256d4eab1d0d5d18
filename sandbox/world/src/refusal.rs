//! What the server answers when it does not do what it was asked, in its words.

use serde_json::{Value, json};

use crate::resource::Resource;

/// A `Status` of failure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// HTTP status.
    pub code: u16,
    /// `reason` of the Status.
    pub reason: String,
    /// `message` of the Status.
    pub message: String,
    /// `details` of the Status; null when there are none.
    pub details: Value,
}

impl Refused {
    /// A refusal without details.
    #[must_use]
    pub fn new(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self { code, reason: reason.to_owned(), message: message.into(), details: Value::Null }
    }

    fn about(resource: Resource, name: &str, code: u16, reason: &str, message: String) -> Self {
        let details = json!({ "name": name, "group": resource.group(), "kind": resource.plural() });
        Self { details, ..Self::new(code, reason, message) }
    }

    /// There is no such object.
    #[must_use]
    pub fn not_found(resource: Resource, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", resource.qualified());
        Self::about(resource, name, 404, "NotFound", message)
    }

    /// The name is taken.
    #[must_use]
    pub fn already_exists(resource: Resource, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", resource.qualified());
        Self::about(resource, name, 409, "AlreadyExists", message)
    }

    /// The object is not in the version that the request was made from.
    #[must_use]
    pub fn modified(resource: Resource, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// A precondition does not hold.
    #[must_use]
    pub fn conflict(resource: Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", resource.qualified());
        Self::about(resource, name, 409, "Conflict", message)
    }

    /// Admission refuses.
    #[must_use]
    pub fn forbidden(resource: Resource, name: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is forbidden: {why}", resource.qualified());
        Self::about(resource, name, 403, "Forbidden", message)
    }

    /// The request makes no sense.
    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// The object as it would become is not valid; `cause` in the server's form.
    #[must_use]
    pub fn invalid(resource: Resource, name: &str, cause: &str) -> Self {
        let kind = match resource.group() {
            "" => resource.kind().to_owned(),
            group => format!("{}.{group}", resource.kind()),
        };
        let message = format!("{kind} \"{name}\" is invalid: {cause}");
        Self::about(resource, name, 422, "Invalid", message)
    }

    /// The namespace is going away (S14.3).
    #[must_use]
    pub fn namespace_terminating(resource: Resource, name: &str, namespace: &str) -> Self {
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut refused = Self::forbidden(resource, name, &why);
        let cause = json!({ "reason": "NamespaceTerminating", "message":
            format!("namespace {namespace} is being terminated"), "field": "metadata.namespace" });
        if let Some(details) = refused.details.as_object_mut() {
            details.insert("causes".to_owned(), json!([cause]));
        }
        refused
    }

    /// Whether it is [`Self::namespace_terminating`].
    #[must_use]
    pub fn is_namespace_terminating(&self) -> bool {
        let mut causes = self.details.get("causes").and_then(Value::as_array).into_iter().flatten();
        causes.any(|cause| cause.get("reason").and_then(Value::as_str) == Some("NamespaceTerminating"))
    }

    /// The body of the answer.
    #[must_use]
    pub fn to_status(&self) -> Value {
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "details": self.details, "code": self.code,
        })
    }
}
