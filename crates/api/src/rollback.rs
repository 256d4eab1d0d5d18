//! A request for a rollback (S10). The doc comments are what `kubectl explain` prints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Requests a rollback to an earlier revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollbackTo {
    /// Revision to roll back to; 0 or absent means the previous one. Example: 3.
    #[schemars(range(min = 0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
}
