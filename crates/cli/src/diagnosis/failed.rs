//! A declared revision that failed: an earlier one runs, or nothing is rolled out before somebody acts (FP-6).

use api::Target;
use diagnosis::Cause;
use plan::Outcome;
use plan::keys::reason;

use super::course::back;
use super::facts::{Diagnosis, Facts, Verdict};
use super::lack::{on_the_way, refused_pod, unready};
use crate::failed;
use crate::obstacle::next_of_refusal;
use crate::pinned;
use crate::requests;
use crate::rollout;
use crate::terminal::clean;

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
    let deployment = facts.deployment;
    let record = record(facts, &target);
    let who = requests::abort_of(deployment).filter(|_| is_aborted(&target));
    let mut more = record.as_ref().map_or_else(String::new, |(_, text)| format!(" {text}"));
    more.push_str(&who.map_or_else(String::new, |who| format!(" {who}.")));
    more.push_str(&on_the_way(facts, &target));
    more.push_str(&format!(
        " To restore the template of the revision that runs: `{}`.",
        deployment.command("undo")
    ));
    if !is_aborted(&target) {
        more.push_str(&format!(" To try the declared one again: `{}`.", deployment.command("retry")));
    }
    let refusal = record.and_then(|(message, _)| {
        next_of_refusal(Cause::of_refusal(&message), &message, deployment.namespace())
    });
    Diagnosis {
        verdict: Verdict::Blocked,
        cause: clean(pinned::word(&target)).into(),
        text: format!("{}.{more}", pinned::sentence(&deployment.spec(), target)),
        next: Some(refusal.unwrap_or_else(|| deployment.command("diff"))),
    }
}

/// Whether somebody gave the declared revision up, and nothing failed.
fn is_aborted(target: &Target) -> bool {
    pinned::word(target) == reason::ABORTED
}

/// Why it failed, as the history has it, and the same in a sentence; `None` if somebody gave it up.
fn record(facts: &Facts<'_>, target: &Target) -> Option<(String, String)> {
    let status = facts.deployment.status();
    let has_failed = |outcome: Option<&str>| outcome == Some(Outcome::Failed.as_str());
    let mut newest_first = status.history.iter().flatten();
    let found = newest_first.find(|rollout| rollout.revision == target.declared_revision);
    let rollout = found.filter(|rollout| has_failed(rollout.outcome.as_deref()))?;
    let (reason, message) = (rollout.reason.as_deref(), rollout.message.as_deref());
    let (number, why) = (target.declared_revision?, reason.or(message)?);
    let more = message.filter(|message| *message != why);
    let more = more.map_or_else(String::new, |message| format!(": {message}"));
    let text = clean(&format!("Revision {number} failed with {why}{}.", more.trim_end_matches('.')));
    Some((message.unwrap_or_default().to_owned(), text))
}

/// Nothing is rolled out before somebody acts.
pub(super) fn held(facts: &Facts<'_>) -> Option<Diagnosis> {
    let deployment = facts.deployment;
    let held = failed::held(&deployment.status());
    let (cause, words) = held.filter(|_| rollout::is_observed(&deployment.body))?;
    let lack = refused_pod(facts).or_else(|| unready(facts));
    let (lack, next) = lack.map(|found| (format!(" {}", found.text), found.next)).unwrap_or_default();
    Some(Diagnosis {
        verdict: Verdict::Blocked,
        cause: cause.into(),
        text: format!("{words}.{lack}"),
        next: Some(next.unwrap_or_else(|| back(facts, ""))),
    })
}

#[cfg(test)]
mod tests {
    use plan::Why;
    use plan::keys::{ABORT, RETRY};
    use serde_json::{Value, json};

    use super::*;
    use crate::diagnosis::course::capitalized;
    use crate::diagnosis::tests::{awaited_by, diverged_by, instead};
    use crate::pinned::samples;
    use crate::unobserved::Unobserved;

    const RETRY_IT: &str = "kubectl rollwright retry deployment.rollwright.dev/web -n shop";
    const UNDO: &str = "kubectl rollwright undo deployment.rollwright.dev/web -n shop";
    const DIFF: &str = "kubectl rollwright diff deployment.rollwright.dev/web -n shop";

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
    fn is_blocked(diagnosis: &Diagnosis, cause: &str, begins: &str, next: &str) {
        assert_eq!((diagnosis.verdict, &*diagnosis.cause), (Verdict::Blocked, cause), "{diagnosis:?}");
        assert!(diagnosis.text.starts_with(&capitalized(begins)), "{diagnosis:?}");
        assert_eq!(diagnosis.next.as_deref(), Some(next));
    }

    #[test]
    fn a_revert_names_both_revisions_and_the_commands() {
        let words = format!("{}. ", samples::reverted_words());
        let found = diverged_by(&samples::reverted(), instead(Why::Converged), &[]);
        is_blocked(&found, "Reverted", &words, DIFF);
        let ways = format!(
            "To restore the template of the revision that runs: `{UNDO}`. To try the declared one again: `{RETRY_IT}`."
        );
        assert_eq!(found.text, capitalized(&format!("{words}{ways}")));
        let found = diverged_by(&samples::reverted(), instead(Why::Stepping), &[pod("web-h6", "app:6")]);
        is_blocked(&found, "Reverted", &format!("{words}1 pod of web-h6 cannot pull the image app:6"), DIFF);
        let found = diverged_by(&samples::reverted(), instead(Why::Stepping), &[]);
        let under_way = format!("{words}Revision 6 is still being rolled out. The controller is");
        is_blocked(&found, "Reverted", &under_way, DIFF);
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
        let why = " Revision 7 failed with ImagePull: 1 of 3 pods cannot pull the image app:7. To restore";
        assert!(found.text.contains(why), "{}", found.text);
        let quota = "1 of 3 pods are refused: pods \"a\" is forbidden: exceeded quota: small";
        deployment.body["status"]["history"][1]["message"] = json!(quota);
        let found = diverged_by(&deployment, instead(Why::Converged), &[]);
        assert_eq!(found.next.as_deref(), Some("kubectl describe quota -n shop"));
    }

    #[test]
    fn what_waits_for_somebody_shows_what_its_pods_lack() {
        let blocked = || Why::Blocked(samples::HELD.to_owned());
        for reason in ["RolloutFailed", "NoGoodRevision"] {
            let held = samples::held(reason);
            let found = diverged_by(&held, blocked(), &[]);
            is_blocked(&found, reason, samples::HELD, UNDO);
            assert!(found.text.ends_with(&format!("`{RETRY_IT}`.")), "{}", found.text);
            let found = diverged_by(&held, blocked(), &[pod("web-h7", "app:7")]);
            is_blocked(&found, reason, samples::HELD, UNDO);
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
