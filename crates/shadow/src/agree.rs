//! Whether the planner would have made an observed write from a view.
//!
//! A plan merges steps that upstream takes one by one. So a write also agrees if it is a step on the way: a
//! size that the plan's events name, annotations before a size, a status before the last step
//! (`reports.rs`).

use plan::keys::{DESIRED_REPLICAS, HASH_LABEL, MAX_REPLICAS, REVISION, ROLLBACK_TO, reason};
use plan::selector::LabelSelector;
use plan::{
    Action, Event, Flavour, HistoryHead, Map, NewReplicaSet, OwnerChange, ReplicaSet, RollBack, Status,
    Target, UpdateReplicaSet, Workload, set_name,
};
use serde::Deserialize as _;

use crate::fleet::{Item, View};
use crate::intent::Intent;
use crate::sight::Write;

/// Whether the write is what was intended, or on the way to it. `name` is that of the ReplicaSet which
/// was created where the intent creates one.
pub(crate) fn agrees(
    flavour: Flavour,
    view: &View,
    intent: &Intent,
    write: &Write,
    name: Option<&str>,
) -> bool {
    let mut actions = intent.actions.iter();
    match write {
        Write::Create { after } => actions.any(|action| match action {
            Action::CreateReplicaSet(new) => is_created(flavour, &view.workload.decoded, new, after),
            _ => false,
        }),
        Write::Update { before, after } if before.decoded.controller_uid != after.decoded.controller_uid => {
            let adopted = after.decoded.controller_uid.is_some();
            intent.owner_changes.iter().any(|change| match change {
                OwnerChange::Adopt(target) => adopted && is_target(target, &before.decoded),
                OwnerChange::Release(target) => !adopted && is_target(target, &before.decoded),
            })
        }
        Write::Update { before, after } => actions.any(|action| match action {
            Action::UpdateReplicaSet(update) => {
                is_updated(view, update, &intent.events, &before.decoded, &after.decoded)
            }
            _ => false,
        }),
        Write::Delete { before } => actions.any(|action| match action {
            Action::DeleteReplicaSet(target) => target.uid == before.decoded.uid,
            _ => false,
        }),
        Write::Status { before, after } => is_reported(intent, &before.decoded, &after.decoded, name),
        Write::Workload { before, after } => actions.any(|action| match action {
            Action::RollBack(write) => is_rolled_back(flavour, write, &before.decoded, &after.decoded),
            Action::SetSelector(selector) => after.decoded.selector.as_ref() == Some(selector),
            _ => false,
        }),
    }
}

fn is_target(target: &Target, before: &ReplicaSet) -> bool {
    target.uid == before.uid && target.resource_version == before.resource_version
}

/// On apps/v1 the hash is Kubernetes' own, and with it the end of the name (S4.17–S4.19).
fn is_created(flavour: Flavour, workload: &Workload, new: &NewReplicaSet, after: &Item<ReplicaSet>) -> bool {
    let set = &after.decoded;
    let hash = set.labels.get(HASH_LABEL).cloned().unwrap_or_default();
    let is_named = match flavour {
        Flavour::AppsV1 => set.name == set_name(&workload.name, &hash),
        Flavour::Rollwright => set.name == new.name && hash == new.hash,
    };
    let without_hash = |labels: &Map| {
        let mut labels = labels.clone();
        labels.remove(HASH_LABEL);
        labels
    };
    let selector = after.body.pointer("/spec/selector").map(LabelSelector::deserialize);
    let Some(Ok(mut selector)) = selector else { return false };
    let has_hash = selector.match_labels.remove(HASH_LABEL) == Some(hash);
    let mut wanted = new.selector.clone();
    wanted.match_labels.remove(HASH_LABEL);
    is_named
        && has_hash
        && selector == wanted
        && without_hash(&set.labels) == without_hash(&new.labels)
        && set.annotations == new.annotations
        && set.size == new.size
        && set.min_ready_seconds == new.min_ready_seconds
        && set.carries(&workload.template.fingerprint)
        && set.controller_uid.as_ref() == Some(&workload.uid)
}

/// What of a ReplicaSet the controller writes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shape {
    size: i64,
    min_ready_seconds: i64,
    annotations: Map,
}

impl Shape {
    fn of(set: &ReplicaSet) -> Self {
        let annotations = set.annotations.clone();
        Self { size: set.size, min_ready_seconds: set.min_ready_seconds, annotations }
    }
}

/// The ReplicaSet as it was seen, and after each step of an update: annotations that follow the
/// Deployment come first (S4.3), then one size after the other (S6.10, S6.11), each with the
/// replicas annotations (S8.9).
fn steps(seen: &ReplicaSet, update: &UpdateReplicaSet, events: &[Event]) -> Vec<Shape> {
    let mut shape = Shape::of(seen);
    let mut steps = vec![shape.clone()];
    let (sizes, others): (Map, Map) = update
        .annotations
        .clone()
        .into_iter()
        .partition(|(key, _)| [DESIRED_REPLICAS, MAX_REPLICAS].contains(&key.as_str()));
    shape.annotations.extend(others);
    if let Some((_, seconds)) = update.min_ready_seconds {
        shape.min_ready_seconds = seconds;
    }
    push(&mut steps, &shape);
    shape.annotations.extend(sizes);
    for size in sizes_on_the_way(&seen.name, events) {
        shape.size = size;
        push(&mut steps, &shape);
    }
    shape.size = update.size_to;
    push(&mut steps, &shape);
    steps
}

fn push(steps: &mut Vec<Shape>, shape: &Shape) {
    if steps.last() != Some(shape) {
        steps.push(shape.clone());
    }
}

/// As the plan's events report them: "Scaled down replica set web-5f9 from 5 to 3".
pub(crate) fn sizes_on_the_way(name: &str, events: &[Event]) -> Vec<i64> {
    let scalings = events.iter().filter(|event| event.reason == reason::SCALING_REPLICA_SET);
    let size = |event: &Event| {
        let words: Vec<&str> = event.message.split(' ').collect();
        match words.as_slice() {
            [_, _, _, _, set, "from", _, "to", size] if *set == name => size.parse().ok(),
            _ => None,
        }
    };
    scalings.filter_map(size).collect()
}

/// Whether the write leads from one step of the update to a later one.
fn is_updated(
    view: &View,
    update: &UpdateReplicaSet,
    events: &[Event],
    before: &ReplicaSet,
    after: &ReplicaSet,
) -> bool {
    if update.target.uid != before.uid {
        return false;
    }
    let Some(seen) = view.sets.iter().find(|set| set.decoded.uid == before.uid) else { return false };
    let steps = steps(&seen.decoded, update, events);
    let (from, to) = (Shape::of(before), Shape::of(after));
    let Some(start) = steps.iter().position(|step| *step == from) else { return false };
    // A first step has the version that was seen as its precondition, a later one its own.
    let is_fresh = start > 0 || seen.decoded.resource_version == before.resource_version;
    is_fresh && steps.iter().skip(start + 1).any(|step| *step == to)
}

fn is_reported(intent: &Intent, before: &Workload, after: &Workload, name: Option<&str>) -> bool {
    let planned = intent.actions.iter().find_map(|action| match action {
        Action::CreateReplicaSet(new) => Some(new.name.as_str()),
        _ => None,
    });
    // The operator has looked at pods, and shadow sees none of them.
    let is_blocked = [before, after].iter().any(|workload| !workload.status.ours.blockers.is_empty());
    let comparable = |status: &Status, rename| {
        let mut status = comparable(status, rename);
        if is_blocked {
            status.ours.blockers.clear();
            status.conditions.iter_mut().for_each(|condition| condition.message.clear());
        }
        status
    };
    let same = |status: &Status| comparable(status, planned.zip(name)) == comparable(&after.status, None);
    let revision = after.annotations.get(REVISION);
    let stored = before.annotations.get(REVISION);
    let mut annotation = None;
    for action in &intent.actions {
        let Action::WriteStatus(write) = action else { continue };
        annotation = write.revision_annotation.as_ref();
        if same(&write.status) && revision == annotation.or(stored) {
            return true;
        }
    }
    let is_possible = revision == stored || revision == annotation;
    is_possible && (intent.on_the_way.iter().any(same) || (is_blocked && same(&before.status)))
}

/// A status without times, its conditions by type; a ReplicaSet that the planner would have given another name is
/// called by the one that it has.
fn comparable(status: &Status, rename: Option<(&str, &str)>) -> Status {
    let mut status = status.clone();
    for condition in &mut status.conditions {
        condition.last_update_time = None;
        condition.last_transition_time = None;
        if let Some((ours, theirs)) = rename {
            condition.message = condition.message.replace(ours, theirs);
        }
    }
    status.conditions.sort_by(|a, b| a.kind.cmp(&b.kind));
    // The records have times and managers, which only their writer knows. No decision reads them.
    (status.ours.rollout, status.ours.history) = (None, HistoryHead::default());
    if let Some(record) = &mut status.ours.rollback {
        record.time.clear();
        record.author = None;
        for entry in &mut record.recent {
            entry.time.clear();
        }
    }
    status
}

/// S10.6–S10.8.
fn is_rolled_back(flavour: Flavour, write: &RollBack, before: &Workload, after: &Workload) -> bool {
    let mut annotations = before.annotations.clone();
    if flavour == Flavour::AppsV1 {
        annotations.remove(ROLLBACK_TO);
    }
    for (key, value) in &write.annotations {
        match value {
            Some(value) => annotations.insert(key.clone(), value.clone()),
            None => annotations.remove(key),
        };
    }
    let template = write.template.as_ref().map(|template| flavour.fingerprint(template));
    let template = template.as_ref().unwrap_or(&before.template.fingerprint);
    after.rollback_to.is_none() && *template == after.template.fingerprint && annotations == after.annotations
}
