//! A declared revision that failed: an earlier one runs, or nothing is rolled out before somebody acts (FP-6).

use api::Target;
use plan::Outcome;

use super::{Diagnosis, Facts, Verdict, on_the_way, refused_pod, unready};
use crate::failed;
use crate::output::clean;
use crate::pinned;
use crate::requests;
use crate::rollout;

/// Somebody asked to retry it, or to abort it, and the operator has yet to report the outcome.
pub(super) fn awaited(facts: &Facts<'_>) -> Option<Diagnosis> {
    let deployment = facts.deployment;
    let verb = requests::due(deployment, facts.revisions).filter(|_| !deployment.is_paused())?;
    Some(Diagnosis {
        verdict: Verdict::Waiting,
        cause: "NotObserved".into(),
        text: format!("The operator has not observed the request to {verb} the declared revision yet."),
        next: Some(deployment.command("status")),
    })
}

/// An earlier revision runs.
pub(super) fn reverted(facts: &Facts<'_>, target: Target) -> Diagnosis {
    let more = format!("{}{}", record(facts, &target), on_the_way(facts, &target));
    let diff = facts.deployment.command("diff");
    Diagnosis {
        verdict: Verdict::Blocked,
        cause: clean(pinned::word(&target)).into(),
        text: format!(
            "{}.{more} To see how the two revisions differ: `{diff}`.",
            pinned::sentence(&facts.deployment.spec(), target)
        ),
        next: Some(facts.deployment.command("retry")),
    }
}

/// Why it failed, as the history has it, after a blank; empty if somebody gave it up.
fn record(facts: &Facts<'_>, target: &Target) -> String {
    let status = facts.deployment.status();
    let has_failed = |outcome: Option<&str>| outcome == Some(Outcome::Failed.as_str());
    let mut newest_first = status.history.iter().flatten();
    let found = newest_first.find(|rollout| rollout.revision == target.declared_revision);
    let Some(rollout) = found.filter(|rollout| has_failed(rollout.outcome.as_deref())) else {
        return String::new();
    };
    let (reason, message) = (rollout.reason.as_deref(), rollout.message.as_deref());
    match (target.declared_revision, reason.or(message)) {
        (Some(number), Some(why)) => {
            let message = message.filter(|message| *message != why);
            let message = message.map_or_else(String::new, |message| format!(": {message}"));
            clean(&format!(" Revision {number} failed with {why}{}.", message.trim_end_matches('.')))
        }
        _ => String::new(),
    }
}

/// Nothing is rolled out before somebody acts.
pub(super) fn held(facts: &Facts<'_>) -> Option<Diagnosis> {
    let deployment = facts.deployment;
    let held = failed::held(&deployment.status());
    let (cause, words) = held.filter(|_| rollout::is_observed(&deployment.body))?;
    let lack = refused_pod(facts).or_else(|| unready(facts));
    let lack = lack.map_or_else(String::new, |found| format!(" {}", found.text));
    Some(Diagnosis {
        verdict: Verdict::Blocked,
        cause: cause.into(),
        text: format!("{words}.{lack}"),
        next: Some(facts.deployment.command("retry")),
    })
}

#[cfg(test)]
mod tests {
    use plan::Why;
    use plan::keys::{ABORT, RETRY};
    use serde_json::{Value, json};

    use super::*;
    use crate::diagnosis::tests::{awaited_by, diverged_by, instead};
    use crate::pinned::samples;
    use crate::unobserved::Unobserved;

    const NEXT: &str = "kubectl rollwright retry deployment.rollwright.dev/web -n shop";

    /// A pod that cannot pull its image.
    fn pod(set: &str, image: &str) -> Value {
        let waiting = json!({"reason": "ImagePullBackOff", "message": "not found"});
        let container = json!({"name": "app", "image": image, "state": {"waiting": waiting}});
        json!({
            "metadata": {"name": format!("{set}-x"), "namespace": "shop", "uid": "p"},
            "status": {"phase": "Pending", "containerStatuses": [container]},
        })
    }

    #[track_caller]
    fn is_blocked(diagnosis: &Diagnosis, cause: &str, begins: &str) {
        assert_eq!((diagnosis.verdict, &*diagnosis.cause), (Verdict::Blocked, cause), "{diagnosis:?}");
        assert!(diagnosis.text.starts_with(begins), "{diagnosis:?}");
        assert_eq!(diagnosis.next.as_deref(), Some(NEXT));
    }

    #[test]
    fn a_revert_names_both_revisions_and_the_commands() {
        let words = format!("{}. ", samples::reverted_words());
        let found = diverged_by(&samples::reverted(), instead(Why::Converged), &[]);
        is_blocked(&found, "Reverted", &words);
        let diff = "kubectl rollwright diff deployment.rollwright.dev/web -n shop";
        assert_eq!(found.text, format!("{words}To see how the two revisions differ: `{diff}`."));
        let found = diverged_by(&samples::reverted(), instead(Why::Stepping), &[pod("web-h6", "app:6")]);
        is_blocked(&found, "Reverted", &format!("{words}1 pod of web-h6 cannot pull the image app:6"));
        let found = diverged_by(&samples::reverted(), instead(Why::Stepping), &[]);
        is_blocked(
            &found,
            "Reverted",
            &format!("{words}Revision 6 is still being rolled out; the controller is"),
        );
        let mut paused = samples::reverted();
        paused.body["spec"]["paused"] = json!(true);
        let found = diverged_by(&paused, Why::Paused, &[]);
        assert_eq!((found.verdict, &*found.cause), (Verdict::Paused, "Paused"), "{found:?}");
    }

    #[test]
    fn the_history_shows_why_it_failed() {
        let mut deployment = samples::reverted();
        deployment.body["status"]["history"] = json!([
            {"id": 10, "revision": 6, "outcome": "Succeeded"},
            {"id": 9, "revision": 7, "outcome": "Failed", "reason": "ImagePull",
             "message": "1 of 3 pods cannot pull the image app:7"},
        ]);
        let found = diverged_by(&deployment, instead(Why::Converged), &[]);
        let why = " Revision 7 failed with ImagePull: 1 of 3 pods cannot pull the image app:7. To see";
        assert!(found.text.contains(why), "{}", found.text);
        // Somebody gave it up.
        deployment.body["status"]["history"][1]["outcome"] = json!("Cancelled");
        let found = diverged_by(&deployment, instead(Why::Converged), &[]);
        assert!(!found.text.contains("failed with"), "{}", found.text);
    }

    #[test]
    fn what_waits_for_somebody_shows_what_its_pods_lack() {
        let blocked = || Why::Blocked(samples::HELD.to_owned());
        for reason in ["RolloutFailed", "NoGoodRevision"] {
            let held = samples::held(reason);
            let found = diverged_by(&held, blocked(), &[]);
            is_blocked(&found, reason, samples::HELD);
            assert!(found.text.ends_with(&format!("`{NEXT}`.")), "{}", found.text);
            let found = diverged_by(&held, blocked(), &[pod("web-h7", "app:7")]);
            is_blocked(&found, reason, samples::HELD);
            assert!(found.text.contains("`. 1 pod of web-h7 cannot pull the image app:7"), "{}", found.text);
        }
    }

    #[test]
    fn a_request_is_waited_for() {
        let mut complete = samples::held("RolloutInProgress");
        complete.body["status"]["updatedReplicas"] = json!(3);
        complete.body["status"]["conditions"] = json!([]);
        for (mut deployment, key) in [
            (samples::reverted(), RETRY),
            (samples::held("RolloutFailed"), RETRY),
            (samples::held("RolloutInProgress"), ABORT),
            (complete, ABORT),
        ] {
            deployment.body["metadata"]["annotations"] = json!({key: "7/again"});
            let (not_observed, hidden) =
                ("has not observed the request to", "nothing that you may read shows");
            for (signs, verdict, cause, words) in [
                (None, Verdict::Waiting, "NotObserved", not_observed),
                (Some(Unobserved::Waiting), Verdict::Waiting, "NotObserved", not_observed),
                (Some(Unobserved::Unclear), Verdict::Waiting, "NotObserved", hidden),
                (Some(Unobserved::Absent), Verdict::Blocked, "NoController", "the operator does not run"),
            ] {
                let found = awaited_by(&deployment, Why::Stepping, &[], signs);
                assert_eq!((found.verdict, &*found.cause), (verdict, cause), "{found:?}");
                assert!(found.text.contains(words), "{found:?}");
            }
        }
    }
}
