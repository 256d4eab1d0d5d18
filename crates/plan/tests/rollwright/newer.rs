//! An operator that is too old for an object changes sizes with R, and nothing else.

use plan::keys::{ROLLOUT, condition};
use plan::{Action, Flavour, Plan};

use crate::world::{World, ours, set, template, world};

/// Half-way through a rollout from `b` to `a`, with room to move on.
fn half_way() -> World {
    ours()
        .with(set("b", 2).revision("1").scaled_for("3", "4"))
        .with(set("a", 1).revision("2").scaled_for("3", "4"))
}

fn with_newer_field(mut world: World) -> World {
    world.observed.workload.unknown_field = Some("spec.failurePolicy".to_owned());
    world
}

fn with_memory(mut world: World, text: &str) -> World {
    for set in &mut world.observed.sets {
        set.annotations.insert(ROLLOUT.to_owned(), text.to_owned());
    }
    world
}

/// What is done to ReplicaSets and to the Deployment itself.
fn moves(plan: &Plan) -> Vec<&Action> {
    let actions = plan.actions.iter().map(|planned| &planned.action);
    actions.filter(|action| !matches!(action, Action::WriteStatus(_))).collect()
}

#[test]
fn nothing_moves_for_a_field_or_a_memory_that_is_newer() {
    assert!(!moves(&half_way().plan()).is_empty(), "without it, the rollout moves on");
    let mut paused_and_asked = with_newer_field(half_way());
    paused_and_asked.observed.workload.rollback_to = Some(0);
    let mut not_created = with_newer_field(ours().with(set("b", 3).revision("1").scaled_for("3", "4")));
    not_created.observed.workload.annotations.insert("note".to_owned(), "new".to_owned());
    for world in [
        with_newer_field(half_way()),
        with_memory(half_way(), r#"{"version":2}"#),
        with_memory(half_way(), r#"{"version":9,"verdict":"Good"}"#),
        paused_and_asked,
        not_created,
    ] {
        let plan = world.clone().plan();
        assert!(moves(&plan).is_empty(), "{:?}", plan.actions);
    }
}

#[test]
fn the_status_and_one_event_name_what_is_newer_and_the_fix() {
    let mut world = with_newer_field(half_way());
    let plan = world.plan();
    let events: Vec<_> = plan.actions.iter().flat_map(|planned| &planned.events).collect();
    let newer: Vec<_> = events.iter().filter(|event| event.reason == "NewerSpec").collect();
    assert_eq!(newer.len(), 1, "{events:?}");
    assert!(
        newer[0].message.contains("spec.failurePolicy") && newer[0].message.contains("upgrade the operator")
    );
    world.apply(&plan);
    let stalled = world.observed.workload.status.condition(condition::STALLED).unwrap().clone();
    assert_eq!((stalled.status.as_str(), stalled.reason.as_str()), ("True", "NewerSpec"));
    assert!(stalled.message.contains("spec.failurePolicy"), "{}", stalled.message);
    assert!(world.plan().actions.is_empty(), "it is said once");
    // An upgraded operator knows the field.
    world.observed.workload.unknown_field = None;
    world.reconcile();
    assert!(world.observed.workload.status.condition(condition::STALLED).is_none());
}

#[test]
fn sizes_follow_r() {
    let mut world = with_newer_field(half_way());
    world.observed.workload.replicas = 6;
    let sizes = |world: &World| world.observed.sets.iter().map(|set| set.size).sum::<i64>();
    assert_eq!(sizes(&world), 3);
    for _ in 0..3 {
        world.reconcile();
    }
    assert_eq!(sizes(&world), 8, "R and its surge, shared out");
    assert!(moves(&world.plan()).is_empty(), "no step of the rollout follows");
}

#[test]
fn memory_that_cannot_be_read_counts_as_absent() {
    for garbage in ["", "{", "null", "[]", "7", r#"{"version":"2"}"#, r#"{"version":-1}"#, r#"{"version":1}"#]
    {
        let plan = with_memory(half_way(), garbage).plan();
        assert!(!moves(&plan).is_empty(), "{garbage:?}");
    }
}

/// On apps/v1, all of this belongs to somebody else.
#[test]
fn apps_v1_has_no_newer_fields() {
    let world = world(Flavour::AppsV1)
        .template(template("a"))
        .with(set("b", 2).revision("1").scaled_for("3", "4"))
        .with(set("a", 1).revision("2").scaled_for("3", "4"));
    let mut world = with_memory(world, r#"{"version":9}"#);
    world.observed.workload.unknown_field = Some("spec.x".to_owned());
    assert!(!moves(&world.plan()).is_empty());
}
