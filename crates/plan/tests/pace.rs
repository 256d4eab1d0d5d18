//! Which statuses wait, and which never do.

use crate::world::{World, ours, refusal, set, template, world};
use jiff::{SignedDuration, Timestamp};
use plan::keys::condition;
use plan::{Action, Flavour, Plan, Requeue, Status};

const BOTH: [Flavour; 2] = [Flavour::Rollwright, Flavour::AppsV1];
const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// Ten replicas in the middle of a rollout from `a` to `b`, its status as it should be.
fn half_way(flavour: Flavour) -> World {
    let mut world = world(flavour)
        .that(|workload| workload.replicas = 10)
        .template(template("b"))
        .with(set("a", 6).revision("1").scaled_for("10", "13"))
        .with(set("b", 7).revision("2").scaled_for("10", "13"));
    world.find_mut("web-b").status.available = 2;
    world.settle(5);
    world
}

fn written(plan: &Plan) -> Option<&Status> {
    crate::world::written(plan).map(|write| &write.status)
}

/// The plan for a status that has waited for half a second.
fn plan_at_rest(world: &mut World) -> Plan {
    world.observed.options.status_waits_since = Some(world.now - SECOND / 2);
    world.plan()
}

/// While the operator is busy, a status waits one second.
fn until(world: &World) -> Timestamp {
    world.now + SECOND / 2
}

#[test]
fn a_status_that_only_counts_on_waits_and_comes() {
    for flavour in BOTH {
        let mut world = half_way(flavour);
        assert_eq!(written(&plan_at_rest(&mut world)), None, "nothing to report");
        world.find_mut("web-b").status.ready -= 1;
        let plan = plan_at_rest(&mut world);
        assert_eq!(written(&plan), None, "{:?}", plan.actions);
        assert_eq!(plan.requeue, Requeue::StatusPaced(until(&world)));
        // When it may be written, it is.
        world.now = until(&world);
        assert_eq!(written(&world.plan()).unwrap().ready_replicas, 12);
    }
}

#[test]
fn what_somebody_waits_for_is_written_at_once() {
    for flavour in BOTH {
        let mut observed = half_way(flavour);
        observed.observed.workload.generation += 1;
        let plan = plan_at_rest(&mut observed);
        assert_eq!(written(&plan).unwrap().observed_generation, 3, "the generation is observed");

        for waited in [SECOND / 2, SignedDuration::ZERO] {
            let waiting = || {
                let mut world = half_way(flavour);
                world.observed.options.status_waits_since = Some(world.now - waited);
                world
            };
            let mut switched = waiting();
            switched.find_mut("web-a").status.available = 1;
            let plan = switched.plan();
            let available = written(&plan).unwrap().condition(condition::AVAILABLE).unwrap();
            assert_eq!(available.status, "False", "a condition turns");

            let mut complete = waiting();
            complete.observed.sets.retain(|set| set.name == "web-b");
            let new = complete.find_mut("web-b");
            new.size = 10;
            (new.status.replicas, new.status.ready, new.status.available) = (10, 10, 10);
            assert!(written(&complete.plan()).unwrap().is_complete(10, 2), "the rollout is complete");
        }
    }
}

#[test]
fn a_deadline_is_not_missed_because_a_status_waits() {
    let mut world = half_way(Flavour::AppsV1).that(|workload| workload.progress_deadline_seconds = Some(20));
    world.settle(5);
    world.find_mut("web-b").status.ready -= 1;
    let plan = plan_at_rest(&mut world);
    // The deadline is later than the end of the rest.
    assert_eq!(plan.requeue, Requeue::StatusPaced(until(&world)));
}

#[test]
fn a_clock_that_was_set_back_holds_up_nothing() {
    let mut world = half_way(Flavour::Rollwright);
    world.find_mut("web-b").status.ready -= 1;
    world.observed.options.status_waits_since = Some(world.now + SECOND / 2);
    assert!(written(&world.plan()).is_some());
}

/// A rollout that begins: the new ReplicaSet is created and the old one shrinks.
fn beginning() -> World {
    let mut world = ours().that(|workload| workload.replicas = 10);
    world = world.with(set("a", 10).revision("1").scaled_for("10", "13"));
    world.settle(5);
    world.set_template(template("b"));
    world.observed.workload.progress_deadline_seconds = Some(600);
    world.now += SignedDuration::from_hours(5);
    world
}

#[test]
fn a_report_without_counters_joins_the_one_that_has_them() {
    let mut apart = beginning();
    assert_eq!(written(&apart.plan()).unwrap().observed_generation, 1);
    let mut joined = beginning();
    joined.observed.options.joins_reports = true;
    let plan = joined.plan();
    assert_eq!(written(&plan), None);
    joined.apply(&plan);
    // Five hours after the last progress, this rollout has only just begun.
    let plan = joined.plan();
    let status = written(&plan).unwrap();
    let progressing = status.condition(condition::PROGRESSING).unwrap();
    assert_eq!((status.observed_generation, progressing.status.as_str()), (2, "True"));
    assert_eq!(progressing.last_update_time, Some(joined.now));
}

/// On a busy server, each of the reconciles that follow takes a while.
#[test]
fn a_report_does_not_join_reconciles_without_end() {
    let mut world = beginning();
    world.observed.options.joins_reports = true;
    world.observed.options.status_waits_since = Some(world.now - SECOND / 2);
    assert_eq!(written(&world.plan()), None);
    world.observed.options.status_waits_since = Some(world.now - SECOND);
    assert!(written(&world.plan()).is_some());
}

#[test]
fn a_report_that_nothing_follows_is_written() {
    let mut world = ours();
    world.observed.options.joins_reports = true;
    let plan = world.plan();
    assert!(crate::world::created(&plan).is_some());
    assert_eq!(written(&plan).unwrap().observed_generation, 1);
}

/// A reader of a status that reports a complete rollout learns immediately that it is complete no longer, however much
/// is still done in the same reconcile.
#[test]
fn a_report_that_takes_back_completeness_joins_no_other() {
    let mut world = ours().that(|it| (it.replicas, it.progress_deadline_seconds) = (10, Some(600)));
    world = world.with(set("b", 0).revision("1")).with(set("a", 10).revision("2").scaled_for("10", "13"));
    world.settle(5);
    assert!(world.observed.workload.status.is_complete(10, 1));
    // Somebody deletes the new ReplicaSet and scales the old one; the controller has not seen that yet.
    world.observed.sets.retain(|set| set.name == "web-b");
    world.find_mut("web-b").size = 10;
    world.observed.options.joins_reports = true;
    world.now += SECOND;
    let plan = world.plan();
    assert!(crate::world::created(&plan).is_some());
    assert!(plan.actions.iter().any(|planned| matches!(planned.action, Action::UpdateReplicaSet(_))));
    let status = written(&plan).unwrap();
    assert!(!status.is_complete(10, 1), "{status:?}");
}

/// The controller of this ReplicaSet has made all pods that it was asked for, or some of them.
fn serve(world: &mut World, name: &str, pods: i64) {
    let set = world.find_mut(name);
    (set.status.observed_generation, set.status.replicas) = (set.generation, pods);
}

/// A Deployment of ten pods that has just been created, and its ReplicaSet.
fn created() -> (World, String) {
    let mut world = ours().that(|it| (it.replicas, it.progress_deadline_seconds) = (10, Some(600)));
    world.observed.options.joins_reports = true;
    world.observed.options.status_waits_since = Some(world.now);
    let plan = world.plan();
    assert_eq!((written(&plan), plan.status_waits), (None, true), "{:?}", plan.actions);
    assert_eq!(plan.requeue, Requeue::StatusPaced(world.now + SECOND));
    world.apply(&plan);
    let name = world.observed.sets.first().unwrap().name.clone();
    (world, name)
}

#[test]
fn the_first_report_of_a_creation_waits_for_its_counters() {
    let (mut world, name) = created();
    for pods in [0, 4] {
        serve(&mut world, &name, pods);
        assert_eq!(written(&world.plan()), None, "more pods are about to be made");
    }
    serve(&mut world, &name, 10);
    let plan = world.plan();
    let status = written(&plan).unwrap();
    assert_eq!((status.observed_generation, status.updated_replicas), (1, 10));
    assert_eq!(status.condition(condition::PROGRESSING).unwrap().reason, "ReplicaSetUpdated");
    world.apply(&plan);
    assert!(!world.plan().status_waits);
}

#[test]
fn a_first_report_does_not_wait_if_the_pods_are_refused() {
    for flavour in BOTH {
        let mut world = scaled(flavour);
        serve(&mut world, "web-a", 4);
        assert_eq!(written(&world.plan()), None, "{flavour:?}");
        world.find_mut("web-a").status.failure = refusal("exceeded quota");
        let plan = world.plan();
        let status = written(&plan).unwrap();
        assert_eq!(status.condition(condition::REPLICA_FAILURE).unwrap().message, "exceeded quota");
    }
}

#[test]
fn a_first_report_waits_one_second_at_most() {
    let (mut world, _) = created();
    world.now += SECOND;
    let plan = world.plan();
    let status = written(&plan).unwrap();
    assert_eq!((status.observed_generation, status.updated_replicas), (1, 0));
    assert_eq!(status.condition(condition::PROGRESSING).unwrap().reason, "NewReplicaSetCreated");
}

/// Four complete replicas, and eight are wanted: the ReplicaSet has its new size, and the status waits.
fn scaled(flavour: Flavour) -> World {
    let mut world = world(flavour).with(set("a", 4).revision("1").scaled_for("4", "5"));
    world.observed.workload.replicas = 4;
    world.settle(5);
    (world.observed.workload.replicas, world.observed.workload.generation) = (8, 2);
    world.observed.options.status_waits_since = Some(world.now);
    let plan = world.plan();
    assert!(plan.actions.iter().any(|planned| matches!(planned.action, Action::UpdateReplicaSet(_))));
    assert_eq!((written(&plan), plan.status_waits), (None, true), "{flavour:?}");
    world.apply(&plan);
    world
}

/// On apps/v1, too: its Progressing stays as it is.
#[test]
fn the_first_report_of_a_scaling_waits_for_its_counters() {
    for flavour in BOTH {
        let mut world = scaled(flavour);
        serve(&mut world, "web-a", 8);
        let plan = world.plan();
        let status = written(&plan).unwrap();
        assert_eq!((status.observed_generation, status.replicas, status.available_replicas), (2, 8, 4));
    }
}

#[test]
fn a_pause_in_the_middle_of_a_step_does_not_wait() {
    for flavour in BOTH {
        let mut world = half_way(flavour);
        world.observed.options.status_waits_since = Some(world.now);
        world.observed.options.joins_reports = flavour == Flavour::Rollwright;
        world.find_mut("web-b").status.replicas -= 1;
        assert_eq!(written(&world.plan()), None, "{flavour:?}");
        let workload = &mut world.observed.workload;
        (workload.paused, workload.progress_deadline_seconds) = (true, Some(600));
        workload.generation += 1;
        let plan = world.plan();
        let progressing = written(&plan).expect("a pause is news").condition(condition::PROGRESSING).unwrap();
        assert_eq!(progressing.reason, "DeploymentPaused");
    }
}

/// What was complete has no deadline, however old its condition is.
#[test]
fn a_deadline_that_does_not_count_does_not_delay_a_status() {
    let mut world = half_way(Flavour::AppsV1);
    world.observed.workload.progress_deadline_seconds = Some(600);
    world.settle(5);
    for known in &mut world.observed.workload.status.conditions {
        if known.kind == condition::PROGRESSING {
            known.reason = "NewReplicaSetAvailable".to_owned();
        }
    }
    world.now += 6000 * SECOND;
    world.find_mut("web-b").status.ready -= 1;
    let plan = plan_at_rest(&mut world);
    assert!(plan.status_waits, "{:?}", plan.actions);
    assert_eq!(plan.requeue, Requeue::StatusPaced(until(&world)));
}

#[test]
fn no_status_waits_for_more_than_a_tenth_of_the_deadline() {
    let (mut world, _) = created();
    world.observed.workload.progress_deadline_seconds = Some(5);
    world.observed.options.status_waits_since = Some(world.now);
    assert_eq!(world.plan().requeue, Requeue::StatusPaced(world.now + SECOND / 2));
    world.now += SECOND / 2;
    assert!(written(&world.plan()).is_some());
}

#[test]
fn what_waits_already_goes_on_to_wait_beside_a_step() {
    for flavour in BOTH {
        let mut world = half_way(flavour);
        world.observed.options.status_waits_since = Some(world.now - SECOND / 2);
        // Four more are available: as many of the old ones are cut.
        let new = &mut world.find_mut("web-b").status;
        (new.ready, new.available) = (7, 6);
        let plan = world.plan();
        assert!(plan.actions.iter().any(|planned| matches!(planned.action, Action::UpdateReplicaSet(_))));
        assert_eq!((written(&plan), plan.requeue), (None, Requeue::StatusPaced(until(&world))));
    }
}

/// Who reads a status reads what has just happened: half a second ago, or one while the server is busy.
#[test]
fn how_long_a_status_waits_depends_on_load_alone() {
    let counts: [fn(&mut plan::SetStatus); 3] =
        [|set| set.replicas -= 1, |set| set.ready -= 1, |set| set.terminating = Some(1)];
    for (flavour, count) in BOTH.into_iter().flat_map(|flavour| counts.map(|count| (flavour, count))) {
        for (is_busy, wait) in [(false, SECOND / 2), (true, SECOND)] {
            let mut world = half_way(flavour);
            world.observed.options.is_busy = is_busy;
            world.observed.options.status_waits_since = Some(world.now);
            count(&mut world.find_mut("web-b").status);
            assert_eq!(world.plan().requeue, Requeue::StatusPaced(world.now + wait));
            world.now += wait;
            assert!(written(&world.plan()).is_some());
        }
    }
}

#[test]
fn a_text_without_new_counters_waits_like_counters() {
    let mut world = half_way(Flavour::Rollwright);
    world.observed.options.status_waits_since = Some(world.now);
    world.observed.workload.status.ours.images = Some("app:other".to_owned());
    assert_eq!(world.plan().requeue, Requeue::StatusPaced(world.now + SECOND));
}
