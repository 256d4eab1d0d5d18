//! `status.history`: read from whatever is stored, and added to by a patch that names only what is new.

use jiff::Timestamp;
use plan::keys::{CHANGE_CAUSE, CHANGED_BY, DESIRED_REPLICAS, FINGERPRINTS, MAX_REPLICAS, REVISION, ROLLOUT};
use plan::template::Template;
use plan::{
    Action, Answers, Author, End, Flavour, LastScale, Observed, Options, Outcome, Pace, RECORD_BYTES_MAX,
    Record, Scaler, Status, StatusWrite, Step, Trigger, Workload,
};
use rollwright_api::decode::{self, Defaults};
use rollwright_api::{Rollout, encode, history};
use serde_json::{Value, json};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn record(id: i64) -> Record {
    Record {
        id,
        revision: id,
        hash: "5f9".to_owned(),
        trigger: Some(Trigger::NewImage),
        author: Some(Author { manager: "helm".to_owned(), operation: "Update".to_owned(), user: None }),
        start_time: Some(at("2026-04-01T12:00:00Z")),
        end: Some(End {
            time: at("2026-04-01T12:01:00Z"),
            outcome: Outcome::Succeeded,
            reason: None,
            message: None,
        }),
        ..Record::default()
    }
}

fn stored(id: i64) -> Value {
    serde_json::to_value(Rollout::from(&record(id))).unwrap()
}

fn object(history: &Value) -> Value {
    let mut object = json!({
        "metadata": {"namespace": "shop", "name": "web", "uid": "u", "resourceVersion": "7", "generation": 2},
        "spec": {"template": {}},
        "status": {"observedGeneration": 1, "collisionCount": 4},
    });
    if !history.is_null() {
        object["status"]["history"] = history.clone();
    }
    object
}

fn read(object: &Value) -> Workload {
    decode::workload(Flavour::Rollwright, object, Defaults::Apply).unwrap()
}

/// The object once the operator has written a status that closes these.
fn written(object: &Value, ended: Vec<Record>) -> Value {
    let workload = read(object);
    let mut status = Status { observed_generation: 2, ..workload.status.clone() };
    (status.ours.history.odd, status.collision_count) = (Vec::new(), None);
    let write = StatusWrite { status, ended, ..StatusWrite::default() };
    let patch = history::patch(Flavour::Rollwright, &workload, &write).unwrap();
    let mut object = object.clone();
    let patch: json_patch::Patch = serde_json::from_str(patch.get()).unwrap();
    json_patch::patch(&mut object, &patch).unwrap();
    // The column STATUS follows each status write, in either form.
    let merged = encode::status_patch(Flavour::Rollwright, &workload, &write);
    assert!(merged["status"]["display"]["summary"].is_string());
    assert_eq!(object["status"]["display"]["summary"], merged["status"]["display"]["summary"]);
    object
}

fn ids(object: &Value) -> Vec<i64> {
    let entries = object["status"]["history"].as_array().unwrap();
    entries.iter().map(|entry| entry["id"].as_i64().unwrap()).collect()
}

#[test]
fn a_record_goes_to_the_front_and_the_oldest_goes_away() {
    let full: Vec<Value> = (1..=10).rev().map(stored).collect();
    let cases = [
        (json!(null), vec![1], vec![1]),
        (json!([]), vec![1, 2], vec![2, 1]),
        (json!([stored(1)]), vec![2], vec![2, 1]),
        (json!(full), vec![11], (2..=11).rev().collect()),
        (json!(full), vec![11, 12], (3..=12).rev().collect()),
    ];
    for (before, ended, after) in cases {
        let object = written(&object(&before), ended.iter().copied().map(record).collect());
        assert_eq!(ids(&object), after);
        assert_eq!(object["status"]["observedGeneration"], 2);
        assert_eq!(object["status"].get("collisionCount"), None, "what is gone");
        let last = *ended.last().unwrap();
        assert_eq!(object["status"]["history"][0], stored(last));
        let head = read(&object).status.ours.history;
        assert_eq!((head.id, head.length, head.odd), (last, after.len(), Vec::new()));
    }
}

#[test]
fn what_is_no_record_goes_with_the_next_write() {
    let text = "x".repeat(8192);
    let mut long = stored(3);
    long["message"] = json!(text);
    let mut open = stored(3);
    open.as_object_mut().unwrap().remove("outcome");
    let odd = [
        json!(null),
        json!(7),
        json!([]),
        json!({}),
        json!({"id": "x"}),
        json!({"id": 0}),
        json!({"id": -1}),
        json!({"id": i64::MAX, "outcome": "Failed"}),
        json!({"id": 1.5}),
        long,
        open,
        stored(4),
        stored(9),
    ];
    for odd in odd {
        let before = json!([odd, stored(4), odd, stored(2), odd]);
        let is_first = odd == stored(4) || odd == stored(9);
        let head = read(&object(&before)).status.ours.history;
        let expected = if is_first { odd["id"].as_i64().unwrap() } else { 4 };
        assert_eq!((head.id, head.length), (expected, 5), "{odd}");
        let repaired = ids(&written(&object(&before), Vec::new()));
        assert_eq!(repaired, if odd == stored(9) { vec![9, 4, 2] } else { vec![4, 2] }, "{odd}");
        let added = ids(&written(&object(&before), vec![record(10)]));
        assert_eq!(added[..2], [10, repaired[0]], "{odd}");
    }
    for odd in [json!("x"), json!({"0": 1}), json!(7)] {
        assert_eq!(ids(&written(&object(&odd), vec![record(1)])), [1], "{odd}");
    }
    let many: Vec<Value> = (1..=500).rev().map(stored).collect();
    assert_eq!(
        ids(&written(&object(&json!(many)), vec![record(501)])),
        (492..=501).rev().collect::<Vec<_>>()
    );
}

#[test]
fn other_garbage_in_a_status_is_nothing() {
    for odd in
        [json!("x"), json!([]), json!({}), json!({"id": []}), json!({"id": 1, "message": "x".repeat(8192)})]
    {
        let mut object = object(&json!(null));
        (object["status"]["rollout"], object["status"]["lastScale"]) = (odd.clone(), odd.clone());
        let workload = read(&object);
        assert_eq!(workload.status.ours.rollout, None, "{odd}");
        // The next write takes it away.
        let write = StatusWrite { status: workload.status.clone(), ..StatusWrite::default() };
        let patch = encode::status_patch(Flavour::Rollwright, &workload, &write);
        assert_eq!(patch["status"].get("rollout"), Some(&Value::Null));
    }
}

#[test]
fn a_write_without_a_record_leaves_the_history_alone() {
    let workload = read(&object(&json!([stored(1)])));
    let by = Scaler { manager: "hpa".to_owned(), subresource: "scale".to_owned(), time: None };
    let last_scale = Some(LastScale { from: 3, to: 9, by });
    let write = StatusWrite { status: workload.status.clone(), last_scale, ..StatusWrite::default() };
    assert!(history::patch(Flavour::Rollwright, &workload, &write).is_none());
    let patch = encode::status_patch(Flavour::Rollwright, &workload, &write);
    assert_eq!(patch["status"].get("history"), None);
    let told = json!({"from": 3, "to": 9, "manager": "hpa", "subresource": "scale", "time": null});
    assert_eq!(patch["status"]["lastScale"], told);
    let apps = StatusWrite { ended: vec![record(2)], ..write };
    assert!(history::patch(Flavour::AppsV1, &workload, &apps).is_none());
}

/// The status that the planner writes for this Deployment and these ReplicaSets.
fn planned(object: &Value, sets: &[Value]) -> StatusWrite {
    let flavour = Flavour::Rollwright;
    let sets = sets.iter().map(|set| decode::replica_set(flavour, set).unwrap()).collect();
    let answers = Answers { template: Some(Template::of(&object["spec"]["template"])), ..Answers::default() };
    let options = Options::new(true, Pace::EachReconcile);
    let observed = Observed { flavour, workload: read(object), sets, answers, options };
    let Step::Act(plan) = plan::plan(&observed, at("2026-04-01T13:00:00Z")) else {
        unreachable!("a question")
    };
    let mut writes = plan.actions.into_iter().filter_map(|planned| match planned.action {
        Action::WriteStatus(write) => Some(*write),
        _ => None,
    });
    writes.next_back().unwrap()
}

fn bytes(record: &Record) -> usize {
    serde_json::to_string(&Rollout::from(record)).unwrap().len()
}

/// The most bytes of a record without promotions.
const BYTES_MAX: usize = 600;

/// With the longest texts that there are, from its revision to its end.
#[test]
fn a_record_has_its_bounds() {
    for text in ["x", "\"", "\\", "\u{1}", "é", "😀", "\u{2028}"] {
        let long = text.repeat(9000);
        let containers: Vec<Value> = (0..40)
            .map(|index| json!({"name": format!("{index}{text}"), "image": text.repeat(20)}))
            .collect();
        let mut web = object(&json!(null));
        web["metadata"]["annotations"] = json!({CHANGE_CAUSE: long, CHANGED_BY: long});
        web["metadata"]["managedFields"] =
            json!([{"manager": long, "operation": long, "fieldsV1": {"f:spec": {"f:template": {}}}}]);
        web["spec"] = json!({
            "replicas": 2_000_000_000, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}},
        });
        let opened = planned(&web, &[]).status.ours.rollout.unwrap();
        assert_eq!((opened.id, opened.images.len() + opened.more_images), (1, 40));
        let rollout = Rollout { id: 1 << 52, from: Some(i64::MAX), ..Rollout::from(&*opened) };
        let as_stored = serde_json::to_value(&rollout).unwrap();
        assert!(as_stored.to_string().len() <= BYTES_MAX, "{as_stored}");
        // Its ReplicaSet cannot have a pod, and its deadline passes.
        web["status"] = json!({"revision": 1, "rollout": as_stored, "conditions": [
            {"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated", "lastUpdateTime": "2026-04-01T12:00:00Z"}]});
        let mut set = json!({
            "metadata": {"name": "web-a", "uid": "s", "resourceVersion": "1", "labels": {"app": "web"},
                "annotations": {REVISION: "1", FINGERPRINTS: read(&web).template.fingerprint.as_str(),
                    DESIRED_REPLICAS: "2000000000", MAX_REPLICAS: "2147483647"},
                "ownerReferences": [{"uid": "u", "controller": true}]},
            "spec": {"replicas": 2_000_000_000},
            "status": {"conditions": [{"type": "ReplicaFailure", "status": "True", "reason": long, "message": long}]},
        });
        let failed = planned(&web, std::slice::from_ref(&set)).ended;
        let end = failed[0].end.clone().unwrap();
        assert_eq!((failed.len(), failed[0].id, end.outcome), (1, 1 << 52, Outcome::Failed));
        assert!(bytes(&failed[0]) <= BYTES_MAX, "{} bytes of {text:?}", bytes(&failed[0]));
        assert!(end.message.as_ref().is_some_and(|message| !message.is_empty()), "room for why: {text:?}");
        // Promotions take nothing of that.
        let promotion = json!({"step": i64::MAX, "manager": long, "at": "2026-04-01T12:00:00Z"});
        let memory = json!({"version": 1, "revision": 1, "promotions": vec![promotion; 40]});
        set["metadata"]["annotations"][ROLLOUT] = memory.to_string().into();
        let promoted = planned(&web, &[set]).ended;
        assert_eq!((promoted[0].promotions.len(), promoted[0].end.as_ref()), (20, Some(&end)));
        assert!(bytes(&promoted[0]) <= RECORD_BYTES_MAX, "{} bytes of {text:?}", bytes(&promoted[0]));
        let stored = object(&json!([Rollout::from(&promoted[0])]));
        assert_eq!(read(&stored).status.ours.history.odd, [0; 0], "it can be read");
    }
}
