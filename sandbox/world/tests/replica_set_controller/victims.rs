//! Which pod goes first when a ReplicaSet shrinks (S9.21).

use super::*;

/// Five pods of `web`; `spoil` makes one of them the first to go.
fn victim(spoil: impl Fn(&mut World, &Object)) -> (String, Vec<String>) {
    let mut world = World::new(&[set("web", 5), set("api", 1)]);
    world.settle("web");
    let pods: Vec<Object> = world.pods();
    for pod in &pods {
        world.store.bind(&Key::of(pod), &format!("node-{}", pod.name())).unwrap();
        world.run(pod, Some(start()));
    }
    world.store.set_now(start() + SignedDuration::from_secs(1000));
    spoil(&mut world, &pods[3]);
    world.scale("web", 4);
    world.catch_up();
    world.step("web");
    // What is marked only is as gone.
    let left =
        world.pods().into_iter().filter(|pod| !pod.is_deleting()).map(|pod| pod.name().to_owned()).collect();
    (pods[3].name().to_owned(), left)
}

#[test]
fn the_worst_pod_goes_first() {
    type Spoil = fn(&mut World, &Object);
    let container = |restarts: i64| json!({"status": {"containerStatuses": [{"name": "main", "restartCount": restarts}]}});
    let cases: [(&str, Spoil); 7] = [
        ("unassigned", |world, pod| {
            world.change(pod, json!({"spec": {"nodeName": null}}), Subresource::Main);
        }),
        ("pending", |world, pod| {
            world.change(pod, json!({"status": {"phase": "Pending"}}), Subresource::Status);
        }),
        ("unknown", |world, pod| {
            world.change(pod, json!({"status": {"phase": "Unknown"}}), Subresource::Status);
        }),
        ("not ready", |world, pod| world.run(pod, None)),
        ("cheap", |world, pod| {
            let cost = json!({"controller.kubernetes.io/pod-deletion-cost": "-1"});
            world.change(pod, json!({"metadata": {"annotations": cost}}), Subresource::Main);
        }),
        ("crowded", |world, pod| {
            // A sibling's pod on the same node.
            world.settle("api");
            let other = world.pods().into_iter().find(|pod| pod.label("app") == Some("api")).unwrap();
            let node = world.store.get(&Key::of(pod)).unwrap().spec["nodeName"].as_str().unwrap().to_owned();
            world.store.bind(&Key::of(&other), &node).unwrap();
        }),
        ("ready for less time", |world, pod| world.run(pod, Some(start() + SignedDuration::from_secs(900)))),
    ];
    for (why, spoil) in cases {
        let (worst, left) = victim(spoil);
        assert!(!left.contains(&worst), "{why}");
    }
    let (worst, left) = victim(|world, pod| world.change(pod, container(2), Subresource::Status));
    assert!(!left.contains(&worst), "restarted");
}

/// Always takes the last.
struct Last;

impl Chance for Last {
    fn pick(&mut self, n: usize) -> usize {
        n - 1
    }
}

#[test]
fn a_tie_is_the_drivers_to_break() {
    let left = |chance: &mut dyn Chance| {
        let mut world = World::new(&[set("web", 3)]);
        world.settle("web");
        let names = world.names();
        world.scale("web", 2);
        world.catch_up();
        world.controller.step(&mut world.store, &key("web"), chance);
        (names, world.names())
    };
    let (all, after_first) = left(&mut First);
    assert_eq!(after_first, all[1..]);
    let (all, after_last) = left(&mut Last);
    assert_eq!(after_last, all[..2]);
}

#[test]
fn what_is_ready_for_about_the_same_time_is_a_tie() {
    // 900 s and 1000 s have the same logarithm, restarts don't matter then; 100 s has another.
    let mut world = World::new(&[set("web", 3)]);
    world.settle("web");
    let pods = world.pods();
    for (pod, seconds) in pods.iter().zip([100, 0, 900]) {
        world.run(pod, Some(start() + SignedDuration::from_secs(seconds)));
    }
    let restarted = json!({"status": {"containerStatuses": [{"name": "main", "restartCount": 3}]}});
    world.change(&pods[1], restarted, Subresource::Status);
    world.store.set_now(start() + SignedDuration::from_secs(1000));
    world.scale("web", 1);
    world.catch_up();
    world.controller.step(&mut world.store, &key("web"), &mut First);
    // The youngest goes first; of the others the choice is the driver's, and that is the first.
    assert_eq!(world.names(), [pods[1].name()]);
}
