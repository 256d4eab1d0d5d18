//! How the status reports a rollout that waits for a word after a restart of the operator (HO-2; rollwright.dev only).
//! Nothing here decides anything.

use crate::decide::decisions::Decisions;
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
