//! `spec.failurePolicy`: what counts as good and as failed, and what follows (FP-1 to FP-10).

use plan::intstr::IntOrPercent;
use plan::keys::{ABORT, RETRY, REVISION, ROLLOUT, condition};
use plan::{Event, FailureAction, FailurePolicy};
use serde_json::Value;

use crate::rollwright::pinning::{complete, count, label, says, settle, sizes, target};
use crate::world::{Kstatus, World, ours, set, template};

pub(crate) fn policy(action: FailureAction) -> Option<FailurePolicy> {
    let min_pods = IntOrPercent::Int(1);
    Some(FailurePolicy {
        action,
        deadline: true,
        restarts: None,
        stuck_seconds: None,
        min_pods,
        bake_seconds: 0,
    })
}

/// Revision 2 is complete and good; revision 1 has no pods.
pub(crate) fn good(action: FailureAction) -> World {
    let mut world = complete().that(|it| it.failure_policy = policy(action));
    settle(&mut world);
    world
}

pub(crate) fn memory(world: &World, name: &str) -> Value {
    let text = world.find(name).annotations.get(ROLLOUT).map_or("null", String::as_str);
    serde_json::from_str(text).unwrap()
}

/// Writes a verdict down, as of this revision.
pub(crate) fn remember(world: &mut World, name: &str, revision: i64, verdict: &str) {
    let text = format!(r#"{{"version":1,"revision":{revision},"verdict":"{verdict}"}}"#);
    world.find_mut(name).annotations.insert(ROLLOUT.to_owned(), text);
}

/// The name of the ReplicaSet of a template.
pub(crate) fn named(world: &World, image: &str) -> String {
    let fingerprint = crate::world::fingerprint(image);
    world.observed.sets.iter().find(|set| set.carries(&fingerprint)).unwrap().name.clone()
}

/// ReplicaSets get the pods that they were asked for. Those of these templates never become ready, and all others are
/// available immediately.
pub(crate) fn come_up(world: &mut World, dead: &[&str]) {
    let dead: Vec<_> = dead.iter().map(|image| crate::world::fingerprint(image)).collect();
    for set in &mut world.observed.sets {
        let is_dead = dead.iter().any(|fingerprint| set.carries(fingerprint));
        let available = if is_dead { 0 } else { set.size };
        let status = &mut set.status;
        (status.replicas, status.ready, status.available) = (set.size, available, available);
        status.observed_generation = set.generation;
    }
}

/// Reconciles for this many seconds, one in ten of them, while pods come up. Returns the events, and the fewest
/// available pods at any time.
pub(crate) fn play(world: &mut World, seconds: i64, dead: &[&str]) -> (Vec<Event>, i64) {
    let (mut events, mut lowest) = (Vec::new(), i64::MAX);
    for _ in 0..=seconds / 10 {
        world.wait(10);
        let now = world.now;
        // The pods that somebody has read are read again, and show the same.
        let shown = std::sync::Arc::make_mut(&mut world.observed.answers.evidence);
        shown.iter_mut().for_each(|evidence| evidence.read = now);
        // A reconcile for each thing that a write changes.
        for _ in 0..4 {
            let plan = world.proceed();
            events.extend(plan.actions.into_iter().flat_map(|planned| planned.events));
            come_up(world, dead);
            lowest = lowest.min(world.observed.sets.iter().map(|set| set.status.available).sum());
        }
    }
    (events, lowest)
}

/// As [`play`], after another template is declared.
pub(crate) fn declare(world: &mut World, image: &str, seconds: i64, dead: &[&str]) -> (Vec<Event>, i64) {
    world.set_template(template(image));
    play(world, seconds, dead)
}

/// As [`play`], after a change of R.
pub(crate) fn scale(world: &mut World, replicas: i64, seconds: i64, dead: &[&str]) -> (Vec<Event>, i64) {
    world.observed.workload.replicas = replicas;
    play(world, seconds, dead)
}

/// As [`play`], after somebody annotates the Deployment.
pub(crate) fn request(
    world: &mut World,
    key: &str,
    text: &str,
    seconds: i64,
    dead: &[&str],
) -> (Vec<Event>, i64) {
    world.observed.workload.annotations.insert(key.to_owned(), text.to_owned());
    play(world, seconds, dead)
}

#[test]
fn a_revision_is_good_once_it_was_complete_for_as_long_as_it_bakes() {
    let world = good(FailureAction::Revert);
    assert_eq!(memory(&world, "web-b")["verdict"], "Good");
    assert_eq!(memory(&world, "web-b")["revision"], 2);
    // Nothing is remembered without a policy.
    assert_eq!(memory(&complete(), "web-b"), Value::Null);

    let baking = policy(FailureAction::Revert).map(|policy| FailurePolicy { bake_seconds: 100, ..policy });
    let mut world = good(FailureAction::Revert).that(|it| it.failure_policy = baking);
    declare(&mut world, "c", 60, &[]);
    let name = named(&world, "c");
    assert_eq!((world.find(&name).size, memory(&world, &name)["verdict"].clone()), (3, Value::Null));
    assert!(world.plan().requeue.time().is_some(), "it comes back when it is baked");
    play(&mut world, 60, &[]);
    assert_eq!(memory(&world, &name)["verdict"], "Good");
    assert_eq!(world.plan().requeue.time(), None);
}

#[test]
fn a_revision_that_makes_no_progress_is_reverted_to_the_last_good_one() {
    let mut world = good(FailureAction::Revert);
    let (_, lowest) = declare(&mut world, "c", 590, &["c"]);
    let failing = named(&world, "c");
    assert_eq!(
        (memory(&world, &failing), world.find(&failing).size),
        (Value::Null, 1),
        "surge, and not ready"
    );
    let (events, lowest_after) = play(&mut world, 60, &["c"]);
    assert_eq!(lowest.min(lowest_after), 3, "never fewer than the minimum");
    assert_eq!(memory(&world, &failing)["verdict"], "Failed");
    assert_eq!((world.find("web-b").size, world.find(&failing).size), (3, 0));
    let target = target(&world).unwrap();
    assert_eq!(
        (target.revision, target.reason.as_str(), target.declared_revision),
        (Some(2), "Reverted", Some(3))
    );
    assert_eq!(world.find("web-b").annotations[REVISION], "2", "running it again does not renumber it");
    assert_eq!(world.template, template("c"), "the template is its author's");
    assert_eq!(count(&events, "Reverted"), 1, "{events:?}");
    for (kind, status) in
        [(condition::PROGRESSING, "False"), (condition::READY, "False"), (condition::STALLED, "True")]
    {
        assert_eq!(says(&world, kind), (status.to_owned(), "RolledBack".to_owned()), "{kind}");
    }
    assert_eq!(says(&world, condition::AVAILABLE).0, "True");
    assert_eq!(world.kstatus(), Kstatus::Failed);
    let words = "revision 2 runs instead of the declared revision 3, which failed";
    assert_eq!(world.plan().why.to_string(), words);
    assert!(world.plan().actions.is_empty());
}

#[test]
fn without_a_policy_or_with_continue_nothing_follows() {
    for action in [None, Some(FailureAction::Continue)] {
        let mut world = complete().that(|it| it.failure_policy = action.and_then(policy));
        settle(&mut world);
        declare(&mut world, "c", 900, &["c"]);
        assert_eq!(world.find(&named(&world, "c")).size, 1);
        assert_eq!(says(&world, condition::PROGRESSING).1, "ProgressDeadlineExceeded");
        assert_eq!(target(&world), None);
    }
}

#[test]
fn stop_freezes_what_runs_and_the_failed_set_does_not_grow() {
    let mut world = good(FailureAction::Stop);
    let (events, _) = declare(&mut world, "c", 700, &["c"]);
    let failed = named(&world, "c");
    assert_eq!((world.find("web-b").size, world.find(&failed).size), (3, 1));
    assert_eq!(count(&events, "RolloutFailed"), 1, "{events:?}");
    let words =
        "blocked: the declared revision 3 failed (it made no progress for 600 s): apply another template";
    let why = world.plan().why.to_string();
    assert!(why.starts_with(words), "{why}");
    assert!(why.ends_with("`kubectl rollwright retry deployment.rollwright.dev/web -n default`"), "{why}");
    for kind in [condition::STALLED, condition::PROGRESSING] {
        assert_eq!(says(&world, kind).1, "RolloutFailed", "{kind}");
    }
    scale(&mut world, 6, 20, &["c"]);
    assert_eq!((world.find("web-b").size, world.find(&failed).size), (6, 1));
    scale(&mut world, 2, 20, &["c"]);
    assert_eq!((world.find("web-b").size, world.find(&failed).size), (2, 0), "the failed one loses first");
    // The newest word wins.
    declare(&mut world, "d", 60, &["c"]);
    assert_eq!(world.find(&named(&world, "d")).size, 2);
}

#[test]
fn without_a_good_revision_it_waits_for_somebody() {
    let mut world = ours().that(|it| {
        (it.progress_deadline_seconds, it.failure_policy) = (Some(600), policy(FailureAction::Revert));
    });
    let (events, _) = play(&mut world, 700, &["a"]);
    assert_eq!(count(&events, "NoGoodRevision"), 1, "{events:?}");
    for kind in [condition::STALLED, condition::PROGRESSING] {
        assert_eq!(says(&world, kind).1, "NoGoodRevision", "{kind}");
    }
    assert_eq!(target(&world), None);
}

#[test]
fn a_policy_that_comes_with_the_bad_template_finds_what_ran() {
    let mut world = complete().that(|it| it.failure_policy = policy(FailureAction::Revert));
    declare(&mut world, "c", 700, &["c"]);
    assert_eq!(target(&world).unwrap().revision, Some(2));
    assert_eq!((world.find("web-b").size, world.find(&named(&world, "c")).size), (3, 0));
}

#[test]
fn a_cause_that_the_fallback_shares_is_no_failure() {
    let mut world = good(FailureAction::Revert);
    let (events, _) = declare(&mut world, "c", 900, &["b", "c"]);
    assert_eq!((count(&events, "Reverted"), target(&world)), (0, None), "{events:?}");
    assert_eq!(says(&world, condition::PROGRESSING).1, "ProgressDeadlineExceeded");
}

#[test]
fn a_pod_that_becomes_ready_again_and_again_is_no_progress() {
    let mut world = good(FailureAction::Revert);
    world.set_template(template("c"));
    for second in 0..100 {
        play(&mut world, 0, &["c"]);
        if target(&world).is_some() {
            assert_eq!(world.find("web-b").size, 3);
            return;
        }
        let failing = named(&world, "c");
        world.find_mut(&failing).status.ready = second % 2;
    }
    panic!("it was never reverted: {:?}", sizes(&world));
}

#[test]
fn a_retry_voids_the_verdict_once() {
    let mut world = good(FailureAction::Revert);
    declare(&mut world, "c", 700, &["c"]);
    assert!(target(&world).is_some());
    let (events, _) = request(&mut world, RETRY, "3", 100, &["c"]);
    assert_eq!((target(&world), count(&events, "RevertEnded")), (None, 1), "{events:?}");
    play(&mut world, 700, &["c"]);
    assert_eq!(target(&world).unwrap().revision, Some(2), "it failed again");
    play(&mut world, 700, &["c"]);
    assert!(target(&world).is_some(), "the same request is not heard twice");
    request(&mut world, RETRY, "3/again", 100, &[]);
    assert_eq!((target(&world), world.kstatus()), (None, Kstatus::Current));
    assert_eq!(memory(&world, &named(&world, "c"))["verdict"], "Good");
}

#[test]
fn an_abort_reverts_without_a_policy_and_at_once() {
    let mut world = complete();
    declare(&mut world, "c", 20, &["c"]);
    let (_, lowest) = request(&mut world, ABORT, "3", 20, &["c"]);
    assert_eq!((target(&world).unwrap().revision, lowest), (Some(2), 3));
    assert_eq!(target(&world).unwrap().reason, "Aborted");
    let words = "revision 2 runs instead of the declared revision 3, which somebody aborted";
    assert_eq!(world.plan().why.to_string(), words);
    assert_eq!((world.find("web-b").size, world.find(&named(&world, "c")).size), (3, 0));
    // The request means nothing for the next revision.
    declare(&mut world, "d", 60, &[]);
    assert_eq!((target(&world), world.kstatus()), (None, Kstatus::Current));
}

#[test]
fn an_abort_reports_a_revision_that_bakes_and_does_not_run() {
    let baking = policy(FailureAction::Revert).map(|policy| FailurePolicy { bake_seconds: 1000, ..policy });
    let mut world = good(FailureAction::Revert).that(|it| it.failure_policy = baking);
    declare(&mut world, "c", 60, &[]);
    declare(&mut world, "d", 20, &["d"]);
    let (events, _) = request(&mut world, ABORT, "4", 10, &["d"]);
    let reverted: Vec<_> = events.iter().filter(|event| event.reason == "Reverted").collect();
    let words = "revision 2 runs instead of the declared revision 4, which somebody aborted; revision 3 is not known to be \
                 good";
    assert!(matches!(reverted.as_slice(), [one] if one.message == words), "{reverted:?}");
}

#[test]
fn the_next_template_releases_and_two_failures_in_a_row_go_back_to_the_same_revision() {
    let mut world = good(FailureAction::Revert);
    for (image, declared) in [("c", 3), ("d", 4)] {
        declare(&mut world, image, 20, &["c", "d"]);
        assert_eq!(target(&world), None, "{image} is tried");
        play(&mut world, 700, &["c", "d"]);
        let target = target(&world).unwrap();
        assert_eq!((target.revision, target.declared_revision), (Some(2), Some(declared)));
        assert_eq!(world.find("web-b").size, 3);
    }
}

#[test]
fn git_going_back_to_what_runs_restarts_nothing() {
    let mut world = good(FailureAction::Revert);
    declare(&mut world, "c", 700, &["c"]);
    let (_, lowest) = declare(&mut world, "b", 30, &["c"]);
    assert_eq!((world.find("web-b").size, lowest, target(&world)), (3, 3, None));
    assert_eq!(world.find("web-b").annotations[REVISION], "4");
    assert_eq!(memory(&world, "web-b")["verdict"], "Good", "only Good survives");
    assert_eq!(world.kstatus(), Kstatus::Current);
    // Declared again, a revision that failed is tried again.
    declare(&mut world, "c", 20, &["c"]);
    let failed = named(&world, "c");
    assert_eq!((memory(&world, &failed)["verdict"].clone(), target(&world)), (Value::Null, None));
}

#[test]
fn a_size_is_that_of_what_runs_and_no_failed_set_grows() {
    let mut world = good(FailureAction::Revert).that(|it| it.replicas = 4);
    settle(&mut world);
    declare(&mut world, "c", 600, &["c"]);
    let failed = named(&world, "c");
    for replicas in [9, 3, 0, 10] {
        scale(&mut world, replicas, 30, &["c"]);
        assert_eq!((world.find("web-b").size, world.find(&failed).size), (replicas, 0), "R = {replicas}");
    }
}

#[test]
fn dead_pods_make_room_at_once() {
    let mut world = good(FailureAction::Revert).that(|it| it.replicas = 10);
    settle(&mut world);
    world.set_template(template("c"));
    // All ten are replaced, and die once they are available.
    play(&mut world, 100, &[]);
    let failed = named(&world, "c");
    remember(&mut world, &failed, 3, "Failed");
    world.find_mut(&failed).status.available = 0;
    world.proceed();
    assert_eq!((world.find(&failed).size, world.find("web-b").size), (0, 10));
}

#[test]
fn a_way_back_that_takes_too_long_is_reported_and_goes_on() {
    let mut world = good(FailureAction::Revert).that(|it| it.replicas = 4);
    settle(&mut world);
    declare(&mut world, "c", 600, &["c"]);
    world.wait(20);
    world.proceed();
    let (events, _) = play(&mut world, 700, &["b", "c"]);
    assert_eq!(says(&world, condition::PROGRESSING), ("False".to_owned(), "RevertFailed".to_owned()));
    let late: Vec<_> = events.iter().filter(|event| event.reason == "RevertFailed").collect();
    let words = "revision 2 runs instead of the declared revision 3, which failed; after 600 s";
    assert!(matches!(late.as_slice(), [late] if late.message.starts_with(words)), "{late:?}");
    assert_eq!(world.observed.workload.status.ours.rollout, None, "its record has ended");
    let (events, _) = play(&mut world, 20, &["c"]);
    assert_eq!(count(&events, "RevertFailed"), 0);
    assert_eq!(world.find("web-b").status.available, 4);
    assert_eq!(says(&world, condition::PROGRESSING), ("False".to_owned(), "RolledBack".to_owned()));
    assert_eq!(world.observed.workload.status.ours.rollout, None, "it has one record");
}

#[test]
fn the_fallback_is_not_cleaned_up() {
    let mut world = good(FailureAction::Revert).that(|it| it.revision_history_limit = Some(0));
    let baking = policy(FailureAction::Revert).map(|policy| FailurePolicy { bake_seconds: 1000, ..policy });
    world.observed.workload.failure_policy = baking;
    declare(&mut world, "c", 100, &[]);
    assert_eq!(world.kstatus(), Kstatus::Current);
    assert_eq!(sizes(&world), [("web-b", 0), (named(&world, "c").as_str(), 3)], "web-a is beyond the limit");
    play(&mut world, 1000, &[]);
    assert_eq!(memory(&world, &named(&world, "c"))["verdict"], "Good");
    assert_eq!(sizes(&world).len(), 2, "an abort goes back to it");
}

#[test]
fn memory_of_another_revision_is_void() {
    let mut world = good(FailureAction::Revert).with(set("x", 0).revision("9"));
    label(&mut world, "x");
    remember(&mut world, "web-x", 8, "Good");
    declare(&mut world, "c", 700, &["c"]);
    let target = target(&world).unwrap();
    assert_eq!(target.hash, "b", "{target:?}");
}
