//! What labels and annotations are.

use std::collections::BTreeMap;

/// String to string, in a fixed order: labels and annotations.
pub type Map = BTreeMap<String, String>;
