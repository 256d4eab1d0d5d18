//! What blocks a rollout is reported, and decides nothing.

use plan::keys::reason;
use plan::{Action, Blocker, Event, Findings, Flavour, Plan, Planned, Status};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::properties::recipes::{self, Range};
use crate::properties::stories;
use crate::world::World;

fn blocker() -> impl Strategy<Value = Blocker> {
    let word = prop::sample::select(vec!["", "ImagePull", "CrashLoop", "app", "Error", "\u{1f4a5} \n\""]);
    let (cause, container, reason) = (word.clone(), word.clone(), word.clone());
    (cause, container, reason, any::<i64>(), any::<i64>(), word).prop_map(
        |(cause, container, reason, pods, of, message)| Blocker {
            cause: cause.to_owned(),
            container: container.to_owned(),
            reason: reason.to_owned(),
            pods,
            of,
            message: message.to_owned(),
            since: None,
        },
    )
}

fn blockers() -> impl Strategy<Value = Vec<Blocker>> {
    prop::collection::vec(blocker(), 0..8)
}

/// The name of the ReplicaSet that the plan calls the declared one, if the rollout waits for its pods.
fn declared(world: &World) -> Option<String> {
    world.clone().plan().awaited.and_then(|awaited| awaited.set)
}

/// The same, with these blockers stored in the status and these found out.
fn with(world: &World, stored: Vec<Blocker>, found: Vec<Blocker>) -> World {
    let mut world = world.clone();
    if world.observed.flavour == Flavour::Rollwright {
        world.observed.workload.status.ours.blockers = stored;
    }
    world.observed.answers.findings = Some(Findings { set: declared(&world), blockers: found });
    world
}

fn bare(status: &Status) -> Status {
    let mut status = stories::without(status);
    status.ours.blockers.clear();
    status.conditions.iter_mut().for_each(|condition| condition.message.clear());
    status
}

/// All that is decided: the actions without blockers, records, and messages. A status write counts only if it
/// changes something else.
fn decided(world: &World, plan: &Plan) -> Vec<(Action, Vec<&'static str>)> {
    let reasons = |events: &[Event]| -> Vec<&'static str> {
        let reasons = events.iter().map(|event| event.reason);
        reasons.filter(|known| *known != reason::ROLLOUT_BLOCKED).collect()
    };
    let decided = |planned: &Planned| {
        let mut action = planned.action.clone();
        if let Action::WriteStatus(write) = &mut action {
            write.status = bare(&write.status);
            (write.ended, write.last_scale) = (Vec::new(), None);
            let is_news = write.status != bare(&world.observed.workload.status);
            if !is_news && write.revision_annotation.is_none() {
                return None;
            }
        }
        Some((action, reasons(&planned.events)))
    };
    plan.actions.iter().filter_map(decided).collect()
}

proptest! {
    #![proptest_config(crate::properties::config())]

    #[test]
    fn records_and_blockers_decide_nothing(
        recipe in recipes::recipe(Range::Legal), one in stories::story(), other in stories::story(),
        stored in blockers(), found in blockers(),
    ) {
        let world = recipe.world().that(|it| one.tell(it));
        let blocked = with(&recipe.world().that(|it| other.tell(it)), stored, found);
        let (plain, plan) = (world.clone().plan(), blocked.clone().plan());
        prop_assert_eq!(decided(&world, &plain), decided(&blocked, &plan));
        prop_assert_eq!(plain.awaited, plan.awaited);
        prop_assert_eq!(plain.error, plan.error);
    }

    /// Another count or text is no reason to write.
    #[test]
    fn counts_and_texts_alone_cause_no_write(
        recipe in recipes::recipe(Range::Legal), found in blockers(), of in any::<i64>(),
    ) {
        let mut world = recipe.world();
        world.settle(12);
        let mut world = with(&world, Vec::new(), found.clone());
        world.proceed();
        let recount = |one: &Blocker| Blocker { of, pods: of, message: "other".to_owned(), ..one.clone() };
        let recounted = found.iter().rev().map(recount).collect();
        prop_assume!(found.len() <= 5);
        world.observed.answers.findings = Some(Findings { set: declared(&world), blockers: recounted });
        let plan = world.plan();
        prop_assert!(plan.actions.is_empty(), "{:?}", plan.actions);
    }
}

/// The properties above are worth something only if blockers are reported in some of these worlds.
#[test]
fn blockers_are_reported_in_many_worlds() {
    let mut runner = TestRunner::deterministic();
    let mut reported = 0;
    for _ in 0..1000 {
        let recipe = recipes::recipe(Range::Legal).new_tree(&mut runner).unwrap().current();
        let found = vec![Blocker { cause: "ImagePull".to_owned(), ..Blocker::default() }];
        let mut world = recipe.world();
        world.settle(12);
        let plan = with(&world, Vec::new(), found).plan();
        let is_told = |planned: &Planned| {
            planned.events.iter().any(|event| event.reason == reason::ROLLOUT_BLOCKED)
                && matches!(&planned.action, Action::WriteStatus(write) if write.status.ours.blockers.len() == 1)
        };
        reported += usize::from(plan.actions.iter().any(is_told));
    }
    assert!(reported > 50, "in {reported} of 1000");
}
