//! Steps as short lines of text, so that expectations are tables.

use plan::template::Fingerprint;
use plan::{Action, Ask, Condition, Map, OwnerChange, Plan, Status, Step};

use super::World;

/// A step, one line for every question, change of owner, action and event.
pub(crate) fn render(world: &World, step: &Step) -> Vec<String> {
    let lines = match step {
        Step::Ask(Ask::Template) => vec!["ask template".to_owned()],
        Step::Ask(Ask::DryRun(_)) => vec!["ask dry run".to_owned()],
        Step::Ask(Ask::SetTemplate { name, .. }) => vec![format!("ask template of {name}")],
        Step::Ask(Ask::Job { name }) => vec![format!("ask job {name}")],
        Step::Ask(Ask::CheckJobs) => vec!["ask whether the jobs are accepted".to_owned()],
        Step::Ask(Ask::Pods) => vec!["ask pods".to_owned()],
        Step::ChangeOwners(changes) => changes.iter().map(owner_change).collect(),
        Step::Act(plan) => lines(world, plan),
    };
    lines.into_iter().map(|line| named(world, line)).collect()
}

fn owner_change(change: &OwnerChange) -> String {
    match change {
        OwnerChange::Adopt(target) => format!("adopt {}", target.name),
        OwnerChange::Release(target) => format!("release {}", target.name),
    }
}

fn lines(world: &World, plan: &Plan) -> Vec<String> {
    let mut lines: Vec<_> = plan.events.iter().map(|event| format!("event {}", event.reason)).collect();
    for planned in &plan.actions {
        lines.push(action(world, &planned.action));
        lines.extend(planned.events.iter().map(|event| format!("event {}", event.reason)));
    }
    lines.extend(plan.error.iter().map(|error| format!("error {error}")));
    lines
}

/// An action in a line.
pub(crate) fn render_action(world: &World, it: &Action) -> String {
    named(world, action(world, it))
}

fn action(world: &World, action: &Action) -> String {
    match action {
        Action::SetSelector(selector) => format!("selector {selector}"),
        Action::CreateReplicaSet(new) => {
            format!("create {} size={}{}", name(world, &new.name), new.size, annotations(&new.annotations))
        }
        Action::UpdateReplicaSet(update) => {
            let mut line = format!("update {}", name(world, &update.target.name));
            if update.size_from != update.size_to {
                line += &format!(" {}->{}", update.size_from, update.size_to);
            }
            line + &annotations(&update.annotations)
        }
        Action::DeleteReplicaSet(target) => format!("delete {}", target.name),
        Action::WriteStatus(write) => {
            format!("status{}", status(&world.observed.workload.status, &write.status))
        }
        Action::CreateJob(new) => format!("create job {}", new.name),
        Action::DeleteJob { name, .. } => format!("delete job {name}"),
        Action::RollBack(write) => {
            let template = write.template.as_ref().map_or("clear".to_owned(), |template| {
                let image = template.tree().pointer("/spec/containers/0/image").cloned().unwrap_or_default();
                image.as_str().unwrap_or("?").to_owned()
            });
            let annotations = write
                .annotations
                .iter()
                .map(|(key, value)| format!(" {}={}", short(key), value.as_deref().unwrap_or("(removed)")));
            format!("roll back: {template}{}", annotations.collect::<String>())
        }
    }
}

/// A ReplicaSet that was created is named by its hash, which is nobody's business here.
fn name(world: &World, name: &str) -> String {
    let is_given = world.stored.contains_key(&format!("uid-{name}"));
    if is_given { name.to_owned() } else { "(new)".to_owned() }
}

fn annotations(annotations: &Map) -> String {
    annotations.iter().map(|(key, value)| format!(" {}={value}", short(key))).collect()
}

fn short(key: &str) -> &str {
    key.rsplit_once('/').map_or(key, |(_, name)| name)
}

/// These follow from the rest of the status; tests of their own look at them.
pub(crate) const SUMMARIES: [&str; 4] = ["Available", "Ready", "Reconciling", "Stalled"];

/// What of the fields of rollwright.dev and of the conditions changes.
fn status(old: &Status, new: &Status) -> String {
    let mut line = String::new();
    if old.ours.revision != new.ours.revision {
        line +=
            &new.ours.revision.map_or(" no revision".to_owned(), |revision| format!(" revision={revision}"));
    }
    if old.collision_count != new.collision_count {
        line += &format!(" collisions={}", new.collision_count.unwrap_or(0));
    }
    if old.ours.rollback != new.ours.rollback {
        line += &new.ours.rollback.as_ref().map_or(" no rollback".to_owned(), |record| {
            let recent = record.recent.len();
            format!(" rollback={}:{}:{} recent={recent}", record.requested, record.revision, record.result)
        });
    }
    let told = |entry: &&Condition| !SUMMARIES.contains(&entry.kind.as_str());
    for condition in new.conditions.iter().filter(told).filter(|new| !old.conditions.contains(new)) {
        line += &format!(" {}={}:{}", condition.kind, condition.status, condition.reason);
    }
    for condition in old.conditions.iter().filter(told).filter(|old| new.condition(&old.kind).is_none()) {
        line += &format!(" -{}", condition.kind);
    }
    line
}

/// Fingerprints by the image that they stand for.
fn named(world: &World, mut line: String) -> String {
    for template in world.stored.values().chain([&world.template]) {
        let image = template.pointer("/spec/containers/0/image").and_then(serde_json::Value::as_str);
        let fingerprint = Fingerprint::of(template);
        line = line.replace(fingerprint.as_str(), &format!("<{}>", image.unwrap_or("?")));
    }
    line
}
