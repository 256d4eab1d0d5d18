//! Single fields of a JSON object, by name, and what is reported of one that cannot be understood.
//!
//! An absent number is none, and one of the wrong type is refused. An absent text is empty, and so is one of the wrong
//! type.

use plan::Map;
use serde_json::Value;

/// An object that cannot be understood. It is set aside; others are not affected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct Rejected {
    /// Path of the field.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
}

pub(super) fn text(object: &Value, field: &str) -> String {
    object.get(field).and_then(Value::as_str).unwrap_or("").to_owned()
}

pub(super) fn string_map(value: Option<&Value>) -> Map {
    let members = value.and_then(Value::as_object).into_iter().flatten();
    members.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

pub(super) fn integer(object: &Value, parent: &str, field: &str) -> Result<Option<i64>, Rejected> {
    match object.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_i64().map(Some).ok_or_else(|| Rejected {
            field: format!("{parent}.{field}"),
            problem: format!("must be an integer, not {value}"),
        }),
    }
}

/// As [`integer`], within the 32 bits that the API's types have: the planner's sums rely on it.
pub(super) fn count(object: &Value, parent: &str, field: &str) -> Result<Option<i64>, Rejected> {
    match integer(object, parent, field)? {
        Some(number) if i32::try_from(number).is_err() => Err(Rejected {
            field: format!("{parent}.{field}"),
            problem: format!("must fit into 32 bits, not {number}"),
        }),
        number => Ok(number),
    }
}
