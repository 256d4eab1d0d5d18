//! Recreate: whom it waits for, and when it asks (S7).

use plan::keys::condition;
use plan::{FailureAction, Pin, Pod, Strategy, Why};

use crate::rollwright::check;
use crate::rollwright::failing::{declare, good, named, scale};
use crate::world::{Set, World, ours, set, template};

fn recreate() -> World {
    ours().that(|it| it.strategy = Strategy::Recreate)
}

fn in_step(image: &str, size: i64, revision: &str) -> Set {
    set(image, size).revision(revision).scaled_for("3", "3")
}

/// A pod of the ReplicaSet `web-b`.
fn with_pod(mut world: World, phase: &str) -> World {
    let controller_uid = Some(world.find("web-b").uid.clone());
    world.pods = vec![Pod { controller_uid, phase: phase.to_owned() }];
    world
}

#[test]
fn the_new_set_comes_when_the_last_old_pod_has_gone() {
    let emptied = || recreate().with(in_step("b", 0, "1"));
    let created: &[&str] = &[
        "ask template",
        "ask dry run",
        "ask pods",
        "create (new) size=3 desired-replicas=3 max-replicas=3 revision=2 fingerprints=<a>",
        "event ScalingReplicaSet",
        "status revision=2",
    ];
    let waits: &[&str] = &["ask template", "ask dry run", "ask pods", "status"];
    for phase in ["Running", "Pending", "Unknown", ""] {
        check(phase, with_pod(emptied(), phase), &[waits]);
    }
    for phase in ["Failed", "Succeeded"] {
        check(phase, with_pod(emptied(), phase), &[created]);
    }
    let mut foreign = with_pod(emptied(), "Running");
    foreign.pods = vec![Pod { controller_uid: Some("other".to_owned()), phase: "Running".to_owned() }];
    check("a pod of somebody else", foreign, &[created]);
    let mut reported = with_pod(emptied(), "Failed");
    reported.find_mut("web-b").status.replicas = 1;
    check("the set still reports one", reported, &[&["ask template", "ask dry run", "status"]]);
}

/// Another template is declared while the pods of the first one still terminate (UM-16).
#[test]
fn progress_names_no_earlier_set() {
    let mut world = recreate().that(|it| it.progress_deadline_seconds = Some(600)).with(in_step("b", 0, "1"));
    world.reconcile();
    let mut world = with_pod(world, "Running");
    world.set_template(template("c"));
    world.settle(5);
    let progressing = world.observed.workload.status.condition(condition::PROGRESSING).unwrap();
    assert_eq!(progressing.message, "Deployment \"web\" is progressing.");
}

/// A settled Deployment costs no request.
#[test]
fn pods_are_asked_for_only_where_they_would_hold_something_up() {
    let settled = recreate().with(in_step("b", 0, "1")).with(in_step("a", 3, "2"));
    check("settled", settled, &[&["status revision=2"], &[]]);
}

/// kubernetes#125568: R changes while old pods terminate, and the new ReplicaSet is the only one with pods.
#[test]
fn a_change_of_size_brings_no_pods_beside_old_ones() {
    let scaled = |replicas: i64, paused: bool| {
        let world = recreate().with(in_step("b", 0, "1")).with(in_step("a", 3, "2"));
        world.that(|it| (it.replicas, it.paused) = (replicas, paused))
    };
    let grown = |mut world: World, phase: &str| {
        world.pods = with_pod(world.clone(), phase).pods;
        world.settle(5);
        world.find("web-a").size
    };
    for paused in [false, true] {
        assert_eq!(grown(scaled(7, paused), "Running"), 3, "paused: {paused}");
        assert_eq!(grown(scaled(7, paused), "Failed"), 7, "paused: {paused}");
        assert_eq!(grown(scaled(2, paused), "Running"), 2, "paused: {paused}");
    }
    assert_eq!(with_pod(scaled(7, false), "Running").plan().why, Why::WaitingForTermination);
}

/// The same where a pin names nothing: what serves follows R, but not beside pods of another ReplicaSet.
#[test]
fn a_pin_of_nothing_brings_no_pods_beside_old_ones() {
    let pin = Pin { pod_template_hash: "missing".to_owned(), template_fingerprint: None, reason: None };
    let world = recreate().with(in_step("b", 0, "1")).with(in_step("a", 3, "2"));
    let world = world.that(|it| (it.replicas, it.pin) = (7, Some(pin)));
    for (phase, size) in [("Running", 3), ("Failed", 7)] {
        let mut world = with_pod(world.clone(), phase);
        world.settle(5);
        assert_eq!(world.find("web-a").size, size, "{phase}");
    }
}

/// The same while a failure is held: neither the failed ReplicaSet grows (FP-10), nor another one beside it.
#[test]
fn a_held_failure_brings_no_pods_beside_those_that_failed() {
    let mut world = good(FailureAction::Stop).that(|it| it.strategy = Strategy::Recreate);
    declare(&mut world, "c", 700, &["c"]);
    let failed = named(&world, "c");
    let sizes = |world: &World| (world.find("web-b").size, world.find(&failed).size);
    assert_eq!(sizes(&world), (0, 3));
    scale(&mut world, 5, 60, &["c"]);
    assert_eq!(sizes(&world), (0, 3));
    scale(&mut world, 2, 60, &["c"]);
    assert_eq!(sizes(&world), (0, 2));
}
