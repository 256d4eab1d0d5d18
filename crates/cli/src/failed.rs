//! A declared revision that failed: what the operator reports of it, and the requests to try it again, or to give it
//! up (FP-6, FP-9; rollwright.dev only).

use api::{ConditionStatus, DeploymentStatus, Target};
use jiff::Timestamp;
use kube::api::Patch;
use plan::keys::{ABORT, RETRY, ROLLOUT, condition, reason};
use serde_json::{Value, json};

use crate::cluster::Deployment;
use crate::failure::Failure;
use crate::history::Revision;
use crate::output::clean;
use crate::pinned;
use crate::rollout::{Phase, Rollout};

/// Why Stalled is True while nothing is rolled out before somebody acts.
const HELD: [&str; 2] = [reason::ROLLOUT_FAILED, reason::NO_GOOD_REVISION];
/// What the planner puts before its words about that.
const BLOCKED: &str = "blocked: ";

/// That the declared revision failed and nothing is rolled out before somebody acts: why, in one word, and the same in
/// a sentence without its end.
pub(crate) fn held(status: &DeploymentStatus) -> Option<(&'static str, String)> {
    let stalled = status.condition(condition::STALLED)?;
    let reason = HELD.into_iter().find(|held| stalled.reason.as_deref() == Some(*held))?;
    let message = stalled.message.as_deref().unwrap_or("the declared revision failed");
    let words = message.strip_prefix(BLOCKED).unwrap_or(message).trim_end_matches('.');
    (stalled.status == ConditionStatus::True).then(|| (reason, clean(words)))
}

/// How a rollout stands that is about the declared revision, in the words of the column STATUS of `kubectl get`.
pub(crate) fn state(status: &DeploymentStatus, phase: Phase) -> String {
    match held(status) {
        Some((reason, _)) if phase == Phase::Failed => format!("Blocked: {reason}"),
        _ => phase.word().to_owned(),
    }
}

/// Whether the operator reports that this revision failed. A status of before the last change counts, too: what it
/// reports is about the revision.
fn has_failed(deployment: &Deployment, number: i64) -> bool {
    let status = deployment.status();
    match &status.target {
        Some(target) => pinned::is_reverted(target) && target.declared_revision == Some(number),
        None => held(&status).is_some() && status.revision == Some(number),
    }
}

/// Asks the operator to try the declared revision again, after it failed. Returns its number, too.
pub(crate) fn retry(
    deployment: &Deployment,
    all: &[Revision],
    now: Timestamp,
) -> Result<(i64, Patch<Value>), Failure> {
    let number = declared(deployment, all, "tried again")?;
    if deployment.is_paused() {
        let name = deployment.full_name();
        return Err(Failure::Paused(format!("{name} is paused, so a retry would wait; run resume first")));
    }
    if !has_failed(deployment, number) {
        return Err(Failure::Rollout(format!("revision {number} of {} has not failed", deployment.name())));
    }
    Ok((number, request(RETRY, number, now)))
}

/// Asks the operator to give the declared revision up. A pause does not hinder that: then the way back begins once
/// somebody resumes.
pub(crate) fn abort(
    deployment: &Deployment,
    all: &[Revision],
    now: Timestamp,
) -> Result<(i64, Patch<Value>), Failure> {
    let number = declared(deployment, all, "aborted")?;
    let name = deployment.name();
    let is_it = |it: &Target| pinned::is_reverted(it) && it.declared_revision == Some(number);
    if let Some(target) = deployment.status().target.filter(is_it) {
        let runs = target.revision.map_or_else(String::new, |it| format!(": revision {it} runs"));
        return Err(Failure::Rollout(format!("revision {number} of {name} has been reverted already{runs}")));
    }
    if all.iter().all(|revision| revision.number == number) {
        return Err(Failure::Missing(format!(
            "{name} has no revision other than {number}, so there is none to go back to"
        )));
    }
    Ok((number, request(ABORT, number, now)))
}

/// The number of the declared revision, where the operator judges it.
fn declared(deployment: &Deployment, all: &[Revision], asked: &str) -> Result<i64, Failure> {
    let (name, full, namespace) = (deployment.name(), deployment.full_name(), deployment.namespace());
    if !deployment.flavour.has_status_extras() {
        return Err(Failure::Usage(format!(
            "no revision of {full} can be {asked}, since {} has no failure policy; roll back with kubectl rollwright \
             undo {full} -n {namespace}, or migrate it first: kubectl rollwright migrate deployment/{name} -n \
             {namespace}",
            deployment.flavour.api_version()
        )));
    }
    let declared = pinned::declared(deployment, all).map(|revision| revision.number);
    declared.ok_or_else(|| Failure::Rollout(format!("the template of {full} has no revision yet")))
}

/// An annotation that is about this revision. The time makes it another request than the one before.
fn request(key: &str, number: i64, now: Timestamp) -> Patch<Value> {
    Patch::Merge(json!({"metadata": {"annotations": {key: format!("{number}/{now:.3}")}}}))
}

/// The rollout, as it stands with these ReplicaSets. A request to retry is no change of the spec, so the status reports
/// the failure until the operator has observed the request.
pub(crate) fn retried(deployment: &Deployment, all: &[Revision], rollout: Rollout) -> Rollout {
    if rollout.phase != Phase::Failed || !is_retry_due(deployment, all) {
        return rollout;
    }
    let message = format!(
        "Waiting for the operator to observe the request to retry deployment \"{}\"...",
        deployment.name()
    );
    Rollout { phase: Phase::Progressing, message, ..rollout }
}

/// Whether somebody asked to retry the declared revision, and the operator has not answered.
pub(crate) fn is_retry_due(deployment: &Deployment, all: &[Revision]) -> bool {
    let annotations = deployment.body.pointer("/metadata/annotations");
    let asked = annotations.and_then(|annotations| annotations.get(RETRY)?.as_str());
    let (Some(asked), Some(declared)) = (asked, pinned::declared(deployment, all)) else { return false };
    let number = asked.split_once('/').map_or(asked, |(number, _)| number);
    number.parse() == Ok(declared.number)
        && has_failed(deployment, declared.number)
        && answered(declared).as_deref() != Some(asked)
}

/// The last request to retry after which this revision got a verdict, as its ReplicaSet remembers it.
fn answered(revision: &Revision) -> Option<String> {
    let (_, text) = revision.annotations().find(|(key, _)| *key == ROLLOUT)?;
    let memory: Value = serde_json::from_str(text).ok()?;
    let is_about_it = memory.get("revision")?.as_i64() == Some(revision.number);
    memory.get("retry").filter(|_| is_about_it)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use plan::Flavour;

    use super::*;
    use crate::code::Code;
    use crate::pinned::samples;

    const NOON: &str = "7/2026-04-01T12:00:00.250Z";

    fn noon() -> Timestamp {
        "2026-04-01T12:00:00.25Z".parse().unwrap()
    }

    type Asked = Result<(i64, Patch<Value>), Failure>;

    fn written(key: &str) -> Patch<Value> {
        Patch::Merge(json!({"metadata": {"annotations": {key: NOON}}}))
    }

    fn refused(asked: Asked) -> (Code, String) {
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
        assert_eq!(refused(retry(&rolling, &all, noon())), (Code::Failed, failed.clone()));
        assert_eq!(refused(retry(&samples::pinned(), &all, noon())), (Code::Failed, failed));
        rolling.body["spec"]["paused"] = json!(true);
        assert_eq!(refused(retry(&rolling, &all, noon())).0, Code::Paused);
        // The next template came after the failure.
        let mut next = samples::reverted();
        next.body["metadata"]["generation"] = json!(10);
        next.body["spec"]["template"]["spec"]["containers"][0]["image"] = json!("app:8");
        let (_, message) = refused(retry(&next, &all, noon()));
        assert!(message.contains("has no revision yet"), "{message}");
    }

    #[test]
    fn an_abort_needs_a_revision_to_go_back_to() {
        let all = samples::revisions();
        let mut rolling = samples::held("RolloutInProgress");
        assert_eq!(abort(&rolling, &all, noon()).ok(), Some((7, written(ABORT))));
        rolling.body["spec"]["paused"] = json!(true);
        assert_eq!(abort(&rolling, &all, noon()).ok(), Some((7, written(ABORT))));
        let (code, message) = refused(abort(&rolling, &all[..1], noon()));
        assert_eq!((code, message.contains("no revision other than 7")), (Code::NotFound, true), "{message}");
        let already = "revision 7 of web has been reverted already: revision 6 runs".to_owned();
        assert_eq!(refused(abort(&samples::reverted(), &all, noon())), (Code::Failed, already));
    }

    #[test]
    fn on_apps_the_fix_is_named() {
        let apps = Deployment { flavour: Flavour::AppsV1, ..samples::reverted() };
        let all = samples::revisions();
        for asked in [retry(&apps, &all, noon()), abort(&apps, &all, noon())] {
            let (code, message) = refused(asked);
            assert_eq!(code, Code::Usage);
            for fix in ["undo deployment.apps/web -n shop", "migrate deployment/web -n shop"] {
                assert!(message.contains(&format!("kubectl rollwright {fix}")), "{message}");
            }
        }
    }

    #[test]
    fn a_request_is_due_until_the_next_verdict() {
        let mut deployment = samples::reverted();
        let all = |memory: &Value| {
            let mut set = samples::set(7, 0);
            set["metadata"]["annotations"][ROLLOUT] = json!(memory.to_string());
            crate::history::revisions(vec![set, samples::set(6, 3)])
        };
        let failed = json!({"version": 1, "revision": 7, "verdict": "Failed"});
        assert!(!is_retry_due(&deployment, &all(&failed)), "nobody asked");
        deployment.body["metadata"]["annotations"] = json!({RETRY: NOON});
        assert!(is_retry_due(&deployment, &all(&failed)));
        assert!(is_retry_due(&deployment, &samples::revisions()), "nothing is remembered");
        let again = json!({"version": 1, "revision": 7, "verdict": "Failed", "retry": NOON});
        assert!(!is_retry_due(&deployment, &all(&again)), "it failed again");
        let before = json!({"version": 1, "revision": 3, "verdict": "Failed", "retry": NOON});
        assert!(is_retry_due(&deployment, &all(&before)), "the memory is about another revision");
        deployment.body["metadata"]["annotations"] = json!({RETRY: "6"});
        assert!(!is_retry_due(&deployment, &all(&failed)), "it is about another revision");
    }

    #[test]
    fn a_failure_counts_until_somebody_asks_for_a_retry() {
        let mut deployment = samples::reverted();
        let all = samples::revisions();
        let stands = |deployment: &Deployment| {
            let rollout = crate::rollout::of(deployment.flavour, deployment.name(), &deployment.body);
            retried(deployment, &all, rollout)
        };
        assert_eq!(stands(&deployment).phase, Phase::Failed);
        deployment.body["metadata"]["annotations"] = json!({RETRY: NOON});
        let rollout = stands(&deployment);
        assert_eq!(rollout.phase, Phase::Progressing);
        assert!(rollout.message.contains("to observe the request to retry"), "{}", rollout.message);
        deployment.body["spec"]["paused"] = json!(true);
        assert_eq!(stands(&deployment).phase, Phase::Paused);
    }

    #[test]
    fn what_is_held_is_read_from_the_condition() {
        let of = |deployment: &Deployment| held(&deployment.status());
        let words = samples::HELD.to_owned();
        assert_eq!(of(&samples::held("RolloutFailed")), Some(("RolloutFailed", words.clone())));
        assert_eq!(of(&samples::held("NoGoodRevision")), Some(("NoGoodRevision", words)));
        assert_eq!(of(&samples::held("RolledBack")), None);
        let mut over = samples::held("RolloutFailed");
        over.body["status"]["conditions"][1]["status"] = json!("False");
        assert_eq!(of(&over), None);
    }
}
