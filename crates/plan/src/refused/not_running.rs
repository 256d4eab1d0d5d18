//! What follows when the server does not create the ReplicaSet of a template while another one runs: nothing waits for
//! it, so the status is the one of the plan (FP-11; rollwright.dev only).

use jiff::Timestamp;

use crate::decide::collision;
use crate::model::action::{Action, Event, Plan, Planned, StatusWrite};
use crate::model::keys::reason;
use crate::model::observed::Observed;
use crate::model::status::Status;
use crate::refused::{Aftermath, Failure, Verdict, is_of_template, not_created};

/// The creation at `index` failed.
pub(crate) fn after_create_not_running(
    observed: &Observed,
    plan: &Plan,
    index: usize,
    name: &str,
    failure: &Failure,
    now: Timestamp,
) -> Aftermath {
    let text = match failure {
        Failure::NamespaceTerminating(text) => return Aftermath::end(Verdict::GiveUp(text.clone())),
        Failure::NameTaken(_) => format!("{failure}: {name}"),
        _ => failure.to_string(),
    };
    // What the plan has behind the creation is still to be written, and reported.
    let later = plan.actions.iter().skip(index).filter(|planned| status(planned).is_some());
    let mut actions: Vec<Planned> = later.cloned().collect();
    let events = match failure {
        Failure::NameTaken(Some(set)) => {
            if is_of_template(set, &observed.workload) {
                return Aftermath::end(Verdict::PlanAgain(set.clone()));
            }
            if actions.is_empty() {
                let earlier = plan.actions.iter().take(index).filter_map(status).next_back();
                let status = earlier.unwrap_or(&observed.workload.status).clone();
                let write = Box::new(StatusWrite { status, ..StatusWrite::default() });
                actions.push(Planned { action: Action::WriteStatus(write), events: Vec::new() });
            }
            let writes = actions.iter_mut().filter_map(|planned| match &mut planned.action {
                Action::WriteStatus(write) => Some(&mut write.status),
                _ => None,
            });
            writes.flat_map(|status| collision::note(observed, status, name, now)).collect()
        }
        Failure::NameTaken(None) => Vec::new(),
        _ => vec![Event::warning(reason::REPLICA_SET_CREATE_ERROR, not_created(name, &text))],
    };
    Aftermath { actions, events, ..Aftermath::end(Verdict::Retry(text)) }
}

fn status(planned: &Planned) -> Option<&Status> {
    match &planned.action {
        Action::WriteStatus(write) => Some(&write.status),
        _ => None,
    }
}
