//! How the status reports a rollout that waits for a word after a restart of the operator (HO-2; rollwright.dev only).
//! Nothing here decides anything.

use crate::decide::decisions::Decisions;
use crate::model::conditions::{Condition, Edit};
use crate::model::keys::{condition, reason};
use crate::model::observed::Workload;
use crate::model::revision::Revision;

/// What waits, and the way out, in a sentence without its end.
pub(crate) fn words(decisions: &Decisions<'_>) -> String {
    let number = decisions.revision().and_then(Revision::number);
    let revision = number.map_or_else(String::new, |number| format!(" {number}"));
    let Workload { namespace, name, .. } = decisions.view.workload();
    format!(
        "the operator restarted while it rolled out revision{revision}, and spec.resumePolicy is Manual: continue with \
         `kubectl rollwright resume deployment.rollwright.dev/{name} -n {namespace}`"
    )
}

/// The condition Progressing: the deadline stands still (HO-3).
pub(crate) fn progressing(decisions: &Decisions<'_>, words: String) -> Option<Edit> {
    decisions.view.workload().progress_deadline_seconds?;
    let (kind, reason) = (condition::PROGRESSING, reason::HELD_AFTER_RESTART);
    Some(Edit::Set(Box::new(Condition::new(kind, "Unknown", reason, words, decisions.view.now))))
}
