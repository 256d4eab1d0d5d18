//! The end of a timed wait at a step (SP-5).

use jiff::SignedDuration;
use plan::intstr::IntOrPercent;
use plan::keys::{ABORT, PROMOTE};
use plan::{Action, Failure, Pin, Planned, Strategy, Until, Verdict};

use crate::rollwright::failing::{come_up, named};
use crate::rollwright::stepping::{declare, play, request, sizes, step, stepped};
use crate::world::{World, template};

/// Revision 3 of ten pods on its way through these steps, without surge.
fn without_surge(list: &[&str]) -> World {
    let mut world = stepped(10, list).that(|it| {
        let pods = |number| Some(IntOrPercent::Int(number));
        it.strategy = Strategy::RollingUpdate { max_surge: pods(0), max_unavailable: pods(1) };
    });
    world.set_template(template("c"));
    world
}

/// Without replicas, the kept ReplicaSet was cut, and the write that stops the clock was lost.
#[test]
fn a_wait_starts_again_after_a_clock_that_did_not_stop() {
    let mut world = stepped(4, &["1/30", "2/promoted"]);
    declare(&mut world, "c", 20, &[]);
    world.observed.workload.replicas = 0;
    let is_cut = |planned: &&Planned| match &planned.action {
        Action::UpdateReplicaSet(update) => update.target.name == "web-b",
        _ => false,
    };
    let plan = world.plan();
    world.act(&plan.actions.iter().find(is_cut).unwrap().action);
    come_up(&mut world, &[]);
    assert_eq!(sizes(&world), "0+1");
    world.observed.workload.replicas = 4;
    let since = world.now + SignedDuration::from_secs(28);
    while world.now < since {
        play(&mut world, 1, &[]);
        assert!(sizes(&world).ends_with("+1"), "{}", sizes(&world));
    }
    play(&mut world, 20, &[]);
    assert_eq!(sizes(&world), "2+2");
}

/// SP-5: whole seconds are stored, and none of a wait is lost by that.
#[test]
fn a_wait_is_not_shorter_than_its_seconds() {
    let mut world = without_surge(&["3/1"]);
    world.now += SignedDuration::from_millis(900);
    while play(&mut world, 1, &[]).events.iter().all(|event| event.reason != "StepReached") {}
    let reached = world.now;
    world.now += SignedDuration::from_millis(100);
    assert!(world.plan().actions.is_empty(), "a tenth of a second is over");
    world.now = reached + SignedDuration::from_millis(1_100);
    assert!(!world.plan().actions.is_empty(), "the second is over");
}

/// A step may have `approval` and `waitSeconds`.
#[test]
fn a_step_with_two_conditions_waits_for_both() {
    let mut world = without_surge(&["3/60"]);
    world.observed.workload.steps[0].until.push(Until::Promoted);
    assert_eq!(play(&mut world, 300, &[]).path.last().unwrap(), "7+3");
    let words = world.plan().why.to_string();
    assert!(words.ends_with("Z and until somebody promotes it"), "{words}");
    assert_eq!(request(&mut world, PROMOTE, "3/all", 60, &[]).path.last().unwrap(), "0+10");
}

/// SP-3: while the rollout waits, all pods are there.
#[test]
fn without_surge_an_old_pod_goes_first() {
    let mut world = without_surge(&["2/promoted"]);
    let path = play(&mut world, 30, &[]).path;
    assert!(path.ends_with(&["9+0", "9+1", "8+1", "8+2"].map(str::to_owned)), "{path:?}");
    let path = request(&mut world, PROMOTE, "3/all", 60, &[]).path;
    assert_eq!(path[..4], ["8+2", "7+2", "7+3", "6+3"], "{path:?}");
    assert_eq!(path.last().unwrap(), "0+10");
}

/// The reconcile that ends a rest cuts the kept ReplicaSet before the other one grows, and remembers the step with
/// that.
#[test]
fn a_kill_at_the_end_of_a_rest_does_not_let_the_kept_set_grow_again() {
    for list in [&["3/60"] as &[_], &["3/60", "30%", "50%"], &["3", "50%"]] {
        let mut world = without_surge(list);
        while sizes(&world) != "7+3" {
            play(&mut world, 1, &[]);
        }
        while sizes(&world) == "7+3" {
            world.wait(1);
            let plan = world.plan();
            let Some(first) = plan.actions.first() else { continue };
            world.act(&first.action);
        }
        assert_eq!(sizes(&world), "6+3", "killed after the cut");
        let path = play(&mut world, 60, &[]).path;
        assert_eq!(path[..3], ["6+3", "6+4", "5+4"], "{path:?}");
        assert_eq!(sizes(&world), "0+10");
    }
}

/// SP-5: at R = 0 the time stands still, and no second of the wait is lost by that either.
#[test]
fn a_wait_that_stood_still_has_its_whole_time() {
    let mut world = without_surge(&["3/10"]);
    let wait = |world: &mut World, milliseconds| {
        world.now += SignedDuration::from_millis(milliseconds);
        play(world, 1, &[]);
        world.now
    };
    world.now += SignedDuration::from_millis(900);
    while step(&world).is_none_or(|it| it.rest_start_time.is_none()) {
        play(&mut world, 1, &[]);
    }
    let reached = world.now;
    world.observed.workload.replicas = 0;
    let stopped = wait(&mut world, 100);
    play(&mut world, 5, &[]);
    world.observed.workload.replicas = 10;
    let back = wait(&mut world, 900);
    while step(&world).is_some_and(|it| it.step == Some(1)) {
        wait(&mut world, -900);
    }
    let took = stopped.duration_since(reached) + world.now.duration_since(back);
    assert!((10.0..11.1).contains(&took.as_secs_f64()), "{took}");
}

/// HI-1: a pin goes together with all replicas while its rollout runs. The record that is open then is that of the
/// rest.
#[test]
fn without_replicas_a_rest_after_a_pin_has_its_record() {
    let mut world = stepped(10, &["30%/promoted"]);
    declare(&mut world, "c", 30, &[]);
    let open = |world: &World| world.observed.workload.status.ours.rollout.as_ref().map(|it| it.revision);
    world.observed.workload.pin = Some(Pin { pod_template_hash: "b".to_owned(), ..Pin::default() });
    world.proceed();
    assert_eq!(open(&world), Some(2));
    (world.observed.workload.pin, world.observed.workload.replicas) = (None, 0);
    world.observed.sets.iter_mut().for_each(|set| set.size = 0);
    come_up(&mut world, &[]);
    world.proceed();
    assert_eq!((open(&world), step(&world).and_then(|it| it.step)), (Some(3), Some(1)));
}

/// A third revision comes beside dead pods of the second one: it is created, a dead pod is cut, and the kept ReplicaSet
/// grows. If the cut is refused, the plan that comes next must know of the ReplicaSet that was created.
#[test]
fn a_refused_cut_after_a_creation_ends_the_reconcile() {
    let mut world = stepped(10, &["30%/promoted"]);
    declare(&mut world, "c", 30, &[]);
    let second = named(&world, "c");
    for set in &mut world.observed.sets {
        set.size += if set.name == second {
            2
        } else if set.name == "web-b" {
            -1
        } else {
            0
        };
    }
    come_up(&mut world, &["c"]);
    world.set_template(template("d"));
    let plan = world.plan();
    let resized = |planned: &Planned| match &planned.action {
        Action::UpdateReplicaSet(update) => update.size_to - update.size_from,
        _ => 0,
    };
    let place = |wanted: &dyn Fn(&Planned) -> bool| plan.actions.iter().position(wanted).unwrap();
    let created = place(&|planned| matches!(planned.action, Action::CreateReplicaSet(_)));
    let (cut, grows) = (place(&|planned| resized(planned) < 0), place(&|planned| resized(planned) > 0));
    assert!(created < cut && cut < grows, "{plan:#?}");
    let refused = Failure::Refused("the webhook says no".to_owned());
    let after = plan::after_failure(&world.observed, &plan, cut, &refused, world.now);
    assert!(matches!(after.verdict, Verdict::Retry(_)), "{:?}", after.verdict);
}

/// A revision that is declared again has more pods than its first step allows, and cannot shrink to that, since the kept
/// ReplicaSet does not serve. Once, the time of the step ran unseen, and no timer ended it.
#[test]
fn the_time_of_a_step_does_not_run_while_more_pods_are_updated() {
    let mut world = stepped(3, &["2/5"]);
    declare(&mut world, "c", 60, &[]);
    assert_eq!(sizes(&world), "0+3");
    // Revision 3 is given up, revision 2 does not come up, and revision 3 returns.
    request(&mut world, ABORT, "3", 10, &["b"]);
    declare(&mut world, "b", 10, &["b"]);
    declare(&mut world, "c", 60, &["b"]);
    assert_eq!(sizes(&world), "1+3");
    assert_eq!(world.plan().why.to_string(), "waiting for pods of web-b: 0 of 1 available");
    // Its time begins with the sizes of the step, and then the rollout ends.
    play(&mut world, 3, &[]);
    assert_eq!((sizes(&world).as_str(), step(&world).unwrap().rest_start_time.is_some()), ("1+2", true));
    play(&mut world, 10, &[]);
    assert_eq!(sizes(&world), "0+3");
}
