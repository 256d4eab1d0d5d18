//! What runs instead of the declared revision: by `spec.pin`, or after that failed (FP-6, FP-11, FP-12; rollwright.dev
//! only).

use api::{DeploymentSpec, Target};
use plan::keys::{condition, reason};
use plan::{Ours, Pin, SetStatus, TargetRecord};
use serde_json::Value;

use crate::cluster::Deployment;
use crate::failure::Failure;
use crate::history::{Revision, find};
use crate::migrate::facts::is_of_template;
use crate::read;
use crate::rollout::{self, Counts};
use crate::terminal::clean;

/// `status.target`, if the status is about this generation.
pub(crate) fn target(deployment: &Value) -> Option<Target> {
    read::status(deployment).target.filter(|_| rollout::is_observed(deployment))
}

/// Whether another revision runs by a pin.
pub(crate) fn is_pinned(target: &Target) -> bool {
    target.reason.as_deref() == Some(reason::PINNED)
}

/// Whether another revision runs because the declared one failed, or somebody aborted it.
pub(crate) fn is_reverted(target: &Target) -> bool {
    target.reason.as_deref().is_some_and(|reason| reason::REVERTS.contains(&reason))
}

/// Whether another revision runs. Otherwise the one that the pin names is gone.
pub(crate) fn runs_another(target: &Target) -> bool {
    is_pinned(target) || is_reverted(target)
}

/// What runs, and why, in a sentence without its end.
pub(crate) fn sentence(spec: &DeploymentSpec, target: Target) -> String {
    let reason = spec.pin.as_ref().and_then(|pin| pin.reason.as_deref());
    clean(&TargetRecord::from(target).sentence(reason))
}

/// The same in a few words, for a table.
pub(crate) fn short(spec: &DeploymentSpec, target: &Target) -> String {
    // A pin that is not in force is no reason for a revert.
    let pin = spec.pin.as_ref().filter(|_| !is_reverted(target));
    let reason = pin.and_then(|pin| pin.reason.as_deref());
    let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
    let hash = target.pod_template_hash.as_deref().unwrap_or_default();
    clean(&match target.revision {
        Some(number) if runs_another(target) => {
            format!("runs revision {number}: {}{reason}", word(target))
        }
        _ => format!("{} {hash}{reason}", word(target)),
    })
}

/// Why, in one word for programs.
pub(crate) fn word(target: &Target) -> &str {
    target.reason.as_deref().unwrap_or_default()
}

/// `spec.pin`, unless it was made for another template.
pub(crate) fn in_force(deployment: &Deployment) -> Option<Pin> {
    deployment.workload().ok()?.pin_in_force().cloned()
}

/// The revision that runs, or is rolled out: the one that is pinned, or that was reverted to, or else the newest.
pub(crate) fn running<'a>(deployment: &Deployment, newest_first: &'a [Revision]) -> Option<&'a Revision> {
    match in_force(deployment) {
        Some(pin) => of_hash(newest_first, &pin.pod_template_hash),
        None => reverted_to(deployment, newest_first).or(newest_first.first()),
    }
}

/// The revision that runs because the declared one failed. A change since then that keeps the template changes nothing
/// about that.
pub(crate) fn reverted_to<'a>(deployment: &Deployment, all: &'a [Revision]) -> Option<&'a Revision> {
    let target = deployment.status().target.filter(is_reverted)?;
    of_hash(all, target.pod_template_hash.as_deref()?).filter(|_| has_failed(deployment, all))
}

/// Whether the declared revision is reported to have failed.
pub(crate) fn has_failed(deployment: &Deployment, all: &[Revision]) -> bool {
    let declared = declared(deployment, all).map(|revision| revision.number);
    let workload = deployment.workload();
    declared.zip(workload.ok()).is_some_and(|(number, it)| it.status.reports_failure(number))
}

/// The revision of the template, if that has a ReplicaSet.
pub(crate) fn declared<'a>(deployment: &Deployment, newest_first: &'a [Revision]) -> Option<&'a Revision> {
    let reported = target(&deployment.body).and_then(|target| target.declared_revision);
    let is_it = |revision: &&Revision| match reported {
        Some(number) => revision.number == number,
        None => is_of_template(deployment, &revision.set),
    };
    newest_first.iter().find(is_it)
}

fn of_hash<'a>(revisions: &'a [Revision], hash: &str) -> Option<&'a Revision> {
    revisions.iter().find(|revision| revision.hash() == Some(hash))
}

/// The revision that `undo` goes back to, by its number. 0 is the one before what a pin runs; without a pin the newest
/// one if the declared one has no ReplicaSet, the good one if it failed, and else the one before the newest.
pub(crate) fn wanted<'a>(
    deployment: &Deployment,
    newest_first: &'a [Revision],
    number: i64,
) -> Result<&'a Revision, Failure> {
    if number != 0 {
        return find(newest_first, number);
    }
    let newest = newest_first.first().map_or(0, |revision| revision.number);
    match in_force(deployment) {
        Some(pin) => before(deployment, newest_first, &pin),
        None if is_unborn(deployment, newest_first) => find(newest_first, newest),
        None => fallback(deployment, newest_first).map_or_else(|| find(newest_first, 0), Ok),
    }
}

/// Whether the API server refuses the ReplicaSet of the declared template, so that the newest one is of the template
/// before it.
fn is_unborn(deployment: &Deployment, newest_first: &[Revision]) -> bool {
    let status = deployment.status();
    let progressing = status.condition(condition::PROGRESSING).and_then(|known| known.reason.as_deref());
    progressing == Some(reason::REPLICA_SET_CREATE_ERROR) && declared(deployment, newest_first).is_none()
}

fn before<'a>(
    deployment: &Deployment,
    newest_first: &'a [Revision],
    pin: &Pin,
) -> Result<&'a Revision, Failure> {
    let Some(running) = of_hash(newest_first, &pin.pod_template_hash) else {
        return Err(Failure::Missing(format!(
            "spec.pin names no ReplicaSet of {}, so no revision is before it; name one with --to-revision",
            deployment.full_name()
        )));
    };
    let before = newest_first.iter().find(|revision| revision.number < running.number);
    before.ok_or_else(|| {
        Failure::Missing(format!(
            "there is no revision before {}, which runs; history shows what there is",
            running.number
        ))
    })
}

/// The good revision that the operator runs, or would run, instead of the declared one that failed. A change since then
/// does not make it worse.
pub(crate) fn fallback<'a>(deployment: &Deployment, all: &'a [Revision]) -> Option<&'a Revision> {
    let status = deployment.workload().ok()?.status;
    let Ours { target, fallback, revision, .. } = &status.ours;
    let declared = target.as_ref().map_or(*revision, |target| target.declared_revision)?;
    of_hash(all, &fallback.as_ref()?.hash).filter(|_| status.reports_failure(declared))
}

/// What a new template does not change: a pin that is not for one template stays in force, and what it names runs on.
/// The Deployment is as it is with that template.
pub(crate) fn kept(deployment: &Deployment) -> Option<String> {
    let pin = in_force(deployment).filter(|pin| pin.template_fingerprint.is_none())?;
    let (spec, command) = (deployment.spec(), deployment.command("unpin"));
    // What is reported of the template before is true of this one, too, if it is about this pin.
    let target = deployment
        .status()
        .target
        .filter(|target| target.pod_template_hash.as_deref() == Some(&*pin.pod_template_hash));
    if let Some(missing) = target.clone().filter(|target| !runs_another(target)) {
        return Some(sentence(&spec, missing));
    }
    let number = target.and_then(|target| target.revision);
    let runs =
        number.map_or_else(|| format!("ReplicaSet {}", pin.pod_template_hash), |it| format!("revision {it}"));
    let reason = pin.reason.map_or_else(String::new, |reason| format!(" ({reason})"));
    Some(clean(&format!(
        "{runs} stays running because of spec.pin{reason}; to run the new template: {command}"
    )))
}

/// The pods of the revision that runs instead of the declared one.
pub(crate) fn pods<'a>(target: &Target, mut revisions: impl Iterator<Item = &'a Revision>) -> SetStatus {
    let is_it = |revision: &&Revision| {
        target.pod_template_hash.is_some() && revision.hash() == target.pod_template_hash.as_deref()
    };
    revisions.find(is_it).map(Revision::status).unwrap_or_default()
}

/// What is left to do until all pods are of the revision that runs instead of the declared one, in the words of
/// `status` about a pin.
pub(crate) fn left(counts: Counts, pods: &SetStatus, all: i64) -> Option<String> {
    let (desired, all) = (counts.desired, all.max(counts.current));
    if pods.replicas < desired {
        Some(format!("{} out of {desired} pinned replicas have been created", pods.replicas))
    } else if all > desired {
        Some(format!("{} other replicas are pending termination", all - desired))
    } else if pods.available < desired {
        Some(format!("{} of {desired} pinned replicas are available", pods.available))
    } else {
        None
    }
}

#[cfg(test)]
pub(crate) use tests::samples;
#[cfg(test)]
pub(crate) mod tests;
