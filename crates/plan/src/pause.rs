//! Pausing and resuming, as the condition Progressing tells it (S13.1).

use crate::conditions::{Condition, set_condition};
use crate::draft::Draft;
use crate::keys::{condition, reason};

/// Notes that the Deployment was paused or resumed; the deadline's clock starts anew.
pub(crate) fn note(draft: &mut Draft<'_>) {
    if draft.workload.progress_deadline_seconds.is_none() {
        return;
    }
    let current = draft.status.condition(condition::PROGRESSING).map(|condition| condition.reason.as_str());
    if current == Some(reason::PROGRESS_DEADLINE_EXCEEDED) {
        return;
    }
    let noted = current == Some(reason::DEPLOYMENT_PAUSED);
    let (reason, message) = match (draft.workload.paused, noted) {
        (true, false) => (reason::DEPLOYMENT_PAUSED, "Deployment is paused"),
        (false, true) => (reason::DEPLOYMENT_RESUMED, "Deployment is resumed"),
        _ => return,
    };
    let condition = Condition::new(condition::PROGRESSING, "Unknown", reason, message.to_owned(), draft.now);
    set_condition(&mut draft.status.to_mut().conditions, condition);
    draft.status_is_early();
}
