//! What pods showed when they were read: stuck ones, and those that restart (FP-1, FP-2, FP-4, FP-5, FP-9).

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use plan::intstr::IntOrPercent;
use plan::keys::{ABORT, RETRY, REVISION, ROLLOUT, condition};
use plan::{Action, Blocker, Evidence, FailureAction, FailurePolicy, Findings, Marks, Restarts};
use serde_json::Value;

use crate::rollwright::failing::{declare, good, memory, named, play, policy, request, scale};
use crate::rollwright::pinning::{count, says, target};
use crate::world::{Kstatus, World, created, template};

/// Fails by evidence alone.
pub(crate) fn by(change: impl FnOnce(&mut FailurePolicy)) -> FailurePolicy {
    let mut policy = FailurePolicy { deadline: false, ..policy(FailureAction::Revert).unwrap() };
    change(&mut policy);
    policy
}

/// Revision 3 is rolled out under this policy; its pods do not become ready.
pub(crate) fn rolling(policy: FailurePolicy) -> World {
    let mut world = good(FailureAction::Revert).that(|it| it.failure_policy = Some(policy));
    declare(&mut world, "c", 20, &["c"]);
    read(&mut world, &[], &[]);
    world
}

/// Somebody reads the pods of revision 3, and those of the fallback: how often their containers restarted.
fn read(world: &mut World, declared: &[Restarts], fallback: &[Restarts]) {
    let read = world.now;
    let uid = |image: &str| world.find(&named(world, image)).uid.clone();
    let evidence = |uid: String, restarts: &[Restarts]| {
        let restarts = restarts.to_vec();
        Evidence { uid, read, restarts, stuck: Vec::new() }
    };
    world.observed.answers.evidence = [evidence(uid("c"), declared), evidence(uid("b"), fallback)].into();
}

/// What was read, to be changed.
fn shown(world: &mut World) -> &mut [Evidence] {
    Arc::make_mut(&mut world.observed.answers.evidence)
}

/// A pod of this age in seconds with a container that has restarted this often, the last time just now.
fn restarts(world: &World, age: i64, count: i64) -> Restarts {
    Restarts { created: world.now - SignedDuration::from_secs(age), count, last: Some(world.now) }
}

/// Somebody reads one pod of revision 3, of this age and this number of restarts.
pub(crate) fn restart(world: &mut World, age: i64, count: i64) {
    let pod = restarts(world, age, count);
    read(world, &[pod], &[]);
}

fn block(world: &mut World, cause: &str, pods: i64) {
    let (cause, message, since) = (cause.to_owned(), "cannot pull the image".to_owned(), Some(world.now));
    shown(world).first_mut().unwrap().stuck = vec![(cause.clone(), pods)];
    // The status reports how many these are when it is written for another reason.
    world.observed.workload.status.ours.blockers =
        vec![Blocker { cause, pods: 1, of: 3, message, since, ..Blocker::default() }];
}

#[test]
fn pods_that_are_stuck_fail_a_revision_before_its_deadline() {
    for (cause, pods, is_reverted) in
        [("ImagePull", 1, true), ("CrashLoop", 1, true), ("Unschedulable", 1, false), ("ImagePull", 0, false)]
    {
        let mut world = rolling(by(|policy| policy.stuck_seconds = Some(120)));
        block(&mut world, cause, pods);
        let end = world.now + SignedDuration::from_secs(120);
        let due = world.plan().requeue.time();
        assert_eq!(due.is_some_and(|due| due <= end), is_reverted, "{cause}");
        play(&mut world, 100, &["c"]);
        world.now = end;
        assert!(world.plan().actions.is_empty(), "{cause}: nobody has read them since");
        assert_eq!(target(&world), None, "{cause}: not yet");
        let (events, _) = play(&mut world, 30, &["c"]);
        assert_eq!((target(&world).is_some(), count(&events, "Reverted")), (is_reverted, is_reverted.into()));
        if is_reverted {
            let cause = memory(&world, &named(&world, "c"))["cause"].clone();
            assert_eq!(cause, "1 of 3 pods cannot pull the image");
        }
    }
}

#[test]
fn what_this_process_has_not_read_is_no_evidence() {
    let mut world = rolling(by(|policy| policy.stuck_seconds = Some(60)));
    block(&mut world, "ImagePull", 1);
    world.observed.answers.evidence = Arc::default();
    play(&mut world, 300, &["c"]);
    assert_eq!(target(&world), None);
    read(&mut world, &[], &[]);
    play(&mut world, 20, &["c"]);
    assert_eq!(target(&world), None, "they are not stuck any more");
    shown(&mut world).first_mut().unwrap().stuck = vec![("ImagePull".to_owned(), 1)];
    let both = world.observed.answers.evidence.clone();
    world.observed.answers.evidence = both[..1].into();
    play(&mut world, 20, &["c"]);
    assert_eq!(target(&world), None, "nobody has read the pods of the fallback");
    world.observed.answers.evidence = both;
    play(&mut world, 20, &["c"]);
    assert!(target(&world).is_some());
}

#[test]
fn a_fallback_that_is_stuck_for_the_same_cause_shows_that_the_revision_is_not_to_blame() {
    for (cause, is_reverted) in [("ImagePull", false), ("CrashLoop", true)] {
        let mut world = rolling(by(|policy| policy.stuck_seconds = Some(60)));
        block(&mut world, "ImagePull", 1);
        shown(&mut world).last_mut().unwrap().stuck = vec![(cause.to_owned(), 1)];
        play(&mut world, 200, &["c"]);
        assert_eq!(target(&world).is_some(), is_reverted, "{cause}");
    }
}

/// Since it was complete, its pods have run; a retry gives them as much time again.
#[test]
fn stuck_pods_count_until_all_were_available_and_since_the_last_retry() {
    let mut world = rolling(by(|policy| (policy.stuck_seconds, policy.bake_seconds) = (Some(60), 1000)));
    play(&mut world, 100, &[]);
    assert_eq!(world.kstatus(), Kstatus::Current);
    block(&mut world, "CrashLoop", 1);
    let plan = world.plan();
    assert!(plan.awaited.is_none(), "nor are they read: {:?}", plan.awaited);
    for _ in 0..20 {
        block(&mut world, "CrashLoop", 1);
        for blocker in &mut world.observed.workload.status.ours.blockers {
            blocker.since = Some(Timestamp::UNIX_EPOCH);
        }
        play(&mut world, 0, &["c"]);
    }
    assert_eq!(target(&world), None);

    let mut world = rolling(by(|policy| policy.stuck_seconds = Some(60)));
    // The revision has not failed yet, so this means nothing.
    world.observed.workload.annotations.insert(RETRY.to_owned(), "3".to_owned());
    block(&mut world, "ImagePull", 1);
    let long_ago = world.observed.workload.status.ours.blockers.clone();
    play(&mut world, 100, &["c"]);
    assert!(target(&world).is_some());
    request(&mut world, RETRY, "3/again", 0, &["c"]);
    world.observed.workload.status.ours.blockers = long_ago.clone();
    for (seconds, fails) in [(30, false), (70, true)] {
        let mut world = world.clone();
        world.wait(seconds);
        shown(&mut world).first_mut().unwrap().read = world.now;
        // The same pods are still there.
        let findings = Findings { set: Some(named(&world, "c")), blockers: long_ago.clone() };
        world.observed.answers.findings = Some(findings);
        world.proceed();
        let verdict = memory(&world, &named(&world, "c"))["verdict"].clone();
        assert_eq!(verdict == "Failed", fails, "the same time once more: {seconds} s");
    }
    play(&mut world, 0, &["c"]);
    assert_eq!(world.observed.workload.status.ours.blockers, [], "nobody has looked at the pods since");
}

/// Two of three pods were available, each for a time. The third one is among the two that are left.
#[test]
fn fewer_replicas_do_not_make_a_revision_complete() {
    let world = rolling(by(|policy| policy.stuck_seconds = Some(60)));
    for complete in [false, true] {
        let mut world = world.clone();
        let marks = Marks { revision: 3, replicas: 3, updated: 3, ready: 2, available: 2, complete };
        world.observed.workload.status.ours.marks = Some(marks);
        scale(&mut world, 2, 20, &["c"]);
        let known = world.observed.workload.status.ours.marks.unwrap();
        assert_eq!((known.available, known.complete), (2, complete), "a lower R is no news of pods");
        block(&mut world, "CrashLoop", 1);
        play(&mut world, 100, &["c"]);
        assert_eq!(target(&world).is_some(), !complete);
    }
}

#[test]
fn containers_that_restart_too_often_fail_a_revision() {
    for (counts, least, is_reverted) in [
        (vec![2, 2, 2], "1", false),
        (vec![3], "1", true),
        (vec![3], "50%", false),
        (vec![3, 4], "50%", true),
    ] {
        let min_pods = least.parse().map_or(IntOrPercent::Text(least.to_owned()), IntOrPercent::Int);
        let mut world = rolling(by(|policy| (policy.restarts, policy.min_pods) = (Some(3), min_pods)));
        let name = named(&world, "c");
        assert!(
            memory(&world, &name)["since"].is_string(),
            "since it was declared, by the write that made it"
        );
        world.find_mut(&name).status.replicas = 3;
        let awaited = world.plan().awaited.unwrap();
        assert_eq!((awaited.is_judged, awaited.fallback.as_str()), (true, "uid-web-b"));
        assert_eq!(awaited.selector, "app=web", "the fallback's pods, too");
        let pods: Vec<_> = counts.iter().map(|count| restarts(&world, 0, *count)).collect();
        read(&mut world, &pods, &[]);
        world.proceed();
        let verdict = memory(&world, &name)["verdict"].clone();
        assert_eq!(verdict == "Failed", is_reverted, "{counts:?} {least}");
        if is_reverted {
            let words = format!("{} of 3 pods have a container that restarted 3 times or more", counts.len());
            assert_eq!(memory(&world, &name)["cause"], words);
            let sizes: Vec<i64> = world.observed.sets.iter().map(|set| set.size).collect();
            assert_eq!(sizes, [0, 3, 1], "nothing moves beside a verdict");
            let (events, _) = play(&mut world, 10, &["c"]);
            let event = events.iter().find(|event| event.reason == "Reverted").unwrap();
            assert!(event.message.ends_with(&format!(", which failed: {words}")), "{event:?}");
            assert_eq!(target(&world).unwrap().revision, Some(2));
        }
    }
}

/// A revision that was complete is still judged while it bakes, and is good only once its pods were read after that.
#[test]
fn restarts_count_while_it_bakes_and_a_good_revision_was_read() {
    let baking = || by(|policy| (policy.restarts, policy.bake_seconds) = (Some(3), 100));
    let mut world = rolling(baking());
    play(&mut world, 50, &[]);
    assert_eq!(
        (world.kstatus(), says(&world, condition::PROGRESSING).0.as_str()),
        (Kstatus::Current, "True")
    );
    assert!(world.plan().awaited.is_some_and(|awaited| awaited.is_judged && !awaited.is_still));
    restart(&mut world, 10, 3);
    let (_, lowest) = play(&mut world, 10, &[]);
    assert_eq!((target(&world).unwrap().revision, lowest), (Some(2), 3));

    let mut world = rolling(baking());
    world.observed.answers.evidence = Arc::default();
    play(&mut world, 300, &[]);
    let name = named(&world, "c");
    assert_eq!(memory(&world, &name)["verdict"], Value::Null, "nobody has read it since");
    read(&mut world, &[], &[]);
    let before =
        world.observed.workload.status.ours.bake.clone().unwrap().since + SignedDuration::from_secs(99);
    shown(&mut world).iter_mut().for_each(|evidence| evidence.read = before);
    world.proceed();
    assert_eq!(memory(&world, &name)["verdict"], Value::Null, "it was read before the end of the bake");
    play(&mut world, 10, &[]);
    assert_eq!(memory(&world, &name)["verdict"], "Good");
    assert!(world.plan().awaited.is_none(), "nobody reads the pods of a good revision");
}

/// Restarts of before the declaration do not count: the same ReplicaSet may have run for months.
#[test]
fn older_pods_count_from_the_first_look_on() {
    let mut world = rolling(by(|policy| policy.restarts = Some(3)));
    let name = named(&world, "c");
    for (restarted, is_failed) in [(7, false), (9, false), (10, true)] {
        restart(&mut world, 86_400, restarted);
        world.proceed();
        assert_eq!(memory(&world, &name)["restartsBefore"], 7);
        assert_eq!(memory(&world, &name)["verdict"] == "Failed", is_failed, "{restarted}");
    }
    // One that had not restarted before counts from then on.
    let mut young = rolling(by(|policy| policy.restarts = Some(2)));
    for (restarted, is_failed) in [(0, false), (1, false), (2, true)] {
        restart(&mut young, 86_400, restarted);
        young.proceed();
        let verdict = memory(&young, &named(&young, "c"))["verdict"].clone();
        assert_eq!(verdict == "Failed", is_failed, "{restarted}");
    }
    // A retry restarts the time.
    let since = |world: &World| memory(world, &name)["since"].as_str().unwrap().to_owned();
    let declared = since(&world);
    world.observed.workload.annotations.insert(RETRY.to_owned(), "3".to_owned());
    world.observed.answers.evidence = Arc::default();
    world.wait(60);
    world.proceed();
    assert_eq!(memory(&world, &name)["restartsBefore"], Value::Null);
    assert!(since(&world) > declared);
}

#[test]
fn a_policy_that_comes_later_counts_restarts_from_then_on() {
    let mut world = good(FailureAction::Continue);
    declare(&mut world, "c", 20, &["c"]);
    world.observed.workload.failure_policy = Some(by(|policy| policy.restarts = Some(3)));
    restart(&mut world, 10, 5);
    play(&mut world, 20, &["c"]);
    let memory = memory(&world, &named(&world, "c"));
    assert_eq!((memory["verdict"].clone(), memory["restartsBefore"].clone()), (Value::Null, 5.into()));
    assert!(memory["since"].is_string());
}

#[test]
fn a_fallback_that_restarts_as_often_shows_that_the_revision_is_not_to_blame() {
    for (count, last, is_reverted) in [(3, true, false), (2, true, true), (9, false, true)] {
        let mut world = rolling(by(|policy| policy.restarts = Some(3)));
        let (pod, mut other) = (restarts(&world, 0, 3), restarts(&world, 86_400, count));
        if !last {
            other.last = Some(world.now - SignedDuration::from_secs(3600));
        }
        read(&mut world, &[pod], &[other]);
        play(&mut world, 20, &["c"]);
        assert_eq!(target(&world).is_some(), is_reverted, "{count} restarts, again since: {last}");
    }
}

/// `since`, of the very write that makes or renumbers the ReplicaSet; under Continue nothing is judged.
#[test]
fn restarts_count_from_the_write_that_declares_a_revision() {
    for (action, is_dated) in [(FailureAction::Revert, true), (FailureAction::Continue, false)] {
        let counting = by(|policy| (policy.action, policy.restarts) = (action, Some(3)));
        let mut world = good(FailureAction::Revert).that(|it| it.failure_policy = Some(counting));
        world.set_template(template("c"));
        let plan = world.plan();
        let (_, new) = created(&plan).unwrap();
        assert_eq!(new.annotations.contains_key(ROLLOUT), is_dated, "{action:?}");
        world.apply(&plan);
        play(&mut world, 20, &["c"]);
        // What runs is declared again, and so is one that nothing is remembered of.
        for image in ["b", "a"] {
            world.set_template(template(image));
            let plan = world.plan();
            let update = plan.actions.iter().find_map(|planned| match &planned.action {
                Action::UpdateReplicaSet(update) => {
                    update.annotations.contains_key(REVISION).then_some(update)
                }
                _ => None,
            });
            let memory = update.unwrap().annotations.get(ROLLOUT).map_or("", String::as_str);
            assert_eq!(memory.contains("since"), is_dated, "{image} {action:?}: {memory}");
            world.apply(&plan);
        }
    }
}

#[test]
fn a_number_that_cannot_be_is_no_number() {
    let mut world = rolling(by(|policy| policy.restarts = Some(3)));
    let (name, pod) = (named(&world, "c"), restarts(&world, 86_400, 1));
    let text = memory(&world, &name).to_string().replace('}', r#","restartsBefore":-5}"#);
    world.find_mut(&name).annotations.insert(ROLLOUT.to_owned(), text);
    read(&mut world, &[pod], &[]);
    world.proceed();
    let memory = memory(&world, &name);
    assert_eq!((memory["verdict"].clone(), memory["restartsBefore"].clone()), (Value::Null, 1.into()));
}

/// The revision was complete with three pods. What a change of R adds is stuck, and that is no failure of the revision.
#[test]
fn pods_that_a_change_of_the_size_adds_do_not_fail_a_revision_that_bakes() {
    let mut world = rolling(by(|policy| (policy.stuck_seconds, policy.bake_seconds) = (Some(60), 1000)));
    play(&mut world, 100, &[]);
    world.observed.workload.replicas = 5;
    let name = named(&world, "c");
    for _ in 0..30 {
        world.wait(10);
        world.proceed();
        let status = &mut world.find_mut(&name).status;
        (status.replicas, status.ready, status.available) = (5, 3, 3);
        read(&mut world, &[], &[]);
        block(&mut world, "ImagePull", 2);
        for blocker in &mut world.observed.workload.status.ours.blockers {
            blocker.since = Some(Timestamp::UNIX_EPOCH);
        }
    }
    assert_eq!(memory(&world, &name)["verdict"], Value::Null);
}

/// The annotation is there, and the revision has not failed: that alone is no reason to write.
#[test]
fn a_retry_of_what_has_not_failed_causes_no_write() {
    let mut world = rolling(by(|policy| policy.restarts = Some(3)));
    play(&mut world, 20, &["c"]);
    world.observed.workload.annotations.insert(RETRY.to_owned(), "3".to_owned());
    assert!(world.plan().actions.is_empty(), "{:?}", world.plan().actions);
}

#[test]
fn a_revision_that_failed_and_is_aborted_has_no_cause_any_more() {
    let mut world = rolling(by(|policy| policy.restarts = Some(3)));
    restart(&mut world, 0, 3);
    play(&mut world, 10, &["c"]);
    request(&mut world, ABORT, "3", 10, &["c"]);
    let memory = memory(&world, &named(&world, "c"));
    assert_eq!((memory["aborted"].clone(), memory["cause"].clone()), (true.into(), Value::Null));
}
