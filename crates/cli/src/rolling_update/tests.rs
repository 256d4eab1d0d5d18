//! Every state that a killed update leaves, over a controller of ReplicationControllers in memory.

use serde_json::json;

use super::facts::{NO_CLASS, desired, images, is_unique, size};
use super::step::next;
use super::*;
use json_patch::merge;

const N: i64 = 3;

/// A namespace with the controller of ReplicationControllers, which counts what it does.
#[derive(Clone)]
struct World {
    facts: Facts,
    image: &'static str,
    serial: i64,
    created: i64,
    deleted: i64,
}

fn controller() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "metadata": {"name": "foo", "namespace": "shop", "uid": "u-foo", "resourceVersion": "1", "generation": 1,
            "labels": {"app": "web"}, "annotations": {"team": "a"}},
        "spec": {
            "replicas": N,
            "selector": {"app": "web"},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "app", "image": "app:v1"}]},
            },
        },
    })
}

impl World {
    fn new(rename: bool) -> Self {
        let next_name = if rename { "foo-123" } else { "bar" };
        let facts = Facts {
            old_name: "foo".to_owned(),
            next_name: next_name.to_owned(),
            rename,
            rollback: false,
            key: LABEL_KEY.to_owned(),
            old: Some(controller()),
            next: None,
            pods: Vec::new(),
            wanted: None,
        };
        let mut world = Self { facts, image: "app:v2", serial: 0, created: 0, deleted: 0 };
        world.settle();
        world.created = 0;
        world
    }

    /// What the controller does for one of the two.
    fn manage(&mut self, controller: &mut Value) {
        let uid = controller["metadata"]["uid"].clone();
        let selector = controller["spec"]["selector"].as_object().cloned().expect("a selector");
        let fits = |pod: &Value| selector.iter().all(|(key, value)| pod["metadata"]["labels"][key] == *value);
        let owner = json!([{"controller": true, "uid": uid}]);
        for pod in &mut self.facts.pods {
            let owned = pod["metadata"]["ownerReferences"] == owner;
            if owned && !fits(pod) {
                pod["metadata"]["ownerReferences"] = json!([]);
            } else if fits(pod) && pod["metadata"]["ownerReferences"] == json!([]) {
                pod["metadata"]["ownerReferences"] = owner.clone();
            }
        }
        let mut has = self.facts.pods_of(controller).count();
        let template = controller["spec"]["template"].clone();
        let wants = usize::try_from(size(controller)).expect("a size");
        while has < wants && template["spec"]["priorityClassName"] != NO_CLASS {
            self.serial += 1;
            self.created += 1;
            has += 1;
            let metadata = json!({"name": format!("pod-{}", self.serial), "uid": format!("p-{}", self.serial),
                "labels": template["metadata"]["labels"], "ownerReferences": owner});
            self.facts.pods.push(json!({"metadata": metadata}));
        }
        while has > wants {
            let last = self.facts.pods.iter().rposition(|pod| pod["metadata"]["ownerReferences"] == owner);
            self.facts.pods.remove(last.expect("a pod"));
            self.deleted += 1;
            has -= 1;
        }
        let labels = template["metadata"]["labels"].as_object().cloned().expect("labels");
        let is_full =
            |pod: &&Value| labels.iter().all(|(key, value)| pod["metadata"]["labels"][key] == *value);
        let full = self.facts.pods_of(controller).filter(is_full).count();
        controller["status"] = json!({
            "observedGeneration": controller["metadata"]["generation"],
            "replicas": has, "availableReplicas": has, "fullyLabeledReplicas": full,
        });
    }

    fn settle(&mut self) {
        for is_old in [true, false] {
            let place = if is_old { &mut self.facts.old } else { &mut self.facts.next };
            if let Some(mut controller) = place.take() {
                let present = controller.clone();
                *(if is_old { &mut self.facts.old } else { &mut self.facts.next }) = Some(present);
                self.manage(&mut controller);
                *(if is_old { &mut self.facts.old } else { &mut self.facts.next }) = Some(controller);
            }
        }
    }

    fn place(&mut self, name: &str) -> &mut Option<Value> {
        if name == "foo" { &mut self.facts.old } else { &mut self.facts.next }
    }

    fn write(&mut self, write: &Write) {
        match &write.change {
            Change::Create(object) => {
                let name = object["metadata"]["name"].as_str().expect("a name").to_owned();
                let mut object = object.clone();
                let uid = format!("u-{name}-{}", self.serial);
                merge(&mut object, &json!({"metadata": {"uid": uid, "generation": 1}}));
                assert!(self.place(&name).is_none(), "{name} is there already");
                *self.place(&name) = Some(object);
            }
            Change::Patch { name, patch } | Change::Up { name, patch } => {
                let controller = self.place(name).as_mut().expect("a controller");
                merge(controller, patch);
                let generation = controller["metadata"]["generation"].as_i64().expect("a number");
                controller["metadata"]["generation"] = json!(generation + 1);
            }
            Change::PatchPod { name: wanted, patch } => {
                let pod = self.facts.pods.iter_mut().find(|pod| name(pod) == wanted);
                merge(pod.expect("the pod"), patch);
            }
            Change::Delete { name, uid, .. } => {
                for pod in &mut self.facts.pods {
                    if pod["metadata"]["ownerReferences"][0]["uid"] == **uid {
                        pod["metadata"]["ownerReferences"] = json!([]);
                    }
                }
                *self.place(name) = None;
            }
        }
    }

    /// Writes so often, or to the end; the controller acts after every write. Returns how often it wrote, or what it is
    /// stuck at.
    fn run(&mut self, writes: usize) -> Result<usize, String> {
        let mut last = String::new();
        for written in 0..writes {
            let old = self.facts.old.clone().filter(|old| !is_held(old));
            let wanted =
                old.map(|old| Wanted::with_image(&old, LABEL_KEY, self.image, None).expect("one container"));
            self.facts.wanted = wanted.filter(|_| !self.facts.rollback);
            match next(&self.facts) {
                Next::Write(write) => {
                    assert_ne!(write.says, last, "the same again");
                    self.write(&write);
                    self.settle();
                    last = write.says.clone();
                }
                Next::Wait(what) => panic!("waits for ever for {what}"),
                Next::Done => return Ok(written),
                Next::Stuck(reason) => return Err(reason),
            }
            let pods = i64::try_from(self.facts.pods.len()).expect("few");
            assert!((N..=N + 1).contains(&pods), "{pods} pods after: {last}");
        }
        Ok(writes)
    }

    fn old(&self) -> &Value {
        self.facts.old.as_ref().expect("foo")
    }

    /// The end: one controller, all pods its own, nothing left for a crash.
    fn is_over(&self, controller: &Value, image: &str) {
        assert_eq!(images(controller), [("app", image)]);
        assert_eq!(size(controller), N);
        assert!(is_unique(controller, LABEL_KEY), "{controller:#}");
        assert!(!is_noted(controller) && !is_held(controller), "{controller:#}");
        assert_eq!(controller["spec"]["template"]["spec"].get("priorityClassName"), None);
        assert_eq!(controller["metadata"]["annotations"], json!({"team": "a"}));
        assert_eq!(self.facts.pods_of(controller).count(), 3);
        assert_eq!(self.facts.pods.len(), 3);
    }
}

#[test]
fn an_update_is_these_writes() {
    let mut world = World::new(true);
    let mut says = Vec::new();
    loop {
        let before = world.clone();
        if world.run(1) == Ok(0) {
            break;
        }
        if let Next::Write(write) = next(&Facts { wanted: world.facts.wanted.clone(), ..before.facts }) {
            says.push(write.says);
        }
    }
    assert_eq!(
        says,
        [
            "prepare replicationcontroller/foo for an update to replicationcontroller/foo-123",
            "label pod/pod-1",
            "label pod/pod-2",
            "label pod/pod-3",
            "let replicationcontroller/foo select its own pods only",
            "create replicationcontroller/foo-123",
            "scale replicationcontroller/foo-123 up to 1",
            "scale replicationcontroller/foo down to 2",
            "scale replicationcontroller/foo-123 up to 2",
            "scale replicationcontroller/foo down to 1",
            "scale replicationcontroller/foo-123 up to 3",
            "scale replicationcontroller/foo down to 0",
            "delete replicationcontroller/foo and leave its pods, if any",
            "create replicationcontroller/foo like replicationcontroller/foo-123",
            "delete replicationcontroller/foo-123 and leave its pods, if any",
            "let replicationcontroller/foo create pods",
        ]
    );
    world.is_over(world.old(), "app:v2");
    assert_eq!((world.created, world.deleted), (N, N));
}

#[test]
fn every_state_leads_on() {
    for rename in [true, false] {
        let writes = World::new(rename).run(usize::MAX).expect("a way");
        for stop in 0..=writes {
            let mut world = World::new(rename);
            world.run(stop).expect("a way");
            world.run(usize::MAX).expect("a way on");
            let controller = if rename { world.old() } else { world.facts.next.as_ref().expect("bar") };
            world.is_over(controller, "app:v2");
            assert_eq!((world.created, world.deleted), (N, N), "after {stop}");
            // And the next update of the same name.
            if rename {
                world.image = "app:v3";
                world.run(usize::MAX).expect("another");
                world.is_over(world.old(), "app:v3");
            }
        }
    }
}

#[test]
fn every_state_before_the_rename_leads_back_and_on_again() {
    let writes = World::new(true).run(usize::MAX).expect("a way");
    for stop in 1..writes - 3 {
        for stop_of_rollback in 0..writes {
            let mut world = World::new(true);
            world.run(stop).expect("a way");
            world.facts.rollback = true;
            world.run(stop_of_rollback).expect("a way back");
            let mut again = world.clone();
            world.run(usize::MAX).expect("a way back");
            if is_unique(world.old(), LABEL_KEY) {
                world.is_over(world.old(), "app:v1");
            }
            assert!(world.facts.next.is_none() && !is_noted(world.old()));
            again.facts.rollback = false;
            again.run(usize::MAX).expect("and on again");
            again.is_over(again.old(), "app:v2");
        }
    }
}

#[test]
fn a_rename_goes_on_only() {
    let writes = World::new(true).run(usize::MAX).expect("a way");
    for stop in writes - 3..writes {
        let mut world = World::new(true);
        world.run(stop).expect("a way");
        world.facts.rollback = true;
        let reason = world.run(1).expect_err("too late");
        assert!(reason.contains("without --rollback") || reason.contains("run it to its end"), "{reason}");
    }
}

#[test]
fn another_image_waits_for_the_end() {
    let mut world = World::new(true);
    world.run(8).expect("a way");
    world.image = "app:v3";
    let reason = world.run(1).expect_err("an update is under way");
    assert!(reason.contains("with app:v2, and this asks for app:v3"), "{reason}");
}

#[test]
fn a_missing_note_is_filled_in_from_the_size() {
    let mut world = World::new(true);
    world.run(6).expect("a way");
    let next = world.facts.next.as_mut().expect("the next");
    next["metadata"]["annotations"].as_object_mut().expect("annotations").remove(DESIRED);
    world.run(1).expect("a way");
    assert_eq!(desired(world.facts.next.as_ref().expect("the next")), Some(N));
}

#[test]
fn several_containers_need_a_name() {
    let mut old = controller();
    old["spec"]["template"]["spec"]["containers"] =
        json!([{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]);
    let failure = Wanted::with_image(&old, LABEL_KEY, "x", None).expect_err("which?").to_string();
    assert!(failure.contains("has the containers a, b; name the one"), "{failure}");
    let failure = Wanted::with_image(&old, LABEL_KEY, "x", Some("c")).expect_err("none").to_string();
    assert!(failure.contains("there is no container \"c\""), "{failure}");
    let wanted = Wanted::with_image(&old, LABEL_KEY, "x", Some("b")).expect("b");
    assert_eq!(images(&wanted.object), [("a", "i"), ("b", "x")]);
}
