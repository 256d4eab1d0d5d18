//! What Progressing reports of a new ReplicaSet: created or found (S4.4, S4.15).

use jiff::SignedDuration;
use plan::intstr::IntOrPercent;
use plan::keys::{condition, reason};
use plan::{Action, Plan, Strategy};

use crate::world::{Set, World, created, ours, set, template, written};

/// The reason of Progressing in the status that a plan writes.
fn told(plan: &Plan) -> Option<String> {
    Some(written(plan)?.status.condition(condition::PROGRESSING)?.reason.clone())
}

/// One pod, which may be missing, is replaced by one of another template: a single reconcile creates the ReplicaSet and
/// cuts the old one.
fn replacing_one() -> World {
    let one = Some(IntOrPercent::Int(1));
    let mut world = ours().that(|it| {
        it.replicas = 1;
        it.progress_deadline_seconds = Some(600);
        it.strategy = Strategy::RollingUpdate { max_surge: one.clone(), max_unavailable: one };
    });
    world.observed.options.joins_reports = true;
    world = world.with(set("a", 1).revision("1").scaled_for("1", "2"));
    world.settle(5);
    world.set_template(template("b"));
    world.now += SignedDuration::from_hours(5);
    world
}

/// A reconcile that writes no status.
fn unreported_reconcile(world: &mut World) {
    let mut plan = world.plan();
    assert!(created(&plan).is_some());
    plan.actions.retain(|planned| !matches!(planned.action, Action::WriteStatus(_)));
    world.apply(&plan);
}

#[test]
fn a_set_whose_report_waits_for_the_next_reconcile_was_created() {
    let mut world = replacing_one();
    let plan = world.plan();
    assert_eq!(told(&plan), None, "it waits for the counters");
    world.apply(&plan);
    assert_eq!(told(&world.plan()).as_deref(), Some(reason::NEW_REPLICA_SET_CREATED));
}

#[test]
fn a_set_whose_report_was_refused_was_created() {
    let mut first = ours().that(|it| it.progress_deadline_seconds = Some(600));
    unreported_reconcile(&mut first);
    assert_eq!(told(&first.plan()).as_deref(), Some(reason::NEW_REPLICA_SET_CREATED));
    let mut later = replacing_one();
    unreported_reconcile(&mut later);
    later.now += SignedDuration::from_hours(1);
    let plan = later.plan();
    assert_eq!(told(&plan).as_deref(), Some(reason::NEW_REPLICA_SET_CREATED));
    later.apply(&plan);
    assert_eq!(told(&later.plan()), None, "it is said once");
}

/// What was there before: the ReplicaSet is older than the Deployment, it lacks the operator's mark, or it has been the
/// new ReplicaSet at another revision.
#[test]
fn a_set_that_was_there_was_found() {
    let in_step = |set: Set| set.scaled_for("3", "4");
    let cases = [
        ("older than the Deployment", in_step(set("a", 3).revision("4")), 0),
        ("unmarked", in_step(set("a", 3).revision("4").without_fingerprint()), 24 * 365),
        ("without a revision", in_step(set("a", 3)), 24 * 365),
        (
            "with a history",
            in_step(set("a", 3).revision("4").annotated(plan::keys::REVISION_HISTORY, "1")),
            24 * 365,
        ),
    ];
    for (name, set, hours) in cases {
        let mut world = ours().that(|it| it.progress_deadline_seconds = Some(600)).with(set);
        let set = world.find_mut("web-a");
        set.created += SignedDuration::from_hours(hours);
        // Without pods the status reports nothing else of the rollout.
        (set.status.replicas, set.status.ready, set.status.available) = (0, 0, 0);
        let mut reasons = Vec::new();
        for _ in 0..2 {
            let plan = world.plan();
            reasons.extend(told(&plan));
            world.apply(&plan);
        }
        assert_eq!(reasons, [reason::FOUND_NEW_REPLICA_SET], "{name}");
    }
}

/// The revision of a ReplicaSet that was deleted by hand is given again: by that number, the next reconcile would not
/// recognize the ReplicaSet as a new one.
#[test]
fn a_creation_that_the_next_reconcile_would_not_notice_is_told_at_once() {
    let mut world = replacing_one();
    world.settle(5);
    assert_eq!(world.observed.workload.status.ours.revision, Some(2));
    world.observed.sets.retain(|set| set.name == "web-a");
    world.find_mut("web-a").size = 1;
    world.observed.options.status_waits_since = Some(world.now);
    let plan = world.plan();
    assert!(plan.actions.iter().any(|planned| matches!(planned.action, Action::UpdateReplicaSet(_))));
    assert_eq!(told(&plan).as_deref(), Some(reason::NEW_REPLICA_SET_CREATED));
}
