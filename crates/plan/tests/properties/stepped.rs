//! Steps on random snapshots: they change nothing once a revision is promoted to the end, and no invariant holds less.

use plan::intstr::IntOrPercent;
use plan::keys::{PROMOTE, REVISION, REVISION_HISTORY};
use plan::revision::Revision;
use plan::{Action, Flavour, Plan, Until, UpdateStep, Why, Workload};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::properties::recipes::{self, Range};
use crate::properties::{config, invariants};
use crate::rollwright::come_up;
use crate::rollwright::custom::process;
use crate::world::{OWNER, World, written};

/// Steps, and whether a good revision has none.
fn steps() -> impl Strategy<Value = (Vec<UpdateStep>, bool)> {
    let percent = (0..=120_i64).prop_map(|percent| IntOrPercent::Text(format!("{percent}%")));
    let text = prop::sample::select(vec!["", "x", "-5%", "9223372036854775807%"]);
    let updated = prop_oneof![
        5 => percent,
        5 => (0..=12_i64).prop_map(IntOrPercent::Int),
        1 => text.prop_map(|text| IntOrPercent::Text(text.to_owned())),
        1 => any::<i64>().prop_map(IntOrPercent::Int),
    ];
    let seconds = prop::option::of(prop::sample::select(vec![0, 1, 600, i64::MAX]));
    let step = (updated, any::<bool>(), seconds).prop_map(|(updated, is_promoted, seconds)| {
        let promoted = is_promoted.then_some(Until::Promoted);
        UpdateStep {
            updated,
            until: promoted.into_iter().chain(seconds.map(Until::Seconds)).collect(),
            gate: None,
        }
    });
    (prop::collection::vec(step, 1..6), any::<bool>())
}

fn with(world: World, (steps, good_skips_steps): &(Vec<UpdateStep>, bool)) -> World {
    let is_ours = world.observed.flavour == Flavour::Rollwright;
    world.that(|it| {
        it.steps = if is_ours { steps.clone() } else { Vec::new() };
        it.good_skips_steps = *good_skips_steps;
    })
}

/// The revision of the declared ReplicaSet, once this plan is carried out.
fn revision(world: &World, plan: &Plan) -> Option<String> {
    let created = plan.actions.iter().find_map(|planned| match &planned.action {
        Action::CreateReplicaSet(set) => set.annotations.get(REVISION).cloned(),
        Action::UpdateReplicaSet(update) => update.annotations.get(REVISION).cloned(),
        _ => None,
    });
    let told = written(plan).and_then(|write| write.status.ours.revision);
    let told = told.or(world.observed.workload.status.ours.revision);
    created.or(told.or_else(|| stored(world)).map(|number| number.to_string()))
}

/// The revision of the oldest owned ReplicaSet that carries the template.
fn stored(world: &World) -> Option<i64> {
    let Workload { template, selector, .. } = &world.observed.workload;
    let owned = world.observed.sets.iter().filter(|set| set.controller_uid.as_deref() == Some(OWNER));
    let declared = owned.filter(|set| set.carries(&template.fingerprint));
    let declared = declared.filter(|set| selector.as_ref().is_some_and(|it| it.matches(&set.labels)));
    let oldest = declared.min_by(|a, b| a.age_order(b))?;
    Revision::read(oldest.annotations.get(REVISION).map(String::as_str)).number()
}

/// Whether a ReplicaSet grows, or waits to under Recreate, although a revision is declared again, or was.
fn grows_after_a_way_back(world: &World, plan: &Plan) -> bool {
    let updates = || {
        plan.actions.iter().filter_map(|planned| match &planned.action {
            Action::UpdateReplicaSet(update) => Some(update),
            _ => None,
        })
    };
    let was_declared = world.observed.sets.iter().any(|it| it.annotations.contains_key(REVISION_HISTORY));
    let is_declared = || updates().any(|update| update.annotations.contains_key(REVISION_HISTORY));
    let grows = plan.why == Why::WaitingForTermination || updates().any(|it| it.size_to > it.size_from);
    grows && (was_declared || is_declared())
}

/// The sizes that a plan gives to ReplicaSets, in its order.
fn sizes(plan: &Plan) -> Vec<(String, i64)> {
    let size = |action: &Action| match action {
        Action::CreateReplicaSet(set) => Some((set.name.clone(), set.size)),
        Action::UpdateReplicaSet(it) if it.size_from != it.size_to => {
            Some((it.target.name.clone(), it.size_to))
        }
        _ => None,
    };
    plan.actions.iter().filter_map(|planned| size(&planned.action)).collect()
}

proptest! {
    #![proptest_config(config())]

    /// SP-1: a rollout that is immediately promoted to the end goes as if it had no steps.
    #[test]
    fn what_is_promoted_at_once_has_the_sizes_of_no_steps(
        recipe in recipes::recipe(Range::Legal), steps in steps(),
    ) {
        let mut without = recipe.world();
        let mut stepped = with(recipe.world(), &steps);
        for _ in 0..6 {
            let plan = without.plan();
            // Without a revision, nobody can promote it.
            let Some(revision) = revision(&without, &plan) else { return Ok(()) };
            // FP-10: what a user goes back from does not grow with R, where there are steps.
            if grows_after_a_way_back(&without, &plan) {
                return Ok(());
            }
            let annotations = &mut stepped.observed.workload.annotations;
            annotations.insert(PROMOTE.to_owned(), format!("{revision}/all"));
            let promoted = stepped.plan();
            prop_assert_eq!(sizes(&promoted), sizes(&plan), "{:?}\n{:?}", plan.actions, promoted.actions);
            without.apply(&plan);
            stepped.apply(&promoted);
        }
    }

    /// As without steps.
    #[test]
    fn steps_keep_the_invariants(recipe in recipes::recipe(Range::Legal), steps in steps()) {
        let mut world = with(recipe.world(), &steps);
        for _ in 0..4 {
            let plan = world.plan();
            invariants::carry_out(&mut world, &plan);
        }
    }

    /// Nor does it with a process, whatever that asks; and with its last word, the rollout ends.
    #[test]
    fn a_process_keeps_the_invariants(
        recipe in recipes::recipe(Range::Legal), asked in prop::collection::vec(0..=120_i64, 1..6),
    ) {
        let mut world = with(recipe.world(), &(process(9000), true));
        world.observed.options.runs_jobs = true;
        for percent in asked {
            let plan = world.plan();
            let Some(revision) = revision(&world, &plan) else { return Ok(()) };
            let annotations = &mut world.observed.workload.annotations;
            annotations.insert(PROMOTE.to_owned(), format!("{revision}/{percent}%"));
            let plan = world.plan();
            invariants::carry_out(&mut world, &plan);
        }
        prop_assume!(world.observed.sets.iter().all(|set| set.size <= 20));
        for _ in 0..300 {
            let plan = world.plan();
            if plan.actions.is_empty() {
                return Ok(());
            }
            world.apply(&plan);
            come_up(&mut world, &[]);
        }
        prop_assert!(false, "{:?}", world.plan().actions);
    }

    #[test]
    fn steps_are_total_and_deterministic(recipe in recipes::recipe(Range::Hostile), steps in steps()) {
        let world = with(recipe.world(), &steps);
        let plan = format!("{:?}", world.clone().plan());
        prop_assert_eq!(&plan, &format!("{:?}", world.clone().plan()));
    }

    /// Pods come up, and time passes as it likes.
    #[test]
    fn steps_come_to_rest(recipe in recipes::recipe(Range::Legal), steps in steps()) {
        let mut world = with(recipe.world(), &steps).that(|it| it.replicas = it.replicas.min(20));
        world.observed.sets.iter_mut().for_each(|set| set.size = set.size.min(20));
        for _ in 0..200 {
            let plan = world.plan();
            if plan.actions.is_empty() {
                return Ok(());
            }
            world.apply(&plan);
            come_up(&mut world, &[]);
        }
        prop_assert!(false, "{:?}", world.plan().actions);
    }
}

/// The property of promotions is about something.
#[test]
fn steps_matter_on_random_snapshots() {
    let mut runner = TestRunner::deterministic();
    let strategy = (recipes::recipe(Range::Legal), steps());
    let mut number = 0;
    for _ in 0..2000 {
        let (recipe, steps) = strategy.new_tree(&mut runner).unwrap().current();
        let plain = sizes(&recipe.world().plan());
        number += usize::from(plain != sizes(&with(recipe.world(), &steps).plan()));
    }
    assert!(number > 100, "{number}");
}
