//! The status of a rollout that waits for a slot, and what replaces it.

use plan::keys::{condition, reason};
use plan::{Action, Flavour, Status, StatusWrite, Strategy, Transition};

use crate::world::{Kstatus, World, created, ours, set, template, world};

/// `b` is rolled out and complete, with a deadline of ten minutes.
fn complete(flavour: Flavour) -> World {
    let world = world(flavour).that(|it| it.progress_deadline_seconds = Some(600)).template(template("b"));
    let mut world = world.with(set("b", 3).revision("1").scaled_for("3", "4"));
    world.settle(5);
    world
}

/// Writes what there is to report while it waits, and lets it wait for a quarter of an hour.
fn wait(world: &mut World) {
    let observed = &world.observed;
    let write = StatusWrite::queued(observed.flavour, &observed.workload, world.now).unwrap();
    let without_conditions = |status: &Status| Status { conditions: Vec::new(), ..status.clone() };
    assert_eq!(without_conditions(&write.status), without_conditions(&observed.workload.status));
    assert_eq!(plan::transitions(&observed.workload, &Action::WriteStatus(Box::new(write.clone()))), []);
    world.act(&Action::WriteStatus(Box::new(write)));
    world.now += jiff::SignedDuration::from_mins(15);
}

fn reason_of<'a>(world: &'a World, kind: &str) -> Option<(&'a str, &'a str)> {
    let found = world.observed.workload.status.condition(kind);
    found.map(|found| (found.status.as_str(), found.reason.as_str()))
}

#[test]
fn it_says_so_and_nothing_else() {
    let mut world = complete(Flavour::Rollwright);
    assert_eq!(world.kstatus(), Kstatus::Current);
    world.set_template(template("a"));
    wait(&mut world);
    assert_eq!(reason_of(&world, condition::PROGRESSING), Some(("Unknown", reason::QUEUED)));
    assert_eq!(reason_of(&world, condition::RECONCILING), Some(("True", reason::QUEUED)));
    assert_eq!(reason_of(&world, condition::READY), Some(("False", reason::QUEUED)));
    assert_eq!(reason_of(&world, condition::STALLED), None);
    assert_eq!(world.kstatus(), Kstatus::InProgress);
    assert_eq!(world.observed.workload.status.observed_generation, 2);
    // Once is enough.
    assert_eq!(StatusWrite::queued(Flavour::Rollwright, &world.observed.workload, world.now), None);
}

#[test]
fn a_first_rollout_and_one_without_a_deadline_say_so_too() {
    let mut world = ours();
    wait(&mut world);
    assert_eq!(reason_of(&world, condition::PROGRESSING), None, "S9.9");
    assert_eq!(reason_of(&world, condition::RECONCILING), Some(("True", reason::QUEUED)));
    assert_eq!(world.kstatus(), Kstatus::InProgress);
}

#[test]
fn on_apps_v1_nothing_is_said() {
    let mut world = complete(Flavour::AppsV1);
    world.set_template(template("a"));
    assert_eq!(StatusWrite::queued(Flavour::AppsV1, &world.observed.workload, world.now), None);
}

/// The wait was longer than the deadline, which begins with the rollout.
#[test]
fn its_first_report_takes_the_place_and_begins_the_deadline() {
    for strategy in [None, Some(Strategy::Recreate)] {
        let mut world = complete(Flavour::Rollwright);
        if let Some(strategy) = strategy {
            world.observed.workload.strategy = strategy;
        }
        world.set_template(template("a"));
        wait(&mut world);
        for _ in 0..3 {
            world.reconcile();
            assert_eq!(
                reason_of(&world, condition::RECONCILING),
                Some(("True", reason::ROLLOUT_IN_PROGRESS))
            );
            let progressing = world.observed.workload.status.condition(condition::PROGRESSING);
            let is_fresh = progressing.is_none_or(|it| it.last_update_time == Some(world.now));
            assert!(is_fresh && progressing.is_none_or(|it| it.status == "True"), "{progressing:?}");
            assert_eq!(world.kstatus(), Kstatus::InProgress);
        }
    }
}

#[test]
fn an_old_template_that_comes_back_begins_as_found() {
    let mut world = complete(Flavour::Rollwright).with(set("a", 0).revision("2").scaled_for("3", "4"));
    world.settle(5);
    world.set_template(template("a"));
    wait(&mut world);
    world.reconcile();
    assert_eq!(reason_of(&world, condition::PROGRESSING), Some(("True", reason::FOUND_NEW_REPLICA_SET)));
}

/// Nothing was rolled out, so nothing is counted.
#[test]
fn a_change_that_is_taken_back_is_no_rollout() {
    let mut world = complete(Flavour::Rollwright);
    world.set_template(template("a"));
    wait(&mut world);
    world.set_template(template("b"));
    let mut transitions = Vec::new();
    for _ in 0..3 {
        let plan = world.plan();
        transitions.extend(
            plan.actions.iter().flat_map(|it| plan::transitions(&world.observed.workload, &it.action)),
        );
        world.apply(&plan);
    }
    assert_eq!(transitions, []);
    assert_eq!(reason_of(&world, condition::PROGRESSING), Some(("True", reason::NEW_REPLICA_SET_AVAILABLE)));
    assert_eq!(world.kstatus(), Kstatus::Current);
}

#[test]
fn one_that_is_created_supersedes_only_what_was_under_way() {
    for (is_complete, expected) in
        [(true, vec![Transition::Started]), (false, vec![Transition::Started, Transition::Superseded])]
    {
        let mut world = complete(Flavour::Rollwright);
        if !is_complete {
            world.find_mut("web-b").status.available = 1;
            world.reconcile();
        }
        world.set_template(template("a"));
        wait(&mut world);
        let plan = world.plan();
        let action = &plan.actions[created(&plan).unwrap().0].action;
        assert_eq!(plan::transitions(&world.observed.workload, action), expected);
    }
}
