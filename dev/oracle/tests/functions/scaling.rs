//! Scaling in proportion (S8).

use std::collections::BTreeSet;

use plan::keys::{DESIRED_REPLICAS, MAX_REPLICAS};
use plan::replica_count;
use serde_json::{Map, Value, json};

use crate::Answer;
use crate::snapshot::{self, REVISION_AHEAD, Snapshot};

/// The fraction, and whether upstream's 32-bit product would have wrapped.
fn share(input: &Value) -> (i64, BTreeSet<&'static str>) {
    let workload = snapshot::workload(input);
    let replicas = workload.replicas;
    let size = input["rsReplicas"].as_i64().unwrap();
    let annotated = input["maxReplicasAnnotation"].as_str().and_then(replica_count);
    let maximum = replicas + workload.strategy.max_surge(replicas);
    let base = snapshot::status(&json!({ "replicas": input["statusReplicas"] })).scaled_under(annotated);
    let wraps = i32::try_from(size * maximum).is_err();
    let deviations = wraps.then_some("S8.7").into_iter().collect();
    (plan::fraction(size, base, replicas, maximum), deviations)
}

pub(crate) fn fraction(input: &Value) -> Answer {
    let (fraction, deviations) = share(input);
    Answer { value: json!(fraction), deviations }
}

pub(crate) fn proportion(input: &Value) -> Answer {
    let (fraction, deviations) = share(input);
    let add = input["deploymentReplicasToAdd"].as_i64().unwrap();
    let added = input["deploymentReplicasAdded"].as_i64().unwrap();
    Answer { value: json!(plan::proportion(fraction, add, added)), deviations }
}

pub(crate) fn scale(input: &Value) -> Answer {
    let mut snapshot = Snapshot::paused(input);
    snapshot.deployment["status"] = json!({ "replicas": input["statusReplicas"] });
    let sets = input["replicaSets"].as_array().unwrap();
    for set in sets {
        let mut annotations = snapshot::annotations([
            (DESIRED_REPLICAS, &set["desiredAnnotation"]),
            (MAX_REPLICAS, &set["maxAnnotation"]),
        ]);
        annotations[plan::keys::REVISION] = json!(REVISION_AHEAD);
        if set["new"] != true {
            annotations[plan::keys::REVISION] = json!("1");
        }
        let object = json!({
            "metadata": { "creationTimestamp": set["created"], "annotations": annotations },
            "spec": { "replicas": set["replicas"] },
            "status": { "availableReplicas": set["available"] },
        });
        snapshot.add(set["name"].as_str().unwrap(), set["new"] == true, &object);
    }
    let plan = snapshot.plan();
    let named = |set: &Value| (set["name"].as_str().unwrap().to_owned(), set["replicas"].clone());
    let mut sizes: Map<_, _> = sets.iter().map(named).collect();
    let mut updates = Vec::new();
    for update in snapshot::updates(&plan) {
        let name = &update.target.name;
        sizes.insert(name.clone(), json!(update.size_to));
        updates.push(json!({ "name": name, "from": update.size_from, "to": update.size_to }));
    }
    Answer { value: json!({ "updates": updates, "sizes": sizes }), deviations: plan.deviations }
}

/// A paused Recreate Deployment brings exactly this ReplicaSet to its own size, and none if several
/// are active.
pub(crate) fn active_or_latest(input: &Value) -> Answer {
    let mut snapshot = Snapshot::paused(&json!({ "replicas": 1_000_000 }));
    for set in input["replicaSets"].as_array().unwrap() {
        let object = json!({
            "metadata": { "creationTimestamp": set["created"] },
            "spec": { "replicas": set["replicas"] },
        });
        snapshot.add(set["name"].as_str().unwrap(), set["new"] == true, &object);
    }
    let plan = snapshot.plan();
    let resizes = snapshot::resizes(&plan);
    assert!(resizes.len() <= 1, "{resizes:?}");
    json!(resizes.first().map(|(name, _)| name)).into()
}

/// A paused Recreate Deployment with two active old ReplicaSets empties them if and only if the new
/// one is saturated.
pub(crate) fn is_saturated(input: &Value) -> Answer {
    let mut snapshot = Snapshot::paused(&json!({ "replicas": input["replicas"] }));
    for name in ["web-1", "web-2"] {
        snapshot.add(name, false, &json!({ "spec": { "replicas": 1 } }));
    }
    let set = &input["rs"];
    if !set.is_null() {
        let object = json!({
            "metadata": { "annotations": snapshot::annotations([(DESIRED_REPLICAS, &set["desiredAnnotation"])]) },
            "spec": { "replicas": set["replicas"] },
            "status": { "availableReplicas": set["available"] },
        });
        snapshot.add("web-3", true, &object);
    }
    let plan = snapshot.plan();
    let resizes = snapshot::resizes(&plan);
    assert!(resizes.is_empty() || resizes == [("web-2", 0), ("web-1", 0)], "{resizes:?}");
    json!(!resizes.is_empty()).into()
}
