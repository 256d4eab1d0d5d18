//! What blocks a rollout, and what to type next: from what was read, pure.

use std::borrow::Cow;

use diagnosis::{Cause, text};
use plan::Why;
use plan::keys::{condition, reason};
use serde_json::Value;

use crate::history::Revision;
use crate::migrate::facts::selects;
use crate::obstacle::described;
use crate::pinned;
use crate::reported;
use crate::requests;
use crate::rollout::{self, Counts, Phase};
use crate::table::counted;
use crate::terminal::clean;
use crate::unobserved::{QUEUED, Unobserved};
use course::{back, capitalized};
pub(crate) use facts::{Diagnosis, Facts, Unread, Verdict};
use lack::{on_the_way, refused, refused_pod, unready};

mod course;
mod facts;
mod failed;
mod first;
mod lack;
mod resting;

/// Finds the cause that has to go first. In this order: what a newer operator left, which freezes all else; a
/// ReplicaSet that the server refuses, with which a change does not count as observed; what the controller has not
/// seen. Then what somebody decided, what pods lack, and last what takes its time.
pub(crate) fn diagnose(facts: &Facts<'_>) -> Diagnosis {
    let deployment = facts.deployment;
    let newest = facts.revisions.first().map(Revision::set_name);
    let rollout = rollout::of_set(deployment.flavour, deployment.name(), &deployment.body, newest);
    let rollout = requests::awaited(deployment, facts.revisions, rollout);
    if rollout.phase == Phase::Complete {
        return first::complete(facts, &rollout.message);
    }
    let found = first::unfinished(facts)
        .or_else(|| first::deleted(facts))
        .or_else(|| first::newer(facts))
        .or_else(|| refused_set(facts))
        .or_else(|| unbegun(facts))
        .or_else(|| first::refused_rollback(facts))
        .or_else(|| failed::awaited(facts))
        .or_else(|| diverged(facts))
        .or_else(|| failed::held(facts))
        .or_else(|| failed::after_restart(facts))
        .or_else(|| paused(facts))
        .or_else(|| resting::before(facts))
        .or_else(|| Some(resting::at_step(facts, rollout.rest()?)))
        .or_else(|| refused_pod(facts))
        .or_else(|| unready(facts))
        .or_else(|| reported(facts))
        .or_else(|| staying(facts));
    let caveat = facts.unread.caveat().filter(|_| found.is_none());
    let mut diagnosis = found.unwrap_or_else(|| waiting(facts, rollout.phase));
    diagnosis.text = capitalized(&diagnosis.text);
    diagnosis.text.push_str(caveat.unwrap_or_default());
    if let Some(budget) = budget(facts) {
        diagnosis.text.push_str(&format!(
            " The PodDisruptionBudget {budget} allows no eviction now, so a node that is being drained \
             waits for this rollout."
        ));
    }
    diagnosis
}

/// The controller has not begun with the last change, or nothing has come of a request. The caller has given it time.
fn unbegun(facts: &Facts<'_>) -> Option<Diagnosis> {
    let (deployment, unobserved) = (facts.deployment, facts.unobserved?);
    if unobserved == Unobserved::Waiting && !rollout::is_yet_to_begin(&deployment.body) {
        return None;
    }
    let text = unobserved.sentence(deployment.flavour, "The rollout");
    let blocked = |next: String| Diagnosis {
        verdict: Verdict::Blocked,
        cause: "NoController".into(),
        text: format!("{text}."),
        next: Some(next),
    };
    let waiting = |cause, text: &str| Diagnosis {
        verdict: Verdict::Waiting,
        cause: Cow::Borrowed(cause),
        text: format!("{text}."),
        next: Some(facts.deployment.command("status")),
    };
    let status = deployment.status();
    let place = rollout::queued(&status);
    Some(match (unobserved, place) {
        (Unobserved::Absent, _) if deployment.flavour.is_custom_resource() => {
            blocked("kubectl get pods -A -l app.kubernetes.io/name=rollwright".to_owned())
        }
        (Unobserved::Absent, _) => {
            blocked("kubectl get pods -n kube-system -l component=kube-controller-manager".to_owned())
        }
        // Which namespaces an operator manages goes by their labels, if not by their names.
        (Unobserved::Unseen, _) => {
            blocked(format!("kubectl get namespace {} --show-labels", deployment.namespace()))
        }
        (Unobserved::Waiting | Unobserved::Unclear, Some(place)) => {
            waiting(QUEUED, &format!("The rollout is {place}"))
        }
        (Unobserved::Waiting, None) => waiting(QUEUED, &text),
        (Unobserved::Unclear, None) => waiting("NotObserved", &text),
    })
}

/// Another revision runs than the declared one, or the one that is pinned is gone. A pause comes first: it holds what
/// runs.
fn diverged(facts: &Facts<'_>) -> Option<Diagnosis> {
    let deployment = facts.deployment;
    let target = pinned::target(&deployment.body)?;
    let runs_another = pinned::runs_another(&target);
    if runs_another && deployment.is_paused() {
        return None;
    }
    if pinned::is_reverted(&target) {
        return Some(failed::reverted(facts, target));
    }
    let more = if runs_another { on_the_way(facts, &target) } else { hashes(facts.revisions) };
    Some(Diagnosis {
        verdict: Verdict::Blocked,
        cause: clean(pinned::word(&target)).into(),
        text: format!("{}.{more}", pinned::sentence(&deployment.spec(), target)),
        next: Some(facts.deployment.command("unpin")),
    })
}

/// What `spec.pin` may name, after a blank.
fn hashes(revisions: &[Revision]) -> String {
    let known = revisions.iter().filter_map(|one| Some(format!("{} (revision {})", one.hash()?, one.number)));
    let known: Vec<String> = known.collect();
    if known.is_empty() { String::new() } else { clean(&format!(" There are: {}.", known.join(", "))) }
}

/// A pause, and what the pods lack meanwhile: the end of the pause does not cure that.
fn paused(facts: &Facts<'_>) -> Option<Diagnosis> {
    if !facts.deployment.is_paused() {
        return None;
    }
    let deployment = facts.deployment;
    let target = pinned::target(&deployment.body).filter(pinned::runs_another);
    let target = target.map(|target| capitalized(&pinned::sentence(&deployment.spec(), target)));
    let target = target.map_or_else(String::new, |words| format!(" {words}."));
    let lack = refused_pod(facts).or_else(|| unready(facts));
    let lack = lack.map_or_else(String::new, |found| format!(" Meanwhile: {}", found.text));
    Some(Diagnosis {
        verdict: Verdict::Paused,
        cause: "Paused".into(),
        text: format!("The rollout is paused and waits until someone resumes it.{target}{lack}"),
        next: Some(facts.deployment.command("resume")),
    })
}

/// The server refuses the ReplicaSet of the last change.
fn refused_set(facts: &Facts<'_>) -> Option<Diagnosis> {
    let status = facts.deployment.status();
    let condition = status.condition(condition::PROGRESSING)?;
    let is_refused = condition.reason.as_deref() == Some(reason::REPLICA_SET_CREATE_ERROR);
    is_refused.then(|| refused(facts, "a ReplicaSet", condition.message.as_deref().unwrap_or_default()))
}

/// What the operator reports, to a user who may not read all of it.
fn reported(facts: &Facts<'_>) -> Option<Diagnosis> {
    let deployment = facts.deployment;
    let all = reported::blockers(&deployment.body);
    let first = all.first().filter(|_| facts.unread != Unread::default())?;
    Some(Diagnosis {
        verdict: Verdict::Blocked,
        cause: clean(&first.cause).into(),
        text: format!("{}.", reported::sentence(first).trim_end_matches('.')),
        next: Some(back(facts, first.container.as_deref().unwrap_or_default())),
    })
}

/// New pods wait for old ones to terminate, and those have had their time (S7.3).
fn staying(facts: &Facts<'_>) -> Option<Diagnosis> {
    let is_awaited = facts.why.as_ref().map(Why::itself) == Ok(&Why::WaitingForTermination);
    let pod = facts.overdue.first().filter(|_| is_awaited)?;
    let (pods, have) =
        (counted(facts.overdue.len(), "pod"), if facts.overdue.len() == 1 { "has" } else { "have" });
    Some(Diagnosis {
        verdict: Verdict::Blocked,
        cause: Cause::Terminating.as_str().into(),
        text: format!(
            "{pods} {have} not terminated within the grace period, and new pods wait for that: a finalizer may \
             hold a pod, or its node does not respond."
        ),
        next: Some(described(text(pod, "/metadata/name"), facts.deployment.namespace())),
    })
}

/// What takes its time, in the planner's words.
fn waiting(facts: &Facts<'_>, phase: Phase) -> Diagnosis {
    let course = facts.why.as_ref().map_or_else(|error| format!("{}.", capitalized(error)), course::sentence);
    let blocked = matches!(facts.why.as_ref().map(Why::itself), Err(_) | Ok(Why::Blocked(_)));
    if blocked || phase == Phase::Failed {
        return Diagnosis {
            verdict: Verdict::Blocked,
            cause: if blocked { "Blocked" } else { reason::PROGRESS_DEADLINE_EXCEEDED }.into(),
            text: format!("The rollout makes no progress. {course}"),
            next: Some(back(facts, "")),
        };
    }
    let soak = facts.deployment.spec().min_ready_seconds.unwrap_or(0);
    let counts = Counts::of(&facts.deployment.body);
    let ready_but_new = counts.ready > counts.available;
    if soak > 0 && ready_but_new {
        return Diagnosis {
            verdict: Verdict::Waiting,
            cause: "MinReadySeconds".into(),
            text: format!(
                "Pods are ready. They count as available after {soak} s (spec.minReadySeconds). {course}"
            ),
            next: Some(facts.deployment.command("status")),
        };
    }
    Diagnosis {
        verdict: Verdict::Waiting,
        cause: "Progressing".into(),
        text: format!("The rollout continues. {course}"),
        next: Some(facts.deployment.command("status")),
    }
}

/// A budget over this Deployment's pods that allows no eviction.
fn budget<'a>(facts: &Facts<'a>) -> Option<&'a str> {
    let labels = facts.deployment.body.pointer("/spec/template/metadata/labels")?.as_object()?;
    let covers = |budget: &&Value| {
        let selector = budget.pointer("/spec/selector").cloned().unwrap_or_default();
        let is_closed = budget.pointer("/status/disruptionsAllowed").and_then(Value::as_i64) == Some(0);
        is_closed && selects(&serde_json::from_value(selector).unwrap_or_default(), Some(labels))
    };
    facts.budgets.iter().find(covers)?.pointer("/metadata/name")?.as_str()
}

#[cfg(test)]
mod tests;
