//! What is written, as the API server gets it.

use plan::{
    Flavour, Map, Ours, Purpose, Record, RollbackRecord, Status, StatusWrite, Target, UpdateReplicaSet,
};
use rollwright_api::{DeploymentStatus, decode, encode};
use serde_json::{Value, json};

fn fields(status: &Value) -> Vec<&str> {
    status.as_object().unwrap().keys().map(String::as_str).collect()
}

/// `DeploymentStatus` of apps/v1, whole: what it lacks is pruned there, and warned of.
#[test]
fn the_status_of_apps_has_no_field_of_ours() {
    let ours = Ours { revision: Some(3), ready: Some("1/1".to_owned()), ..Ours::default() };
    let status = Status { ours, ..Status::default() };
    let whole = k8s_openapi::api::apps::v1::DeploymentStatus {
        available_replicas: Some(0),
        collision_count: Some(0),
        conditions: Some(Vec::new()),
        observed_generation: Some(0),
        ready_replicas: Some(0),
        replicas: Some(0),
        terminating_replicas: Some(0),
        unavailable_replicas: Some(0),
        updated_replicas: Some(0),
    };
    let written = encode::status(Flavour::AppsV1, &status);
    assert_eq!(fields(&written), fields(&serde_json::to_value(whole).unwrap()));
    let written = encode::status(Flavour::Rollwright, &status);
    assert_eq!((&written["revision"], &written["display"]["ready"]), (&json!(3), &json!("1/1")));
}

/// A merge patch keeps what it does not name, and takes away what it sets to null.
#[test]
fn what_is_gone_is_written_as_null_and_what_is_not_known_is_not_written() {
    let rollback = RollbackRecord { result: "Refused".to_owned(), ..RollbackRecord::default() };
    let ours = Ours { rollback: Some(rollback), ..Ours::default() };
    let written = encode::status(Flavour::Rollwright, &Status { ours, ..Status::default() });
    let gone =
        ["terminatingReplicas", "collisionCount", "revision", "blockers", "rollout", "target", "fallback"];
    for gone in gone {
        assert_eq!(written.get(gone), Some(&Value::Null), "{gone}");
    }
    let rollback = json!({"requested": 0, "revision": 0, "result": "Refused", "message": null, "time": null});
    assert_eq!(written["rollback"], rollback);
    let nothing = json!({"bake": null, "marks": null, "replicas": null, "outline": null, "collisions": null, "rollbacks": null});
    assert_eq!(written["memory"], nothing);
    for other in ["history", "lastScale"] {
        assert_eq!(written.get(other), None, "{other}");
    }
}

/// Also words of a newer operator, fields of foreign conditions, and times of another zone.
#[test]
fn a_status_comes_back_as_it_was_written() {
    let stored: Value = serde_json::from_str(include_str!("status.json")).unwrap();
    let read: DeploymentStatus = decode::status(&stored).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), stored);
    assert_eq!(encode::status(Flavour::Rollwright, &read.into()), stored);
}

/// The rollout continues; a merge patch would leave the time with it.
#[test]
fn what_is_gone_of_a_running_rollout_is_null() {
    let none = || Record { id: 1, ..Record::default() };
    let at = |time: Option<&str>| {
        let rest_start_time = time.map(|time| time.parse().unwrap());
        Record {
            step: Some(1),
            steps: Some(2),
            updated: Some(1),
            target_pods: Some(1),
            rest_start_time,
            ..none()
        }
    };
    let ours = |rollout: Record| Ours { rollout: Some(Box::new(rollout)), ..Ours::default() };
    let patch = |before: Record, after: Record| patch(ours(before), ours(after))["rollout"].clone();
    let rests = || at(Some("2026-04-01T12:30:00Z"));
    let left = patch(rests(), at(None));
    assert_eq!((left.get("restStartTime"), &left["step"]), (Some(&Value::Null), &json!(1)));
    let without = patch(rests(), none());
    for name in ["step", "steps", "updated", "targetPods", "restStartTime"] {
        assert_eq!(without.get(name), Some(&Value::Null), "{name}");
    }
    assert_eq!(patch(none(), none()).get("step"), None);
}

/// The patch that makes one status of another.
fn patch(before: Ours, after: Ours) -> Value {
    let mut workload =
        decode::workload(Flavour::Rollwright, &json!({"spec": {}}), decode::Defaults::Apply).unwrap();
    workload.status.ours = before;
    let status = Status { ours: after, ..Status::default() };
    let write = StatusWrite { status, ..StatusWrite::default() };
    encode::status_patch(Flavour::Rollwright, &workload, &write)["status"].clone()
}

/// Also inside what stays: a merge patch leaves each member that it does not name.
#[test]
fn what_is_gone_inside_of_what_stays_is_null() {
    let read = |status: Value| Status::from(decode::status(&status).unwrap()).ours;
    let patch = |before: Value, after: Value| patch(read(before), read(after));
    let bakes =
        json!({"memory": {"replicas": 3, "bake": {"revision": 2, "startTime": "2026-04-01T12:00:00Z"}}});
    let memory = patch(bakes, json!({"memory": {"replicas": 4}}));
    assert_eq!(memory["memory"], json!({"replicas": 4, "bake": null}));
    let runs = |images: Value| json!({"rollout": {"id": 1, "revision": 2, "images": images}});
    let rollout = patch(runs(json!({"web": "a", "log": "b"})), runs(json!({"web": "a", "sidecar": "c"})));
    assert_eq!(rollout["rollout"]["images"], json!({"web": "a", "log": null, "sidecar": "c"}));
    let asked = |author: Value| json!({"rollback": {"requested": 1, "result": "Refused", "author": author}});
    let known = asked(json!({"manager": "helm", "operation": "Update", "user": "dev-1"}));
    let unknown = asked(json!({"manager": "helm", "operation": "Update"}));
    assert_eq!(patch(known, unknown)["rollback"]["author"]["user"], Value::Null);
    assert_eq!(patch(json!({}), json!({})).get("target"), Some(&Value::Null), "even if it could not be read");
}

/// Server-side apply needs them, and on apps/v1 they stay as upstream leaves them.
#[test]
fn a_change_of_a_set_drops_managers_that_nobody_needs_on_our_kind() {
    let updates = json!({"manager": "rollwright", "operation": "Update", "fieldsV1": {"f:spec": {}}});
    let applies = json!({"manager": "shop", "operation": "Apply", "fieldsV1": {}});
    for (flavour, managers, dropped) in [
        (Flavour::Rollwright, json!([updates]), Some(json!([{}]))),
        (Flavour::Rollwright, json!([updates, applies]), None),
        (Flavour::Rollwright, json!(null), None),
        (Flavour::AppsV1, json!([updates]), None),
    ] {
        let set = decode::replica_set(flavour, &json!({"metadata": {"managedFields": managers}})).unwrap();
        let target = Target { name: set.name, uid: set.uid, resource_version: set.resource_version };
        let patch = encode::update_patch(&UpdateReplicaSet {
            target,
            size_from: 1,
            size_to: 2,
            min_ready_seconds: None,
            annotations: Map::new(),
            ends_tracking: set.is_tracked,
            purpose: Purpose::Scale,
        });
        assert_eq!(patch["metadata"].get("managedFields"), dropped.as_ref(), "{flavour:?} {managers}");
    }
}

#[test]
fn garbage_in_a_time_counts_as_absent() {
    for garbage in [json!("then"), json!(7), json!("-009999-01-02T01:59:59Z"), json!({})] {
        let status = json!({"conditions": [{"type": "a", "status": "True", "lastUpdateTime": garbage}]});
        let read = decode::status(&status).unwrap();
        assert_eq!(read.condition("a").unwrap().last_update_time, None);
    }
}

/// The next status replaces it, whatever its writer was.
#[test]
fn garbage_in_blockers_counts_as_absent() {
    let read = |blockers: Value| decode::status(&json!({"blockers": blockers})).unwrap().blockers;
    for garbage in [json!("x"), json!(7), json!({"cause": "x"}), Value::Null] {
        assert_eq!(read(garbage), None);
    }
    let entries = json!([7, null, {}, {"cause": 1}, {"cause": "x", "pods": "many"}, {"cause": "ok", "startTime": "then"}]);
    let read_entries = read(entries).unwrap();
    let [entry] = read_entries.as_slice() else { panic!("{read_entries:?}") };
    assert_eq!((entry.cause.as_str(), &entry.start_time), ("ok", &None));
    let long = json!({"cause": "x", "message": "\u{1f4a5}".repeat(8192), "pods": i64::MAX});
    let many = read(vec![long; 20].into()).unwrap();
    assert_eq!(many.len(), 5);
    assert_eq!(many[0].message.as_ref().unwrap().chars().count(), 400);
    assert_eq!(many[0].pods, Some(i32::MAX));
}
