//! What follows when the server does not create the ReplicaSet of a template while another one runs: nothing waits for
//! it, so the status is the one of the plan (FP-11; rollwright.dev only).

use jiff::Timestamp;

use crate::action::{Action, Event, Plan, Planned, StatusWrite};
use crate::collision;
use crate::keys::reason;
use crate::observed::Observed;
use crate::outcome::{Aftermath, Failure, Verdict};

/// The creation at `index` failed.
pub(crate) fn after_create_beside(
    observed: &Observed,
    plan: &Plan,
    (index, name): (usize, &str),
    failure: &Failure,
    now: Timestamp,
) -> Aftermath {
    let text = match failure {
        Failure::NamespaceTerminating(text) => return Aftermath::end(Verdict::GiveUp(text.clone())),
        Failure::NameTaken(_) => format!("{failure}: {name}"),
        _ => failure.to_string(),
    };
    let statuses = |planned: &Planned| match &planned.action {
        Action::WriteStatus(write) => Some(write.clone()),
        _ => None,
    };
    // One that the plan has behind the creation is still to be written.
    let due = plan.actions.iter().skip(index).find_map(statuses);
    let (write, events) = match failure {
        Failure::NameTaken(Some(set)) => {
            let is_ours = set.controller_uid.as_ref() == Some(&observed.workload.uid);
            if is_ours && set.carries(&observed.workload.template.fingerprint) {
                return Aftermath::end(Verdict::PlanAgain(set.clone()));
            }
            let written = plan.actions.iter().take(index).filter_map(statuses).next_back();
            let status = written.map_or_else(|| observed.workload.status.clone(), |write| write.status);
            let mut write = due.unwrap_or_else(|| Box::new(StatusWrite { status, ..StatusWrite::default() }));
            let events = collision::note(observed, &mut write.status, name, now);
            (Some(write), events)
        }
        Failure::NameTaken(None) => (due, Vec::new()),
        _ => {
            let message = format!("Failed to create new replica set \"{name}\": {text}");
            (due, vec![Event::warning(reason::REPLICA_SET_CREATE_ERROR, message)])
        }
    };
    let action = |write| Planned { action: Action::WriteStatus(write), events: Vec::new() };
    let actions = write.map(action).into_iter().collect();
    Aftermath { actions, events, ..Aftermath::end(Verdict::Retry(text)) }
}
