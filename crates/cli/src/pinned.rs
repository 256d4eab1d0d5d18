//! What runs instead of the declared revision: by `spec.pin`, or because that failed (FP-6, FP-11, FP-12;
//! rollwright.dev only).

use api::decode::{self, Defaults};
use api::{DeploymentSpec, Target};
use plan::keys::reason;
use plan::{Pin, SetStatus, TargetRecord};
use serde_json::Value;

use crate::cluster::Deployment;
use crate::failure::Failure;
use crate::history::{Revision, find};
use crate::migrate::facts::is_of_template;
use crate::output::clean;
use crate::read;
use crate::rollout::{self, Counts};

/// `status.target`, if the status is about this generation.
pub(crate) fn target(deployment: &Value) -> Option<Target> {
    read::status(deployment).target.filter(|_| rollout::is_observed(deployment))
}

/// Whether another revision runs by a pin.
pub(crate) fn is_pinned(target: &Target) -> bool {
    target.because.as_deref() == Some(reason::PINNED)
}

/// Whether another revision runs because the declared one failed.
pub(crate) fn is_reverted(target: &Target) -> bool {
    target.because.as_deref() == Some(reason::REVERTED)
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
    let hash = target.hash.as_deref().unwrap_or_default();
    clean(&match target.revision {
        Some(number) if runs_another(target) => {
            format!("runs revision {number}: {}{reason}", because(target))
        }
        _ => format!("{} {hash}{reason}", because(target)),
    })
}

/// Why, in one word for programs.
pub(crate) fn because(target: &Target) -> &str {
    target.because.as_deref().unwrap_or_default()
}

/// The state of the Deployment, in the words of the column STATUS of `kubectl get`.
pub(crate) fn state(target: &Target) -> String {
    let because = clean(because(target));
    if runs_another(target) { because } else { format!("Blocked: {because}") }
}

/// `spec.pin`, unless it was made for another template.
pub(crate) fn in_force(deployment: &Deployment) -> Option<Pin> {
    let flavour = deployment.flavour;
    let workload = decode::workload(flavour, &deployment.body, Defaults::of(flavour)).ok()?;
    workload.pin_in_force().cloned()
}

/// The revision that runs, or is rolled out: the one that is pinned, or that was reverted to, or else the newest.
pub(crate) fn running<'a>(deployment: &Deployment, newest_first: &'a [Revision]) -> Option<&'a Revision> {
    match in_force(deployment) {
        Some(pin) => of_hash(newest_first, &pin.hash),
        None => reverted_to(deployment, newest_first).or(newest_first.first()),
    }
}

/// The revision that runs because the declared one failed.
pub(crate) fn reverted_to<'a>(deployment: &Deployment, all: &'a [Revision]) -> Option<&'a Revision> {
    let target = target(&deployment.body).filter(is_reverted)?;
    of_hash(all, target.hash.as_deref()?)
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

/// One revision by its number; 0 is the one before the newest. After a revert it is the one that runs, which took the
/// place of the one that failed.
pub(crate) fn earlier<'a>(
    deployment: &Deployment,
    newest_first: &'a [Revision],
    number: i64,
) -> Result<&'a Revision, Failure> {
    match reverted_to(deployment, newest_first).filter(|_| number == 0) {
        Some(running) => Ok(running),
        None => find(newest_first, number),
    }
}

/// The same, where a pin decides what runs: 0 is the one before that.
pub(crate) fn wanted<'a>(
    deployment: &Deployment,
    newest_first: &'a [Revision],
    number: i64,
) -> Result<&'a Revision, Failure> {
    let Some(pin) = in_force(deployment).filter(|_| number == 0) else {
        return earlier(deployment, newest_first, number);
    };
    let Some(running) = of_hash(newest_first, &pin.hash) else {
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

/// What a new template does not change: a pin that is not for one template stays in force, and what it names runs on.
pub(crate) fn kept(deployment: &Deployment) -> Option<String> {
    let pin = in_force(deployment).filter(|pin| pin.while_template.is_none())?;
    let (spec, body) = (deployment.spec(), &deployment.body);
    let reported = target(body);
    if let Some(missing) = reported.clone().filter(|target| !runs_another(target)) {
        return Some(sentence(&spec, missing));
    }
    let number = match &reported {
        Some(target) => target.revision,
        None => read::status(body).revision.filter(|_| rollout::is_observed(body)),
    };
    let runs = number.map_or_else(|| format!("ReplicaSet {}", pin.hash), |it| format!("revision {it}"));
    let reason = pin.reason.map_or_else(String::new, |reason| format!(" ({reason})"));
    Some(clean(&format!(
        "{runs} stays running because of spec.pin{reason}; to run the new template: kubectl rollwright unpin {} \
         -n {}",
        deployment.full_name(),
        deployment.namespace()
    )))
}

/// The pods of the revision that runs instead of the declared one.
pub(crate) fn pods<'a>(target: &Target, mut revisions: impl Iterator<Item = &'a Revision>) -> SetStatus {
    let is_it = |revision: &&Revision| target.hash.is_some() && revision.hash() == target.hash.as_deref();
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
