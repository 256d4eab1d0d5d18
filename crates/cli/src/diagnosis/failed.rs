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

/// The operator restarted, and nothing moves without a word (HO-2).
pub(super) fn after_restart(facts: &Facts<'_>) -> Option<Diagnosis> {
    let deployment = facts.deployment;
    let is_current = rollout::is_observed(&deployment.body) && !deployment.is_paused();
    let words = failed::after_restart(&deployment.status()).filter(|_| is_current)?;
    let lack = refused_pod(facts).or_else(|| unready(facts));
    let lack = lack.map_or_else(String::new, |found| format!(" Meanwhile: {}", found.text));
    Some(Diagnosis {
        verdict: Verdict::Paused,
        cause: reason::HELD_AFTER_RESTART.into(),
        text: format!("{words}.{lack}"),
        next: Some(deployment.command("resume")),
    })
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
    use serde_json::json;

    use super::*;
    use crate::diagnosis::tests::diagnosed;
    use crate::pinned::samples;
    use crate::unobserved::Unobserved;

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
                let found = diagnosed(&deployment, Why::Stepping, signs);
                assert_eq!((found.verdict, &*found.cause), (verdict, cause), "{found:?}");
                assert!(found.text.contains(words), "{found:?}");
            }
        }
    }
}
