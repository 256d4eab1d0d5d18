//! When a Deployment is requeued if nothing changes: the earliest of all reasons of a plan. No other file of
//! the planner combines them. The engine adds its own (`next.rs`).

use jiff::Timestamp;

use crate::decide::decisions::Decisions;
use crate::model::action::Requeue;
use crate::moves::aim::Because;
use crate::report::Report;

/// The earliest of the progress deadline, the end of a wait or a verdict, a ReplicaSet that is then old enough for
/// clean-up, a status that waits until then, and names that are taken.
pub(crate) fn earliest(
    report: &Report,
    decisions: &Decisions<'_>,
    status_until: Option<Timestamp>,
) -> Requeue {
    let names = match decisions.aim.because {
        Because::NamesTaken(until) => Requeue::NamesTaken(until),
        _ => Requeue::OnChange,
    };
    // S9.15: a write requeues by itself.
    if report.write.is_some() {
        return names;
    }
    let due = decisions.course.due.into_iter().chain(decisions.history.surplus.due).min();
    let judged = due.map_or(Requeue::OnChange, Requeue::Deadline);
    let status = status_until.map_or(Requeue::OnChange, Requeue::StatusPaced);
    let others = judged.earliest(status).earliest(names);
    // S9.15 asks again and again once the end is near. What was complete has no deadline (S9.11): a time counts then.
    let is_in_vain = report.requeue == Requeue::Again && !decisions.view.workload().status.awaits_deadline();
    if is_in_vain && others != Requeue::OnChange { others } else { report.requeue.earliest(others) }
}
