//! When a revision is late under a failure policy, and when its deadline restarts (FP-2 to FP-4, FP-8).

use plan::keys::{ROLLOUT, condition};
use plan::{FailureAction, Marks, Pod, Strategy};
use serde_json::Value;

use crate::rollwright::failing::{declare, good, memory, named, play, policy, remember};
use crate::rollwright::pinning::{complete, says, target};
use crate::world::Kstatus;

/// Paused for longer than the deadline, late or not before: the deadline begins when it is resumed.
#[test]
fn a_rollout_that_is_resumed_has_a_new_deadline() {
    for paused_after in [100, 620] {
        let mut world = good(FailureAction::Revert);
        world.observed.workload.failure_policy = policy(FailureAction::Stop);
        declare(&mut world, "c", 500, &["c"]);
        world.observed.workload.paused = true;
        play(&mut world, paused_after, &["c"]);
        assert_eq!(says(&world, condition::PROGRESSING).1, "DeploymentPaused");
        world.observed.workload.paused = false;
        play(&mut world, 500, &["c"]);
        assert_eq!(memory(&world, &named(&world, "c"))["verdict"], Value::Null, "{paused_after}");
        play(&mut world, 120, &["c"]);
        assert_eq!(memory(&world, &named(&world, "c"))["verdict"], "Failed", "{paused_after}");
    }
}

#[test]
fn a_rollout_that_was_late_has_a_new_deadline_too_when_it_is_resumed() {
    let mut world = good(FailureAction::Revert);
    declare(&mut world, "c", 700, &["b", "c"]);
    assert_eq!(says(&world, condition::PROGRESSING).1, "ProgressDeadlineExceeded", "a shared cause");
    world.observed.workload.paused = true;
    play(&mut world, 10, &["b", "c"]);
    assert_eq!(says(&world, condition::PROGRESSING).1, "DeploymentPaused");
    world.observed.workload.paused = false;
    play(&mut world, 500, &["c"]);
    assert_eq!(target(&world), None);
    play(&mut world, 200, &["c"]);
    assert!(target(&world).is_some());
}

/// The first status after a retry was lost: the deadline in the stored one is that of before.
#[test]
fn a_deadline_of_before_a_retry_does_not_count() {
    let mut world = good(FailureAction::Revert);
    declare(&mut world, "c", 700, &["b", "c"]);
    assert_eq!(says(&world, condition::PROGRESSING).1, "ProgressDeadlineExceeded", "a shared cause");
    let text = format!(r#"{{"version":1,"revision":3,"retry":"3","retried":"{:.0}"}}"#, world.now);
    let name = named(&world, "c");
    world.find_mut(&name).annotations.insert(ROLLOUT.to_owned(), text);
    world.find_mut("web-b").status.available = 3;
    world.proceed();
    assert_eq!(memory(&world, &name)["verdict"], Value::Null);
}

/// Old pods do not go, so it has none: nothing shows what it is like.
#[test]
fn a_revision_without_a_size_is_not_late() {
    let mut world = good(FailureAction::Revert).that(|it| it.strategy = Strategy::Recreate);
    declare(&mut world, "c", 10, &["c"]);
    let name = named(&world, "c");
    world.find_mut(&name).size = 0;
    world.find_mut(&name).status.replicas = 0;
    remember(&mut world, "web-b", 2, "Good");
    world.pods =
        vec![Pod { controller_uid: Some(world.find("web-b").uid.clone()), phase: "Running".to_owned() }];
    for _ in 0..80 {
        world.wait(10);
        world.proceed();
    }
    assert_eq!((world.find(&name).size, memory(&world, &name)["verdict"].clone()), (0, Value::Null));
}

/// Under Recreate, the template of revision 3 goes and returns before the one in between has its ReplicaSet.
#[test]
fn a_revision_that_begins_again_has_a_new_deadline() {
    let mut world = good(FailureAction::Revert).that(|it| it.strategy = Strategy::Recreate);
    declare(&mut world, "c", 580, &["c"]);
    let name = named(&world, "c");
    world.find_mut(&name).size = 0;
    for size in [0, 3] {
        world.wait(60);
        world.proceed();
        assert_eq!(
            (memory(&world, &name)["verdict"].clone(), world.find(&name).size),
            (Value::Null, 3),
            "{size}"
        );
        let status = &mut world.find_mut(&name).status;
        (status.replicas, status.ready, status.available) = (0, 0, 0);
    }
    play(&mut world, 500, &["c"]);
    assert_eq!(target(&world), None);
    play(&mut world, 200, &["c"]);
    assert!(target(&world).is_some());
}

/// The Deployment lost a pod after it was complete, and no deadline runs: the engine does not look for one.
#[test]
fn what_was_complete_awaits_no_deadline() {
    let mut world = complete();
    world.find_mut("web-b").status.available = 2;
    world.proceed();
    assert!(!world.observed.workload.status.awaits_deadline());
    declare(&mut world, "c", 10, &["c"]);
    assert!(world.observed.workload.status.awaits_deadline());
}

/// Its pods became available after all, which is no progress if they were before. The old ones are gone, so nothing
/// excuses it, and nothing has to.
#[test]
fn a_revision_with_all_its_pods_does_not_fail() {
    let mut world = good(FailureAction::Revert);
    declare(&mut world, "c", 900, &["b", "c"]);
    assert_eq!(says(&world, condition::PROGRESSING).1, "ProgressDeadlineExceeded", "a shared cause");
    let name = named(&world, "c");
    for (set, size) in [("web-b", 0), (name.as_str(), 3)] {
        let set = world.find_mut(set);
        set.size = size;
        (set.status.replicas, set.status.ready, set.status.available) = (size, size, size);
    }
    let marks = Marks { revision: 3, replicas: 3, updated: 3, ready: 3, available: 3, complete: true };
    world.observed.workload.status.ours.marks = Some(marks);
    world.proceed();
    assert_ne!(memory(&world, &name)["verdict"], "Failed");
    assert_eq!(world.kstatus(), Kstatus::Current);
}

/// The first status under a policy has the marks, so that progress of before is not missed.
#[test]
fn a_policy_that_is_set_while_a_rollout_is_late_applies_with_the_next_status() {
    let mut world = good(FailureAction::Continue).that(|it| it.failure_policy = None);
    declare(&mut world, "c", 900, &["c"]);
    world.observed.workload.failure_policy = policy(FailureAction::Revert);
    let name = named(&world, "c");
    assert_eq!(memory(&world, &name)["verdict"], Value::Null);
    for verdict in [Value::Null, "Failed".into()] {
        world.proceed();
        assert_eq!(memory(&world, &name)["verdict"], verdict);
    }
}

/// Somebody deletes the declared ReplicaSet. The next one has the same revision, and what the one before had is none of
/// its progress: its first available pod is news, although no status reports it yet.
#[test]
fn a_revision_that_is_created_again_is_not_compared_with_the_one_before() {
    let mut world = good(FailureAction::Revert);
    declare(&mut world, "c", 100, &["c"]);
    let marks = Marks { revision: 3, replicas: 3, updated: 3, ready: 2, available: 2, complete: false };
    world.observed.workload.status.ours.marks = Some(marks);
    let name = named(&world, "c");
    world.observed.sets.retain(|set| set.name != name);
    world.proceed();
    for (available, verdict) in [(1, Value::Null), (0, "Failed".into())] {
        let mut world = world.clone();
        world.wait(700);
        let set = world.find_mut(&name);
        set.size = 2;
        (set.status.replicas, set.status.ready, set.status.available) = (0, available, available);
        world.proceed();
        assert_eq!(memory(&world, &name)["verdict"], verdict, "{available}");
    }
}
