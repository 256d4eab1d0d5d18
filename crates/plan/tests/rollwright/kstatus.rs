//! Ready, Reconciling and Stalled, as those read them who wait for a rollout.

use plan::keys::condition;
use plan::{Action, Failure, Status, Strategy};

use crate::world::{Kstatus, World, created, ours, refusal, set, template};

const SUMMARIES: [&str; 3] = [condition::READY, condition::RECONCILING, condition::STALLED];
const RECONCILES_MAX: usize = 60;

/// With a deadline, and as the API server shows it before anybody has written a status.
fn fresh() -> World {
    ours().that(|it| {
        it.progress_deadline_seconds = Some(600);
        it.status.observed_generation = -1;
    })
}

/// Rolled out, and reported.
fn rolled_out() -> World {
    let mut world = fresh();
    follow(&mut world, |_| ());
    assert_eq!(world.kstatus(), Kstatus::Current);
    world
}

fn status(world: &World) -> &Status {
    &world.observed.workload.status
}

/// One pod of one ReplicaSet appears, becomes available or goes. Returns whether there was one.
fn move_one_pod(world: &mut World) -> bool {
    for set in &mut world.observed.sets {
        let (size, status) = (set.size, &mut set.status);
        status.observed_generation = set.generation;
        if status.replicas > size {
            status.replicas -= 1;
            status.ready = status.ready.min(status.replicas);
            status.available = status.available.min(status.replicas);
        } else if status.replicas < size {
            status.replicas += 1;
        } else if status.ready < size {
            status.ready += 1;
        } else if status.available < size {
            status.available += 1;
        } else {
            continue;
        }
        return true;
    }
    false
}

/// A rollout pod by pod, looked at after every action of every reconcile, until nothing moves.
fn follow(world: &mut World, look: impl Fn(&World)) {
    for _ in 0..RECONCILES_MAX {
        world.wait(1);
        let plan = world.plan();
        for planned in &plan.actions {
            world.act(&planned.action);
            if matches!(planned.action, Action::WriteStatus(_)) {
                is_well_formed(world);
            }
            look(world);
        }
        if !move_one_pod(world) && plan.actions.is_empty() {
            return;
        }
        look(world);
    }
    panic!("no end: {:#?}", world.observed);
}

/// Exactly one of the three is True; Ready is always there, the others only while they hold; all have a message.
fn is_well_formed(world: &World) {
    let status = status(world);
    let entries: Vec<_> = SUMMARIES.iter().filter_map(|kind| status.condition(kind)).collect();
    let holding: Vec<_> = entries.iter().filter(|entry| entry.status == "True").collect();
    assert_eq!(holding.len(), 1, "{entries:#?}");
    assert!(status.condition(condition::READY).is_some(), "{entries:#?}");
    for entry in entries {
        assert!(entry.status == "True" || entry.kind == condition::READY, "{entry:?}");
        assert!(!entry.reason.is_empty() && !entry.message.is_empty(), "{entry:?}");
        assert!(entry.last_transition_time.is_some(), "{entry:?}");
    }
}

/// Whether every pod is of the current template, and available.
fn is_done(world: &World) -> bool {
    let workload = &world.observed.workload;
    let new = workload.template.fingerprint.clone();
    world.observed.sets.iter().all(|set| {
        let wanted = if set.carries(&new) { workload.replicas } else { 0 };
        (set.status.replicas, set.status.available) == (wanted, wanted)
    }) && world.observed.sets.iter().any(|set| set.carries(&new))
}

/// A client that waits continues when all is done, and not before; a rollout that makes progress never failed.
fn is_honest(world: &World) {
    match world.kstatus() {
        Kstatus::Current => assert!(is_done(world), "Current: {:#?}", world.observed),
        Kstatus::InProgress => {}
        other => panic!("{other:?}: {:#?}", world.observed),
    }
}

fn rollouts() -> Vec<(&'static str, World)> {
    let edited = |change: fn(&mut plan::Workload)| {
        let mut world = rolled_out();
        change(&mut world.observed.workload);
        world.observed.workload.generation += 1;
        world
    };
    let mut recreate = rolled_out().that(|it| it.strategy = Strategy::Recreate);
    recreate.set_template(template("b"));
    let mut mid = rolled_out().template(template("b"));
    mid.reconcile();
    move_one_pod(&mut mid);
    vec![
        ("created", fresh()),
        ("created without pods", fresh().that(|it| it.replicas = 0)),
        ("created without a deadline", fresh().that(|it| it.progress_deadline_seconds = None)),
        ("created without a selector", fresh().that(|it| it.selector = None)),
        ("another template", rolled_out().template(template("b"))),
        ("recreated", recreate),
        ("scaled up", edited(|it| it.replicas = 7)),
        ("scaled down", edited(|it| it.replicas = 1)),
        ("scaled to nothing", edited(|it| it.replicas = 0)),
        (
            "scaled in the middle",
            mid.clone().that(|it| (it.replicas, it.generation) = (6, it.generation + 1)),
        ),
        ("another template in the middle", mid.clone().template(template("c"))),
        ("back in the middle", mid.clone().template(template("a"))),
        ("rolled back", rolled_out().template(template("b")).that(|it| it.rollback_to = Some(0))),
        ("of a former version, without these conditions", {
            let mut world = rolled_out().template(template("b"));
            let conditions = &mut world.observed.workload.status.conditions;
            conditions.retain(|entry| !SUMMARIES.contains(&entry.kind.as_str()));
            world
        }),
    ]
}

#[test]
fn who_waits_goes_on_when_a_rollout_is_done_and_not_before() {
    for (name, mut world) in rollouts() {
        eprintln!("{name}");
        follow(&mut world, is_honest);
        assert_eq!(world.kstatus(), Kstatus::Current, "{name}: {:#?}", status(&world));
        assert_eq!(status(&world).condition(condition::READY).unwrap().reason, "RolloutComplete");
    }
}

#[test]
fn before_the_first_status_nothing_is_done() {
    let mut world = fresh();
    assert_eq!(world.kstatus(), Kstatus::InProgress, "by the default of the definition");
    world.reconcile();
    let ready = status(&world).condition(condition::READY).unwrap();
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("False", "RolloutInProgress"));
    assert_eq!(world.kstatus(), Kstatus::InProgress);
}

/// What a Deployment waits for can be read where people look.
#[test]
fn the_message_says_why() {
    let mut world = rolled_out().template(template("b"));
    world.reconcile();
    move_one_pod(&mut world);
    world.reconcile();
    let message = &status(&world).condition(condition::RECONCILING).unwrap().message;
    assert!(message.starts_with("waiting for pods of web-") && message.contains("0 of 3"), "{message}");
}

#[test]
fn after_the_deadline_it_failed_until_it_gets_on() {
    let mut world = rolled_out().template(template("b"));
    world.reconcile();
    world.wait(601);
    world.reconcile();
    let stalled = status(&world).condition(condition::STALLED).unwrap();
    assert_eq!(stalled.reason, "ProgressDeadlineExceeded");
    assert!(stalled.message.contains("timed out") && stalled.message.contains("waiting for"), "{stalled:?}");
    assert_eq!(world.kstatus(), Kstatus::Failed);
    follow(&mut world, |_| ());
    assert_eq!(world.kstatus(), Kstatus::Current);
}

/// The time of the rollout that failed does not count for the one that mends it. The ReplicaSet of the restored
/// template has no pods yet, so at first nothing shows its progress.
#[test]
fn going_back_from_a_failed_rollout_is_not_a_failure() {
    let mut world = rolled_out().that(|it| it.strategy = Strategy::Recreate).template(template("b"));
    for _ in 0..10 {
        world.reconcile();
        for set in &mut world.observed.sets {
            set.status.observed_generation = set.generation;
            set.status.replicas = set.size;
            let is_new = set.carries(&world.observed.workload.template.fingerprint);
            set.status.ready = if is_new { 0 } else { set.size };
            set.status.available = set.status.ready;
        }
    }
    world.wait(601);
    world.reconcile();
    assert_eq!(world.kstatus(), Kstatus::Failed);
    world.set_template(template("a"));
    follow(&mut world, is_honest);
    assert_eq!(world.kstatus(), Kstatus::Current);
}

#[test]
fn a_paused_rollout_is_held_and_has_not_failed() {
    let mut mid = rolled_out().template(template("b"));
    mid.reconcile();
    mid = mid.that(|it| (it.paused, it.generation) = (true, it.generation + 1));
    mid.wait(700);
    mid.settle(5);
    assert_eq!(mid.kstatus(), Kstatus::InProgress);
    assert_eq!(status(&mid).condition(condition::RECONCILING).unwrap().reason, "DeploymentPaused");
    // Nothing is held where there is nothing to roll out.
    let mut idle = rolled_out().that(|it| (it.paused, it.generation) = (true, it.generation + 1));
    idle.settle(5);
    assert_eq!(idle.kstatus(), Kstatus::Current);
    // Paused after the deadline.
    let mut late = rolled_out().template(template("b"));
    late.reconcile();
    late.wait(700);
    late.reconcile();
    assert_eq!(late.kstatus(), Kstatus::Failed);
    late = late.that(|it| (it.paused, it.generation) = (true, it.generation + 1));
    late.settle(5);
    assert_eq!(late.kstatus(), Kstatus::InProgress);
}

/// The server refuses the new ReplicaSet this many seconds after the last time.
fn refused(world: &mut World, failure: &Failure, seconds: i64) -> Kstatus {
    world.wait(seconds);
    let plan = world.plan();
    let index = created(&plan).unwrap().0;
    let after = plan::after_failure(&world.observed, &plan, index, failure, world.now);
    after.actions.iter().for_each(|planned| world.act(&planned.action));
    is_well_formed(world);
    world.kstatus()
}

#[test]
fn a_template_that_the_server_never_takes_has_failed_at_once() {
    let mut world = fresh();
    let invalid = Failure::Invalid("spec.template.spec.volumes: Invalid value".to_owned());
    assert_eq!(refused(&mut world, &invalid, 1), Kstatus::Failed);
    let stalled = status(&world).condition(condition::STALLED).unwrap();
    assert_eq!(stalled.reason, "ReplicaSetCreateError");
    assert!(stalled.message.contains("volumes"), "{stalled:?}");
    // And is not written again with each try.
    let before = world.observed.workload.resource_version.clone();
    assert_eq!(refused(&mut world, &invalid, 1), Kstatus::Failed);
    assert_eq!(world.observed.workload.resource_version, before);
    // The next template starts without that failure.
    world.set_template(template("b"));
    follow(&mut world, is_honest);
}

#[test]
fn another_refusal_has_failed_after_the_deadline() {
    let mut world = fresh();
    let quota = Failure::Refused("exceeded quota".to_owned());
    assert_eq!(refused(&mut world, &quota, 1), Kstatus::InProgress);
    let told = status(&world).condition(condition::RECONCILING).unwrap();
    assert!(told.message.contains("exceeded quota"), "{told:?}");
    assert_eq!(refused(&mut world, &quota, 300), Kstatus::InProgress);
    assert_eq!(refused(&mut world, &quota, 301), Kstatus::Failed);
    // The time of this template does not count for the next one.
    world.set_template(template("b"));
    assert_eq!(refused(&mut world, &quota, 1), Kstatus::InProgress);
    follow(&mut world, is_honest);
}

/// The server may return other words the next time: nobody reads the words of before.
#[test]
fn the_newest_words_of_the_server_are_shown() {
    let mut world = fresh();
    let since = |world: &World| status(world).condition(condition::PROGRESSING).unwrap().last_update_time;
    refused(&mut world, &Failure::Refused("limit 2".to_owned()), 1);
    let first = since(&world);
    refused(&mut world, &Failure::Refused("limit 3".to_owned()), 300);
    for kind in [condition::PROGRESSING, condition::READY, condition::RECONCILING] {
        let message = &status(&world).condition(kind).unwrap().message;
        assert!(message.ends_with("limit 3"), "{kind}: {message}");
    }
    assert_eq!(since(&world), first, "the deadline counts from the first refusal");
    assert_eq!(refused(&mut world, &Failure::Refused("limit 4".to_owned()), 301), Kstatus::Failed);
}

/// The refusal of one ReplicaSet is not reported for the next one.
#[test]
fn a_refusal_of_pods_is_told_of_the_revision_that_it_is_about() {
    let mut world = fresh();
    world.settle(5);
    for (image, words) in [("a", "limit 2"), ("b", "limit 3")] {
        world.set_template(template(image));
        world.settle(5);
        let declared = world.observed.sets.last_mut().unwrap();
        (declared.status.available, declared.status.ready) = (0, 0);
        declared.status.failure = refusal(&format!("exceeded quota: {words}"));
        world.settle(5);
        for kind in [condition::REPLICA_FAILURE, condition::READY, condition::RECONCILING] {
            let message = &status(&world).condition(kind).unwrap().message;
            assert!(message.contains(words), "{kind}: {message}");
        }
    }
}

/// All that a name which is taken costs is a reconcile.
#[test]
fn a_taken_name_is_no_failure() {
    let mut world = fresh();
    let taken = world.replica_set(set("x", 3).owned_by("other"));
    let taken = Failure::NameTaken(Some(Box::new(taken)));
    assert_eq!(refused(&mut world, &taken, 1), Kstatus::InProgress);
}

#[test]
fn a_pod_that_goes_makes_it_unready_and_in_progress() {
    let mut world = rolled_out();
    world.observed.sets.first_mut().unwrap().status.available = 2;
    world.reconcile();
    assert_eq!(world.kstatus(), Kstatus::InProgress);
    follow(&mut world, is_honest);
    assert_eq!(world.kstatus(), Kstatus::Current);
}

/// Somebody deletes the new ReplicaSet of a rollout that was complete. The reconcile that creates another one also
/// deletes history beyond the limit, and its status comes before that: not with the counters of before.
#[test]
fn the_counters_of_a_set_that_is_gone_are_not_told_again() {
    let rolling = rolled_out().observed.workload.strategy;
    for strategy in [rolling, Strategy::Recreate] {
        let mut world = rolled_out().template(template("b"));
        follow(&mut world, is_honest);
        world.observed.workload.strategy = strategy;
        world.observed.workload.revision_history_limit = Some(0);
        let is_old = |set: &plan::ReplicaSet| set.name == "web-a" || set.size == 0;
        world.observed.sets.retain(is_old);
        assert_eq!((world.observed.sets.len(), world.kstatus()), (1, Kstatus::Current));
        world.wait(1);
        let plan = world.plan();
        let kinds: Vec<_> = plan.actions.iter().map(|planned| &planned.action).collect();
        assert!(
            matches!(
                kinds[..],
                [Action::CreateReplicaSet(_), Action::WriteStatus(_), Action::DeleteReplicaSet(_)]
            ),
            "{kinds:#?}"
        );
        world.apply(&plan);
        let told = status(&world);
        assert_eq!((told.replicas, told.updated_replicas, told.available_replicas), (0, 0, 0));
        assert_eq!(told.condition(condition::READY).unwrap().status, "False");
        assert_eq!(world.kstatus(), Kstatus::InProgress);
        follow(&mut world, is_honest);
        assert_eq!(world.kstatus(), Kstatus::Current);
    }
}

/// A time changes only when the condition does, and an apps/v1 Deployment has none of this.
#[test]
fn times_change_with_what_they_are_about() {
    let mut world = rolled_out();
    let since = |world: &World| status(world).condition(condition::READY).unwrap().last_transition_time;
    let before = since(&world);
    world.set_template(template("b"));
    world.wait(5);
    world.reconcile();
    let unready = since(&world);
    assert!(unready > before);
    follow(&mut world, |world| {
        let is_ready = status(world).condition(condition::READY).unwrap().status == "True";
        assert!(is_ready || since(world) == unready);
    });
    assert!(since(&world) > unready);
}
