//! Statuses on the way to the one that the plan writes: those of a controller that writes after each step,
//! as upstream does.
//!
//! They follow from the observed state and from the plan. This module decides nothing: it gives the
//! comparison more statuses for the same decision.

use jiff::Timestamp;
use plan::keys::{condition, reason};
use plan::{Action, Condition, Event, ReplicaSet, Status, Workload};

use crate::agree::sizes_on_the_way;
use crate::fleet::View;

/// The statuses, in the order in which they would be written.
pub(crate) fn on_the_way(view: &View, actions: &[Action], events: &[Event], now: Timestamp) -> Vec<Status> {
    let mut statuses = before_counting(view, actions, now);
    statuses.extend(before_step(view, actions, events));
    statuses
}

/// What the status reports before anything is counted: that the Deployment was paused or resumed (S13.1), and that its
/// ReplicaSet was found (S4.4) or created (S4.15).
fn before_counting(view: &View, actions: &[Action], now: Timestamp) -> Vec<Status> {
    let workload = &view.workload.decoded;
    let mut status = workload.status.clone();
    let mut statuses = vec![status.clone()];
    if workload.progress_deadline_seconds.is_none() {
        return statuses;
    }
    for (value, reason, message) in [switched(workload), declared(view, actions)].into_iter().flatten() {
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

fn switched(workload: &Workload) -> Option<Progressing> {
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
    let found = declared_set(view).filter(|_| reason_of(&view.workload.decoded).is_none())?;
    let message = format!("Found new replica set \"{}\"", found.name);
    Some(("True", reason::FOUND_NEW_REPLICA_SET, message))
}

/// The oldest ReplicaSet that carries the template (S4.1).
fn declared_set(view: &View) -> Option<&ReplicaSet> {
    let fingerprint = &view.workload.decoded.template.fingerprint;
    let sets = view.sets.iter().map(|set| &set.decoded);
    sets.filter(|set| set.carries(fingerprint)).min_by(|a, b| a.age_order(b))
}

/// What the status reports by the sizes before the step of the declared ReplicaSet (S9.3), which takes pods away where
/// somebody gave it too many (S6.6). All else is as in the status that the plan writes, or as it stands.
fn before_step(view: &View, actions: &[Action], events: &[Event]) -> Vec<Status> {
    let workload = &view.workload.decoded;
    let declared = declared_set(view).map(|set| &set.name);
    let mut last = &workload.status;
    let mut steps = Vec::new();
    for action in actions {
        match action {
            Action::WriteStatus(write) => last = &write.status,
            Action::UpdateReplicaSet(update) if declared == Some(&update.target.name) => {
                // The first step starts from the size that was seen; nothing starts from the last size.
                let sizes = sizes_on_the_way(&update.target.name, events);
                steps =
                    std::iter::once(update.size_from).chain(sizes).map(|it| it - update.size_from).collect();
                steps.pop();
            }
            _ => {}
        }
    }
    let owned = view.sets.iter().filter(|set| set.decoded.controller_uid.as_ref() == Some(&workload.uid));
    let before: i64 = owned.map(|set| set.decoded.size).sum();
    let told = |step: i64| Status {
        unavailable_replicas: (before + step - last.available_replicas).max(0),
        ..last.clone()
    };
    steps.into_iter().map(told).collect()
}
