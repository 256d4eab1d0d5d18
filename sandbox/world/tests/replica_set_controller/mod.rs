//! The ReplicaSet controller, step by step and with caches as old as the test wants them.
mod victims;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use world::{
    Admission, Chance, Deletion, First, Key, Mode, Object, Operation, Patch, Quota, Refused,
    ReplicaSetController, Request, Resource, SetStep, Store, Subresource,
};

fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn key(name: &str) -> Key {
    Key::new(Resource::ReplicaSets, "shop", name)
}

fn set(name: &str, size: i64) -> Object {
    let labels = json!({"app": name});
    let owner = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "owner", "controller": true});
    Object::from_value(
        Resource::ReplicaSets,
        json!({
            "metadata": {"name": name, "namespace": "shop", "labels": labels, "ownerReferences": [owner]},
            "spec": {
                "replicas": size,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels, "annotations": {"a": "b"}},
                    "spec": {"containers": [{"name": "main", "image": "app:1"}]},
                },
            },
        }),
    )
}

struct World {
    store: Store,
    controller: ReplicaSetController,
}

impl World {
    fn new(sets: &[Object]) -> Self {
        let mut store = Store::new(start());
        for set in sets {
            store.create(set.clone(), Mode::Store).unwrap();
        }
        let mut world = Self { store, controller: ReplicaSetController::new() };
        world.catch_up();
        world
    }

    fn catch_up(&mut self) {
        let now = self.store.version();
        self.controller.observe_sets(&self.store, now).unwrap();
        self.controller.observe_pods(&self.store, now).unwrap();
    }

    fn step(&mut self, name: &str) -> SetStep {
        self.controller.step(&mut self.store, &key(name), &mut First)
    }

    /// Catches up and steps until nothing is written any more.
    fn settle(&mut self, name: &str) {
        loop {
            self.catch_up();
            if self.step(name).writes == 0 {
                return;
            }
        }
    }

    fn status(&self, name: &str) -> Value {
        Value::clone(&self.store.get(&key(name)).unwrap().status)
    }

    fn pods(&self) -> Vec<Object> {
        self.store.list(Resource::Pods, Some("shop")).cloned().collect()
    }

    fn change(&mut self, pod: &Object, patch: Value, part: Subresource) {
        self.store.patch(&Key::of(pod), &Patch::Merge(patch), part, Mode::Store).unwrap();
    }

    fn run(&mut self, pod: &Object, ready_since: Option<Timestamp>) {
        let ready = ready_since
            .map(|since| json!({"type": "Ready", "status": "True", "lastTransitionTime": since.to_string()}));
        let conditions: Vec<Value> = ready.into_iter().collect();
        self.change(
            pod,
            json!({"status": {"phase": "Running", "conditions": conditions}}),
            Subresource::Status,
        );
    }

    fn scale(&mut self, name: &str, size: i64) {
        let patch = Patch::Merge(json!({"spec": {"replicas": size}}));
        self.store.patch(&key(name), &patch, Subresource::Main, Mode::Store).unwrap();
    }

    fn names(&self) -> Vec<String> {
        self.pods().iter().map(|pod| pod.name().to_owned()).collect()
    }
}

#[test]
fn a_pod_is_made_from_the_template() {
    let mut world = World::new(&[set("web", 1)]);
    world.step("web");
    let pod = &world.pods()[0];
    let uid = world.store.get(&key("web")).unwrap().uid();
    assert!(pod.name().starts_with("web-"));
    assert_eq!(pod.metadata["labels"], json!({"app": "web"}));
    assert_eq!(pod.metadata["annotations"], json!({"a": "b"}));
    assert_eq!(
        pod.metadata["ownerReferences"],
        json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": uid, "controller": true,
            "blockOwnerDeletion": true}])
    );
    assert_eq!(pod.spec["containers"][0]["image"], "app:1");
}

#[test]
fn nothing_is_created_twice_however_old_the_caches_are() {
    let mut world = World::new(&[set("web", 5)]);
    assert_eq!(world.step("web").writes, 6, "five pods and the status");
    for _ in 0..3 {
        let step = world.step("web");
        assert!(step.waits);
        assert_eq!(step.writes, 0);
    }
    // The ReplicaSets are seen, the pods only in part.
    let now = world.store.version();
    world.controller.observe_sets(&world.store, now).unwrap();
    world.controller.observe_pods(&world.store, now - 3).unwrap();
    assert!(world.step("web").waits);
    world.settle("web");
    assert_eq!(world.pods().len(), 5);
}

#[test]
fn a_wait_ends_by_a_change_that_is_told() {
    let mut world = World::new(&[set("web", 2)]);
    assert_eq!(world.controller.next_changed(), Some(key("web")));
    world.step("web");
    assert_eq!(world.controller.next_changed(), None);
    assert!(world.step("web").waits);
    world.catch_up();
    assert_eq!(world.controller.changed().collect::<Vec<_>>(), [&key("web")]);
    assert!(!world.step("web").waits);
}

#[test]
fn a_wait_for_a_pod_that_was_let_go_ends_too() {
    let mut world = World::new(&[set("web", 1)]);
    world.settle("web");
    let pod = world.pods().remove(0);
    world.change(&pod, json!({"metadata": {"ownerReferences": null}}), Subresource::Main);
    let let_go = world.store.version();
    world.scale("web", 0);
    let now = world.store.version();
    world.controller.observe_sets(&world.store, now).unwrap();
    // The pods are seen as before; it is deleted although it is not the ReplicaSet's any more.
    world.step("web");
    assert!(world.pods().is_empty());
    let now = world.store.version();
    world.controller.observe_sets(&world.store, now).unwrap();
    world.controller.observe_pods(&world.store, let_go).unwrap();
    while let Some(key) = world.controller.next_changed() {
        assert!(world.controller.step(&mut world.store, &key, &mut First).waits);
    }
    world.catch_up();
    assert_eq!(world.controller.changed().collect::<Vec<_>>(), [&key("web")]);
    world.settle("web");
    assert_eq!(world.status("web")["replicas"], 0);
}

#[test]
fn a_status_says_which_generation_it_is_of() {
    let mut world = World::new(&[set("web", 1)]);
    world.scale("web", 3);
    // The cache still shows one replica: the write conflicts, and is repeated with the old generation.
    world.step("web");
    let status = world.status("web");
    assert_eq!(status["observedGeneration"], 1);
    assert_eq!(world.store.get(&key("web")).unwrap().generation(), 2);
    assert_eq!(world.pods().len(), 1);
    world.settle("web");
    assert_eq!(world.pods().len(), 3);
    assert_eq!(world.status("web")["observedGeneration"], 2);
}

#[test]
fn finished_and_terminating_pods_do_not_count() {
    let mut world = World::new(&[set("web", 4)]);
    world.settle("web");
    let pods = world.pods();
    world.change(&pods[0], json!({"status": {"phase": "Failed"}}), Subresource::Status);
    world.store.bind(&Key::of(&pods[1]), "node").unwrap();
    world.store.delete(&Key::of(&pods[1]), &Deletion::default()).unwrap();
    world.change(&pods[2], json!({"metadata": {"labels": {"app": "other"}}}), Subresource::Main);
    world.catch_up();
    let step = world.step("web");
    assert_eq!(step.writes, 4, "three pods and the status");
    let status = world.status("web");
    assert_eq!((&status["replicas"], &status["terminatingReplicas"]), (&json!(1), &json!(1)));
    world.settle("web");
    assert_eq!(world.status("web")["replicas"], 4);
    assert_eq!(world.pods().len(), 7);
}

#[test]
fn a_pod_that_lost_a_label_of_the_template_still_counts() {
    let mut web = set("web", 2);
    Arc::make_mut(&mut web.spec)["template"]["metadata"]["labels"]["tier"] = json!("front");
    let mut world = World::new(&[web]);
    world.settle("web");
    assert_eq!(world.status("web")["fullyLabeledReplicas"], 2);
    let pod = world.pods().remove(0);
    world.change(&pod, json!({"metadata": {"labels": {"tier": null}}}), Subresource::Main);
    world.settle("web");
    let status = world.status("web");
    assert_eq!((&status["replicas"], &status["fullyLabeledReplicas"]), (&json!(2), &json!(1)));
}

#[test]
fn pods_become_available_after_a_while() {
    let mut web = set("web", 2);
    Arc::make_mut(&mut web.spec)["minReadySeconds"] = json!(10);
    let mut world = World::new(&[web]);
    world.settle("web");
    let pods = world.pods();
    world.run(&pods[0], Some(start()));
    world.run(&pods[1], Some(start() + SignedDuration::from_secs(4)));
    world.store.set_now(start() + SignedDuration::from_secs(5));
    world.catch_up();
    let step = world.step("web");
    assert_eq!(step.again, Some(start() + SignedDuration::from_secs(10)));
    assert_eq!(world.status("web")["readyReplicas"], 2);
    assert_eq!(world.status("web").get("availableReplicas"), None);
    world.store.set_now(start() + SignedDuration::from_secs(10));
    world.catch_up();
    let step = world.step("web");
    assert_eq!(world.status("web")["availableReplicas"], 1);
    assert_eq!(step.again, Some(start() + SignedDuration::from_secs(14)));
}

/// Counts pods that are asked for.
#[derive(Default)]
struct Attempts(AtomicUsize);

impl Admission for Attempts {
    fn admit(&self, _: &Store, request: &Request<'_>, _: &mut Object) -> Result<(), Refused> {
        if request.resource == Resource::Pods && request.operation == Operation::Create {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[test]
fn creation_starts_slowly_and_a_refusal_is_told_once() {
    let mut world = World::new(&[set("web", 10)]);
    let quota = |hard| {
        Arc::new(Quota {
            name: "small".to_owned(),
            namespace: "shop".to_owned(),
            resource: Resource::Pods,
            hard,
        })
    };
    let attempts = Arc::new(Attempts::default());
    world.store.add_admission(attempts.clone());
    world.store.add_admission(quota(4));
    let step = world.step("web");
    // One, two, and then four; one of these is allowed.
    assert_eq!((world.pods().len(), attempts.0.load(Ordering::Relaxed)), (4, 7));
    let refused = step.refused.unwrap();
    assert!(
        refused.message.ends_with("exceeded quota: small, requested: pods=1, used: pods=4, limited: pods=4"),
        "{refused}"
    );
    assert_eq!(step.again, Some(start() + SignedDuration::from_millis(5)));
    let condition = world.status("web")["conditions"][0].clone();
    assert_eq!(condition["type"], "ReplicaFailure");
    assert_eq!(condition["reason"], "FailedCreate");
    assert_eq!(condition["message"], refused.message);
    world.catch_up();
    let again = world.step("web");
    assert_eq!(again.again, Some(start() + SignedDuration::from_millis(10)));
    assert_eq!(world.status("web")["conditions"][0], condition, "the message is not refreshed");
    assert_eq!(world.status("web")["replicas"], 4);
    world.store.clear_admission();
    world.settle("web");
    assert_eq!(world.pods().len(), 10);
    assert_eq!(world.status("web").get("conditions"), None);
}

#[test]
fn a_burst_is_500_pods() {
    let mut world = World::new(&[set("web", 700)]);
    world.step("web");
    assert_eq!(world.pods().len(), 500);
    world.settle("web");
    assert_eq!(world.pods().len(), 700);
    world.scale("web", 0);
    world.catch_up();
    world.step("web");
    assert_eq!(world.pods().len(), 200);
}

#[test]
fn a_namespace_that_goes_away_is_no_failure() {
    let mut store = Store::new(start());
    let namespace = json!({"metadata": {"name": "shop"}});
    store.create(Object::from_value(Resource::Namespaces, namespace), Mode::Store).unwrap();
    store.create(set("web", 2), Mode::Store).unwrap();
    store.delete(&Key::new(Resource::Namespaces, "", "shop"), &Deletion::default()).unwrap();
    let mut world = World { store, controller: ReplicaSetController::new() };
    world.catch_up();
    let step = world.step("web");
    assert!(step.refused.is_none());
    assert!(world.pods().is_empty());
    assert_eq!(world.status("web").get("conditions"), None);
}

#[test]
fn a_set_that_is_being_deleted_only_gets_status() {
    let mut web = set("web", 2);
    web.set_metadata("finalizers", json!(["a/b"]));
    let mut world = World::new(&[web]);
    world.settle("web");
    world.store.delete(&key("web"), &Deletion::default()).unwrap();
    world.store.delete(&Key::of(&world.pods()[0]), &Deletion::default()).unwrap();
    world.settle("web");
    assert_eq!(world.pods().len(), 1);
    assert_eq!(world.status("web")["replicas"], 1);
    assert_eq!(world.status("web")["observedGeneration"], 2);
}

#[test]
fn a_settled_set_is_not_written() {
    let mut world = World::new(&[set("web", 3)]);
    world.settle("web");
    let version = world.store.version();
    assert_eq!(world.step("web").writes, 0);
    assert_eq!(world.store.version(), version);
}

#[test]
fn a_restart_sees_everything_again() {
    let mut world = World::new(&[set("web", 3), set("api", 1)]);
    world.step("web");
    world.controller = ReplicaSetController::new();
    world.store.compact(world.store.version());
    let now = world.store.version();
    assert!(world.controller.observe_sets(&world.store, now).is_err());
    world.controller.relist(&world.store);
    assert_eq!(world.controller.changed().count(), 2);
    world.step("web");
    assert_eq!(world.pods().len(), 3);
}
