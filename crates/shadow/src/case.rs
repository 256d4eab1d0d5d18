//! A divergence as a case of the oracle (tests/oracle/FORMAT.md), to be replayed and sent on.

use api::decode;
use plan::keys::{HASH_LABEL, LAST_APPLIED};
use plan::{Action, Flavour, ReplicaSet, Status};
use serde_json::{Map, Value, json};

use crate::author;
use crate::judge::Divergence;
use crate::sight::Write;

/// What stands for the hash of a ReplicaSet to create, since it differs by implementation.
const HASH: &str = "<hash>";

/// The case: the state before, and what the controller in charge made of it. Its further syncs
/// are unknown, so the sequence ends there and counts as not settled.
pub(crate) fn case(flavour: Flavour, divergence: &Divergence, terminating_replicas: bool) -> Value {
    let Divergence { view, write, intent, .. } = divergence;
    let writes: Vec<Value> = write.iter().map(entry).collect();
    let mut case = json!({
        "id": format!("shadow-{}", divergence.version),
        "kind": "shadow",
        "tags": [divergence.kind],
        "now": divergence.now.to_string(),
        "featureGates": { "DeploymentReplicaSetTerminatingReplicas": terminating_replicas },
        "input": {
            "deployment": plain(&view.workload.body),
            "replicaSets": view.sets.iter().map(|set| plain(&set.body)).collect::<Vec<_>>(),
            "pods": [],
        },
        "expected": {
            "writes": writes, "events": [], "requeueAfterSeconds": null, "error": null, "retry": false,
        },
        "sequence": [state(divergence)],
        "settled": write.is_none(),
        "shadow": {
            "api": flavour.api_version(),
            "observed": write.as_ref().map(brief_write),
            "planned": intent.owner_changes.iter().map(|change| format!("{change:?}"))
                .chain(intent.actions.iter().map(brief)).collect::<Vec<_>>(),
            "why": intent.why.as_ref().map(ToString::to_string),
            "deviations": intent.deviations,
            "statesCompared": divergence.views,
        },
    });
    if flavour == Flavour::Rollwright {
        set(&mut case, "applyDefaults", Value::Bool(true));
    }
    case
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert(key.to_owned(), value);
    }
}

/// Without what nobody reads and what may be large or secret.
fn plain(body: &Value) -> Value {
    let mut body = body.clone();
    decode::slim(&mut body);
    body
}

/// A write as the oracle logs it.
fn entry(write: &Write) -> Value {
    match write {
        Write::Create { after } => {
            let mut entry = created(&after.decoded, &after.body);
            set(&mut entry, "verb", json!("create"));
            set(&mut entry, "resource", json!("replicasets"));
            set(&mut entry, "name", json!(name_of(&after.decoded)));
            entry
        }
        Write::Delete { before } => {
            json!({ "verb": "delete", "resource": "replicasets", "name": before.decoded.name })
        }
        Write::Update { before, after } => {
            let (old, new) = (&before.decoded, &after.decoded);
            let mut entry = json!({ "verb": "update", "resource": "replicasets", "name": new.name });
            if old.controller_uid != new.controller_uid {
                let op = if new.controller_uid.is_some() { "adopt" } else { "release" };
                return json!({ "verb": "patch", "resource": "replicasets", "name": new.name, "op": op });
            }
            set(&mut entry, "replicasFrom", json!(old.size));
            set(&mut entry, "replicasTo", json!(new.size));
            if old.min_ready_seconds != new.min_ready_seconds {
                set(&mut entry, "minReadySecondsFrom", json!(old.min_ready_seconds));
                set(&mut entry, "minReadySecondsTo", json!(new.min_ready_seconds));
            }
            annotations(&mut entry, &old.annotations, &new.annotations);
            entry
        }
        Write::Status { before, after } => {
            let name = &after.decoded.name;
            let mut entry = json!({ "verb": "updateStatus", "resource": "deployments", "name": name });
            set(&mut entry, "status", after.body.get("status").cloned().unwrap_or_default());
            annotations(&mut entry, &before.decoded.annotations, &after.decoded.annotations);
            entry
        }
        Write::Workload { before, after } => {
            let name = &after.decoded.name;
            let mut entry = json!({ "verb": "update", "resource": "deployments", "name": name });
            let template = |body: &Value| body.pointer("/spec/template").cloned().unwrap_or_default();
            if template(&before.body) != template(&after.body) {
                set(&mut entry, "template", template(&after.body));
            }
            annotations(&mut entry, &before.decoded.annotations, &after.decoded.annotations);
            entry
        }
    }
}

fn name_of(set: &ReplicaSet) -> String {
    let hash = set.labels.get(HASH_LABEL).map_or("", String::as_str);
    set.name.strip_suffix(hash).map_or_else(|| set.name.clone(), |stem| format!("{stem}{HASH}"))
}

/// A created ReplicaSet, as logs and states show it.
fn created(set: &ReplicaSet, body: &Value) -> Value {
    let mut labels = set.labels.clone();
    labels.remove(HASH_LABEL);
    let mut selector = body.pointer("/spec/selector").cloned().unwrap_or_default();
    if let Some(hash) = selector.get_mut("matchLabels").and_then(|labels| labels.get_mut(HASH_LABEL)) {
        *hash = HASH.into();
    }
    json!({
        "replicas": set.size,
        "minReadySeconds": set.min_ready_seconds,
        "annotations": set.annotations,
        "labels": labels,
        "selector": selector,
    })
}

fn annotations(entry: &mut Value, before: &plan::Map, after: &plan::Map) {
    let changed: Map<String, Value> = after
        .iter()
        .filter(|(key, value)| before.get(*key) != Some(value) && *key != LAST_APPLIED)
        .map(|(key, value)| (key.clone(), json!(value)))
        .collect();
    let removed: Vec<&String> = before.keys().filter(|key| !after.contains_key(*key)).collect();
    if !changed.is_empty() {
        set(entry, "annotationsSet", Value::Object(changed));
    }
    if !removed.is_empty() {
        set(entry, "annotationsRemoved", json!(removed));
    }
}

/// The state after the write, as an entry of a case's sequence.
fn state(divergence: &Divergence) -> Value {
    let Divergence { view, write, .. } = divergence;
    let uid = &view.workload.decoded.uid;
    let shape = |set: &ReplicaSet| {
        json!({
            "replicas": set.size,
            "minReadySeconds": set.min_ready_seconds,
            "annotations": set.annotations,
            "owned": set.controller_uid.as_ref() == Some(uid),
        })
    };
    let mut sets: Map<String, Value> =
        view.sets.iter().map(|set| (set.decoded.name.clone(), shape(&set.decoded))).collect();
    let mut workload = &view.workload;
    match write {
        None => {}
        Some(Write::Create { after }) => {
            let mut entry = created(&after.decoded, &after.body);
            set(&mut entry, "owned", json!(true));
            set(&mut entry, "created", json!(true));
            sets.insert(name_of(&after.decoded), entry);
        }
        Some(Write::Update { after, .. }) => {
            sets.insert(after.decoded.name.clone(), shape(&after.decoded));
        }
        Some(Write::Delete { before }) => {
            sets.remove(&before.decoded.name);
        }
        Some(Write::Status { after, .. } | Write::Workload { after, .. }) => workload = after,
    }
    let plain = plain(&workload.body);
    let mut deployment =
        json!({ "annotations": plain.pointer("/metadata/annotations").cloned().unwrap_or(json!({})) });
    if let Some(Write::Workload { after, .. }) = write {
        set(&mut deployment, "template", after.body.pointer("/spec/template").cloned().unwrap_or_default());
    }
    json!({
        "sets": sets,
        "deployment": deployment,
        "status": plain.get("status").cloned().unwrap_or(json!({})),
        "events": [],
        "requeueAfterSeconds": null,
        "error": null,
        "writeCount": i32::from(write.is_some()),
    })
}

/// An action in a few words.
pub(crate) fn brief(action: &Action) -> String {
    match action {
        Action::SetSelector(selector) => format!("set the selector {selector}"),
        Action::CreateReplicaSet(set) => format!("create {} with {}", set.name, set.size),
        Action::UpdateReplicaSet(update) => {
            let name = &update.target.name;
            format!("update {name} from {} to {}, {:?}", update.size_from, update.size_to, update.annotations)
        }
        Action::DeleteReplicaSet(target) => format!("delete {}", target.name),
        Action::WriteStatus(write) => brief_status(&write.status),
        Action::CreateJob(new) => format!("create Job {}", new.name),
        Action::DeleteJob { name, .. } => format!("delete Job {name}"),
        Action::RollBack(write) if write.template.is_some() => "roll back".to_owned(),
        Action::RollBack(_) => "clear the rollback request".to_owned(),
    }
}

fn brief_status(status: &Status) -> String {
    let conditions = status.conditions.iter().map(|it| format!("{}={} {}", it.kind, it.status, it.reason));
    format!(
        "write status: observed {}, replicas {}, updated {}, ready {}, available {}, unavailable {}, \
         terminating {:?}, {}",
        status.observed_generation,
        status.replicas,
        status.updated_replicas,
        status.ready_replicas,
        status.available_replicas,
        status.unavailable_replicas,
        status.terminating_replicas,
        conditions.collect::<Vec<_>>().join(", "),
    )
}

/// A write in a few words: what changed.
pub(crate) fn brief_write(write: &Write) -> String {
    let kind = write.kind();
    let differences = |before: &Value, after: &Value| {
        let roots =
            [&["spec"][..], &["status"], &["metadata", "annotations"], &["metadata", "ownerReferences"]];
        let paths = roots.iter().flat_map(|root| author::changes(before, after, root));
        let told = paths.map(|path| {
            let value = lookup(after, &path).map_or("nothing".to_owned(), ToString::to_string);
            format!("{} = {value}", path.join("."))
        });
        told.filter(|text| !text.contains("f:last")).collect::<Vec<_>>().join(", ")
    };
    match write {
        Write::Create { after } => format!("{kind} {} with {}", after.decoded.name, after.decoded.size),
        Write::Delete { before } => format!("{kind} {}", before.decoded.name),
        Write::Update { before, after } => {
            format!("{kind} {}: {}", after.decoded.name, differences(&before.body, &after.body))
        }
        Write::Status { before, after } | Write::Workload { before, after } => {
            format!("{kind}: {}", differences(&before.body, &after.body))
        }
    }
}

/// The value at a path of managed fields.
fn lookup<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    let mut value = value;
    for step in path {
        value = match step.strip_prefix("f:") {
            Some(field) => value.get(field)?,
            None => {
                let key: Value = serde_json::from_str(step.strip_prefix("k:")?).ok()?;
                let (name, wanted) = key.as_object()?.iter().next()?;
                value.as_array()?.iter().find(|entry| entry.get(name) == Some(wanted))?
            }
        };
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_created_set_has_its_hash_in_the_selector_only() {
        let labels = json!({"app": "web", "pod-template-hash": "5d9f7b6c48"});
        let body = json!({
            "metadata": {"namespace": "n", "name": "web-5d9f7b6c48", "labels": labels},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {}},
        });
        let set = api::decode::replica_set(plan::Flavour::AppsV1, &body).unwrap();
        let entry = created(&set, &body);
        assert_eq!(entry["labels"], json!({"app": "web"}));
        assert_eq!(entry["selector"], json!({"matchLabels": {"app": "web", "pod-template-hash": HASH}}));
    }
}
