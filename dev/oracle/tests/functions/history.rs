//! Revisions, their annotations, and which ReplicaSets are deleted (S5, S11).

use plan::keys::{REVISION, REVISION_HISTORY};
use plan::revision::Revision;
use plan::{Action, Ask, Step};
use serde_json::{Map, Value, json};

use crate::Answer;
use crate::snapshot::{self, Snapshot};

pub(crate) fn revisions(input: &Value) -> Answer {
    let all: Vec<_> = input["revisions"].as_array().unwrap().iter().map(Value::as_str).collect();
    let numbers: Vec<_> = all.iter().map(|text| Revision::read(*text).or_zero()).collect();
    let max = Revision::next(numbers.iter().copied()) - 1;
    // "Previous" is the highest of the ReplicaSets that are not the current one, which has the highest.
    let current = numbers.iter().position(|number| *number == max && max > 0);
    json!({ "max": max, "last": previous(&all, current) }).into()
}

/// The revision that a rollback to 0 goes to.
fn previous(revisions: &[Option<&str>], current: Option<usize>) -> i64 {
    let mut snapshot = Snapshot::paused(&json!({}));
    snapshot.deployment["spec"]["paused"] = json!(false);
    snapshot.deployment["metadata"]["annotations"] = json!({ "deprecated.deployment.rollback.to": "0" });
    for (index, revision) in revisions.iter().enumerate() {
        let annotations = snapshot::annotations([(REVISION, &json!(revision))]);
        let object = json!({ "metadata": { "annotations": annotations }, "spec": { "replicas": 0 } });
        snapshot.add(&format!("web-{index}"), Some(index) == current, &object);
    }
    match snapshot.step() {
        Step::Ask(Ask::SetTemplate { name, .. }) => {
            let index: usize = name.trim_start_matches("web-").parse().unwrap();
            Revision::read(revisions[index]).or_zero()
        }
        Step::Act(_) => 0,
        other => panic!("{other:?}"),
    }
}

/// The ReplicaSet is found and kept in step; if it has to be new to the Deployment (`exists` false), it is resized too,
/// which brings its replicas annotations up to date as creation does.
pub(crate) fn annotations(input: &Value) -> Answer {
    let mut snapshot = Snapshot::paused(input);
    let replicas = input["replicas"].as_i64().unwrap();
    let before = input["rsAnnotations"].as_object().unwrap();
    snapshot.deployment["metadata"]["annotations"] = input["deploymentAnnotations"].clone();
    let older = input["newRevision"].as_str().unwrap().parse::<i64>().unwrap() - 1;
    let old =
        json!({ "metadata": { "annotations": { REVISION: older.to_string() } }, "spec": { "replicas": 0 } });
    snapshot.add("web-old", false, &old);
    let size = if input["exists"] == true { replicas } else { replicas + 1 };
    let new = json!({ "metadata": { "annotations": before }, "spec": { "replicas": size } });
    snapshot.add("web-new", true, &new);
    let plan = snapshot.plan();
    let mut after = before.clone();
    for update in snapshot::updates(&plan) {
        assert_eq!(update.target.name, "web-new");
        let values = update.annotations.iter().map(|(key, value)| (key.clone(), json!(value)));
        after.extend(values.collect::<Map<_, _>>());
    }
    shorten(&mut after, before, input["revHistoryLimitInChars"].as_u64().unwrap());
    let changed = after != *before;
    Answer { value: json!({ "annotations": after, "changed": changed }), deviations: plan.deviations }
}

/// The recording has other limits than this test; if the planner added an entry to the history, it is added again under
/// that limit.
fn shorten(after: &mut Map<String, Value>, before: &Map<String, Value>, limit: u64) {
    if after.get(REVISION_HISTORY) == before.get(REVISION_HISTORY) {
        return;
    }
    let text = |key: &str| before.get(key).and_then(Value::as_str);
    let entry = text(REVISION).unwrap_or_default();
    let limit = usize::try_from(limit).unwrap();
    match Revision::with_history_entry(limit, text(REVISION_HISTORY), entry) {
        Some(history) => after.insert(REVISION_HISTORY.to_owned(), json!(history)),
        None => match before.get(REVISION_HISTORY) {
            Some(history) => after.insert(REVISION_HISTORY.to_owned(), history.clone()),
            None => after.remove(REVISION_HISTORY),
        },
    };
}

/// All ReplicaSets are old. Two more that are active and on their way out keep the paused Deployment
/// from scaling, and are no candidates themselves.
pub(crate) fn clean_up(input: &Value) -> Answer {
    let mut snapshot = Snapshot::paused(&json!({ "replicas": 3 }));
    snapshot.deployment["spec"]["revisionHistoryLimit"] = input["revisionHistoryLimit"].clone();
    let deleted = "2026-03-01T00:00:00Z";
    for set in input["replicaSets"].as_array().unwrap() {
        let object = json!({
            "metadata": {
                "annotations": snapshot::annotations([(REVISION, &set["revision"])]),
                "creationTimestamp": set["created"],
                "deletionTimestamp": if set["deleting"] == true { json!(deleted) } else { json!(null) },
                "generation": set["generation"],
            },
            "spec": { "replicas": set["replicas"] },
            "status": { "replicas": set["statusReplicas"], "observedGeneration": set["observedGeneration"] },
        });
        snapshot.add(set["name"].as_str().unwrap(), false, &object);
    }
    for name in ["web-going-1", "web-going-2"] {
        let going = json!({ "metadata": { "deletionTimestamp": deleted }, "spec": { "replicas": 1 } });
        snapshot.add(name, false, &going);
    }
    let plan = snapshot.plan();
    let deleted: Vec<_> = plan
        .actions
        .iter()
        .filter_map(|planned| match &planned.action {
            Action::DeleteReplicaSet(target) => Some(target.name.clone()),
            Action::WriteStatus(_) => None,
            other => panic!("{other:?}"),
        })
        .collect();
    Answer { value: json!({ "deleted": deleted }), deviations: plan.deviations }
}
