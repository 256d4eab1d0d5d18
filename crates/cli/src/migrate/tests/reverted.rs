//! The way back of a Deployment with a declared revision that failed.

use plan::keys::ABORT;

use super::*;

/// Reverted to its second revision.
fn facts_of_revert() -> Facts {
    let mut facts = returning([0, 3, 0]);
    let source = facts.source.as_mut().expect("ours");
    source.body["spec"]["failurePolicy"] = json!({"action": "Revert"});
    source.body["status"]["target"] =
        json!({"revision": 2, "podTemplateHash": "h2", "reason": "Reverted", "declaredRevision": 3});
    facts
}

/// The third revision failed half-way, and the operator waits for somebody.
fn facts_of_hold() -> Facts {
    let mut facts = returning([0, 2, 1]);
    let source = facts.source.as_mut().expect("ours");
    source.body["spec"]["failurePolicy"] = json!({"action": "Stop"});
    source.body["status"]["revision"] = json!(3);
    source.body["status"]["conditions"] = json!([
        {"type": "Stalled", "status": "True", "reason": "RolloutFailed", "message": "blocked: it failed"},
    ]);
    facts
}

#[test]
fn what_failed_is_not_rolled_out_without_consent() {
    for (mut facts, words) in [
        (facts_of_revert(), "is not rolled out: revision 2 runs instead of the declared revision 3"),
        (facts_of_hold(), "is not rolled out: it failed. apps/v1"),
    ] {
        // A change since then does not make it good.
        for generation in [1, 9] {
            facts.source.as_mut().expect("ours").body["metadata"]["generation"] = json!(generation);
            facts.accepts_declared = false;
            let found = problems(&facts, &neighbours());
            assert_eq!(found.len(), 1, "{found:#?}");
            assert!(
                found[0].contains(words) && found[0].contains("apps/v1 has no failure policy"),
                "{found:?}"
            );
            assert!(found[0].contains("--accept-declared"), "{found:?}");
            assert!(matches!(next(&facts), Next::Stuck(reason) if reason == found[0]));
            facts.accepts_declared = true;
            assert_eq!(problems(&facts, &neighbours()), Vec::<String>::new());
        }
    }
}

#[test]
fn with_consent_the_policy_goes_first_and_no_copy_has_it() {
    for facts in [facts_of_revert(), facts_of_hold()] {
        let mut facts = Facts { accepts_declared: true, ..facts };
        let lines = preview(facts.clone()).expect("a way");
        let removed = "remove the field spec.failurePolicy from deployment.rollwright.dev/web, so that its \
                       declared revision rolls out";
        assert_eq!(lines[..2], [removed, "create deployment.apps/web, paused"]);
        assert_eq!(migrated(&mut facts).get("failurePolicy"), None);
    }
}

#[test]
fn a_request_to_abort_goes_too() {
    for (policy, removed) in [
        (
            json!({"action": "Continue"}),
            "remove spec.failurePolicy and the annotation rollwright.dev/abort from",
        ),
        (Value::Null, "remove the annotation rollwright.dev/abort from"),
    ] {
        let mut facts = Facts { accepts_declared: true, ..facts_of_revert() };
        let source = facts.source.as_mut().expect("ours");
        source.body["spec"]["failurePolicy"] = policy;
        source.body["metadata"]["annotations"][ABORT] = json!("3/now");
        let Next::Write(write) = next(&facts) else { panic!("{:?}", next(&facts)) };
        assert!(write.says.starts_with(removed), "{}", write.says);
        // The status is about the time before.
        let status = facts.source.as_ref().expect("ours").body["status"].clone();
        apply(&mut facts, &write).expect("a write");
        let source = facts.source.as_mut().expect("ours");
        assert_eq!(source.body["metadata"]["annotations"].get(ABORT), None);
        source.body["status"] = status;
        source.body["status"]["observedGeneration"] = source.body["metadata"]["generation"].clone();
        assert!(matches!(next(&facts), Next::Wait(what) if what.contains("to run the declared revision")));
        facts.source.as_mut().expect("ours").body["status"]["target"] = Value::Null;
        run(&mut facts, usize::MAX);
        assert!(facts.source.is_none());
    }
}

#[test]
fn a_policy_that_decides_nothing_now_is_only_named() {
    let mut facts = facts_of_revert();
    facts.source.as_mut().expect("ours").body["status"]["target"] = Value::Null;
    resize(&mut facts, [0, 0, 3]);
    assert_eq!(problems(&facts, &neighbours()), Vec::<String>::new());
    let found = warnings(&facts, &neighbours());
    let words = "spec.failurePolicy of deployment.rollwright.dev/web is left out, since apps/v1 has no failure \
                 policy";
    assert!(found.iter().any(|line| line == words), "{found:?}");
}
