//! What others do in a cluster, run plainly by one clock.
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use world::{
    Cluster, Deletion, Key, LAST_WORDS, Mode, NEVER_READY, NODE_NAME, Object, Patch, READY_AFTER_MS,
    Resource, Subresource, TERMINATE_AFTER_MS, UNREADY_AFTER_MS, WAITS,
};

const NAMESPACE: &str = "shop";

fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn key(name: &str) -> Key {
    Key::new(Resource::ReplicaSets, NAMESPACE, name)
}

fn set(name: &str, size: i64, image: &str) -> Object {
    let labels = json!({"app": name});
    Object::from_value(
        Resource::ReplicaSets,
        json!({
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
            "spec": {
                "replicas": size,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "main", "image": image}]},
                },
            },
        }),
    )
}

fn cluster() -> Cluster {
    Cluster::new(start())
}

fn after(cluster: &mut Cluster, milliseconds: i64) {
    let now = cluster.store.now() + SignedDuration::from_millis(milliseconds);
    cluster.advance_to(now);
}

fn status(cluster: &Cluster, name: &str) -> Value {
    Value::clone(&cluster.store.get(&key(name)).unwrap().status)
}

fn pods(cluster: &Cluster) -> Vec<Object> {
    cluster.store.list(Resource::Pods, Some(NAMESPACE)).cloned().collect()
}

fn scale(cluster: &mut Cluster, name: &str, size: i64) {
    let patch = Patch::Merge(json!({"spec": {"replicas": size}}));
    cluster.store.patch(&key(name), &patch, Subresource::Scale, Mode::Store).unwrap();
}

#[test]
fn a_set_grows_becomes_ready_and_shrinks() {
    let mut cluster = cluster();
    cluster.store.create(set("web", 3, "app:1"), Mode::Store).unwrap();
    after(&mut cluster, 50);
    assert_eq!(pods(&cluster).len(), 3);
    assert_eq!(
        status(&cluster, "web"),
        json!({"replicas": 3, "fullyLabeledReplicas": 3, "terminatingReplicas": 0, "observedGeneration": 1}),
    );
    after(&mut cluster, 100);
    assert_eq!(status(&cluster, "web")["readyReplicas"], 3);
    assert_eq!(status(&cluster, "web")["availableReplicas"], 3);
    scale(&mut cluster, "web", 1);
    after(&mut cluster, 10);
    assert_eq!(pods(&cluster).len(), 1);
    assert_eq!(
        status(&cluster, "web"),
        json!({"replicas": 1, "fullyLabeledReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
            "terminatingReplicas": 0, "observedGeneration": 2}),
    );
}

#[test]
fn a_set_goes_with_its_pods() {
    let mut cluster = cluster();
    cluster.store.create(set("web", 2, "app:1"), Mode::Store).unwrap();
    after(&mut cluster, 200);
    cluster.store.delete(&key("web"), &Deletion::default()).unwrap();
    after(&mut cluster, 10);
    assert!(pods(&cluster).is_empty());
}

/// A pod of its own, with annotations.
fn pod(cluster: &mut Cluster, image: &str, spec: &Value, annotations: &Value) -> Key {
    let mut all = json!({"containers": [{"name": "main", "image": image}]});
    for (name, value) in spec.as_object().unwrap() {
        all[name] = value.clone();
    }
    let metadata = json!({"name": "pod", "namespace": NAMESPACE, "annotations": annotations});
    let object = Object::from_value(Resource::Pods, json!({"metadata": metadata, "spec": all}));
    Key::of(&cluster.store.create(object, Mode::Store).unwrap())
}

fn condition(pod: &Object, kind: &str) -> Value {
    let conditions = pod.status["conditions"].as_array().unwrap();
    conditions.iter().find(|condition| condition["type"] == kind).unwrap().clone()
}

#[test]
fn a_pod_says_what_kubectl_prints() {
    let mut cluster = cluster();
    let key = pod(&mut cluster, "app:1", &json!({}), &json!({READY_AFTER_MS: "2000"}));
    after(&mut cluster, 0);
    let waiting = cluster.store.get(&key).unwrap().clone();
    assert_eq!(waiting.spec["nodeName"], "fake-node");
    assert_eq!(waiting.status["phase"], "Running");
    assert_eq!(waiting.status["startTime"], "2026-01-01T00:00:00Z");
    assert_eq!(waiting.status["podIP"], "10.0.0.1");
    assert_eq!(waiting.status["containerStatuses"][0]["ready"], false);
    assert_eq!(condition(&waiting, "PodScheduled")["status"], "True");
    assert_eq!(condition(&waiting, "Ready")["status"], "False");
    assert_eq!(condition(&waiting, "Ready")["reason"], "ContainersNotReady");
    after(&mut cluster, 2500);
    let ready = cluster.store.get(&key).unwrap();
    assert_eq!(ready.status["containerStatuses"][0]["ready"], true);
    assert_eq!(ready.status["containerStatuses"][0]["restartCount"], 0);
    assert_eq!(
        ready.status["containerStatuses"][0]["state"],
        json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}})
    );
    for (kind, since) in [("Initialized", 0), ("ContainersReady", 2), ("Ready", 2), ("PodScheduled", 0)] {
        let condition = condition(ready, kind);
        assert_eq!(condition["status"], "True", "{kind}");
        assert_eq!(condition["lastTransitionTime"], format!("2026-01-01T00:00:0{since}Z"), "{kind}");
    }
}

#[test]
fn images_decide_what_becomes_of_a_pod() {
    let cases = [
        ("app:bad", "Always", "Pending", "ImagePullBackOff", 0),
        ("app:crash", "Always", "Running", "CrashLoopBackOff", 3),
        ("app:crash", "Never", "Failed", "Error", 0),
        ("app:1", "Never", "Succeeded", "Completed", 0),
    ];
    for (image, policy, phase, reason, restarts) in cases {
        let mut cluster = cluster();
        let key = pod(&mut cluster, image, &json!({"restartPolicy": policy}), &json!({}));
        after(&mut cluster, 25_000);
        let pod = cluster.store.get(&key).unwrap();
        assert_eq!(pod.status["phase"], phase, "{image} {policy}");
        let container = &pod.status["containerStatuses"][0];
        let state = container["state"].as_object().unwrap().values().next().unwrap();
        assert_eq!(state["reason"], reason, "{image} {policy}");
        assert_eq!(container["restartCount"], restarts, "{image} {policy}");
        assert_eq!(condition(pod, "Ready")["status"], "False", "{image} {policy}");
    }
}

#[test]
fn annotations_decide_when_a_pod_is_ready() {
    let ready_at = |annotations: Value, milliseconds: i64| {
        let mut cluster = cluster();
        let key = pod(&mut cluster, "app:1", &json!({}), &annotations);
        after(&mut cluster, milliseconds);
        condition(cluster.store.get(&key).unwrap(), "Ready")["status"] == "True"
    };
    assert!(ready_at(json!({}), 150));
    assert!(!ready_at(json!({READY_AFTER_MS: "5000"}), 4900));
    assert!(ready_at(json!({READY_AFTER_MS: "5000"}), 5100));
    assert!(ready_at(json!({UNREADY_AFTER_MS: "2000"}), 2000));
    assert!(!ready_at(json!({UNREADY_AFTER_MS: "2000"}), 2200));
    assert!(!ready_at(json!({NEVER_READY: "true"}), 60_000));
}

#[test]
fn containers_wait_for_what_an_annotation_names() {
    let missing = "configmap \"settings\" not found";
    let cases = [
        (format!("CreateContainerConfigError: {missing}"), "CreateContainerConfigError", Some(missing), 0),
        ("ContainerCreating".to_owned(), "ContainerCreating", Some(""), 0),
        (format!("FailedMount: {missing}"), "ContainerCreating", None, 1),
    ];
    for (sign, reason, message, events) in cases {
        let mut cluster = cluster();
        let key = pod(&mut cluster, "app:crash", &json!({}), &json!({WAITS: sign}));
        after(&mut cluster, 25_000);
        let pod = cluster.store.get(&key).unwrap();
        assert_eq!(pod.status["phase"], "Pending", "{sign}");
        let waiting = &pod.status["containerStatuses"][0]["state"]["waiting"];
        let found = (waiting["reason"].as_str(), waiting.get("message").and_then(Value::as_str));
        assert_eq!(found, (Some(reason), message), "{sign}");
        assert_eq!(events_about(&cluster, pod), vec![("FailedMount".to_owned(), missing.to_owned()); events]);
    }
}

fn events_about(cluster: &Cluster, pod: &Object) -> Vec<(String, String)> {
    let events = cluster.store.list(Resource::Events, None).map(Object::to_value);
    let about = events.filter(|event| {
        event["involvedObject"]["uid"] == pod.uid()
            && event["type"] == "Warning"
            && event["lastTimestamp"].is_string()
    });
    let text = |event: &Value, field: &str| event[field].as_str().unwrap().to_owned();
    about.map(|event| (text(&event, "reason"), text(&event, "message"))).collect()
}

#[test]
fn a_probe_that_fails_is_an_event() {
    let mut cluster = cluster();
    let key = pod(&mut cluster, "app:1", &json!({}), &json!({NEVER_READY: "true"}));
    after(&mut cluster, 5000);
    let failed = "Readiness probe failed: HTTP probe failed with statuscode: 503".to_owned();
    let expected = vec![("Unhealthy".to_owned(), failed)];
    assert_eq!(events_about(&cluster, cluster.store.get(&key).unwrap()), expected);
    // A start that takes a while is no failure.
    let mut cluster = self::cluster();
    pod(&mut cluster, "app:1", &json!({}), &json!({READY_AFTER_MS: "60000"}));
    after(&mut cluster, 30_000);
    assert_eq!(cluster.store.list(Resource::Events, None).count(), 0);
}

#[test]
fn a_container_that_ends_may_leave_a_message() {
    let mut cluster = cluster();
    let key = pod(&mut cluster, "app:crash", &json!({}), &json!({LAST_WORDS: "no database"}));
    after(&mut cluster, 5000);
    let last = &cluster.store.get(&key).unwrap().status["containerStatuses"][0]["lastState"]["terminated"];
    assert_eq!((&last["exitCode"], &last["message"]), (&json!(1), &json!("no database")));
}

#[test]
fn a_pod_may_be_held_and_let_go() {
    let mut cluster = cluster();
    let key = pod(&mut cluster, "app:1", &json!({}), &json!({NEVER_READY: "true"}));
    after(&mut cluster, 5000);
    let patch = Patch::Merge(json!({"metadata": {"annotations": {NEVER_READY: null}}}));
    cluster.store.patch(&key, &patch, Subresource::Main, Mode::Store).unwrap();
    cluster.settle();
    let ready = condition(cluster.store.get(&key).unwrap(), "Ready");
    assert_eq!(
        (&ready["status"], &ready["lastTransitionTime"]),
        (&json!("True"), &json!("2026-01-01T00:00:05Z"))
    );
}

#[test]
fn a_deleted_pod_lingers_as_long_as_it_says() {
    let mut cluster = cluster();
    let key = pod(&mut cluster, "app:1", &json!({}), &json!({TERMINATE_AFTER_MS: "1000"}));
    after(&mut cluster, 500);
    cluster.store.delete(&key, &Deletion::default()).unwrap();
    after(&mut cluster, 900);
    assert!(cluster.store.get(&key).unwrap().is_deleting());
    after(&mut cluster, 200);
    assert!(cluster.store.get(&key).is_none());
}

#[test]
fn a_readiness_gate_waits_for_somebody_else() {
    let mut cluster = cluster();
    let gates = json!({"readinessGates": [{"conditionType": "example/live"}]});
    let key = pod(&mut cluster, "app:1", &gates, &json!({}));
    after(&mut cluster, 1000);
    let waiting = cluster.store.get(&key).unwrap().clone();
    assert_eq!(condition(&waiting, "ContainersReady")["status"], "True");
    assert_eq!(condition(&waiting, "Ready")["reason"], "ReadinessGatesNotReady");
    let mut open = waiting.clone();
    let mut status = Value::clone(&waiting.status);
    status["conditions"].as_array_mut().unwrap().push(json!({"type": "example/live", "status": "True"}));
    open.status = std::sync::Arc::new(status.into());
    cluster.store.replace(open, Subresource::Status, Mode::Store).unwrap();
    cluster.settle();
    let ready = cluster.store.get(&key).unwrap();
    assert_eq!(condition(ready, "Ready")["status"], "True");
    assert_eq!(condition(ready, "example/live")["status"], "True");
}

#[test]
fn a_container_that_restarts_is_not_ready_until_it_is_again() {
    let mut cluster = cluster();
    let key = pod(&mut cluster, "app:1", &json!({}), &json!({READY_AFTER_MS: "2000"}));
    after(&mut cluster, 3000);
    let now = cluster.store.now();
    cluster.controllers.restart(&key, now);
    cluster.settle();
    let down = cluster.store.get(&key).unwrap();
    assert_eq!(condition(down, "Ready")["status"], "False");
    assert_eq!(down.status["containerStatuses"][0]["restartCount"], 1);
    after(&mut cluster, 2000);
    let up = cluster.store.get(&key).unwrap();
    assert_eq!(condition(up, "Ready")["status"], "True");
    assert_eq!(up.status["containerStatuses"][0]["restartCount"], 1);
}

#[test]
fn a_cordoned_node_takes_no_new_pods() {
    let mut cluster = cluster();
    cluster.controllers.kubelets().register(&mut cluster.store).unwrap();
    cluster.store.create(set("web", 1, "app:1"), Mode::Store).unwrap();
    after(&mut cluster, 200);
    let node = Key::new(Resource::Nodes, "", NODE_NAME);
    let cordon = |cluster: &mut Cluster, value: bool| {
        let patch = Patch::Merge(json!({"spec": {"unschedulable": value}}));
        cluster.store.patch(&node, &patch, Subresource::Main, Mode::Store).unwrap();
    };
    cordon(&mut cluster, true);
    scale(&mut cluster, "web", 2);
    after(&mut cluster, 3_600_000);
    assert_eq!(status(&cluster, "web")["readyReplicas"], 1);
    let homeless = pods(&cluster).into_iter().find(|pod| pod.spec.get("nodeName").is_none()).unwrap();
    let scheduled = condition(&homeless, "PodScheduled");
    assert_eq!(scheduled["message"], "0/1 nodes are available: 1 node(s) were unschedulable.");
    cordon(&mut cluster, false);
    after(&mut cluster, 200);
    assert_eq!(status(&cluster, "web")["readyReplicas"], 2);
}

#[test]
fn a_lost_node_keeps_its_pods_until_it_is_back_or_removed() {
    let mut cluster = cluster();
    cluster.controllers.kubelets().register(&mut cluster.store).unwrap();
    cluster.store.create(set("web", 2, "app:1"), Mode::Store).unwrap();
    after(&mut cluster, 200);
    cluster.controllers.kubelets().lose_node(&mut cluster.store, NODE_NAME);
    after(&mut cluster, 1000);
    assert_eq!(status(&cluster, "web").get("readyReplicas"), None);
    let found = cluster.controllers.kubelets().restore_node(&mut cluster.store, NODE_NAME);
    cluster.controllers.look_at(found);
    cluster.settle();
    assert_eq!(status(&cluster, "web")["readyReplicas"], 2);
    cluster.controllers.kubelets().lose_node(&mut cluster.store, NODE_NAME);
    cluster.controllers.kubelets().evict(&mut cluster.store, NODE_NAME);
    after(&mut cluster, 60_000);
    assert_eq!(pods(&cluster).iter().filter(|pod| pod.is_deleting()).count(), 2);
    assert_eq!(status(&cluster, "web")["terminatingReplicas"], 2);
    // The new ones find no node.
    let homeless = pods(&cluster).into_iter().find(|pod| !pod.is_deleting()).unwrap();
    assert_eq!(condition(&homeless, "PodScheduled")["reason"], "Unschedulable");
    assert_eq!(homeless.status["phase"], "Pending");
    cluster.controllers.kubelets().remove_node(&mut cluster.store, NODE_NAME);
    cluster.settle();
    assert_eq!(pods(&cluster).len(), 2);
    assert!(pods(&cluster).iter().all(|pod| !pod.is_deleting()));
}

#[test]
fn time_goes_on_in_order_however_far_it_goes() {
    let run = |step: i64| {
        let mut cluster = cluster();
        cluster.store.create(set("web", 3, "app:crash"), Mode::Store).unwrap();
        for _ in 0..(120_000 / step) {
            after(&mut cluster, step);
        }
        let versions = cluster.store.all_changes(0).unwrap();
        versions.map(|change| (change.version, change.object.to_value())).collect::<Vec<_>>()
    };
    assert_eq!(run(120_000), run(1000));
}

#[test]
fn controllers_that_fell_behind_start_over() {
    let mut cluster = cluster();
    cluster.store.create(set("web", 2, "app:1"), Mode::Store).unwrap();
    cluster.store.compact(cluster.store.version());
    after(&mut cluster, 200);
    assert_eq!(status(&cluster, "web")["readyReplicas"], 2);
    assert_eq!(cluster.controllers.version(), cluster.store.version());
}
