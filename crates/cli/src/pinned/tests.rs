use plan::Flavour;
use serde_json::json;

use super::*;

pub(crate) mod samples;

fn number(found: Result<&Revision, Failure>) -> Result<i64, String> {
    found.map(|revision| revision.number).map_err(|failure| failure.to_string())
}

#[test]
fn a_status_of_before_the_last_change_shows_nothing() {
    let mut body = samples::pinned().body;
    assert!(target(&body).is_some_and(|target| is_pinned(&target)));
    assert!(target(&samples::missing().body).is_some_and(|target| !runs_another(&target)));
    let reverted = target(&samples::reverted().body).unwrap();
    assert!(is_reverted(&reverted) && !is_pinned(&reverted) && runs_another(&reverted));
    body["metadata"]["generation"] = json!(10);
    assert_eq!(target(&body), None);
}

#[test]
fn what_comes_from_the_cluster_does_not_write_over_the_screen() {
    let mut deployment = samples::pinned();
    deployment.body["spec"]["pin"]["reason"] = json!("INC\u{1b}[2J");
    let target = target(&deployment.body).unwrap();
    let spec = deployment.spec();
    assert_eq!(short(&spec, &target), "runs revision 6: Pinned (INC\\u{1b}[2J)");
    assert!(!sentence(&spec, target).contains('\u{1b}'));
}

#[test]
fn a_pin_that_is_not_in_force_is_no_reason_for_a_revert() {
    let mut deployment = samples::reverted();
    let none = format!("v1:{}", "0".repeat(64));
    deployment.body["spec"]["pin"] =
        json!({"podTemplateHash": "h5", "reason": "INC-1", "templateFingerprint": none});
    let (spec, target) = (deployment.spec(), target(&deployment.body).unwrap());
    assert_eq!(short(&spec, &target), "runs revision 6: Reverted");
    assert_eq!(sentence(&spec, target), samples::reverted_words());
}

#[test]
fn after_a_revert_zero_is_the_revision_that_runs() {
    let (mut reverted, all) = (samples::reverted(), samples::revisions());
    assert_eq!(running(&reverted, &all).map(|revision| revision.number), Some(6));
    assert_eq!(declared(&reverted, &all).map(|revision| revision.number), Some(7));
    assert_eq!(number(wanted(&reverted, &all, 0)), Ok(6));
    assert_eq!(number(wanted(&reverted, &all, 5)), Ok(5));
    // Somebody scales it.
    reverted.body["metadata"]["generation"] = json!(10);
    assert_eq!(running(&reverted, &all).map(|revision| revision.number), Some(6));
    // The next template comes, and its rollout is the one to go back from.
    reverted.body["spec"]["template"]["spec"]["containers"][0]["image"] = json!("app:8");
    assert_eq!(running(&reverted, &all).map(|revision| revision.number), Some(7));
}

#[test]
fn after_a_failure_zero_is_the_good_revision() {
    let all = samples::revisions();
    for mut deployment in [samples::reverted(), samples::held("RolloutFailed")] {
        // Revision 6 has failed, too.
        deployment.body["status"]["fallback"] = json!({"revision": 5, "podTemplateHash": "h5"});
        for generation in [9, 10] {
            deployment.body["metadata"]["generation"] = json!(generation);
            assert_eq!(number(wanted(&deployment, &all, 0)), Ok(5), "{generation}");
            assert_eq!(number(wanted(&deployment, &all, 6)), Ok(6), "{generation}");
        }
        // Nothing failed, or nothing is known to be good.
        let mut rolling = samples::held("RolloutInProgress");
        rolling.body["status"]["fallback"] = deployment.body["status"]["fallback"].clone();
        assert_eq!(number(wanted(&rolling, &all, 0)), Ok(6));
        deployment.body["status"]["fallback"] = json!(null);
        assert_eq!(number(wanted(&deployment, &all, 0)), Ok(6));
    }
}

#[test]
fn a_pin_keeps_what_runs_whatever_the_new_template_is() {
    let mut pinned = samples::pinned();
    let words = kept(&pinned).unwrap();
    assert!(words.starts_with("revision 6 stays running because of spec.pin (INC-4711);"), "{words}");
    assert!(words.ends_with("kubectl rollwright unpin deployment.rollwright.dev/web -n shop"), "{words}");
    let missing = kept(&samples::missing()).unwrap();
    assert!(
        missing.starts_with("spec.pin.podTemplateHash h9 (INC-4711) matches no ReplicaSet of this"),
        "{missing}"
    );
    // With the new template, which the operator has not observed.
    pinned.body["metadata"]["generation"] = json!(10);
    assert!(kept(&pinned).is_some_and(|words| words.starts_with("revision 6 stays running")));
    // The status is about the time before the pin.
    pinned.body["status"] = json!({});
    assert!(kept(&pinned).is_some_and(|words| words.starts_with("ReplicaSet h6 stays running")));
    // The declared revision is pinned.
    pinned.body["spec"]["pin"]["podTemplateHash"] = json!("h7");
    pinned.body["status"] = json!({"observedGeneration": 9, "revision": 7});
    assert!(kept(&pinned).is_some_and(|words| words.starts_with("ReplicaSet h7 stays running")));
    // The next template ends it.
    let fingerprint = Flavour::Rollwright.fingerprint(&pinned.body["spec"]["template"]);
    pinned.body["spec"]["pin"]["templateFingerprint"] = json!(fingerprint.as_str());
    assert_eq!(kept(&pinned), None);
    assert_eq!(kept(&samples::reverted()), None);
}

#[test]
fn a_pin_for_another_template_is_not_in_force() {
    let (mut deployment, all) = (samples::pinned(), samples::revisions());
    let fingerprint = Flavour::Rollwright.fingerprint(&deployment.body["spec"]["template"]);
    for (made_for, runs) in
        [(json!(null), 6), (json!(fingerprint.as_str()), 6), (json!(format!("v1:{}", "0".repeat(64))), 7)]
    {
        deployment.body["spec"]["pin"]["templateFingerprint"] = made_for;
        assert_eq!(in_force(&deployment).is_some(), runs == 6);
        assert_eq!(running(&deployment, &all).map(|revision| revision.number), Some(runs));
    }
    let apps = Deployment { flavour: Flavour::AppsV1, ..samples::pinned() };
    assert_eq!(in_force(&apps), None, "apps/v1 has no pin");
}

#[test]
fn zero_is_the_revision_before_what_runs() {
    let (mut pinned, all) = (samples::pinned(), samples::revisions());
    assert_eq!(number(wanted(&pinned, &all, 0)), Ok(5));
    assert_eq!(number(wanted(&pinned, &all, 7)), Ok(7));
    let none = number(wanted(&pinned, &all[..2], 0)).unwrap_err();
    assert!(none.contains("no revision before 6"), "{none}");
    let gone = number(wanted(&samples::missing(), &all, 0)).unwrap_err();
    assert!(gone.contains("--to-revision"), "{gone}");
    pinned.body["spec"]["pin"] = json!(null);
    assert_eq!(number(wanted(&pinned, &all, 0)), Ok(6));
}

#[test]
fn the_declared_revision_is_known_before_the_operator_reports_it() {
    let (mut deployment, all) = (samples::pinned(), samples::revisions());
    assert_eq!(declared(&deployment, &all).map(|revision| revision.number), Some(7));
    deployment.body["status"] = json!({});
    assert_eq!(declared(&deployment, &all).map(|revision| revision.number), Some(7));
    assert!(declared(&deployment, &all[1..]).is_none());
}

#[test]
fn a_pin_is_rolled_out_when_all_pods_are_its_own_and_available() {
    let counts = Counts { desired: 3, current: 3, ..Counts::default() };
    let pods = |replicas: i64, available: i64| SetStatus { replicas, available, ..SetStatus::default() };
    let words = |pods: SetStatus, all: i64| left(counts, &pods, all).unwrap_or_default();
    assert!(words(pods(1, 1), 4).starts_with("1 out of 3"));
    assert!(words(pods(3, 3), 4).starts_with("1 other"));
    assert!(words(pods(3, 2), 3).starts_with("2 of 3"));
    assert_eq!(left(counts, &pods(3, 3), 3), None);
}
