//! What a diagnosis is made from, and what it is.

use std::borrow::Cow;

use jiff::Timestamp;
use plan::Why;
use serde_json::{Value, json};

use crate::cluster::Deployment;
use crate::history::Revision;
use crate::unobserved::Unobserved;

/// All that is looked at.
pub(crate) struct Facts<'a> {
    pub(crate) deployment: &'a Deployment,
    /// Newest first.
    pub(crate) revisions: &'a [Revision],
    /// The revision that runs or is rolled out.
    pub(crate) running: Option<&'a Revision>,
    /// Its pods.
    pub(crate) new_pods: &'a [Value],
    /// Pods of the Deployment that are still there after their time to terminate.
    pub(crate) overdue: &'a [Value],
    /// Warnings about pods of the Deployment.
    pub(crate) events: &'a [Value],
    /// What could not be read.
    pub(crate) unread: Unread,
    /// Budgets of the namespace.
    pub(crate) budgets: &'a [Value],
    /// The state of the last change or request, if it has no outcome yet.
    pub(crate) unobserved: Option<Unobserved>,
    /// The planner's own reason.
    pub(crate) why: Result<Why, String>,
    pub(crate) now: Timestamp,
}

/// What could not be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unread {
    pub(crate) pods: bool,
    pub(crate) events: bool,
}

impl Unread {
    /// What may be missing from an answer for that.
    pub(super) fn caveat(self) -> Option<&'static str> {
        match self {
            Self { pods: true, .. } => {
                Some(" You may not list its pods, so a cause that only they show is unknown.")
            }
            Self { events: true, .. } => Some(
                " Events could not be listed, so a failing probe or a volume that cannot be mounted would not \
                 show.",
            ),
            Self { .. } => None,
        }
    }
}

/// Whether the rollout continues by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Complete,
    Waiting,
    Blocked,
    Paused,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Diagnosis {
    pub(crate) verdict: Verdict,
    /// One word for programs.
    pub(crate) cause: Cow<'static, str>,
    /// One paragraph.
    pub(crate) text: String,
    /// The next command to type.
    pub(crate) next: Option<String>,
}

impl Diagnosis {
    /// For programs.
    pub(crate) fn document(&self, name: &str, exit_code: u8) -> Value {
        json!({
            "name": name,
            "cause": self.cause,
            "message": self.text,
            "next": self.next,
            "exitCode": exit_code,
        })
    }
}
