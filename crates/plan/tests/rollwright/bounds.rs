//! How many ReplicaSets there may be (NS-1, NS-2).

use jiff::SignedDuration;
use plan::keys::condition;
use plan::{Action, CollisionRecord, Failure, Flavour, Plan, Requeue, Status, Verdict};

use crate::world::{World, created, ours, set, template, world};

/// The name that the next creation would take.
fn next_name(world: &World) -> Option<String> {
    created(&world.clone().plan()).map(|(_, new)| new.name.clone())
}

/// Gives the next name to somebody else's ReplicaSet and makes a reconcile. Returns the name.
fn collide(world: &mut World) -> Option<String> {
    let name = next_name(world)?;
    let taken = world.replica_set(set("a", 3).named(&name).owned_by("other"));
    world.observed.sets.push(taken);
    world.reconcile();
    Some(name)
}

fn status(world: &World) -> &Status {
    &world.observed.workload.status
}

fn has(world: &World, kind: &str) -> bool {
    status(world).condition(kind).is_some()
}

/// A rollout from `b` to `a` for which four names are taken.
fn used_up(flavour: Flavour) -> World {
    let mut world = world(flavour).with(set("b", 3).revision("1").scaled_for("3", "4"));
    for _ in 0..4 {
        collide(&mut world).unwrap();
    }
    world
}

fn deletions(plan: &Plan) -> Vec<String> {
    let name = |planned: &plan::Planned| match &planned.action {
        Action::DeleteReplicaSet(target) => Some(target.name.clone()),
        _ => None,
    };
    plan.actions.iter().filter_map(name).collect()
}

#[test]
fn three_other_names_are_tried_and_no_more() {
    let mut world = used_up(Flavour::Rollwright);
    assert_eq!(status(&world).collision_count, Some(3), "the names of 0, 1, 2 and 3");
    assert!(has(&world, condition::COLLISION_LIMIT_REACHED));
    assert_eq!(status(&world).condition(condition::STALLED).unwrap().reason, "HashCollision");
    let before = world.observed.sets.clone();
    for _ in 0..3 {
        let plan = world.plan();
        assert_eq!(
            plan.requeue,
            Requeue::NamesTaken("2026-04-01T12:00:10Z".parse().unwrap()),
            "{:?}",
            plan.actions
        );
        assert!(plan.why.to_string().contains("names"), "{}", plan.why);
        world.apply(&plan);
    }
    assert_eq!(format!("{before:?}"), format!("{:?}", world.observed.sets), "no set is touched");
}

#[test]
fn the_last_name_is_tried_again_after_ten_seconds() {
    let mut world = used_up(Flavour::Rollwright);
    world.wait(9);
    assert_eq!(next_name(&world), None);
    world.wait(1);
    let last = next_name(&world).unwrap();
    let log = world.reconcile();
    assert!(log.contains(&"ask template".to_owned()), "{log:?}");
    assert_eq!(status(&world).collision_count, Some(3), "no further name");
    assert_eq!(next_name(&world), None, "held for another ten seconds");
    assert!(has(&world, condition::COLLISION_LIMIT_REACHED));
    // The ReplicaSet that had the name goes.
    world.observed.sets.retain(|set| set.name != last);
    world.wait(10);
    world.reconcile();
    assert_eq!(world.find(&last).controller_uid.as_deref(), Some(crate::world::OWNER));
    assert!(!has(&world, condition::COLLISION_LIMIT_REACHED));
}

#[test]
fn another_template_has_names_of_its_own() {
    let mut world = used_up(Flavour::Rollwright).template(template("c"));
    let name = collide(&mut world).unwrap();
    assert_eq!(status(&world).collision_count, Some(4), "{name} is the first of them");
    assert!(!has(&world, condition::COLLISION_LIMIT_REACHED));
    world.reconcile();
    assert_eq!(status(&world).ours.collisions.as_ref().unwrap().count, 1);
    assert_eq!(next_name(&world), None, "there is a set");
}

/// A clock that was set back, and garbage, hold nothing up.
#[test]
fn a_time_that_makes_no_sense_holds_nothing_up() {
    for time in ["2026-04-01T12:00:01Z", "9999-01-01T00:00:00Z", "soon", ""] {
        let mut world = used_up(Flavour::Rollwright);
        let record = world.observed.workload.status.ours.collisions.as_mut().unwrap();
        record.time = time.to_owned();
        assert!(next_name(&world).is_some(), "{time}");
    }
    let mut world = used_up(Flavour::Rollwright);
    let garbage =
        CollisionRecord { count: i64::MAX, ..world.observed.workload.status.ours.collisions.unwrap() };
    world.observed.workload.status.ours.collisions = Some(garbage);
    assert_eq!(next_name(&world), None);
    world.wait(10);
    world.reconcile();
    assert_eq!(next_name(&world), None);
}

#[test]
fn on_apps_v1_names_are_tried_for_ever() {
    let mut world = used_up(Flavour::AppsV1);
    assert!(collide(&mut world).is_some());
    assert_eq!(status(&world).collision_count, Some(5));
    assert_eq!(status(&world).ours, plan::Ours::default());
}

/// `count` idle ReplicaSets of `limit` + 5 that may stay, and the active `b`, in a rollout that never
/// completes.
fn crowded(count: usize, limit: i64) -> World {
    let mut world = ours().that(|it| it.revision_history_limit = Some(limit));
    for number in 0..count {
        let idle = set(&format!("old{number}"), 0).revision(&(number + 1).to_string());
        world = world.with(idle);
    }
    let mut world = world.with(set("b", 3).revision("100").scaled_for("3", "4"));
    world.find_mut("web-b").status.available = 0;
    world
}

#[test]
fn at_the_cap_the_lowest_revisions_make_room() {
    // The new ReplicaSet is created with a size, so it counts as active, and the idle ones stay.
    assert_eq!(deletions(&crowded(7, 2).plan()), [""; 0]);
    assert_eq!(deletions(&crowded(8, 2).plan()), ["web-old0"]);
    // With all the surge in use it starts empty.
    let mut full = crowded(7, 2);
    full.find_mut("web-b").size = 4;
    let plan = full.plan();
    assert_eq!(deletions(&plan), ["web-old0"]);
    assert!(matches!(plan.actions[0].action, Action::DeleteReplicaSet(_)), "{:?}", plan.actions);
    assert_eq!(created(&plan).map(|(place, _)| place), Some(1), "{:?}", plan.actions);
    assert!(!has(&full, condition::REVISION_LIMIT_REACHED));
    let mut unlimited = crowded(20, 2).that(|it| it.revision_history_limit = None);
    assert_eq!(deletions(&unlimited.plan()), [""; 0], "everything is kept");
    let mut of_apps = crowded(20, 2);
    of_apps.observed.flavour = Flavour::AppsV1;
    assert_eq!(deletions(&of_apps.plan()), [""; 0], "apps/v1 has no cap");
}

#[test]
fn only_what_is_idle_makes_room() {
    let mut world = crowded(9, 2);
    world.find_mut("web-old0").status.replicas = 1;
    world.find_mut("web-old1").status.observed_generation = 0;
    world.find_mut("web-old2").deleting = true;
    assert_eq!(deletions(&world.plan()), ["web-old3", "web-old4"]);
}

/// The rollout continues all the same, and a condition reports the error for as long as it lasts.
#[test]
fn the_new_set_is_created_even_if_nothing_can_be_deleted() {
    let mut world = crowded(8, 2);
    for set in &mut world.observed.sets {
        set.status.replicas = 1;
    }
    world.reconcile();
    assert_eq!(world.observed.sets.len(), 10, "created");
    assert!(has(&world, condition::REVISION_LIMIT_REACHED));
    world.reconcile();
    assert!(has(&world, condition::REVISION_LIMIT_REACHED));
    for set in &mut world.observed.sets {
        set.status.replicas = set.size;
    }
    assert_eq!(deletions(&world.clone().plan()), ["web-old0"]);
    world.reconcile();
    assert!(!has(&world, condition::REVISION_LIMIT_REACHED));
}

#[test]
fn a_refused_deletion_does_not_hold_up_the_new_set() {
    let mut world = crowded(8, 2);
    let plan = world.plan();
    for failure in [Failure::Refused("denied".to_owned()), Failure::NotFound("gone".to_owned())] {
        let after = plan::after_failure(&world.observed, &plan, 0, &failure, world.now);
        assert!(matches!(after.verdict, Verdict::Continue), "{:?}", after.verdict);
    }
    // Where nothing follows, it is tried again.
    world.act(&plan.actions[1].action);
    let plan = world.plan();
    let index = plan.actions.iter().position(|planned| matches!(planned.action, Action::DeleteReplicaSet(_)));
    let failure = Failure::Refused("denied".to_owned());
    let after = plan::after_failure(&world.observed, &plan, index.unwrap(), &failure, world.now);
    assert!(matches!(after.verdict, Verdict::Retry(_)), "{:?}", after.verdict);
}

#[test]
fn a_rollback_deletes_anything_but_its_target() {
    // The ReplicaSet of the current template is made too, and is empty.
    let cases = [(1, ["web-old1", "web-old2"]), (2, ["web-old0", "web-old2"]), (0, ["web-old0", "web-old1"])];
    for (requested, expected) in cases {
        let mut world = crowded(8, 2).that(|it| it.rollback_to = Some(requested));
        assert_eq!(deletions(&world.plan()), expected, "to {requested}");
    }
}

#[test]
fn under_recreate_too() {
    let mut world = crowded(9, 2).that(|it| it.strategy = plan::Strategy::Recreate);
    world.find_mut("web-b").size = 0;
    world.find_mut("web-b").status.replicas = 0;
    // Seven of ten may stay; the new one has a size.
    assert_eq!(deletions(&world.clone().plan()), ["web-old0", "web-old1", "web-old2"]);
    // And while the rollout waits for its pods.
    let mut waiting = world.with(set("a", 3).revision("101").scaled_for("3", "3"));
    waiting.find_mut("web-a").status.available = 0;
    assert_eq!(deletions(&waiting.plan()), ["web-old0", "web-old1", "web-old2"]);
}

/// A backup tool that restores older ReplicaSets writes to each one again after it created it (velero#7180).
#[test]
fn a_young_set_is_not_cleaned_up() {
    let restored = |flavour, young: &str| {
        let mut world = world(flavour).that(|it| it.revision_history_limit = None);
        for (image, revision) in [("old0", "1"), ("old1", "2"), ("old2", "3")] {
            world = world.with(set(image, 0).revision(revision));
        }
        world = world.with(set("a", 3).revision("4").scaled_for("3", "4"));
        for _ in 0..4 {
            world.reconcile();
        }
        world.find_mut(young).created = world.now - SignedDuration::from_secs(4);
        world.that(|it| it.revision_history_limit = Some(1))
    };
    assert_eq!(deletions(&restored(Flavour::AppsV1, "web-old1").plan()), ["web-old0", "web-old1"], "S11.4");
    // HC-2: no higher revision goes before it.
    assert_eq!(deletions(&restored(Flavour::Rollwright, "web-old0").plan()), [""; 0]);
    let mut world = restored(Flavour::Rollwright, "web-old1");
    let plan = world.plan();
    assert_eq!(deletions(&plan), ["web-old0"], "and no other in the place of the young one (S11.5)");
    world.apply(&plan);
    assert_eq!(world.plan().requeue, Requeue::Deadline("2026-04-01T12:00:06Z".parse().unwrap()));
    world.wait(6);
    assert_eq!(deletions(&world.plan()), ["web-old1"]);
}
