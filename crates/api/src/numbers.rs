//! What the numbers of the API may be: the largest one, and the schema of a number of pods or a percentage.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// Largest value that apps/v1 can hold in its counters and periods.
pub(crate) const INT32_MAX: i32 = i32::MAX;

/// The schema of a number of pods or a percentage.
pub(crate) enum Share {}

impl JsonSchema for Share {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "x-kubernetes-int-or-string": true, "maximum": INT32_MAX })
    }
}
