//! The errors of an object, and the `Status` that reports them.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Value, json};

use crate::go_text;

/// Why a field is refused. The names are those of `details.causes[].reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A field that has to be there is not.
    Required,
    /// A value that has to be unique is there twice.
    Duplicate,
    /// A malformed value.
    Invalid,
    /// A value of another type than the schema has.
    TypeInvalid,
    /// A value outside an enumeration.
    NotSupported,
    /// A value that is fine elsewhere and not allowed here.
    Forbidden,
    /// A string with too many bytes.
    TooLong,
    /// A list or map with too many entries.
    TooMany,
    /// A name of something that is not there.
    NotFound,
}

impl Reason {
    /// The name in `details.causes[].reason`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::NotFound => "FieldValueNotFound",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::NotFound => "Not found",
        }
    }

    /// After a cause of these kinds the server does not evaluate CEL rules.
    pub(crate) fn blocks_rules(self) -> bool {
        matches!(
            self,
            Self::NotSupported | Self::Required | Self::TooLong | Self::TooMany | Self::TypeInvalid
        )
    }
}

/// One thing that is wrong with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The kind of mistake.
    pub reason: Reason,
    /// Path of the field; `<nil>` where the server names none.
    pub field: String,
    /// What is wrong, as the server words it, without the field.
    pub message: String,
}

impl Cause {
    fn new(reason: Reason, field: impl Into<String>, value: Option<&str>, detail: &str) -> Self {
        let mut message = reason.text().to_owned();
        for part in value.into_iter().chain((!detail.is_empty()).then_some(detail)) {
            message.push_str(": ");
            message.push_str(part);
        }
        Self { reason, field: field.into(), message }
    }

    /// A malformed value, quoted in the message.
    #[must_use]
    pub fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self::new(Reason::Invalid, field, Some(&shown(value)), detail)
    }

    /// A malformed value that is shown as this text.
    pub(crate) fn invalid_shown(field: impl Into<String>, shown: &str, detail: &str) -> Self {
        Self::new(Reason::Invalid, field, Some(shown), detail)
    }

    /// A malformed value that is not quoted.
    #[must_use]
    pub fn invalid_unquoted(field: impl Into<String>, detail: &str) -> Self {
        Self::new(Reason::Invalid, field, None, detail)
    }

    pub(crate) fn type_invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self::new(Reason::TypeInvalid, field, Some(&shown(value)), detail)
    }

    /// A field that is missing.
    #[must_use]
    pub fn required(field: impl Into<String>, detail: &str) -> Self {
        Self::new(Reason::Required, field, None, detail)
    }

    /// A field that may not be set.
    #[must_use]
    pub fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self::new(Reason::Forbidden, field, None, detail)
    }

    pub(crate) fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self::new(Reason::Duplicate, field, Some(&shown(value)), "")
    }

    pub(crate) fn duplicate_unquoted(field: impl Into<String>) -> Self {
        Self::new(Reason::Duplicate, field, None, "")
    }

    /// A value outside an enumeration.
    #[must_use]
    pub fn not_supported(field: impl Into<String>, value: &Value, supported: &[String]) -> Self {
        let supported: Vec<String> = supported.iter().map(|name| go_text::quoted(name)).collect();
        let detail = format!("supported values: {}", supported.join(", "));
        Self::new(Reason::NotSupported, field, Some(&shown(value)), &detail)
    }

    pub(crate) fn not_found(field: impl Into<String>, value: &Value) -> Self {
        Self::new(Reason::NotFound, field, Some(&shown(value)), "")
    }

    pub(crate) fn too_long(field: impl Into<String>, max: u64) -> Self {
        let unit = if max == 1 { "byte" } else { "bytes" };
        Self::new(Reason::TooLong, field, None, &format!("may not be more than {max} {unit}"))
    }

    pub(crate) fn too_many(field: impl Into<String>, actual: usize, max: u64) -> Self {
        let unit = if max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max} {unit}");
        Self::new(Reason::TooMany, field, Some(&actual.to_string()), &detail)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => go_text::quoted(text),
        Value::Number(number) => go_text::number(number),
        other => go_text::json(other),
    }
}

/// The `Status` (422) for an object that is refused, as the server sends it.
///
/// `group` is empty for the core group, and so may be `kind` for a request that is wrong as such.
#[must_use]
pub fn invalid(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Value {
    let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
    let mut message = format!("{qualified} {} is invalid", go_text::quoted(name));
    let mut seen = BTreeSet::new();
    let texts: Vec<String> =
        causes.iter().map(ToString::to_string).filter(|text| seen.insert(text.clone())).collect();
    match texts.as_slice() {
        [] => {}
        [one] => message.push_str(&format!(": {one}")),
        several => message.push_str(&format!(": [{}]", several.join(", "))),
    }
    let causes: Vec<Value> = causes
        .iter()
        .map(|cause| json!({"reason": cause.reason.name(), "message": cause.message, "field": cause.field}))
        .collect();
    let mut details = json!({"causes": causes});
    for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
        if let (false, Some(details)) = (value.is_empty(), details.as_object_mut()) {
            details.insert(key.to_owned(), json!(value));
        }
    }
    status("Invalid", 422, &message, Some(details))
}

/// The `Status` (400) for a body that cannot be read as an object of this kind.
#[must_use]
pub fn undecodable(kind: &str, version: &str, why: &str) -> Value {
    let version = go_text::quoted(version);
    status(
        "BadRequest",
        400,
        &format!("{kind} in version {version} cannot be handled as a {kind}: {why}"),
        None,
    )
}

fn status(reason: &str, code: u16, message: &str, details: Option<Value>) -> Value {
    let mut status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    });
    if let (Some(details), Some(status)) = (details, status.as_object_mut()) {
        status.insert("details".to_owned(), details);
    }
    status
}
