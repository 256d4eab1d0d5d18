//! Templates: equality, the ReplicaSets that have them, and the names that follow (S4, S16).

use plan::{Flavour, equality, template};
use serde_json::{Value, json};

use crate::Answer;
use crate::snapshot::{self, Snapshot};

pub(crate) fn encode(input: &Value) -> Answer {
    json!(template::encode(u32::try_from(input["n"].as_u64().unwrap()).unwrap())).into()
}

pub(crate) fn equal(input: &Value) -> Answer {
    let (a, b) = (&input["a"], &input["b"]);
    let equal = equality::equal(a, b);
    // What sets are found by must agree with it.
    assert_eq!(equal, Flavour::AppsV1.fingerprint(a) == Flavour::AppsV1.fingerprint(b), "{input}");
    json!(equal).into()
}

pub(crate) fn set_name(input: &Value) -> Answer {
    let (deployment, hash) = (input["deployment"].as_str().unwrap(), input["hash"].as_str().unwrap());
    json!(plan::set_name(deployment, hash)).into()
}

/// The new ReplicaSet is the one with replicas that are reported as updated; the old ones are those that Recreate
/// empties, in its order: all of them if all are active.
pub(crate) fn find(input: &Value) -> Answer {
    let sizes = |set: &Value| set["replicas"].clone();
    json!({
        "new": new_set(input),
        "old": emptied(input, &|_| json!(1)),
        "oldWithReplicas": emptied(input, &sizes),
    })
    .into()
}

fn new_set(input: &Value) -> Option<String> {
    let mut snapshot = Snapshot::paused(&json!({}));
    add(&mut snapshot, input, &|_| json!(0));
    let names: Vec<_> = snapshot.sets.iter().map(|set| set["metadata"]["name"].clone()).collect();
    for (set, count) in snapshot.sets.iter_mut().zip(1..) {
        set["status"] = json!({ "replicas": count });
    }
    let plan = snapshot.plan();
    let updated = usize::try_from(snapshot::status_after(&snapshot, &plan).updated_replicas).unwrap();
    let name = names.get(updated.checked_sub(1)?).unwrap();
    Some(name.as_str().unwrap().to_owned())
}

fn emptied(input: &Value, size: &dyn Fn(&Value) -> Value) -> Vec<String> {
    let mut snapshot = Snapshot::paused(&json!({}));
    snapshot.deployment["spec"]["paused"] = json!(false);
    add(&mut snapshot, input, size);
    let plan = snapshot.plan();
    let resizes = snapshot::resizes(&plan);
    // The new ReplicaSet goes down too, as the Deployment wants no pods, but only once no old one is up.
    let new = new_set(input);
    resizes.iter().map(|(name, _)| (*name).to_owned()).filter(|name| Some(name) != new.as_ref()).collect()
}

fn add(snapshot: &mut Snapshot, input: &Value, size: &dyn Fn(&Value) -> Value) {
    snapshot.deployment["spec"]["template"] = input["template"].clone();
    for set in input["replicaSets"].as_array().unwrap() {
        let object = json!({
            "metadata": { "creationTimestamp": set["created"], "uid": set["uid"] },
            "spec": { "replicas": size(set), "template": null },
        });
        snapshot.add(set["name"].as_str().unwrap(), false, &object);
        snapshot.sets.last_mut().unwrap()["spec"]["template"] = set["template"].clone();
    }
}
