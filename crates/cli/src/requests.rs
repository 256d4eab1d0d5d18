//! Requests to retry the declared revision after it failed, to abort it (FP-9), or to continue it after a restart (HO-5;
//! rollwright.dev only), and which of all requests are due. The planner decides that, and what follows.

use api::decode;
use diagnosis::{list, text};
use jiff::Timestamp;
use kube::api::Patch;
use plan::keys::reason::NO_GOOD_REVISION;
use plan::keys::{ABORT, PROMOTE, RESUME, RETRY, condition};
use plan::{Status, Workload};
use serde_json::{Value, json};

use crate::cluster::Deployment;
use crate::edits;
use crate::failure::Failure;
use crate::history::Revision;
use crate::migrate::facts::entry;
use crate::newer;
use crate::pinned;
use crate::projection;
use crate::rollout::{self, Phase, Rollout};
use crate::terminal::clean;
use json_patch::merge;

/// The number of the declared revision, and what to write.
type Asked = Result<(i64, Patch<Value>), Failure>;

/// Asks the operator to run the declared revision again, after it failed.
pub(crate) fn retry(deployment: &Deployment, all: &[Revision], now: Timestamp) -> Asked {
    let number = judged(deployment, all, "retried")?;
    edits::heeded(deployment, "a retry")?;
    if !readable(deployment)?.status.reports_failure(number) {
        return Err(Failure::Rollout(format!("revision {number} of {} has not failed", deployment.name())));
    }
    Ok((number, annotation(RETRY, &request(number, now))))
}

/// Asks the operator to give the declared revision up, and prints what runs instead. A pause does not hinder that: then
/// the way back begins once somebody resumes.
pub(crate) fn abort(
    deployment: &Deployment,
    all: &[Revision],
    now: Timestamp,
) -> Result<(String, Patch<Value>), Failure> {
    let number = judged(deployment, all, "aborted")?;
    newer::none(deployment, "an abort")?;
    let (name, full) = (deployment.name(), deployment.full_name());
    let Workload { status, .. } = readable(deployment)?;
    if let Some(target) = status.ours.target.as_ref().filter(|_| status.reports_failure(number)) {
        let runs = target.revision.map_or_else(String::new, |it| format!(": revision {it} runs"));
        return Err(Failure::Rollout(format!("revision {number} of {name} has been reverted already{runs}")));
    }
    let request = request(number, now);
    // What cannot be foreseen is no reason to refuse.
    let after = projection::status(&asking(deployment, ABORT, &request), &sets(all), now).unwrap_or_default();
    if is_stuck(&after, number) {
        let fix = if all.len() > 1 {
            format!("choose a revision to roll back to: {} --to-revision=NUMBER", deployment.command("undo"))
        } else {
            "apply another template".to_owned()
        };
        return Err(Failure::Missing(format!(
            "no other revision of {full} is known to be good, so none could run instead of revision {number}; {fix}"
        )));
    }
    let said = format!("abort of revision {number} requested{}", instead(all, number, &after));
    Ok((said, annotation(ABORT, &request)))
}

/// Ends the pause, or asks the operator to continue what it holds after a restart (HO-5). The request names what is held,
/// so that it means nothing for a later hold.
pub(crate) fn resume(deployment: &Deployment, all: &[Revision]) -> Result<(String, Patch<Value>), Failure> {
    if deployment.is_paused() || !is_held(deployment) {
        return Ok(("resumed".to_owned(), edits::resume(deployment)?));
    }
    edits::heeded(deployment, "a request to continue")?;
    let number = judged(deployment, all, "continued")?;
    let set = pinned::declared(deployment, all)
        .and_then(|it| decode::replica_set(deployment.flavour, &it.set).ok());
    let word = set.and_then(|set| set.word_to_resume());
    let word =
        word.ok_or_else(|| Failure::Rollout(format!("{} is not held any more", deployment.full_name())))?;
    Ok((format!("continuation of revision {number} requested"), annotation(RESUME, &word)))
}

/// Whether the operator reports that it holds the rollout after a restart.
pub(crate) fn is_held(deployment: &Deployment) -> bool {
    rollout::of(deployment.flavour, deployment.name(), &deployment.body).phase == Phase::Held
}

/// Who asked to abort, and when, as far as it shows, in a sentence without its end.
pub(crate) fn abort_of(deployment: &Deployment) -> Option<String> {
    let request = entry(&deployment.body, "annotations", ABORT)?;
    let time = request.split_once('/').and_then(|(_, time)| time.parse::<Timestamp>().ok());
    let time = time.map_or_else(String::new, |time| format!(" at {time:.0}"));
    let field = format!("/f:metadata/f:annotations/f:{}", ABORT.replace('/', "~1"));
    let managers = list(&deployment.body, "/metadata/managedFields").iter();
    let owners = managers.filter(|entry| entry.pointer(&format!("/fieldsV1{field}")).is_some());
    let manager = owners.max_by_key(|entry| text(entry, "/time")).map(|entry| text(entry, "/manager"));
    match manager {
        Some(manager) => Some(clean(&format!("The client {manager} asked for that{time}"))),
        None => (!time.is_empty()).then(|| format!("Somebody asked for that{time}")),
    }
}

/// What runs after an abort of this revision, to print with the request; empty where `after`, the status then, does not
/// show it.
fn instead(all: &[Revision], number: i64, after: &Status) -> String {
    let Some(back) = after.ours.target.as_ref().and_then(|target| target.revision) else {
        return String::new();
    };
    // The revision before may not have finished its bake.
    let is_between = |it: &&Revision| it.number > back && it.number < number && it.desired() > 0;
    let between = all.iter().find(is_between);
    let between = between.map_or_else(String::new, |it| {
        format!(", not revision {}, which is not known to be good or was put aside", it.number)
    });
    format!("; revision {back} runs instead{between}")
}

/// The Deployment with a request, and without a pause.
pub(crate) fn asking(deployment: &Deployment, key: &str, request: &str) -> Deployment {
    let mut asking = deployment.clone();
    merge(&mut asking.body, &json!({"metadata": {"annotations": {key: request}}, "spec": {"paused": false}}));
    asking
}

/// The ReplicaSets of these revisions.
pub(crate) fn sets(all: &[Revision]) -> Vec<Value> {
    all.iter().map(|revision| revision.set.clone()).collect()
}

/// Whether this revision failed, and none is there to run instead.
fn is_stuck(status: &Status, number: i64) -> bool {
    let stalled = status.condition(condition::STALLED);
    status.reports_failure(number) && stalled.is_some_and(|known| known.reason == NO_GOOD_REVISION)
}

/// The number of the declared revision, where the operator judges it and no pin decides what runs.
pub(crate) fn judged(deployment: &Deployment, all: &[Revision], asked: &str) -> Result<i64, Failure> {
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
    if pinned::in_force(deployment).is_some() {
        let unpin = deployment.command("unpin");
        return Err(Failure::Rollout(format!(
            "{full} is pinned, and the pin decides what runs; remove it first: {unpin}"
        )));
    }
    let declared = pinned::declared(deployment, all).map(|revision| revision.number);
    declared.ok_or_else(|| Failure::Rollout(format!("the template of {full} has no revision yet")))
}

pub(crate) fn readable(deployment: &Deployment) -> Result<Workload, Failure> {
    let workload = deployment.workload();
    workload.map_err(|error| Failure::Rollout(format!("{} cannot be read: {error}", deployment.full_name())))
}

/// A request about this revision. The time makes it another one than the one before.
fn request(number: i64, now: Timestamp) -> String {
    format!("{number}/{now:.3}")
}

pub(crate) fn annotation(key: &str, request: &str) -> Patch<Value> {
    Patch::Merge(json!({"metadata": {"annotations": {key: request}}}))
}

/// The rollout, as it stands with these ReplicaSets. A request is no change of the spec, so the status is older than
/// the request until the operator has observed it.
pub(crate) fn awaited(deployment: &Deployment, all: &[Revision], rollout: Rollout) -> Rollout {
    let Some(verb) = due(deployment, all) else { return rollout };
    let name = deployment.name();
    if deployment.is_paused() {
        if verb != "abort" {
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

/// Whether the operator has yet to begin with the last change, or to report the outcome of a request.
pub(crate) fn is_awaited(deployment: &Deployment, all: &[Revision]) -> bool {
    let is_due = || due(deployment, all).is_some() && !deployment.is_paused();
    rollout::is_yet_to_begin(&deployment.body) || is_due()
}

/// The request about the declared revision that has no outcome in the status yet. Nothing follows from one while a pin
/// is in force. The operator also ignores it while a field or an annotation is newer than the operator, or while the
/// Deployment is being deleted.
pub(crate) fn due(deployment: &Deployment, all: &[Revision]) -> Option<&'static str> {
    if !deployment.flavour.has_status_extras() || pinned::in_force(deployment).is_some() {
        return None;
    }
    let workload = deployment.workload().ok()?;
    if workload.deleting || newer::left(&deployment.status()).is_some() {
        return None;
    }
    let set = decode::replica_set(deployment.flavour, &pinned::declared(deployment, all)?.set).ok()?;
    let requests = [(ABORT, "abort"), (RETRY, "retry"), (PROMOTE, "promote"), (RESUME, "continue")];
    requests.into_iter().find_map(|(key, verb)| workload.is_request_due(&set, key).then_some(verb))
}

#[cfg(test)]
mod tests;
