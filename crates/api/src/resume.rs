//! `spec.resumePolicy`. The doc comments are what `kubectl explain` prints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words;

/// `spec.resumePolicy`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
// This description would take the place of the field's.
#[schemars(description = "", transform = words::known)]
pub enum ResumePolicy {
    /// Continue.
    Automatic,
    /// Hold the rollout until somebody asks to continue.
    Manual,
    /// A policy of a newer version of the API, which holds, too.
    #[serde(untagged)]
    Other(String),
}
