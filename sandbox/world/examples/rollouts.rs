//! Measures what a rollout costs in the world itself: `cargo run --release -p world --example rollouts`.
//!
//! A rollout here is the plainest there is: ten pods of one ReplicaSet are replaced by ten of another,
//! with at most three more and two less than ten. Who decides costs next to nothing.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use world::{Cluster, Defaults, Deletion, Key, Mode, Object, Patch, Refused, Resource, Subresource};

const SIZE: i64 = 10;
const SURGE: i64 = 3;
const UNAVAILABLE: i64 = 2;
/// How many, unless the first argument is a number.
const ROLLOUTS: u64 = 2000;

fn main() -> ExitCode {
    let asked = std::env::args().nth(1).and_then(|count| count.parse().ok());
    let count = asked.unwrap_or(ROLLOUTS).max(1);
    let started = Instant::now();
    let mut versions = 0;
    for _ in 0..count {
        match rollout() {
            Ok(count) => versions += count,
            Err(refused) => {
                eprintln!("refused: {refused}");
                return ExitCode::FAILURE;
            }
        }
    }
    let micros = started.elapsed().as_micros() / u128::from(count);
    println!("{micros} µs per rollout, {} writes", versions / count);
    ExitCode::SUCCESS
}

fn key(name: &str) -> Key {
    Key::new(Resource::ReplicaSets, "shop", name)
}

fn set(owner: &Object, name: &str, size: i64) -> Object {
    let labels = json!({"app": "web", "pod-template-hash": name});
    let owner = json!({"apiVersion": "rollwright.dev/v1", "kind": "Deployment", "name": "web",
        "uid": owner.uid(), "controller": true, "blockOwnerDeletion": true});
    Object::from_value(
        Resource::ReplicaSets,
        json!({
            "metadata": {"name": name, "namespace": "shop", "labels": labels, "ownerReferences": [owner]},
            "spec": {"replicas": size, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": format!("app:{name}"),
                    "ports": [{"containerPort": 8080}]}]},
            }},
        }),
    )
}

fn scale(cluster: &mut Cluster, name: &str, size: i64) -> Result<(), Refused> {
    let patch = Patch::Merge(json!({"spec": {"replicas": size}}));
    cluster.store.patch(&key(name), &patch, Subresource::Main, Mode::Store).map(|_| ())
}

/// Desired and available pods of a ReplicaSet.
fn counts(cluster: &Cluster, name: &str) -> (i64, i64) {
    let set = cluster.store.get(&key(name));
    let desired = set.and_then(|set| set.spec_number("replicas")).unwrap_or(0);
    (desired, set.and_then(|set| set.status_number("availableReplicas")).unwrap_or(0))
}

fn rollout() -> Result<u64, Refused> {
    let mut cluster = Cluster::new(Timestamp::UNIX_EPOCH);
    cluster.store.add_admission(Arc::new(Defaults::default()));
    let web = json!({"metadata": {"name": "web", "namespace": "shop"}});
    let web = cluster.store.create(Object::from_value(Resource::Deployments, web), Mode::Store)?;
    cluster.store.create(set(&web, "old", SIZE), Mode::Store)?;
    advance(&mut cluster);
    cluster.store.create(set(&web, "new", 0), Mode::Store)?;
    loop {
        let ((old, old_available), (new, available)) = (counts(&cluster, "old"), counts(&cluster, "new"));
        if new == SIZE && old == 0 && available == SIZE {
            break;
        }
        let grown = (SIZE + SURGE - old).min(SIZE);
        if grown > new {
            scale(&mut cluster, "new", grown)?;
        }
        let cut = (old_available + available - (SIZE - UNAVAILABLE)).clamp(0, old);
        if cut > 0 {
            scale(&mut cluster, "old", old - cut)?;
        }
        advance(&mut cluster);
    }
    cluster.store.delete(&key("old"), &Deletion::default())?;
    cluster.settle();
    let pods = cluster.store.list(Resource::Pods, None);
    let ready = pods.filter(|pod| pod.status.get("phase").and_then(Value::as_str) == Some("Running"));
    debug_assert_eq!(ready.count(), 10);
    Ok(cluster.store.version() - 100)
}

fn advance(cluster: &mut Cluster) {
    let now = cluster.store.now() + SignedDuration::from_millis(200);
    cluster.advance_to(now);
}
