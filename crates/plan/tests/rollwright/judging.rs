//! When a revision is judged, by its progress and after its rollout (FP-1 to FP-5, FP-8).

use jiff::SignedDuration;
use plan::intstr::IntOrPercent;
use plan::keys::{ABORT, ROLLOUT, condition};
use plan::{
    Action, BakeRecord, End, FailureAction, FailurePolicy, Flavour, Outcome, Pin, Plan, Requeue, Strategy,
    Transition, transitions,
};
use serde_json::Value;

use crate::rollwright::evidence::{by, restart, rolling};
use crate::rollwright::failing::{come_up, declare, good, memory, named, play, policy, request, scale};
use crate::rollwright::pinning::{complete, count, says, target};
use crate::world::{Kstatus, World, set, template, written};

#[test]
fn neither_a_pause_nor_continue_nor_a_size_of_zero_is_judged() {
    let frozen: [fn(&mut World); 4] = [
        |world| world.observed.workload.paused = true,
        |world| world.observed.workload.replicas = 0,
        |world| world.observed.workload.failure_policy.as_mut().unwrap().action = FailureAction::Continue,
        |world| {
            world.observed.workload.pin =
                Some(Pin { pod_template_hash: named(world, "b"), ..Pin::default() });
        },
    ];
    for (number, freeze) in frozen.into_iter().enumerate() {
        let mut world = rolling(FailurePolicy { deadline: true, ..by(|policy| policy.restarts = Some(3)) });
        restart(&mut world, 0, 9);
        freeze(&mut world);
        play(&mut world, 900, &["c"]);
        let memory = memory(&world, &named(&world, "c"));
        assert_eq!(memory["verdict"], Value::Null, "case {number}");
        assert!(world.plan().awaited.is_none_or(|awaited| !awaited.is_judged), "case {number}");
    }
}

/// Late by the stored condition, but the operator was down while it moved.
#[test]
fn progress_that_no_status_reports_yet_counts() {
    let mut world = good(FailureAction::Revert);
    declare(&mut world, "c", 500, &["c"]);
    let name = named(&world, "c");
    world.wait(3600);
    world.find_mut(&name).status.ready = 1;
    world.proceed();
    assert_eq!(memory(&world, &name)["verdict"], Value::Null);
    assert_eq!(says(&world, condition::PROGRESSING).1, "ReplicaSetUpdated");
    // A change of R is none.
    play(&mut world, 500, &["c"]);
    scale(&mut world, 2, 200, &["c"]);
    assert!(target(&world).is_some());
}

#[test]
fn under_recreate_a_fallback_without_pods_shares_no_cause() {
    let mut world = good(FailureAction::Revert).that(|it| it.strategy = Strategy::Recreate);
    declare(&mut world, "c", 100, &["c"]);
    assert_eq!(world.find("web-b").size, 0);
    play(&mut world, 700, &["c"]);
    assert_eq!((target(&world).unwrap().revision, world.find("web-b").size), (Some(2), 3));
    assert_eq!(world.find(&named(&world, "c")).size, 0);
}

#[test]
fn the_bake_begins_once_it_is_complete_and_anew_after_too_few_were_available() {
    let baking = || policy(FailureAction::Revert).map(|policy| FailurePolicy { bake_seconds: 100, ..policy });
    // The only one with pods, and declared: it bakes like any other.
    let mut world = complete().that(|it| it.failure_policy = baking());
    play(&mut world, 50, &[]);
    assert_eq!(memory(&world, "web-b")["verdict"], Value::Null);
    // Too few, by one reading.
    world.find_mut("web-b").status.available = 1;
    world.proceed();
    play(&mut world, 90, &[]);
    assert_eq!(memory(&world, "web-b")["verdict"], Value::Null);
    // A pod less than all is within maxUnavailable of one.
    world.observed.workload.strategy =
        Strategy::RollingUpdate { max_surge: None, max_unavailable: Some(IntOrPercent::Int(1)) };
    world.find_mut("web-b").status.available = 2;
    world.proceed();
    play(&mut world, 30, &[]);
    assert_eq!(memory(&world, "web-b")["verdict"], "Good");
    // Half of the pods that there were, not of those that there will be.
    let mut world = complete().that(|it| it.failure_policy = baking());
    let max_unavailable = Some(IntOrPercent::Text("50%".to_owned()));
    world.observed.workload.strategy = Strategy::RollingUpdate { max_surge: None, max_unavailable };
    play(&mut world, 20, &[]);
    world.observed.workload.replicas = 10;
    world.find_mut("web-b").status.available = 0;
    world.proceed();
    assert_eq!(world.observed.workload.status.ours.bake, None::<BakeRecord>);
    // A change of R does not interrupt it.
    let mut world = complete().that(|it| it.failure_policy = baking());
    play(&mut world, 20, &[]);
    let bake = world.observed.workload.status.ours.bake.clone();
    assert!(bake.is_some());
    for replicas in [10, 2] {
        scale(&mut world, replicas, 20, &[]);
        assert_eq!(world.observed.workload.status.ours.bake, bake, "R = {replicas}");
    }
    // Pods of another one are still there.
    let mut world = complete().that(|it| it.failure_policy = baking()).with(set("x", 1).revision("1"));
    world.proceed();
    assert_eq!(world.observed.workload.status.ours.bake, None::<BakeRecord>);
}

/// A change of R does not interrupt the bake, but has to be through.
#[test]
fn a_revision_is_good_only_while_it_has_enough_pods() {
    let mut world = complete().that(|it| {
        it.failure_policy =
            policy(FailureAction::Revert).map(|policy| FailurePolicy { bake_seconds: 100, ..policy });
    });
    play(&mut world, 20, &[]);
    world.observed.workload.replicas = 10;
    for available in [3, 10] {
        world.wait(200);
        world.proceed();
        assert_eq!(memory(&world, "web-b")["verdict"], Value::Null, "{available} follow");
        let set = world.find_mut("web-b");
        (set.status.replicas, set.status.ready, set.status.available) = (10, available, available);
        set.status.observed_generation = set.generation;
    }
    world.proceed();
    assert_eq!(memory(&world, "web-b")["verdict"], "Good");
}

#[test]
fn nothing_is_remembered_of_what_goes_or_is_newer() {
    let cases: [fn(&mut World); 2] = [
        |world| world.observed.workload.deleting = true,
        |world| world.observed.workload.unknown_field = Some("spec.later".to_owned()),
    ];
    for change in cases {
        let mut world = complete().that(|it| it.failure_policy = policy(FailureAction::Revert));
        change(&mut world);
        play(&mut world, 30, &[]);
        assert_eq!(memory(&world, "web-b"), Value::Null);
    }
}

#[test]
fn only_our_kind_is_judged() {
    let mut world = crate::world::world(Flavour::AppsV1).with(set("a", 0).revision("1"));
    world = world.template(template("b")).with(set("b", 3).revision("2").scaled_for("3", "4"));
    request(&mut world, ABORT, "2", 50, &[]);
    assert_eq!((memory(&world, "web-b"), target(&world)), (Value::Null, None));
}

/// The way back was complete; what is lost later is no matter of it.
#[test]
fn a_revert_that_was_complete_does_not_fail_later() {
    let mut world = good(FailureAction::Revert);
    declare(&mut world, "c", 700, &["c"]);
    assert_eq!(world.observed.workload.status.ours.rollout, None);
    play(&mut world, 900, &["b", "c"]);
    assert_eq!(says(&world, condition::PROGRESSING).1, "RolledBack");
    assert_eq!(says(&world, condition::AVAILABLE).0, "False");
}

#[test]
fn a_failure_is_counted_once_and_an_abort_is_none() {
    let failures = |world: &mut World| {
        let mut seen = Vec::new();
        for _ in 0..10 {
            world.wait(10);
            let plan = world.plan();
            for planned in &plan.actions {
                seen.extend(transitions(&world.observed.workload, &planned.action));
            }
            world.apply(&plan);
        }
        seen.retain(|transition| transition.is_failure());
        seen
    };
    let mut world = rolling(by(|policy| policy.restarts = Some(3)));
    restart(&mut world, 0, 3);
    assert_eq!(failures(&mut world), [Transition::Failed]);
    // Nor a pause, nor a pin that hides it for a while.
    for hide in [
        (|world: &mut World, is_on| world.observed.workload.paused = is_on) as fn(&mut World, bool),
        |world, is_on| {
            let pin = || Pin { pod_template_hash: "a".to_owned(), ..Pin::default() };
            world.observed.workload.pin = is_on.then(pin);
        },
    ] {
        for is_on in [true, false] {
            hide(&mut world, is_on);
            assert_eq!(failures(&mut world), []);
        }
    }
    // Late is late: the deadline counts, and what follows does not.
    let mut world = good(FailureAction::Revert);
    declare(&mut world, "c", 560, &["c"]);
    assert_eq!(failures(&mut world), [Transition::DeadlineExceeded]);
    assert!(target(&world).is_some());
    // After completion, and without a deadline, too.
    let policy = by(|policy| (policy.restarts, policy.bake_seconds) = (Some(3), 1000));
    let mut world = rolling(policy).that(|it| it.progress_deadline_seconds = None);
    play(&mut world, 50, &[]);
    assert_eq!(world.kstatus(), Kstatus::Current);
    restart(&mut world, 0, 3);
    assert_eq!(failures(&mut world), [Transition::Failed]);
    // Going back to what ran before that is the answer to it.
    world.set_template(template("b"));
    assert_eq!(failures(&mut world), []);
    let mut world = rolling(by(|policy| policy.restarts = Some(3)));
    world.observed.workload.annotations.insert(ABORT.to_owned(), "3".to_owned());
    assert_eq!(failures(&mut world), []);
    assert!(target(&world).is_some());
}

/// The last pod of the way back becomes available while a status is written: nothing else changes after that.
#[test]
fn the_record_of_a_way_back_closes_without_news() {
    let mut world = good(FailureAction::Revert);
    declare(&mut world, "c", 700, &["c"]);
    let ours = &mut world.observed.workload.status.ours;
    let record = plan::Record { revision: 2, ..plan::Record::default() };
    (ours.rollout, ours.history.length) = (Some(Box::new(record)), 0);
    let plan = world.plan();
    assert_eq!(written(&plan).map(|write| write.ended.len()), Some(1), "{:?}", plan.actions);
}

/// A pod is missing, within the limits, and the deadline of its rollout is long over.
#[test]
fn the_end_of_a_bake_is_looked_for_although_a_pod_is_missing() {
    let baking = policy(FailureAction::Revert).map(|policy| FailurePolicy { bake_seconds: 3600, ..policy });
    let mut world = complete().that(|it| it.failure_policy = baking);
    let max_unavailable = Some(IntOrPercent::Int(1));
    world.observed.workload.strategy = Strategy::RollingUpdate { max_surge: None, max_unavailable };
    play(&mut world, 20, &[]);
    let end =
        world.observed.workload.status.ours.bake.clone().unwrap().since + SignedDuration::from_secs(3600);
    world.wait(700);
    world.find_mut("web-b").status.available = 2;
    world.proceed();
    assert_eq!(world.plan().requeue, Requeue::Deadline(end));
}

/// What was noted when a rollout was held: how it ended, and why.
fn held(change: impl FnOnce(&mut World)) -> (Outcome, Option<String>, Option<String>) {
    let mut world = rolling(by(|policy| (policy.action, policy.restarts) = (FailureAction::Stop, Some(3))));
    change(&mut world);
    let mut ended = Vec::new();
    for _ in 0..5 {
        world.wait(10);
        ended.extend(written(&world.proceed()).into_iter().flat_map(|write| write.ended.clone()));
    }
    let end = ended.pop().unwrap().end.unwrap();
    assert!(ended.is_empty() && world.observed.workload.status.ours.rollout.is_none(), "{ended:?}");
    (end.outcome, end.reason, end.message)
}

#[test]
fn a_rollout_that_is_held_ends_with_its_cause() {
    let restart = |world: &mut World| restart(world, 0, 3);
    let cause = Some("1 of 1 pods have a container that restarted 3 times or more".to_owned());
    let failed = (Outcome::Failed, Some("RolloutFailed".to_owned()), cause);
    assert_eq!(held(restart), failed);
    // Without a deadline, there is no condition Progressing.
    let without_deadline = |world: &mut World| {
        world.observed.workload.progress_deadline_seconds = None;
        restart(world);
    };
    assert_eq!(held(without_deadline), failed);
    // Nobody has seen an aborted one fail; here nothing is left to go back to.
    let abort = |world: &mut World| {
        world.observed.workload.annotations.insert(ABORT.to_owned(), "3".to_owned());
        world.find_mut("web-b").annotations.remove(ROLLOUT);
        world.find_mut("web-b").status.available = 2;
    };
    assert_eq!(held(abort).0, Outcome::Cancelled);
    // Its last pods come up before a status reports that.
    let complete = held(|world| {
        abort(world);
        let plan = world.plan();
        world.act(&plan.actions.first().unwrap().action);
        let declared = named(world, "c");
        for set in &mut world.observed.sets {
            set.size = if set.name == declared { 3 } else { 0 };
        }
        come_up(world, &[]);
    });
    assert_eq!(complete.0, Outcome::Cancelled);
}

/// How the rollout ends that this plan ends.
fn end_of(plan: &Plan) -> End {
    written(plan).and_then(|write| write.ended.first()?.end.clone()).unwrap()
}

/// A revision that was aborted is declared again and aborted again, while the rollout before it has no ReplicaSet yet.
#[test]
fn what_is_aborted_twice_cancels_what_runs() {
    let mut world = good(FailureAction::Revert);
    world.set_template(template("c"));
    let abort = |world: &mut World, text: &str| {
        world.observed.workload.annotations.insert(ABORT.to_owned(), text.to_owned());
    };
    play(&mut world, 20, &["c"]);
    abort(&mut world, "3/a");
    play(&mut world, 60, &["c"]);
    assert!(target(&world).is_some());
    // The ReplicaSet of another template cannot be created.
    world.set_template(template("d"));
    for planned in world.plan().actions {
        if !matches!(planned.action, Action::CreateReplicaSet(_)) {
            world.act(&planned.action);
        }
    }
    world.set_template(template("c"));
    abort(&mut world, "3/b");
    assert_eq!(end_of(&world.plan()).outcome, Outcome::Cancelled);
}

/// The rollout failed by itself; somebody aborts it before a status reports that.
#[test]
fn what_has_failed_is_not_cancelled_by_an_abort() {
    let mut world = rolling(by(|policy| policy.restarts = Some(3)));
    restart(&mut world, 0, 3);
    let plan = world.plan();
    world.act(&plan.actions.first().unwrap().action);
    assert_eq!(memory(&world, &named(&world, "c"))["verdict"], "Failed");
    world.observed.workload.annotations.insert(ABORT.to_owned(), "3".to_owned());
    let end = end_of(&world.plan());
    assert_eq!(end.outcome, Outcome::Failed);
    assert!(end.message.unwrap().contains("restarted 3 times or more"));
}

/// Somebody turns Revert into Stop: the revert is over, and the declared revision is not rolled out all the same.
#[test]
fn a_revert_that_ends_in_a_hold_is_not_reported_as_a_rollout() {
    let mut world = good(FailureAction::Revert);
    declare(&mut world, "c", 700, &["c"]);
    world.observed.workload.failure_policy = policy(FailureAction::Stop);
    let (events, _) = play(&mut world, 20, &["c"]);
    assert_eq!((count(&events, "RevertEnded"), count(&events, "RolloutFailed")), (0, 1), "{events:?}");
}
