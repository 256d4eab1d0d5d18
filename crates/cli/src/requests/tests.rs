use plan::Flavour;
use plan::keys::ROLLOUT;

use super::*;
use crate::code::Code;
use crate::pinned::samples;

const NOON: &str = "7/2026-04-01T12:00:00.250Z";

fn noon() -> Timestamp {
    "2026-04-01T12:00:00.25Z".parse().unwrap()
}

fn written(key: &str) -> Patch<Value> {
    Patch::Merge(json!({"metadata": {"annotations": {key: NOON}}}))
}

fn refused<T>(asked: Result<T, Failure>) -> (Code, String) {
    asked.err().map(|error| (error.code(), error.to_string())).unwrap()
}

#[test]
fn a_retry_names_the_declared_revision_and_the_time() {
    let all = samples::revisions();
    let held = [samples::held("RolloutFailed"), samples::held("NoGoodRevision")];
    for mut deployment in held.into_iter().chain([samples::reverted()]) {
        assert_eq!(retry(&deployment, &all, noon()).ok(), Some((7, written(RETRY))));
        // Somebody scaled it a moment ago.
        deployment.body["metadata"]["generation"] = json!(10);
        assert_eq!(retry(&deployment, &all, noon()).ok(), Some((7, written(RETRY))));
    }
}

#[test]
fn only_what_failed_is_retried() {
    let all = samples::revisions();
    let mut rolling = samples::held("RolloutInProgress");
    let failed = "revision 7 of web has not failed".to_owned();
    assert_eq!(refused(retry(&rolling, &all, noon())), (Code::Failed, failed));
    rolling.body["spec"]["paused"] = json!(true);
    assert_eq!(refused(retry(&rolling, &all, noon())).0, Code::Paused);
    // The next template came after the failure.
    let mut next = samples::reverted();
    next.body["metadata"]["generation"] = json!(10);
    next.body["spec"]["template"]["spec"]["containers"][0]["image"] = json!("app:8");
    let (_, message) = refused(retry(&next, &all, noon()));
    assert!(message.contains("has no revision yet"), "{message}");
}

const REQUESTED: &str = "abort of revision 7 requested; revision 6 runs instead";

#[test]
fn an_abort_says_which_revision_does_not_run_either() {
    let rolling = samples::held("RolloutInProgress");
    let mut good = samples::set(5, 3);
    let memory = r#"{"version":1,"revision":5,"verdict":"Good"}"#;
    good["metadata"]["annotations"][ROLLOUT] = json!(memory);
    let all = crate::history::revisions(vec![good, samples::set(6, 1), samples::set(7, 3)]);
    let words = "abort of revision 7 requested; revision 5 runs instead, not revision 6, which is not known to be good or \
                 was put aside";
    assert_eq!(abort(&rolling, &all, noon()).ok(), Some((words.to_owned(), written(ABORT))));
}

#[test]
fn an_abort_needs_a_good_revision() {
    let all = samples::revisions();
    let mut rolling = samples::held("RolloutInProgress");
    assert_eq!(abort(&rolling, &all, noon()).ok(), Some((REQUESTED.to_owned(), written(ABORT))));
    let undo = "undo deployment.rollwright.dev/web -n shop --to-revision=NUMBER";
    let none_serves = || crate::history::revisions(vec![samples::set(6, 0), samples::set(7, 3)]);
    for (all, fix) in [(all[..1].to_vec(), "apply another template"), (none_serves(), undo)] {
        let (code, message) = refused(abort(&rolling, &all, noon()));
        assert_eq!(code, Code::NotFound, "{message}");
        assert!(
            message.starts_with("no other revision of deployment.rollwright.dev/web is known"),
            "{message}"
        );
        assert!(message.ends_with(fix), "{message}");
    }
    assert_eq!(
        abort(&samples::held("RolloutFailed"), &all, noon()).ok(),
        Some((REQUESTED.to_owned(), written(ABORT)))
    );
    rolling.body["spec"]["paused"] = json!(true);
    assert_eq!(abort(&rolling, &all, noon()).ok(), Some((REQUESTED.to_owned(), written(ABORT))));
    assert_eq!(refused(abort(&rolling, &all[..1], noon())).0, Code::NotFound, "nor once it is resumed");
}

/// HO-5: the request names what is recorded, and nothing is requested that nobody would do.
#[test]
fn what_is_held_after_a_restart_is_continued_by_its_epoch() {
    let held = samples::held("HeldAfterRestart");
    let mut set = samples::set(7, 3);
    set["metadata"]["annotations"][ROLLOUT] = json!(r#"{"version":1,"revision":7,"epoch":"a1-2-0"}"#);
    let all = crate::history::revisions(vec![samples::set(6, 3), set]);
    let word = Patch::Merge(json!({"metadata": {"annotations": {RESUME: "7/a1-2-0"}}}));
    assert_eq!(resume(&held, &all).ok(), Some(("continuation of revision 7 requested".to_owned(), word)));
    let code =
        |deployment: &Deployment| rollout::of(deployment.flavour, deployment.name(), &deployment.body).code();
    assert_eq!((code(&held), crate::state::words(&held).as_str()), (Code::Paused, "Held"));
    let asked = asking(held.clone(), RESUME, "7/a1-2-0");
    assert_eq!(due(&asked, &all), Some("continue"));
    assert_eq!(due(&asking(held.clone(), RESUME, "7/a1-1-0"), &all), None, "the word of another hold");
    // The operator has just released another one.
    let (_, gone) = refused(resume(&held, &samples::revisions()));
    assert_eq!(gone, "deployment.rollwright.dev/web is not held any more");
    let mut paused = held.clone();
    paused.body["spec"]["paused"] = json!(true);
    assert_eq!(
        resume(&paused, &all).ok().map(|it| it.0),
        Some("resumed".to_owned()),
        "the end of the pause is a word"
    );
    let (_, neither) = refused(resume(&samples::held("RolloutFailed"), &all));
    assert_eq!(neither, "deployment.rollwright.dev/web is neither paused nor held");
}

#[test]
fn what_was_reverted_is_not_aborted_again() {
    let all = samples::revisions();
    let already = "revision 7 of web has been reverted already: revision 6 runs".to_owned();
    assert_eq!(refused(abort(&samples::reverted(), &all, noon())), (Code::Failed, already));
}

#[test]
fn under_a_pin_nothing_comes_of_a_request() {
    let all = samples::revisions();
    // The operator has yet to observe this one.
    let mut failed = samples::reverted();
    failed.body["spec"]["pin"] = json!({"podTemplateHash": "h5"});
    failed.body["metadata"]["generation"] = json!(10);
    for deployment in [samples::pinned(), failed] {
        let asked = [refused(retry(&deployment, &all, noon())), refused(abort(&deployment, &all, noon()))];
        for (code, message) in asked {
            assert_eq!(code, Code::Failed);
            let fix = "remove it first: kubectl rollwright unpin deployment.rollwright.dev/web -n shop";
            assert!(message.ends_with(fix), "{message}");
        }
    }
}

#[test]
fn on_apps_the_fix_is_named() {
    let apps = Deployment { flavour: Flavour::AppsV1, ..samples::reverted() };
    let all = samples::revisions();
    for (code, message) in [refused(retry(&apps, &all, noon())), refused(abort(&apps, &all, noon()))] {
        assert_eq!(code, Code::Usage);
        for fix in ["undo deployment.apps/web -n shop", "migrate deployment.apps/web -n shop"] {
            assert!(message.contains(&format!("kubectl rollwright {fix}")), "{message}");
        }
    }
}

/// Revisions; the newest one remembers this.
fn remembering(memory: &Value) -> Vec<Revision> {
    let mut set = samples::set(7, 0);
    set["metadata"]["annotations"][ROLLOUT] = json!(memory.to_string());
    crate::history::revisions(vec![set, samples::set(6, 3)])
}

fn asking(deployment: Deployment, key: &str, request: &str) -> Deployment {
    let mut deployment = deployment;
    deployment.body["metadata"]["annotations"] = json!({key: request});
    deployment
}

#[test]
fn a_retry_is_due_until_the_next_verdict() {
    let failed = remembering(&json!({"version": 1, "revision": 7, "verdict": "Failed"}));
    assert_eq!(due(&samples::reverted(), &failed), None, "nobody asked");
    let asked = asking(samples::reverted(), RETRY, NOON);
    for (memory, is_due, words) in [
        (json!({"version": 1, "revision": 7, "verdict": "Failed"}), true, "it was not heard"),
        (json!({"version": 1, "revision": 7, "retry": NOON}), true, "it was heard, and nothing is reported"),
        (json!({"version": 1, "revision": 7, "verdict": "Failed", "retry": NOON}), false, "it failed again"),
        (
            json!({"version": 1, "revision": 3, "verdict": "Failed", "retry": NOON}),
            true,
            "of another revision",
        ),
        (json!(null), true, "nothing is remembered"),
    ] {
        assert_eq!(due(&asked, &remembering(&memory)), is_due.then_some("retry"), "{words}");
    }
    assert_eq!(due(&asking(samples::reverted(), RETRY, "6"), &failed), None, "it is about another revision");
    assert_eq!(due(&asking(samples::held("RolloutInProgress"), RETRY, NOON), &failed), None, "it rolls out");
}

#[test]
fn an_abort_is_due_until_the_failure_is_reported() {
    let aborted = json!({"version": 1, "revision": 7, "verdict": "Failed", "aborted": true, "abort": NOON});
    let rolling = || samples::held("RolloutInProgress");
    for (deployment, memory, expected) in [
        (rolling(), json!(null), Some("abort")),
        (rolling(), aborted.clone(), Some("abort")),
        (samples::reverted(), aborted.clone(), None),
        // A pin decides what runs, whatever was asked.
        (samples::pinned(), aborted.clone(), None),
        (Deployment { flavour: Flavour::AppsV1, ..rolling() }, json!(null), None),
    ] {
        assert_eq!(due(&asking(deployment, ABORT, NOON), &remembering(&memory)), expected, "{memory}");
    }
    let retried = json!({"version": 1, "revision": 7, "abort": NOON, "retry": NOON});
    assert_eq!(due(&asking(rolling(), ABORT, NOON), &remembering(&retried)), None, "it was retried since");
}

#[test]
fn a_promotion_is_due_until_it_was_heard() {
    let asked = |deployment: Deployment| asking(deployment, PROMOTE, "7/50%");
    let heard = json!({"version": 1, "revision": 7, "promote": "7/50%"});
    let other = json!({"version": 1, "revision": 7, "promote": "7/1"});
    for (memory, is_due) in [(json!(null), true), (other, true), (heard, false)] {
        for deployment in [samples::resting_until_promoted(), samples::resting_for_some_time()] {
            assert_eq!(
                due(&asked(deployment), &remembering(&memory)),
                is_due.then_some("promote"),
                "{memory}"
            );
        }
    }
    let all = remembering(&json!(null));
    assert_eq!(due(&asked(samples::held("RolloutInProgress")), &all), None, "it is at no step");
    let mut empty = asked(samples::resting_until_promoted());
    assert!(stands(&empty).message.contains("to observe the request to promote"));
    empty.body["spec"]["replicas"] = json!(0);
    assert_eq!(due(&empty, &all), None, "without replicas it is not heard");
}

#[test]
fn nothing_is_due_that_the_operator_does_not_hear() {
    let all = samples::revisions();
    let asked = || asking(samples::held("RolloutInProgress"), ABORT, NOON);
    assert!(is_awaited(&asked(), &all));
    let newer = asking(samples::newer(samples::held("RolloutFailed")), ABORT, NOON);
    for (_, message) in [refused(abort(&newer, &all, noon())), refused(retry(&newer, &all, noon()))] {
        assert!(message.starts_with("nothing would come of a"), "{message}");
    }
    let mut deleted = asked();
    deleted.body["metadata"]["deletionTimestamp"] = json!("2026-04-01T12:00:00Z");
    for deployment in [newer, deleted] {
        assert_eq!(due(&deployment, &all), None);
        assert!(!is_awaited(&deployment, &all));
    }
    // A pause holds what was asked for; the last change is another matter.
    let mut paused = asked();
    paused.body["spec"]["paused"] = json!(true);
    assert!(!is_awaited(&paused, &all));
    paused.body["metadata"]["generation"] = json!(10);
    assert!(is_awaited(&paused, &all));
}

#[test]
fn a_request_about_another_revision_is_none() {
    let has_request = |deployment: &Deployment| deployment.workload().unwrap().has_request();
    for deployment in [samples::reverted(), samples::held("RolloutInProgress")] {
        assert!(!has_request(&deployment));
        let long = format!("7/{}", "x".repeat(252));
        for (request, is_about_it) in
            [("7", true), (NOON, true), ("6/again", false), ("7.1", false), (&long, false)]
        {
            assert_eq!(has_request(&asking(deployment.clone(), RETRY, request)), is_about_it, "{request}");
            assert_eq!(has_request(&asking(deployment.clone(), ABORT, request)), is_about_it, "{request}");
        }
    }
}

fn stands(deployment: &Deployment) -> Rollout {
    let rollout = crate::rollout::of(deployment.flavour, deployment.name(), &deployment.body);
    awaited(deployment, &samples::revisions(), rollout)
}

#[test]
fn a_failure_counts_until_somebody_asks_for_a_retry() {
    assert_eq!(stands(&samples::reverted()).phase, Phase::Failed);
    let mut asked = asking(samples::reverted(), RETRY, NOON);
    let rollout = stands(&asked);
    assert_eq!(rollout.phase, Phase::Progressing);
    assert!(rollout.message.contains("to observe the request to retry"), "{}", rollout.message);
    asked.body["spec"]["paused"] = json!(true);
    assert_eq!(stands(&asked).phase, Phase::Paused);
}

#[test]
fn a_success_counts_until_somebody_asks_to_abort() {
    let mut complete = samples::held("RolloutInProgress");
    complete.body["status"]["updatedReplicas"] = json!(3);
    complete.body["status"]["conditions"] = json!([]);
    assert_eq!(stands(&complete).phase, Phase::Complete);
    let mut asked = asking(complete, ABORT, NOON);
    let rollout = stands(&asked);
    assert_eq!(rollout.phase, Phase::Progressing);
    assert!(rollout.message.contains("to observe the request to abort"), "{}", rollout.message);
    asked.body["spec"]["paused"] = json!(true);
    let rollout = stands(&asked);
    assert_eq!(rollout.phase, Phase::Paused);
    assert!(rollout.message.contains("is paused: the request to abort waits"), "{}", rollout.message);
}
