//! What users went back from, or what failed, gets no pods (UM-1, UM-9). The simulator found each of these.

use plan::keys::{ABORT, HASH_LABEL, ROLLOUT};
use plan::{BakeRecord, FailureAction, Pin};

use crate::rollwright::failing::{self, memory, named, policy, remember};
use crate::rollwright::meant::all;
use crate::rollwright::pinning::target;
use crate::rollwright::stepping::{declare, play, scale, stepped};
use crate::world::{World, template};

/// A change of R gave a canary more pods, although a user had gone back from it.
#[test]
fn a_way_back_and_more_replicas_add_no_pod_to_what_it_leaves() {
    for list in [&["30%/promoted"][..], &["30%/promoted", "60%/promoted"]] {
        let mut world = stepped(10, list);
        for name in ["web-a", "web-b"] {
            world.find_mut(name).annotations.remove(ROLLOUT);
        }
        declare(&mut world, "c", 30, &["a", "b", "c"]);
        let canary = named(&world, "c");
        let size = world.find(&canary).size;
        world.set_template(template("b"));
        world.observed.workload.replicas = 20;
        for _ in 0..60 {
            play(&mut world, 1, &["c"]);
            assert!(world.find(&canary).size <= size, "{:?}", all(&world));
        }
        assert_eq!(all(&world), [0, 20, 0]);
    }
}

/// Where nothing is good, a canary was kept before the revision that it should replace.
#[test]
fn a_canary_is_not_kept_before_what_serves() {
    let mut world = stepped(10, &["7/promoted"]);
    declare(&mut world, "c", 60, &[]);
    assert_eq!(all(&world), [0, 3, 7]);
    let web_b = world.find_mut("web-b");
    web_b.annotations.remove(ROLLOUT);
    // Nobody takes it for good.
    web_b.status.available = 1;
    world.set_template(template("a"));
    world.proceed();
    assert_eq!(memory(&world, "web-a")["steps"]["kept"], "web-b");
}

/// A good revision that returns had steps, and what was left of the others, or was complete and baked, grew for them.
#[test]
fn a_good_revision_that_returns_adds_no_pods_to_those_that_are_not() {
    for (replicas, size) in [(10, 4), (2, 2)] {
        let mut world = stepped(replicas, &["2/promoted"]).that(|it| it.good_skips_steps = false);
        for (name, size) in [("web-a", 0), ("web-b", size)] {
            let set = world.find_mut(name);
            (set.size, set.status.replicas, set.status.available) = (size, size, size);
            set.annotations.remove(ROLLOUT);
        }
        remember(&mut world, "web-a", 1, "Good");
        let bake = BakeRecord { revision: 2, since: world.now };
        world.observed.workload.status.ours.bake = Some(bake).filter(|_| size == replicas);
        declare(&mut world, "a", 1, &[]);
        scale(&mut world, 10, 60, &[]);
        assert_eq!(all(&world), [10, 0]);
    }
}

/// In the rollout of the next template, a change of R gave pods to a revision that had failed.
#[test]
fn what_failed_does_not_grow_with_the_replicas_of_the_next_rollout() {
    let mut world = stepped(10, &[]).that(|it| it.failure_policy = policy(FailureAction::Revert));
    declare(&mut world, "c", 1, &[]);
    let failed = named(&world, "c");
    remember(&mut world, &failed, 3, "Failed");
    declare(&mut world, "d", 1, &["d"]);
    let size = world.find(&failed).size;
    assert!(size > 0);
    world.observed.workload.replicas = 20;
    for _ in 0..60 {
        play(&mut world, 1, &["d"]);
        assert!(world.find(&failed).size <= size, "{:?}", all(&world));
    }
}

/// Somebody aborted what had failed already, and its revert got a second record. While it was paused without pods, its
/// target was still Reverted.
#[test]
fn an_abort_of_what_is_reverted_opens_no_record() {
    for is_paused in [false, true] {
        let mut world = failing::good(FailureAction::Revert);
        failing::declare(&mut world, "c", 700, &["c"]);
        let records = |world: &World| world.observed.workload.status.ours.history.id;
        let (before, reason) = (records(&world), |world: &World| target(world).unwrap().reason.clone());
        assert_eq!(reason(&world), "Reverted");
        if is_paused {
            failing::scale(&mut world, 0, 10, &["c"]);
            world.observed.workload.paused = true;
        }
        failing::request(&mut world, ABORT, "3", 60, &["c"]);
        assert_eq!((records(&world), reason(&world).as_str()), (before, "Aborted"), "paused: {is_paused}");
    }
}

/// A canary that came back to the steps it had left made a good revision one that its user had put aside: the next
/// canary got all pods, once there were any.
#[test]
fn a_canary_that_never_left_its_steps_puts_nothing_aside() {
    let mut world = stepped(10, &["30%/promoted"]).that(|workload| workload.revision_history_limit = Some(1));
    for text in ["c", "b", "c"] {
        declare(&mut world, text, 40, &[]);
    }
    assert_eq!((world.find("web-b").size, world.find(&named(&world, "c")).size), (7, 3));
    scale(&mut world, 0, 10, &[]);
    declare(&mut world, "d", 10, &[]);
    scale(&mut world, 10, 40, &[]);
    assert_eq!((world.find("web-b").size, world.find(&named(&world, "d")).size), (7, 3), "{:?}", all(&world));
}

/// Without replicas, a ReplicaSet that had failed was kept as long as its controller reported its last pods. Once there
/// were replicas again, it got most of them.
#[test]
fn last_pods_that_are_still_reported_do_not_keep_what_failed() {
    for (available, reported) in [(10, 10), (0, 10), (0, 0)] {
        let mut world = stepped(10, &["30%/promoted"]);
        for (name, revision) in [("web-a", 1), ("web-b", 2)] {
            remember(&mut world, name, revision, "Failed");
        }
        scale(&mut world, 0, 5, &[]);
        let status = &mut world.find_mut("web-b").status;
        (status.replicas, status.ready, status.available) = (reported, available, available);
        world.set_template(template("c"));
        world.proceed();
        play(&mut world, 5, &[]);
        scale(&mut world, 10, 40, &[]);
        assert_eq!(all(&world), [0, 0, 10], "{available} of {reported} available");
    }
}

/// Of three canaries in a row, the next one kept the second, and the way back to that took all pods without a promotion.
#[test]
fn a_way_back_to_a_canary_does_not_leave_its_steps() {
    let mut world = stepped(8, &["50%/promoted"]);
    let on_its_way = r#"{"version":1,"revision":2,"steps":{"kept":"web-a","list":"x","step":1}}"#;
    world.find_mut("web-b").annotations.insert(ROLLOUT.to_owned(), on_its_way.to_owned());
    for text in ["c", "d", "c"] {
        declare(&mut world, text, 40, &[]);
    }
    assert_eq!((world.find(&named(&world, "c")).size, world.find(&named(&world, "d")).size), (4, 4));
}

/// What a pin has run since with all pods is no canary: the way back to it has no steps.
#[test]
fn what_a_pin_ran_is_no_canary() {
    let mut world = stepped(8, &["50%/promoted"]);
    declare(&mut world, "c", 40, &[]);
    world.set_template(template("d"));
    let canary = named(&world, "c");
    let hash = world.find(&canary).labels[HASH_LABEL].clone();
    world.observed.workload.pin = Some(Pin { pod_template_hash: hash, ..Pin::default() });
    play(&mut world, 40, &[]);
    assert_eq!(world.find(&canary).size, 8);
    world.observed.workload.pin = None;
    for text in ["e", "c"] {
        declare(&mut world, text, 40, &[]);
    }
    assert_eq!((world.find(&canary).size, world.find(&named(&world, "e")).size), (8, 0));
}
