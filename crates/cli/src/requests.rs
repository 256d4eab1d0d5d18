//! Requests to retry the declared revision after it failed, or to abort it (FP-9; rollwright.dev only). What is due, and
//! what comes of it, the planner decides.

use api::decode;
use jiff::Timestamp;
use kube::api::Patch;
use plan::keys::reason::NO_GOOD_REVISION;
use plan::keys::{ABORT, RETRY, condition};
use plan::{Status, Workload};
use serde_json::{Value, json};

use crate::cluster::Deployment;
use crate::edits;
use crate::failure::Failure;
use crate::history::Revision;
use crate::migrate::merge;
use crate::pinned;
use crate::projection;
use crate::rollout::{Phase, Rollout};

/// Asks the operator to run the declared revision again, after it failed. Returns its number, too.
pub(crate) fn retry(
    deployment: &Deployment,
    all: &[Revision],
    now: Timestamp,
) -> Result<(i64, Patch<Value>), Failure> {
    let number = judged(deployment, all, "retried")?;
    edits::unpaused(deployment, "a retry")?;
    if !readable(deployment)?.status.reports_failure(number) {
        return Err(Failure::Rollout(format!("revision {number} of {} has not failed", deployment.name())));
    }
    Ok((number, annotation(RETRY, &request(number, now))))
}

/// Asks the operator to give the declared revision up. A pause does not hinder that: then the way back begins once
/// somebody resumes.
pub(crate) fn abort(
    deployment: &Deployment,
    all: &[Revision],
    now: Timestamp,
) -> Result<(i64, Patch<Value>), Failure> {
    let number = judged(deployment, all, "aborted")?;
    let (name, full) = (deployment.name(), deployment.full_name());
    let Workload { status, .. } = readable(deployment)?;
    if let Some(target) = status.ours.target.as_ref().filter(|_| status.reports_failure(number)) {
        let runs = target.revision.map_or_else(String::new, |it| format!(": revision {it} runs"));
        return Err(Failure::Rollout(format!("revision {number} of {name} has been reverted already{runs}")));
    }
    if pinned::in_force(deployment).is_some() {
        let unpin = deployment.command("unpin");
        return Err(Failure::Rollout(format!(
            "{full} is pinned, and the pin decides what runs; remove it first: {unpin}"
        )));
    }
    let request = request(number, now);
    // What cannot be foreseen is no reason to refuse.
    if foreseen(deployment, all, &request, now).is_ok_and(|after| is_stuck(&after, number)) {
        let fix = if all.len() > 1 {
            format!("choose a revision to roll back to: {} --to-revision=NUMBER", deployment.command("undo"))
        } else {
            "apply another template".to_owned()
        };
        return Err(Failure::Missing(format!(
            "no other revision of {full} is known to be good, so the operator would run none instead of revision \
             {number}; {fix}"
        )));
    }
    Ok((number, annotation(ABORT, &request)))
}

/// The status that the planner comes to with this request to abort, once somebody resumes.
fn foreseen(
    deployment: &Deployment,
    all: &[Revision],
    request: &str,
    now: Timestamp,
) -> Result<Status, String> {
    let mut asked = deployment.clone();
    let patch = json!({"metadata": {"annotations": {ABORT: request}}, "spec": {"paused": false}});
    merge(&mut asked.body, &patch);
    let sets: Vec<Value> = all.iter().map(|revision| revision.set.clone()).collect();
    projection::status(&asked, &sets, now)
}

/// Whether this revision failed, and none is there to run instead.
fn is_stuck(status: &Status, number: i64) -> bool {
    let stalled = status.condition(condition::STALLED);
    status.reports_failure(number) && stalled.is_some_and(|known| known.reason == NO_GOOD_REVISION)
}

/// The number of the declared revision, where the operator judges it.
fn judged(deployment: &Deployment, all: &[Revision], asked: &str) -> Result<i64, Failure> {
    let full = deployment.full_name();
    if !deployment.flavour.has_status_extras() {
        return Err(Failure::Usage(format!(
            "no revision of {full} can be {asked}, since {} has no failure policy; roll back: {}; or migrate it \
             first: {}",
            deployment.flavour.api_version(),
            deployment.command("undo"),
            deployment.command("migrate"),
        )));
    }
    let declared = pinned::declared(deployment, all).map(|revision| revision.number);
    declared.ok_or_else(|| Failure::Rollout(format!("the template of {full} has no revision yet")))
}

fn readable(deployment: &Deployment) -> Result<Workload, Failure> {
    let workload = deployment.workload();
    workload.map_err(|error| Failure::Rollout(format!("{} cannot be read: {error}", deployment.full_name())))
}

/// A request about this revision. The time makes it another one than the one before.
fn request(number: i64, now: Timestamp) -> String {
    format!("{number}/{now:.3}")
}

fn annotation(key: &str, request: &str) -> Patch<Value> {
    Patch::Merge(json!({"metadata": {"annotations": {key: request}}}))
}

/// The rollout, as it stands with these ReplicaSets. A request is no change of the spec, so what the status reports is
/// of before it until the operator has observed it.
pub(crate) fn awaited(deployment: &Deployment, all: &[Revision], rollout: Rollout) -> Rollout {
    let Some(verb) = due(deployment, all) else { return rollout };
    let name = deployment.name();
    if deployment.is_paused() {
        if verb == "retry" {
            return rollout;
        }
        let message =
            format!("deployment \"{name}\" is paused: the request to abort waits until it is resumed");
        return Rollout { phase: Phase::Paused, message, ..rollout };
    }
    let message =
        format!("Waiting for the operator to observe the request to {verb} deployment \"{name}\"...");
    Rollout { phase: Phase::Progressing, message, ..rollout }
}

/// What somebody asked for of the declared revision, if the status has yet to show what became of it. A pin decides what
/// runs, so nothing comes of a request meanwhile.
pub(crate) fn due(deployment: &Deployment, all: &[Revision]) -> Option<&'static str> {
    if !is_asked(deployment) || pinned::in_force(deployment).is_some() {
        return None;
    }
    let workload = deployment.workload().ok()?;
    let set = decode::replica_set(deployment.flavour, &pinned::declared(deployment, all)?.set).ok()?;
    let requests = [(ABORT, "abort"), (RETRY, "retry")];
    requests.into_iter().find_map(|(key, verb)| workload.is_request_due(&set, key).then_some(verb))
}

/// Whether there is a request at all, heard or not.
pub(crate) fn is_asked(deployment: &Deployment) -> bool {
    let annotations = deployment.body.pointer("/metadata/annotations");
    let is_there = |key: &str| annotations.is_some_and(|known| known.get(key).is_some());
    deployment.flavour.has_status_extras() && [ABORT, RETRY].into_iter().any(is_there)
}

#[cfg(test)]
mod tests {
    use plan::Flavour;
    use plan::keys::ROLLOUT;

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
    fn an_abort_needs_a_good_revision() {
        let all = samples::revisions();
        let mut rolling = samples::held("RolloutInProgress");
        assert_eq!(abort(&rolling, &all, noon()).ok(), Some((7, written(ABORT))));
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
        assert_eq!(abort(&samples::held("RolloutFailed"), &all, noon()).ok(), Some((7, written(ABORT))));
        rolling.body["spec"]["paused"] = json!(true);
        assert_eq!(abort(&rolling, &all, noon()).ok(), Some((7, written(ABORT))));
        assert_eq!(refused(abort(&rolling, &all[..1], noon())).0, Code::NotFound, "nor once it is resumed");
    }

    #[test]
    fn an_abort_changes_what_runs() {
        let all = samples::revisions();
        let already = "revision 7 of web has been reverted already: revision 6 runs".to_owned();
        assert_eq!(refused(abort(&samples::reverted(), &all, noon())), (Code::Failed, already));
        let (code, message) = refused(abort(&samples::pinned(), &all, noon()));
        assert_eq!(code, Code::Failed);
        assert!(
            message.ends_with("kubectl rollwright unpin deployment.rollwright.dev/web -n shop"),
            "{message}"
        );
    }

    #[test]
    fn on_apps_the_fix_is_named() {
        let apps = Deployment { flavour: Flavour::AppsV1, ..samples::reverted() };
        let all = samples::revisions();
        for asked in [retry(&apps, &all, noon()), abort(&apps, &all, noon())] {
            let (code, message) = refused(asked);
            assert_eq!(code, Code::Usage);
            for fix in ["undo deployment.apps/web -n shop", "migrate deployment.apps/web -n shop"] {
                assert!(message.contains(&format!("kubectl rollwright {fix}")), "{message}");
            }
        }
    }

    /// Revisions, the newest of which remembers this.
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
            (
                json!({"version": 1, "revision": 7, "retry": NOON}),
                true,
                "it was heard, and nothing is reported",
            ),
            (
                json!({"version": 1, "revision": 7, "verdict": "Failed", "retry": NOON}),
                false,
                "it failed again",
            ),
            (
                json!({"version": 1, "revision": 3, "verdict": "Failed", "retry": NOON}),
                true,
                "of another revision",
            ),
            (json!(null), true, "nothing is remembered"),
        ] {
            assert_eq!(due(&asked, &remembering(&memory)), is_due.then_some("retry"), "{words}");
        }
        assert_eq!(
            due(&asking(samples::reverted(), RETRY, "6"), &failed),
            None,
            "it is about another revision"
        );
        assert_eq!(
            due(&asking(samples::held("RolloutInProgress"), RETRY, NOON), &failed),
            None,
            "it rolls out"
        );
    }

    #[test]
    fn an_abort_is_due_until_the_failure_is_reported() {
        let aborted =
            json!({"version": 1, "revision": 7, "verdict": "Failed", "aborted": true, "abort": NOON});
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
        assert_eq!(
            due(&asking(rolling(), ABORT, NOON), &remembering(&retried)),
            None,
            "it was retried since"
        );
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
}
