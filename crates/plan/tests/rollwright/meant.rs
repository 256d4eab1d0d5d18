//! What the users of policies meant, where the letter of a rule was once different (docs/internals/invariants.md, "What
//! users mean").

use jiff::SignedDuration;
use plan::keys::{ABORT, PROMOTE, RETRY, ROLLOUT, condition};
use plan::{FailureAction, Outcome, Pin, Record, Requeue, Trigger};
use serde_json::Value;

use crate::rollwright::failing::{come_up, memory, named, policy, remember};
use crate::rollwright::pinning::{says, target};
use crate::rollwright::stepping::{declare, play, promote, request, scale, sizes, step, stepped, steps};
use crate::world::{World, template};

/// Sizes of all ReplicaSets, oldest first.
pub(crate) fn all(world: &World) -> Vec<i64> {
    world.observed.sets.iter().map(|set| set.size).collect()
}

/// Ten pods of revision 2, and revision 3 at 30%; no revision skips the steps.
fn canary(dead: &[&str]) -> World {
    let mut world = stepped(10, &["30%/promoted"]).that(|it| it.good_skips_steps = false);
    declare(&mut world, "c", 30, dead);
    world
}

#[test]
fn a_way_back_never_makes_more_of_what_it_goes_away_from() {
    for (dead, knows_good) in [(&["c"][..], true), (&[], true), (&["c"], false), (&[], false)] {
        let mut world = canary(dead);
        let bad = named(&world, "c");
        if !knows_good {
            // Steps that are new, or memory that is lost.
            for name in ["web-a", "web-b"] {
                world.find_mut(name).annotations.remove(ROLLOUT);
            }
        }
        let (mut most, mut least) = (world.find(&bad).size, world.find("web-b").size);
        let began = (most, least);
        world.set_template(template("b"));
        for _ in 0..30 {
            play(&mut world, 1, dead);
            most = most.max(world.find(&bad).size);
            least = least.min(world.find("web-b").size);
        }
        assert_eq!((most, least), began, "dead: {dead:?}, knows good: {knows_good}");
        assert_eq!((world.find("web-b").size, world.find(&bad).size), (10, 0));
    }
}

#[test]
fn a_way_back_gives_no_pods_to_an_idle_revision() {
    for dead in [&["c"][..], &[]] {
        let mut world = canary(dead);
        remember(&mut world, "web-a", 1, "Good");
        world.set_template(template("b"));
        for _ in 0..30 {
            play(&mut world, 1, dead);
            assert_eq!(world.find("web-a").size, 0, "dead: {dead:?}");
        }
        assert_eq!(world.find("web-b").size, 10);
    }
}

/// Revision 2 is complete and good, and somebody pins revision 1, which was good before.
fn put_aside(list: &[&str]) -> World {
    let mut world = stepped(10, list);
    remember(&mut world, "web-a", 1, "Good");
    let pin = Pin {
        pod_template_hash: "a".to_owned(),
        template_fingerprint: None,
        reason: Some("v2 loses data".to_owned()),
    };
    world.observed.workload.pin = Some(pin);
    play(&mut world, 40, &[]);
    assert_eq!(all(&world), [10, 0]);
    world
}

#[test]
fn what_was_pinned_away_is_not_kept_by_the_next_rollout() {
    let mut world = put_aside(&["30%/promoted"]);
    world.observed.workload.pin = None;
    world.set_template(template("c"));
    for _ in 0..30 {
        play(&mut world, 1, &[]);
        assert_eq!(world.find("web-b").size, 0);
    }
    assert_eq!(all(&world), [7, 0, 3]);
}

#[test]
fn what_was_pinned_away_is_no_fallback() {
    for list in [&[][..], &["30%/1"]] {
        let mut world = put_aside(&["30%/promoted"]).that(|it| {
            let mut revert = policy(FailureAction::Revert);
            revert.as_mut().unwrap().bake_seconds = 1000;
            it.failure_policy = revert;
        });
        world.observed.workload.steps = crate::rollwright::stepping::steps(list);
        world.observed.workload.pin = None;
        world.set_template(template("c"));
        // The rollout becomes complete, and is given up while it bakes.
        play(&mut world, 60, &[]);
        assert_eq!(all(&world), [0, 0, 10], "{list:?}");
        request(&mut world, ABORT, "3", 60, &[]);
        assert_eq!(all(&world), [10, 0, 0], "{list:?}");
        assert_eq!(target(&world).unwrap().revision, Some(1));
    }
}

/// Unlike one that was put aside, one that runs again by its author's word is kept.
#[test]
fn what_is_declared_again_is_no_longer_aside() {
    let mut world = put_aside(&["30%/promoted"]);
    world.observed.workload.pin = None;
    declare(&mut world, "b", 60, &[]);
    assert_eq!(all(&world), [0, 10]);
    declare(&mut world, "c", 60, &[]);
    assert_eq!(all(&world), [0, 7, 3]);
}

#[test]
fn a_retry_is_newer_than_a_promotion_from_before_it() {
    let mut world = stepped(10, &["30%/promoted"]);
    declare(&mut world, "c", 30, &[]);
    request(&mut world, ABORT, "3", 30, &[]);
    request(&mut world, PROMOTE, "3/all", 1, &[]);
    request(&mut world, RETRY, "3", 60, &[]);
    assert_eq!(sizes(&world), "7+3");
    // A promotion that comes after it counts.
    request(&mut world, PROMOTE, "3/all/again", 60, &[]);
    assert_eq!(sizes(&world), "0+10");
}

/// FP-5: all pods are broken for longer than the deadline, and those of the old revision are back a moment earlier.
#[test]
fn after_an_outage_the_deadline_begins_again() {
    let mut world = stepped(10, &["30%/promoted"]).that(|it| {
        it.failure_policy = policy(FailureAction::Revert);
        it.progress_deadline_seconds = Some(100);
    });
    play(&mut world, 30, &[]);
    declare(&mut world, "c", 2, &["c"]);
    let new = named(&world, "c");
    // Also an outage that ends while the deadline passes.
    for seconds in 90..110 {
        let mut world = world.clone();
        play(&mut world, seconds, &["b", "c"]);
        // The outage ends in the same second.
        come_up(&mut world, &["c"]);
        for _ in 0..5 {
            world.proceed();
        }
        play(&mut world, 20, &["c"]);
        assert_eq!(memory(&world, &new)["verdict"], Value::Null, "an outage of {seconds} s");
    }
    play(&mut world, 300, &["b", "c"]);
    assert_eq!(memory(&world, &new)["verdict"], Value::Null, "the cause is shared");
    play(&mut world, 20, &["c"]);
    assert_eq!(memory(&world, &new)["verdict"], Value::Null, "the outage is over for the old revision only");
    let mut bad = world.clone();
    play(&mut world, 60, &[]);
    assert_eq!((memory(&world, &new)["verdict"].clone(), sizes(&world)), (Value::Null, "7+3".to_owned()));
    // A revision that does not recover has the whole deadline, and no more.
    play(&mut bad, 200, &["c"]);
    assert_eq!(memory(&bad, &new)["verdict"], "Failed");
}

#[test]
fn a_template_that_is_declared_without_replicas_keeps_its_steps() {
    for replicas in [10, 4] {
        let mut world = stepped(10, &["30%/promoted"]);
        scale(&mut world, 0, 10, &[]);
        declare(&mut world, "c", 10, &[]);
        world.observed.workload.replicas = replicas;
        let canary = if replicas == 10 { 3 } else { 2 };
        for _ in 0..40 {
            play(&mut world, 1, &[]);
            assert!(world.find(&named(&world, "c")).size <= canary, "{:?}", all(&world));
        }
        assert_eq!(sizes(&world), format!("{}+{canary}", replicas - canary));
        request(&mut world, PROMOTE, "3/all", 40, &[]);
        assert_eq!(sizes(&world), format!("0+{replicas}"));
    }
}

#[test]
fn a_canary_stays_where_it_is_when_the_kept_set_is_deleted() {
    let mut world = stepped(10, &["30%/promoted", "60%"]);
    declare(&mut world, "c", 30, &[]);
    assert_eq!(sizes(&world), "7+3");
    world.observed.sets.retain(|set| set.name != "web-b");
    for _ in 0..30 {
        play(&mut world, 1, &[]);
        assert_eq!(all(&world), [0, 3]);
    }
    assert_eq!(step(&world).and_then(|record| record.step), Some(1));
    request(&mut world, PROMOTE, "3/all", 40, &[]);
    assert_eq!(all(&world), [0, 10]);
}

/// The triggers of all rollouts, the running one included.
fn triggers(world: &World, ended: &[Record]) -> Vec<(i64, Option<Trigger>)> {
    let running = world.observed.workload.status.ours.rollout.as_deref();
    ended.iter().chain(running).map(|record| (record.revision, record.trigger)).collect()
}

#[test]
fn a_record_names_what_changed_since_the_template_that_ran_before() {
    let mut world = stepped(10, &[]).that(|it| {
        it.failure_policy = policy(FailureAction::Revert);
        it.progress_deadline_seconds = Some(50);
    });
    play(&mut world, 5, &[]);
    let mut ended = Vec::new();
    // The revision fails, the operator goes back, and so does Git; then only the image changes.
    for (image, seconds) in [("c", 100), ("b", 30), ("c", 30), ("d", 60)] {
        ended.extend(declare(&mut world, image, seconds, &["c"]).ended);
    }
    let (image, revert) = (Some(Trigger::NewImage), Some(Trigger::Revert));
    assert_eq!(triggers(&world, &ended), [(3, image), (2, revert), (4, image), (5, image), (6, image)]);
}

#[test]
fn a_rollout_that_goes_on_after_its_deadline_has_one_record() {
    for list in [&["30%/promoted"][..], &["10%", "30%/promoted"]] {
        let mut world = stepped(10, list).that(|it| it.progress_deadline_seconds = Some(50));
        let mut ended = declare(&mut world, "c", 100, &["c"]).ended;
        ended.extend(play(&mut world, 60, &[]).ended);
        ended.extend(request(&mut world, PROMOTE, "3/all", 60, &[]).ended);
        let outcomes: Vec<_> =
            ended.iter().map(|record| (record.revision, record.end.clone().map(|end| end.outcome))).collect();
        assert_eq!(outcomes, [(3, Some(Outcome::Succeeded))], "{list:?}: {ended:#?}");
    }
}

/// A status that waits for more counters hides no other reason to requeue.
#[test]
fn a_status_that_is_held_does_not_delay_the_end_of_a_step() {
    let mut world = stepped(10, &["30%/4"]);
    world.set_template(template("c"));
    let is_resting = |world: &World| says(world, condition::PROGRESSING).1 == "RestingAtStep";
    assert!((0..30).any(|_| play(&mut world, 1, &[]).writes > 0 && is_resting(&world)));
    let end = world.clone().plan().requeue;
    world.now = end.time().unwrap() - SignedDuration::from_secs(1);
    // Pods that terminate are no news that somebody waits for.
    world.observed.sets.iter_mut().for_each(|set| set.status.terminating = Some(1));
    world.observed.options.status_waits_since = Some(world.now);
    let plan = world.plan();
    assert!(plan.status_waits && matches!(end, Requeue::Deadline(_)), "{end:?}");
    assert_eq!(plan.requeue, end);
}

/// A user who promotes looks at the status for the outcome, and promotes from there.
#[test]
fn a_promotion_between_steps_of_equal_size_is_told_without_delay() {
    let mut world = stepped(10, &["1/promoted", "10%/promoted"]);
    declare(&mut world, "c", 30, &[]);
    let at = |world: &World| step(world).and_then(|record| record.step);
    assert_eq!(at(&world), Some(1));
    promote(&mut world, "3/10%");
    for _ in 0..3 {
        world.observed.options.status_waits_since = Some(world.now);
        world.proceed();
    }
    assert_eq!(at(&world), Some(2));
}

#[test]
fn steps_that_come_while_there_are_no_replicas_undo_nothing() {
    let mut world = stepped(10, &[]);
    scale(&mut world, 0, 10, &[]);
    world.observed.workload.steps = steps(&["10%/promoted"]);
    play(&mut world, 10, &[]);
    scale(&mut world, 10, 40, &[]);
    assert_eq!(all(&world), [0, 10]);
}

#[test]
fn a_way_back_in_an_outage_takes_no_pods_from_what_served() {
    let mut world = canary(&[]);
    play(&mut world, 5, &["b", "c"]);
    world.set_template(template("b"));
    for _ in 0..20 {
        play(&mut world, 1, &["b", "c"]);
        let bad = named(&world, "c");
        assert!(world.find("web-b").size >= 7 && world.find(&bad).size <= 3, "{:?}", all(&world));
    }
    play(&mut world, 40, &["c"]);
    assert_eq!(sizes(&world), "10+0");
}

#[test]
fn a_set_that_a_pin_put_aside_during_a_step_is_not_kept_afterwards() {
    let mut world = stepped(10, &["30%/promoted"]);
    remember(&mut world, "web-a", 1, "Good");
    declare(&mut world, "c", 30, &[]);
    assert_eq!(all(&world), [0, 7, 3]);
    let pin = Pin { pod_template_hash: "a".to_owned(), template_fingerprint: None, reason: None };
    world.observed.workload.pin = Some(pin);
    play(&mut world, 60, &[]);
    assert_eq!(all(&world), [10, 0, 0]);
    world.observed.workload.pin = None;
    play(&mut world, 60, &[]);
    assert_eq!(all(&world), [7, 0, 3]);
}

#[test]
fn a_retry_keeps_the_steps_although_the_kept_set_is_gone() {
    let mut world = stepped(10, &["30%/promoted"]);
    declare(&mut world, "c", 30, &[]);
    world.observed.sets.retain(|set| set.name != "web-b");
    request(&mut world, ABORT, "3", 30, &[]);
    request(&mut world, RETRY, "3", 60, &[]);
    assert!(all(&world)[1] <= 3, "{:?}", all(&world));
}

/// With all pods, the revision never came down to those of its first step, and became late. Found by LV-1.
#[test]
fn a_retry_of_what_had_all_pods_has_no_steps_where_nothing_keeps_others() {
    let mut world = stepped(10, &["30%/promoted"]);
    promote(&mut world, "3/all");
    declare(&mut world, "c", 120, &[]);
    world.observed.sets.retain(|set| set.size > 0);
    assert_eq!(all(&world), [10]);
    request(&mut world, ABORT, "3", 30, &[]);
    assert_eq!(says(&world, "Ready").1, "NoGoodRevision");
    request(&mut world, RETRY, "3", 60, &[]);
    assert_eq!((all(&world), says(&world, "Ready").1.as_str()), (vec![10], "RolloutComplete"));
}

/// Found by UM-9 in the simulator: what a good revision was rolled back from was its fallback.
#[test]
fn a_way_back_to_a_good_revision_puts_aside_what_it_leaves() {
    let mut world = stepped(10, &[]).that(|it| it.failure_policy = policy(FailureAction::Revert));
    remember(&mut world, "web-a", 1, "Good");
    play(&mut world, 5, &[]);
    let fallback = |world: &World| world.observed.workload.status.ours.fallback.clone().map(|it| it.hash);
    assert_eq!(fallback(&world).as_deref(), Some("a"));
    declare(&mut world, "a", 60, &[]);
    assert_eq!((all(&world), fallback(&world)), (vec![10, 0], None));
}
