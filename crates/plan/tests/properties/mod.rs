//! What holds for every snapshot, on random ones.
//!
//! On failure proptest prints the smallest snapshot it finds and the seed (`cc …`), which a
//! file `mod.regressions` beside this one replays.

mod blocked;
mod invariants;
mod recipes;
mod statuses;
mod stepped;
mod stories;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use plan::keys::REVISION;
use plan::revision::{REVISION_MAX, Revision};
use plan::{Action, Flavour, Plan, Planned, Purpose, ReplicaSet};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{FileFailurePersistence, TestRunner};

use crate::world::{OWNER, World, created, template, written};
use recipes::Range;

/// A run settles within as many reconciles as the recordings of the real controller do.
const RECONCILES_MAX: usize = 12;

/// As many cases as a few seconds allow, or as many as `PROPTEST_CASES`.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    let is_given = std::env::var_os("PROPTEST_CASES").is_some();
    ProptestConfig {
        cases: if is_given { default.cases } else { 1000 },
        max_shrink_iters: 20_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..default
    }
}

/// The ReplicaSets in another order: by their place in a shuffled list.
fn shuffled(world: &World, order: &[usize]) -> World {
    let mut world = world.clone();
    let mut keyed: Vec<_> = order.iter().copied().zip(world.observed.sets).collect();
    keyed.sort_by_key(|(key, _)| *key);
    world.observed.sets = keyed.into_iter().map(|(_, set)| set).collect();
    world
}

proptest! {
    #![proptest_config(config())]

    /// Garbage of every kind: no panic, no overflow, and the same plan whenever and in
    /// whatever order the ReplicaSets are looked at.
    #[test]
    fn planning_is_total_and_deterministic(
        recipe in recipes::recipe(Range::Hostile),
        order in Just((0..recipes::SETS_MAX).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let world = recipe.world();
        let plan = format!("{:?}", world.clone().plan());
        prop_assert_eq!(&plan, &format!("{:?}", world.clone().plan()));
        prop_assert_eq!(&plan, &format!("{:?}", shuffled(&world, &order).plan()));
    }

    /// Whatever happens after whichever action, the state is a legal one.
    #[test]
    fn every_prefix_of_every_plan_keeps_the_invariants(recipe in recipes::recipe(Range::Legal)) {
        let mut world = recipe.world();
        for _ in 0..3 {
            let plan = world.plan();
            invariants::carry_out(&mut world, &plan);
        }
    }

    /// The actions are the same for all records of past rollouts, and for all managers of the Deployment.
    #[test]
    fn no_action_depends_on_the_history(
        recipe in recipes::recipe(Range::Hostile),
        one in stories::story(),
        other in stories::story(),
    ) {
        let told = |story: &stories::Story| recipe.world().that(|it| story.tell(it)).plan();
        prop_assert_eq!(stories::untold(&told(&one)), stories::untold(&told(&other)));
        // No id returns.
        let plan = recipe.world().that(|it| one.tell_all(it)).plan();
        let ids: Vec<i64> = stories::told(&plan).map(|record| record.id).collect();
        prop_assert!(ids.is_sorted_by(|a, b| a < b), "{:?}", ids);
    }

    /// With nothing changing but what the plans change, there is an end, and it stays one.
    #[test]
    fn repeated_reconciles_come_to_rest(recipe in recipes::recipe(Range::Legal)) {
        let mut world = recipe.world();
        world.settle(RECONCILES_MAX);
        let at_rest = format!("{:?}", world.observed);
        prop_assert!(world.plan().actions.is_empty());
        prop_assert_eq!(at_rest, format!("{:?}", world.observed));
    }
}

/// The properties of records are about something: each outcome and a running record come about.
#[test]
fn random_histories_open_and_close_records() {
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeMap::new();
    let strategy = (recipes::recipe(Range::Legal), stories::story());
    for _ in 0..4000 {
        let (recipe, story) = strategy.new_tree(&mut runner).unwrap().current();
        let plan = recipe.world().that(|it| story.tell(it)).plan();
        let running = stories::told(&plan).filter(|record| record.end.is_none()).map(|_| "running");
        for word in stories::outcomes(&plan).map(plan::Outcome::as_str).chain(running) {
            *seen.entry(word).or_insert(0) += 1;
        }
    }
    let words = ["Cancelled", "Failed", "Succeeded", "Superseded", "running"];
    let often = words.map(|word| seen.get(word).is_some_and(|count| *count >= 5));
    assert_eq!(often, [true; 5], "in 4000 plans: {seen:?}");
}

/// Whether the status that a plan writes reports that a ReplicaSet was found.
fn says_found(plan: &Plan, name: &str) -> bool {
    let message = format!("Found new replica set \"{name}\"");
    written(plan).is_some_and(|write| write.status.conditions.iter().any(|entry| entry.message == message))
}

/// The highest revision of the ReplicaSets: the status reports none above it.
fn highest_revision(world: &World) -> i64 {
    let number =
        |set: &ReplicaSet| Revision::read(set.annotations.get(REVISION).map(String::as_str)).or_zero();
    let own = world.observed.sets.iter().filter(|set| set.controller_uid.as_deref() == Some(OWNER));
    own.filter(|set| crate::world::selector().matches(&set.labels)).map(number).max().unwrap_or(0).max(0)
}

/// The plan as far as it gets when the server refuses the status.
fn until_status(mut plan: Plan) -> Plan {
    let is_status = |planned: &Planned| matches!(planned.action, Action::WriteStatus(_));
    let end = plan.actions.iter().position(is_status).unwrap_or(plan.actions.len());
    plan.actions.truncate(end);
    plan
}

proptest! {
    #![proptest_config(config())]

    /// ST-2. On apps/v1 a refused status is lost with what it reported, as upstream's is.
    #[test]
    fn what_was_just_created_is_never_found(
        recipe in recipes::recipe(Range::Legal), is_told in any::<bool>(), is_refused in any::<bool>(),
    ) {
        let mut world = recipe.world();
        world.set_template(template("e"));
        let is_ours = world.observed.flavour == Flavour::Rollwright;
        world.observed.options.joins_reports = is_ours;
        world.observed.options.status_waits_since = Some(world.now);
        // At the end of the number line the new ReplicaSet gets no revision of its own (S5.2).
        let told = Some(highest_revision(&world)).filter(|told| *told < REVISION_MAX);
        world.observed.workload.status.ours.revision = told.filter(|_| is_ours && is_told);
        let mut before = None;
        for _ in 0..3 {
            let plan = world.plan();
            let name = created(&plan).map(|(_, new)| new.name.clone());
            for name in name.iter().chain(&before) {
                prop_assert!(!says_found(&plan, name), "ST-2: {name}: {:?}", plan.actions);
            }
            world.apply(&if is_ours && is_refused { until_status(plan) } else { plan });
            before = name;
        }
    }
}

/// What a plan is made of, for the test below.
fn kinds(plan: &Plan) -> Vec<&'static str> {
    let kind = |action: &Action| match action {
        Action::SetSelector(_) => "selector",
        Action::CreateReplicaSet(_) => "create",
        Action::UpdateReplicaSet(update) => match (update.purpose, update.size_to.cmp(&update.size_from)) {
            (Purpose::ScaleDownOld, _) => "old down",
            (Purpose::Sync, _) => "sync",
            (Purpose::Scale, Ordering::Less) => "down",
            (Purpose::Scale, Ordering::Equal) => "annotations",
            (Purpose::Scale, Ordering::Greater) => "up",
        },
        Action::DeleteReplicaSet(_) => "delete",
        Action::WriteStatus(_) => "status",
        Action::RollBack(write) if write.template.is_some() => "roll back",
        Action::RollBack(_) => "clear",
        Action::CreateJob(_) | Action::DeleteJob { .. } => "job",
    };
    let mut kinds: Vec<_> = plan.actions.iter().map(|planned| kind(&planned.action)).collect();
    kinds.extend(plan.deviations.iter());
    kinds.extend(plan.actions.is_empty().then_some("nothing"));
    kinds
}

/// Random worlds are worth something only if all kinds of decisions are made in them.
#[test]
fn the_recipes_lead_to_every_kind_of_action() {
    let mut runner = TestRunner::deterministic();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for _ in 0..2000 {
        let mut world = recipes::recipe(Range::Legal).new_tree(&mut runner).unwrap().current().world();
        for _ in 0..4 {
            let plan = world.plan();
            kinds(&plan).into_iter().for_each(|kind| *counts.entry(kind).or_default() += 1);
            world.apply(&plan);
        }
    }
    let wanted = [
        "selector",
        "create",
        "old down",
        "sync",
        "down",
        "annotations",
        "up",
        "delete",
        "status",
        "roll back",
        "clear",
        "nothing",
        "S5.2",
        "S5.3",
        "S8.12",
        "S8.13",
    ];
    let rare: Vec<_> =
        wanted.iter().filter(|kind| counts.get(*kind).is_none_or(|count| *count < 20)).collect();
    assert!(rare.is_empty(), "hardly ever {rare:?} in {counts:?}");
}
