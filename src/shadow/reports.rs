//! Statuses on the way to the one that our plan writes: those that a controller shows which writes after
//! each step, as upstream does.
//!
//! They follow from the state that was seen and from the plan. Nothing is decided here: who compares
//! takes one more status for the same decision.

use jiff::Timestamp;
use plan::keys::{condition, reason};
use plan::{Action, Condition, Event, Status, Workload};

use crate::shadow::agree::sizes_on_the_way;
use crate::shadow::fleet::View;

/// The statuses, in the order in which they would be written.
pub(crate) fn on_the_way(view: &View, actions: &[Action], events: &[Event], now: Timestamp) -> Vec<Status> {
    let mut statuses = before_counting(view, actions, now);
    statuses.extend(before_growth(view, actions, events));
    statuses
}

/// What is told before anything is counted: that the Deployment was paused or resumed (S13.1), and that its
/// set was found (S4.4) or created (S4.15).
fn before_counting(view: &View, actions: &[Action], now: Timestamp) -> Vec<Status> {
    let workload = &view.workload.decoded;
    let mut status = workload.status.clone();
    let mut statuses = vec![status.clone()];
    if workload.progress_deadline_seconds.is_none() {
        return statuses;
    }
    for (value, reason, message) in [turned(workload), declared(view, actions)].into_iter().flatten() {
        let told = Condition::new(condition::PROGRESSING, value, reason, message, now);
        told.set_in(&mut status.conditions);
        statuses.push(status.clone());
    }
    statuses
}

/// Status, reason and message of a condition Progressing.
type Progressing = (&'static str, &'static str, String);

fn reason_of(workload: &Workload) -> Option<&str> {
    workload.status.condition(condition::PROGRESSING).map(|known| known.reason.as_str())
}

fn turned(workload: &Workload) -> Option<Progressing> {
    match (workload.paused, reason_of(workload)) {
        (_, Some(reason::PROGRESS_DEADLINE_EXCEEDED)) | (true, Some(reason::DEPLOYMENT_PAUSED)) => None,
        (true, _) => Some(("Unknown", reason::DEPLOYMENT_PAUSED, "Deployment is paused".to_owned())),
        (false, Some(reason::DEPLOYMENT_PAUSED)) => {
            Some(("Unknown", reason::DEPLOYMENT_RESUMED, "Deployment is resumed".to_owned()))
        }
        (false, _) => None,
    }
}

fn declared(view: &View, actions: &[Action]) -> Option<Progressing> {
    let created = actions.iter().find_map(|action| match action {
        Action::CreateReplicaSet(set) => Some(&set.name),
        _ => None,
    });
    if let Some(name) = created {
        let message = format!("Created new replica set \"{name}\"");
        return Some(("True", reason::NEW_REPLICA_SET_CREATED, message));
    }
    let workload = &view.workload.decoded;
    let of_template = view.sets.iter().map(|set| &set.decoded);
    let of_template = of_template.filter(|set| set.carries(&workload.template.fingerprint));
    let found = of_template.min_by(|a, b| a.age_order(b)).filter(|_| reason_of(workload).is_none())?;
    let message = format!("Found new replica set \"{}\"", found.name);
    Some(("True", reason::FOUND_NEW_REPLICA_SET, message))
}

/// What is told by the sizes before a step up (S9.3): all else is as in the status that our plan writes, or
/// as it stands.
fn before_growth(view: &View, actions: &[Action], events: &[Event]) -> Vec<Status> {
    let workload = &view.workload.decoded;
    let mut last = &workload.status;
    let mut growth = None;
    for action in actions {
        match action {
            Action::WriteStatus(write) => last = &write.status,
            Action::UpdateReplicaSet(update) if update.size_to > update.size_from => {
                let first = sizes_on_the_way(&update.target.name, events).first().copied();
                growth = first.map(|first| first - update.size_from);
            }
            _ => {}
        }
    }
    let owned = view.sets.iter().filter(|set| set.decoded.controller_uid.as_ref() == Some(&workload.uid));
    let before: i64 = owned.map(|set| set.decoded.size).sum();
    let told = |growth: i64| Status {
        unavailable_replicas: (before + growth - last.available_replicas).max(0),
        ..last.clone()
    };
    growth.map_or_else(Vec::new, |growth| vec![told(0), told(growth)])
}
