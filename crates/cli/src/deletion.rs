//! A Deployment that is being deleted, and what holds it.

use diagnosis::{list, text};
use serde_json::Value;

/// Finalizers that the garbage collector removes when it has done its part.
const OF_THE_COLLECTOR: [&str; 2] = ["foregroundDeletion", "orphan"];

/// What holds a Deployment that is being deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Deletion {
    /// When it was deleted.
    since: String,
    /// Finalizers that somebody has to remove.
    held_by: Vec<String>,
}

impl Deletion {
    /// `None` if nobody has deleted it.
    pub(crate) fn of(deployment: &Value) -> Option<Self> {
        let since = text(deployment, "/metadata/deletionTimestamp");
        if since.is_empty() {
            return None;
        }
        let finalizers = list(deployment, "/metadata/finalizers").iter().filter_map(Value::as_str);
        let held_by = finalizers.filter(|finalizer| !OF_THE_COLLECTOR.contains(finalizer));
        Some(Self { since: since.to_owned(), held_by: held_by.map(str::to_owned).collect() })
    }

    /// In a sentence without its end, after the name of the Deployment.
    pub(crate) fn words(&self) -> String {
        let since = &self.since;
        match self.held_by.as_slice() {
            [] => format!("was deleted at {since}, and waits for the garbage collector"),
            [one] => format!("was deleted at {since}, and the finalizer {one} holds it"),
            several => format!("was deleted at {since}, and the finalizers {} hold it", several.join(", ")),
        }
    }

    /// Whether somebody has to act.
    pub(crate) fn is_held(&self) -> bool {
        !self.held_by.is_empty()
    }
}
