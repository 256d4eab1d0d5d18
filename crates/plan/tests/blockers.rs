//! How a status reports what blocks its rollout.

use crate::world::{World, set, template, world};
use plan::keys::{condition, reason};
use plan::{Action, Blocker, Event, Findings, Flavour, Plan, Status, TargetRecord};

/// One replica, rolled out to `b`, with a pod that does not start. The status is as it should be.
fn stuck(flavour: Flavour) -> World {
    let mut world = world(flavour)
        .that(|workload| workload.replicas = 1)
        .that(|workload| workload.progress_deadline_seconds = Some(600))
        .template(template("b"))
        .with(set("a", 1).revision("1").scaled_for("1", "2"))
        .with(set("b", 1).revision("2").scaled_for("1", "2"));
    let new = world.find_mut("web-b");
    (new.status.ready, new.status.available) = (0, 0);
    world.settle(5);
    world
}

fn blocker(cause: &str, message: &str) -> Blocker {
    Blocker {
        cause: cause.to_owned(),
        container: "app".to_owned(),
        pods: 1,
        of: 1,
        message: message.to_owned(),
        ..Blocker::default()
    }
}

/// The plan if this was found out about a ReplicaSet.
fn plan_of(world: &mut World, set: &str, blockers: &[Blocker]) -> Plan {
    let findings = Findings { set: Some(set.to_owned()), blockers: blockers.to_vec() };
    world.observed.answers.findings = Some(findings);
    world.plan()
}

fn plan_found(world: &mut World, blockers: &[Blocker]) -> Plan {
    plan_of(world, "web-b", blockers)
}

fn written(plan: &Plan) -> Option<(&Status, &[Event])> {
    plan.actions.iter().find_map(|planned| match &planned.action {
        Action::WriteStatus(write) => Some((&write.status, planned.events.as_slice())),
        _ => None,
    })
}

fn message(status: &Status, kind: &str) -> String {
    status.condition(kind).map(|condition| condition.message.clone()).unwrap_or_default()
}

#[test]
fn a_cause_is_reported_once_in_status_conditions_and_an_event() {
    let mut world = stuck(Flavour::Rollwright);
    let before = message(&world.observed.workload.status, condition::PROGRESSING);
    let plan = plan_found(&mut world, &[blocker("ImagePull", "cannot pull the image b")]);
    let (status, events) = written(&plan).unwrap();
    assert_eq!(status.ours.blockers.len(), 1);
    assert_eq!(status.ours.blockers[0].since, Some(world.now));
    let words = "1 of 1 pods cannot pull the image b";
    assert_eq!(message(status, condition::PROGRESSING), format!("{before} It is blocked: {words}."));
    assert!(message(status, condition::RECONCILING).ends_with(words));
    assert!(plan.why.to_string().ends_with(words), "{}", plan.why);
    let [event] = events else { panic!("{events:?}") };
    assert_eq!(event.reason, reason::ROLLOUT_BLOCKED);
    assert_eq!(event.message, format!("Rollout of revision 2 is blocked: {words}"));
    world.apply(&plan);
    let stored = world.observed.workload.status.ours.blockers.clone();
    assert!(plan_found(&mut world, &stored).actions.is_empty());
}

#[test]
fn a_cause_is_set_off_from_a_message_that_is_no_sentence() {
    let mut world = stuck(Flavour::Rollwright);
    let before = "Created new replica set \"web-b\"";
    for known in &mut world.observed.workload.status.conditions {
        if known.kind == condition::PROGRESSING {
            known.message = before.to_owned();
        }
    }
    let plan = plan_found(&mut world, &[blocker("ImagePull", "cannot pull the image b")]);
    let words = "1 of 1 pods cannot pull the image b.";
    let (status, _) = written(&plan).unwrap();
    assert_eq!(message(status, condition::PROGRESSING), format!("{before}; it is blocked: {words}"));
    world.apply(&plan);
    // What goes leaves the message as it was.
    let plan = plan_found(&mut world, &[]);
    assert_eq!(message(written(&plan).unwrap().0, condition::PROGRESSING), before);
}

#[test]
fn another_text_waits_for_the_next_write_and_since_stays() {
    let mut world = stuck(Flavour::Rollwright);
    let plan = plan_found(&mut world, &[blocker("ImagePull", "one")]);
    world.apply(&plan);
    let since = world.now;
    world.wait(60);
    assert!(plan_found(&mut world, &[blocker("ImagePull", "two")]).actions.is_empty());
    let plan = plan_found(&mut world, &[blocker("ImagePull", "two"), blocker("CrashLoop", "three")]);
    let (status, events) = written(&plan).unwrap();
    let [first, second] = status.ours.blockers.as_slice() else { panic!("{:?}", status.ours.blockers) };
    assert_eq!((first.message.as_str(), first.since), ("two", Some(since)));
    assert_eq!(second.since, Some(world.now));
    let progressing = message(status, condition::PROGRESSING);
    assert_eq!(progressing.matches("It is blocked").count(), 1, "{progressing}");
    let [event] = events else { panic!("{events:?}") };
    assert!(event.message.contains("three") && !event.message.contains("two"), "{}", event.message);
}

#[test]
fn a_blocked_rollout_keeps_its_cause_until_it_moves() {
    let mut world = stuck(Flavour::Rollwright);
    let plan = plan_found(&mut world, &[blocker("ImagePull", "one")]);
    world.apply(&plan);
    // A new operator has not looked yet.
    assert!(world.plan().actions.is_empty());
    let set = world.find_mut("web-b");
    (set.status.ready, set.status.available) = (1, 1);
    world.settle(5);
    let status = &world.observed.workload.status;
    assert_eq!(status.ours.blockers, []);
    assert!(!message(status, condition::PROGRESSING).contains("blocked"));
}

#[test]
fn what_was_found_of_another_set_does_not_count() {
    let mut world = stuck(Flavour::Rollwright);
    assert!(plan_of(&mut world, "web-a", &[blocker("ImagePull", "one")]).actions.is_empty());
    let plan = plan_found(&mut world, &[blocker("ImagePull", "one")]);
    world.apply(&plan);
    // The next template begins without them.
    world.set_template(template("c"));
    let plan = world.plan();
    assert_eq!(written(&plan).unwrap().0.ours.blockers, []);
}

/// What runs is another ReplicaSet as soon as a pin goes, under the same declared revision.
#[test]
fn what_blocked_a_pinned_revision_does_not_block_the_declared_one() {
    let mut world = stuck(Flavour::Rollwright);
    let plan = plan_found(&mut world, &[blocker("CrashLoop", "crash")]);
    world.apply(&plan);
    world.observed.answers.findings = None;
    assert_eq!(world.observed.workload.status.ours.blockers.len(), 1);
    let pinned = TargetRecord {
        revision: Some(1),
        hash: "a".to_owned(),
        reason: "Pinned".to_owned(),
        ..<_>::default()
    };
    world.observed.workload.status.ours.target = Some(pinned);
    let plan = world.plan();
    let (status, _) = written(&plan).unwrap();
    assert_eq!((&status.ours.target, status.ours.blockers.as_slice()), (&None, &[][..]));
}

#[test]
fn the_deadline_and_the_cause_share_a_message() {
    let mut world = stuck(Flavour::Rollwright);
    let plan = plan_found(&mut world, &[blocker("ImagePull", "cannot pull")]);
    world.apply(&plan);
    world.wait(700);
    let plan = world.plan();
    let (status, events) = written(&plan).unwrap();
    for kind in [condition::PROGRESSING, condition::STALLED] {
        let message = message(status, kind);
        assert!(
            message.contains("has timed out") && message.contains("1 of 1 pods cannot pull"),
            "{message}"
        );
    }
    assert!(events.iter().all(|event| event.reason != reason::ROLLOUT_BLOCKED), "{events:?}");
}

#[test]
fn at_most_five_are_reported() {
    let mut world = stuck(Flavour::Rollwright);
    let many: Vec<_> = (0..9).map(|number| blocker(&format!("Cause{number}"), "x")).collect();
    let plan = plan_found(&mut world, &many);
    assert_eq!(written(&plan).unwrap().0.ours.blockers.len(), 5);
    world.apply(&plan);
    assert!(plan_found(&mut world, &many).actions.is_empty());
}

#[test]
fn on_apps_v1_nothing_is_written() {
    let mut world = stuck(Flavour::AppsV1);
    let plan = plan_found(&mut world, &[blocker("ImagePull", "one")]);
    assert!(plan.actions.is_empty(), "{:?}", plan.actions);
    assert!(!plan.why.to_string().contains("one"));
    assert!(plan.awaited.is_some_and(|awaited| awaited.set.as_deref() == Some("web-b")));
}
