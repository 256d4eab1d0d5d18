//! A revision that fails at a step, and what a revert, a pin, and a retry have to do with steps (SP-9, SP-10).

use jiff::SignedDuration;
use plan::keys::{ABORT, DESIRED_REPLICAS, PROMOTE, RETRY, condition};
use plan::{FailureAction, FailurePolicy, Outcome, Pin, Record, Requeue, Trigger};
use serde_json::{Value, json};

use crate::rollwright::evidence::{by, restart};
use crate::rollwright::failing::{memory, named, policy};
use crate::rollwright::pinning::{count, says, target};
use crate::rollwright::stepping::{declare, play, promote, request, scale, sizes, stepped, steps};
use crate::world::{Kstatus, World, written};

/// Revision 3 rests at 30 % for ten minutes.
fn resting(policy: Option<FailurePolicy>) -> World {
    let mut world = stepped(10, &["30%/600", "50%/promoted"]).that(|it| it.failure_policy = policy);
    declare(&mut world, "c", 30, &[]);
    assert_eq!(
        (sizes(&world).as_str(), says(&world, condition::PROGRESSING).1.as_str()),
        ("7+3", "RestingAtStep")
    );
    world
}

#[test]
fn a_canary_that_crashes_at_a_step_is_reverted_without_a_step() {
    let mut world = resting(Some(by(|policy| policy.restarts = Some(3))));
    assert!(world.plan().awaited.is_some_and(|awaited| awaited.is_judged), "its pods are read at rest, too");
    play(&mut world, 60, &[]);
    restart(&mut world, 0, 3);
    let played = play(&mut world, 20, &[]);
    assert_eq!(played.path.last().unwrap(), "10+0", "{:?}", played.path);
    assert!(played.path.iter().all(|sizes| !sizes.ends_with("+4")), "never another updated pod");
    assert_eq!((count(&played.events, "Reverted"), target(&world).is_some()), (1, true));
    assert_eq!(memory(&world, &named(&world, "c"))["verdict"], "Failed");
    // The verdict stays when the time of the step is over.
    world.wait(600);
    assert_eq!(play(&mut world, 30, &[]).path, ["10+0"]);
}

/// The deadline stands still at the step, and begins when the wait breaks.
#[test]
fn the_deadline_does_not_run_at_a_step() {
    let mut world = resting(policy(FailureAction::Revert)).that(|it| it.steps = steps(&["30%/promoted"]));
    play(&mut world, 10, &[]);
    world.now += SignedDuration::from_hours(10);
    assert_eq!((play(&mut world, 10, &[]).writes, world.plan().requeue), (0, Requeue::OnChange));
    let dead = ["c"];
    play(&mut world, 590, &dead);
    assert_eq!(
        (target(&world), says(&world, condition::PROGRESSING).1.as_str()),
        (None, "ReplicaSetUpdated")
    );
    assert_eq!(play(&mut world, 60, &dead).path.last().unwrap(), "10+0");
    assert!(target(&world).is_some());
}

/// Its pods die at the step, and nobody has to act before somebody does.
#[test]
fn a_step_that_is_no_longer_reached_ends_neither_by_time_nor_by_itself() {
    for action in [None, Some(FailureAction::Continue), Some(FailureAction::Stop)] {
        let mut world = resting(action.and_then(policy));
        let dead = ["c"];
        play(&mut world, 1000, &dead);
        let is_held = action == Some(FailureAction::Stop);
        assert_eq!(sizes(&world), "7+3", "{action:?}");
        assert_eq!(world.kstatus(), Kstatus::Failed, "the deadline has passed");
        let reason = if is_held { "RolloutFailed" } else { "ProgressDeadlineExceeded" };
        assert_eq!(says(&world, condition::PROGRESSING).1, reason);
        // The pods of the failed one do not follow R.
        scale(&mut world, 20, 10, &dead);
        assert_eq!(sizes(&world), if is_held { "17+3" } else { "14+6" }, "{action:?}");
        // A promotion is an act.
        if !is_held {
            assert_eq!(request(&mut world, PROMOTE, "3/50%", 30, &[]).path.last().unwrap(), "10+10");
        }
    }
}

#[test]
fn an_abort_reverts_at_a_step_without_a_policy_and_a_retry_begins_at_the_first_one() {
    let mut world = resting(None);
    request(&mut world, PROMOTE, "3/50%", 30, &[]);
    assert_eq!(sizes(&world), "5+5");
    assert_eq!(request(&mut world, ABORT, "3", 30, &[]).path.last().unwrap(), "10+0");
    let target = target(&world).unwrap();
    assert_eq!((target.revision, target.reason.as_str()), (Some(2), "Aborted"));
    assert_eq!(request(&mut world, RETRY, "3", 30, &[]).path.last().unwrap(), "7+3");
    let memory = memory(&world, &named(&world, "c"));
    assert_eq!((&memory["steps"]["step"], &memory["promote"]), (&json!(1), &json!("3/50%")), "{memory}");
}

/// The reconcile that stored the retry still began the way back: a pod of revision 2 came and ended. Found by SP-3.
#[test]
fn a_retry_before_the_way_back_begins_moves_nothing() {
    let mut world = resting(None);
    request(&mut world, PROMOTE, "3/all", 60, &[]);
    assert_eq!(sizes(&world), "0+10");
    request(&mut world, ABORT, "3", 1, &[]);
    assert_eq!(memory(&world, &named(&world, "c"))["verdict"], "Failed");
    assert_eq!(request(&mut world, RETRY, "3", 60, &[]).path, ["0+10"]);
    assert_eq!(memory(&world, &named(&world, "c"))["verdict"], "Good");
}

/// A pin runs its revision immediately; the declared one continues at its step after that, and its time restarts.
#[test]
fn a_pin_has_no_steps() {
    let mut world = resting(None);
    world.observed.workload.pin = Some(Pin { pod_template_hash: "a".to_owned(), ..Pin::default() });
    world.observed.workload.generation += 1;
    play(&mut world, 60, &[]);
    let of = |world: &World, name: &str| world.find(name).size;
    assert_eq!((of(&world, "web-a"), sizes(&world).as_str()), (10, "0+0"));
    world.observed.workload.pin = None;
    world.observed.workload.generation += 1;
    play(&mut world, 60, &[]);
    assert_eq!(
        (of(&world, "web-a"), sizes(&world).as_str()),
        (7, "0+3"),
        "the one that it remembers was put aside by the pin"
    );
    play(&mut world, 530, &[]);
    assert_eq!((of(&world, "web-a"), sizes(&world).as_str()), (7, "0+3"));
    play(&mut world, 60, &[]);
    assert_eq!((of(&world, "web-a"), sizes(&world).as_str()), (5, "0+5"));
}

/// A bake that is not over when the next template comes, or was broken: all pods are its own.
#[test]
fn a_revision_that_serves_is_kept_whether_it_has_baked_or_not() {
    for is_broken in [false, true] {
        let baking = policy(FailureAction::Revert).map(|it| FailurePolicy { bake_seconds: 3600, ..it });
        let mut world = stepped(10, &["30%/promoted"]).that(|it| it.failure_policy = baking);
        promote(&mut world, "3/all");
        declare(&mut world, "c", 60, &[]);
        assert_eq!(
            (sizes(&world).as_str(), memory(&world, &named(&world, "c"))["verdict"].clone()),
            ("0+10", Value::Null)
        );
        if is_broken {
            let name = named(&world, "c");
            world.find_mut(&name).status.available = 9;
            world.proceed();
        }
        declare(&mut world, "d", 60, &[]);
        assert_eq!(sizes(&world), "0+7+3", "broken: {is_broken}");
    }
}

/// What a newer operator left stops the rollout within its step, and the time restarts after that.
#[test]
fn an_operator_that_is_too_old_holds_the_step() {
    let mut world = resting(None);
    world.observed.workload.unknown_field = Some("spec.later".to_owned());
    world.wait(600);
    assert_eq!(play(&mut world, 10, &[]).path, ["7+3"]);
    assert_eq!(scale(&mut world, 20, 10, &[]).path, ["7+3", "14+3", "14+6"]);
    world.observed.workload.unknown_field = None;
    assert_eq!(play(&mut world, 590, &[]).path, ["14+6"]);
    assert_eq!(play(&mut world, 60, &[]).path.last().unwrap(), "10+10");
}

/// The clock was set back: nobody waits for as long as it was wrong.
#[test]
fn a_time_in_the_future_is_none() {
    let mut world = resting(None);
    world.now -= SignedDuration::from_hours(100);
    play(&mut world, 590, &[]);
    assert_eq!(sizes(&world), "7+3");
    assert_eq!(play(&mut world, 60, &[]).path.last().unwrap(), "5+5");
}

/// SP-8: the record of one that is late stays open while a step is ahead, so it can be promoted.
#[test]
fn a_rollout_that_is_late_at_a_step_keeps_its_record() {
    let rollout = |world: &World| {
        let record = world.observed.workload.status.ours.rollout.as_ref();
        record.map(|record| (record.revision, record.from, record.step.is_some()))
    };
    let mut world = stepped(10, &["30%/promoted"]).that(|it| it.progress_deadline_seconds = Some(10));
    declare(&mut world, "c", 30, &["c"]);
    assert_eq!(says(&world, condition::PROGRESSING).1, "ProgressDeadlineExceeded");
    assert_eq!(rollout(&world), Some((3, Some(2), true)));
    play(&mut world, 30, &[]);
    assert_eq!(says(&world, condition::PROGRESSING).1, "RestingAtStep");
    assert_eq!(rollout(&world), Some((3, Some(2), true)));
    assert_eq!(play(&mut world, 30, &[]).writes, 0);
    request(&mut world, PROMOTE, "3/all", 60, &[]);
    assert_eq!((sizes(&world).as_str(), rollout(&world)), ("0+10", None));
}

/// UM-20: a rollout that was late after its last step, and waits at a step of a new list, has a record again: that
/// names the step. It began as the rollout did.
#[test]
fn a_record_of_what_goes_on_begins_as_the_one_before() {
    for list in [&["100%"][..], &[]] {
        let mut world = stepped(10, list).that(|it| it.progress_deadline_seconds = Some(10));
        declare(&mut world, "c", 3, &[]);
        let ended = play(&mut world, 60, &["c"]).ended;
        let told = |record: &Record| (record.revision, record.from, record.trigger);
        let first = (3, Some(2), Some(Trigger::NewImage));
        let outcome = ended[0].end.as_ref().unwrap().outcome;
        assert_eq!((ended.len(), told(&ended[0]), outcome), (1, first, Outcome::Failed), "{list:?}");
        world.observed.workload.steps = steps(&["60%/promoted"]);
        play(&mut world, 60, &[]);
        assert_eq!(says(&world, condition::PROGRESSING).1, "RestingAtStep", "{list:?}");
        let record = world.observed.workload.status.ours.rollout.as_ref().unwrap();
        assert_eq!((told(record), record.step), (first, Some(1)), "{list:?}");
    }
}

/// As a revision that is retried before it has lost its pods.
#[test]
fn what_runs_beyond_its_step_is_on_its_way_and_does_not_rest() {
    let mut world = resting(None);
    let name = named(&world, "c");
    let run = world.find_mut(&name);
    run.size = 5;
    (run.status.replicas, run.status.ready, run.status.available) = (5, 5, 5);
    let kept = named(&world, "b");
    world.find_mut(&kept).status.available = 5;
    world.proceed();
    assert_eq!(sizes(&world), "7+5", "none of the ten available pods can be spared");
    assert_ne!(says(&world, condition::RECONCILING).1, "RestingAtStep");
    assert_ne!(says(&world, condition::PROGRESSING).1, "RestingAtStep", "the deadline runs");
    play(&mut world, 30, &[]);
    assert_eq!(
        (sizes(&world).as_str(), says(&world, condition::PROGRESSING).1.as_str()),
        ("7+3", "RestingAtStep")
    );
}

/// What is declared again has no pods, and annotations of an earlier size.
#[test]
fn a_step_without_pods_follows_r_at_once_whatever_size_was_before() {
    let mut world = resting(None).that(|it| it.steps = steps(&["40%/promoted"]));
    scale(&mut world, 1, 10, &[]);
    assert_eq!(sizes(&world), "1+0");
    let name = named(&world, "c");
    world.find_mut(&name).annotations.insert(DESIRED_REPLICAS.to_owned(), "8".to_owned());
    world.observed.workload.replicas = 10;
    world.proceed();
    assert_eq!(sizes(&world), "6+4");
}

/// A revision that is retried at its first step has all pods still, and the kept ReplicaSet reports none yet: by these
/// numbers, the rollout would be complete.
#[test]
fn what_has_all_pods_is_not_complete_while_a_step_is_ahead() {
    for deadline in [Some(600), None] {
        let mut world = stepped(10, &["30%/promoted"]).that(|it| it.progress_deadline_seconds = deadline);
        declare(&mut world, "c", 30, &[]);
        request(&mut world, PROMOTE, "3/all", 60, &[]);
        assert_eq!((sizes(&world).as_str(), world.kstatus()), ("0+10", Kstatus::Current));
        let mut ended = Vec::new();
        for request in [ABORT, RETRY] {
            world.observed.workload.annotations.insert(request.to_owned(), "3".to_owned());
            for _ in 0..3 {
                ended.extend(blind(&mut world));
            }
        }
        assert_eq!(sizes(&world), "1+10");
        assert_eq!(world.kstatus(), Kstatus::InProgress, "{deadline:?}");
        assert_ne!(says(&world, condition::PROGRESSING).1, "NewReplicaSetAvailable");
        let ended: Vec<_> = ended.iter().map(|it| (it.revision, it.end.as_ref().unwrap().outcome)).collect();
        assert_eq!(ended, [(2, Outcome::Cancelled)]);
        let record = world.observed.workload.status.ours.rollout.as_ref().unwrap();
        assert_eq!((record.revision, record.step), (3, Some(1)));
        if deadline.is_some() {
            assert_ne!(world.plan().requeue, Requeue::OnChange, "the deadline runs");
        }
        play(&mut world, 60, &[]);
        assert_eq!(
            (sizes(&world).as_str(), says(&world, condition::RECONCILING).1.as_str()),
            ("7+3", "RestingAtStep")
        );
    }
}

/// A reconcile while no controller counts pods, and the records that it closes.
fn blind(world: &mut World) -> Vec<Record> {
    world.wait(1);
    written(&world.proceed()).map(|write| write.ended.clone()).unwrap_or_default()
}
