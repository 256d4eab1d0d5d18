//! Numbers of pods: limits, sizes, counters.

use api::encode;
use plan::Strategy;
use plan::intstr::{IntOrPercent, Round};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Answer;
use crate::snapshot::{self, Snapshot};

fn int_or_percent(value: &Value) -> Option<IntOrPercent> {
    Option::<IntOrPercent>::deserialize(value).unwrap()
}

pub(crate) fn scaled_value(input: &Value) -> Answer {
    let total = input["total"].as_i64().unwrap();
    let round = if input["roundUp"] == true { Round::Up } else { Round::Down };
    let value = match int_or_percent(&input["value"]) {
        Some(value) => value.of(total, round).ok(),
        // Upstream's error for a missing value shows only in the size of the new ReplicaSet.
        None => {
            let strategy = Strategy::RollingUpdate { max_surge: None, max_unavailable: None };
            strategy.cap(total).ok()
        }
    };
    json!({ "value": value, "error": value.is_none() }).into()
}

pub(crate) fn fenceposts(input: &Value) -> Answer {
    let (surge, unavailable) = (int_or_percent(&input["maxSurge"]), int_or_percent(&input["maxUnavailable"]));
    let strategy = Strategy::RollingUpdate { max_surge: surge, max_unavailable: unavailable };
    let resolved = strategy.limits(input["desired"].as_i64().unwrap());
    let error = resolved.is_err();
    let (surge, unavailable) = resolved.unwrap_or((0, 0));
    json!({ "maxSurge": surge, "maxUnavailable": unavailable, "error": error }).into()
}

pub(crate) fn max_unavailable(input: &Value) -> Answer {
    let workload = snapshot::workload(input);
    json!(workload.strategy.max_unavailable(workload.replicas)).into()
}

pub(crate) fn max_surge(input: &Value) -> Answer {
    let workload = snapshot::workload(input);
    json!(workload.strategy.max_surge(workload.replicas)).into()
}

pub(crate) fn min_available(input: &Value) -> Answer {
    let workload = snapshot::workload(input);
    json!(workload.strategy.min_available(workload.replicas)).into()
}

pub(crate) fn new_set_size(input: &Value) -> Answer {
    let workload = snapshot::workload(input);
    let old: i64 = input["oldReplicas"].as_array().unwrap().iter().map(|size| size.as_i64().unwrap()).sum();
    let new = input["newReplicas"].as_i64().unwrap();
    let cap = workload.strategy.cap(workload.replicas);
    let size = cap.map(|cap| match workload.strategy {
        Strategy::RollingUpdate { .. } => plan::grown(new, old + new, workload.replicas, cap),
        _ => workload.replicas,
    });
    json!({ "error": size.is_err(), "value": size.unwrap_or(0) }).into()
}

/// Rounding shows in the fraction of a ReplicaSet: `size × 1 / base`, rounded, less `size`. The number
/// is taken apart into such a quotient, which is exact as the base is a power of two.
pub(crate) fn round(input: &Value) -> Answer {
    let mut x = input["x"].as_f64().unwrap();
    let mut base = 1_i64;
    while x.fract() != 0.0 {
        x *= 2.0;
        base *= 2;
    }
    let size = format!("{x:.0}").parse::<i64>().unwrap();
    let fraction = plan::fraction(size, base, 1, 1);
    json!(fraction + size).into()
}

pub(crate) fn replicas_annotation(input: &Value) -> Answer {
    let count = input["value"].as_str().and_then(plan::replica_count);
    json!({ "value": count.unwrap_or(0), "ok": count.is_some() }).into()
}

pub(crate) fn terminating(input: &Value) -> Answer {
    let mut snapshot = Snapshot::paused(&json!({}));
    for (index, set) in input["replicaSets"].as_array().unwrap().iter().enumerate() {
        snapshot.add(&format!("web-{index}"), false, &json!({ "spec": { "replicas": 0 }, "status": set }));
    }
    let plan = snapshot.plan();
    json!(snapshot::status_after(&snapshot, &plan).terminating_replicas).into()
}

pub(crate) fn status(input: &Value) -> Answer {
    let mut snapshot = Snapshot::paused(input);
    snapshot.deployment["metadata"]["generation"] = input["generation"].clone();
    snapshot.deployment["status"] = input["status"].clone();
    for set in input["replicaSets"].as_array().unwrap() {
        let object = json!({ "spec": { "replicas": set["replicas"] }, "status": set["status"] });
        snapshot.add(set["name"].as_str().unwrap(), set["new"] == true, &object);
    }
    let plan = snapshot.plan();
    without_zeros(encode::status(plan::Flavour::AppsV1, &snapshot::status_after(&snapshot, &plan))).into()
}

/// Zero counters and nulls are not in the recording; the pointers among them are.
fn without_zeros(mut status: Value) -> Value {
    let members = status.as_object_mut().unwrap();
    let is_pointer = |key: &str| matches!(key, "terminatingReplicas" | "collisionCount");
    members.retain(|key, value| !value.is_null() && (is_pointer(key) || *value != 0));
    let conditions = members["conditions"].take();
    members.insert("conditions".to_owned(), snapshot::without_empty_text(conditions));
    status
}
