//! Pausing and resuming, as the condition Progressing reports them (S3.6, S13.1).

use jiff::Timestamp;

use crate::model::conditions::{Condition, Edit};
use crate::model::keys::{condition, reason};
use crate::model::observed::Workload;

/// The Deployment was paused or resumed; the deadline's clock restarts.
pub(crate) fn noted(workload: &Workload, now: Timestamp) -> Option<Edit> {
    workload.progress_deadline_seconds?;
    let current = workload.status.condition(condition::PROGRESSING);
    let current = current.map(|condition| condition.reason.as_str());
    let (reason, message) = match (workload.paused, current) {
        // S13.1: under Stop and Revert, a deadline that has passed starts again as well.
        (_, Some(reason::PROGRESS_DEADLINE_EXCEEDED)) if !workload.may_fail() => return None,
        (true, Some(reason::DEPLOYMENT_PAUSED)) => return None,
        (true, _) => (reason::DEPLOYMENT_PAUSED, "Deployment is paused"),
        (false, Some(reason::DEPLOYMENT_PAUSED)) => (reason::DEPLOYMENT_RESUMED, "Deployment is resumed"),
        (false, _) => return None,
    };
    let condition = Condition::new(condition::PROGRESSING, "Unknown", reason, message.to_owned(), now);
    Some(Edit::Set(Box::new(condition)))
}
