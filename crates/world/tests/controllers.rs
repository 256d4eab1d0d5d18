//! What others do in a cluster, run plainly by one clock.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use world::{Cluster, Deletion, Key, Mode, Object, Patch, Resource, Subresource};

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
