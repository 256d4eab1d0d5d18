//! What is wrong before anything is written, all of it together, each with what to do about it; and what is worth
//! knowing.

use api::decode::{self, Defaults};
use plan::selector::LabelSelector;
use serde_json::Value;

use crate::cluster::Deployment;
use crate::migrate::facts::{Facts, Holder, entry, is_deleting, labels, mark, name, selects};
use crate::migrate::pruned::pruned;
use crate::migrate::step::{diverged, undecided, unsettled};
use diagnosis::{controller_of, list, text};

/// The neighbourhood of a Deployment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Neighbours {
    /// Deployments of both APIs in the namespace.
    pub(crate) deployments: Vec<Deployment>,
    pub(crate) budgets: Vec<Value>,
    /// Whether the API of the target is served.
    pub(crate) is_served: bool,
    /// Requests that the user may not make, such as `delete deployments.apps`.
    pub(crate) denied: Vec<String>,
    /// Kinds that the user may not list, such as `horizontalpodautoscalers.autoscaling`.
    pub(crate) unseen: Vec<String>,
}

/// Who else keeps the manifest: a key in labels or annotations, and its name.
const MANAGERS: &[(&str, &str, &str)] = &[
    ("annotations", "meta.helm.sh/release-name", "Helm release"),
    ("labels", "helm.toolkit.fluxcd.io/name", "Flux HelmRelease"),
    ("labels", "kustomize.toolkit.fluxcd.io/name", "Flux Kustomization"),
    ("annotations", "argocd.argoproj.io/tracking-id", "Argo CD application"),
    ("labels", "argocd.argoproj.io/instance", "Argo CD application"),
    ("annotations", "kapp.k14s.io/identity", "kapp application"),
];

/// What has to be put right first. Only for a migration with pods that still belong to the source.
pub(crate) fn problems(facts: &Facts, neighbours: &Neighbours) -> Vec<String> {
    let Some(source) = &facts.source else { return Vec::new() };
    let current = facts.current();
    let is_past = current.is_none_or(|(_, holder)| holder != Holder::Source) && facts.target.is_some();
    if is_past || is_deleting(&source.body) {
        return Vec::new();
    }
    let mut problems = Vec::new();
    if !neighbours.is_served {
        problems.push(format!(
            "the API server does not know {}: install the definition first, \
             kubectl apply --server-side -f crds/",
            facts.to.api_version()
        ));
    }
    problems.extend(neighbours.denied.iter().map(|denied| {
        format!(
            "you may not {denied} in namespace {}; ask an administrator for that permission",
            facts.namespace
        )
    }));
    problems.extend(target(facts, source));
    problems.extend(owned(source));
    problems.extend(state(facts, source, current.map(|(set, _)| set)));
    problems.extend(overlaps(facts, source, &neighbours.deployments));
    if facts.hpa.is_none() {
        problems.extend(facts.scalers_of_source().map(|scaler| undecided(facts, scaler)));
    }
    match &facts.dry_run {
        Some(Err(refusal)) if neighbours.is_served => {
            problems.push(format!("the API server would refuse {}: {refusal}", facts.target_name()));
        }
        Some(Ok(stored)) => problems.extend(pruned(facts, source, stored)),
        _ => {}
    }
    problems
}

fn target(facts: &Facts, source: &Deployment) -> Option<String> {
    let target = facts.target.as_ref()?;
    (mark(source).is_none() && mark(target).is_none()).then(|| {
        format!(
            "{} exists too, and no migration created it; delete or rename one of them",
            facts.target_name()
        )
    })
}

fn owned(source: &Deployment) -> Vec<String> {
    let owners = list(&source.body, "/metadata/ownerReferences").iter().map(|owner| {
        format!(
            "{} belongs to {} {}, which would create it again; migrate that owner, or remove it from \
             metadata.ownerReferences",
            source.full_name(),
            text(owner, "/kind"),
            text(owner, "/name")
        )
    });
    let finalizers = list(&source.body, "/metadata/finalizers").iter().filter_map(Value::as_str);
    let finalizers = finalizers.map(|finalizer| {
        format!(
            "{} has the finalizer {finalizer}, which would block its deletion; let the owner of the \
             finalizer remove it first",
            source.full_name()
        )
    });
    owners.chain(finalizers).collect()
}

fn state(facts: &Facts, source: &Deployment, current: Option<&Value>) -> Option<String> {
    let full_name = source.full_name();
    if source.is_paused() && mark(source).is_none() {
        return Some(format!("{full_name} is paused; resume it: {}", source.command("resume")));
    }
    if let Some(diverged) = diverged(facts, source) {
        return (!facts.accepts_declared).then_some(diverged);
    }
    let rolling = match current {
        None => Some("no ReplicaSet has its template".to_owned()),
        Some(current) => unsettled(facts, source, current).map(|what| format!("it waits for {what}")),
    };
    rolling
        .map(|what| format!("{full_name} is rolling out, {what}; wait for it: {}", source.command("status")))
}

/// Other Deployments that would adopt a ReplicaSet of this one as soon as nobody controls it.
fn overlaps(facts: &Facts, source: &Deployment, others: &[Deployment]) -> Vec<String> {
    let is_other = |other: &&Deployment| other.name() != source.name();
    let overlap = |other: &Deployment| {
        let workload = decode::workload(other.flavour, &other.body, Defaults::of(other.flavour)).ok()?;
        let selector = workload.selector.unwrap_or_default();
        let set = facts.controlled_by(source).find(|set| selects(&selector, labels(set)))?;
        Some(format!(
            "the selector of {} matches replicaset.apps/{}, which it could adopt on the way; give the two \
             selectors that exclude each other",
            other.full_name(),
            name(set)
        ))
    };
    others.iter().filter(is_other).filter_map(overlap).collect()
}

/// What does not stop a migration.
pub(crate) fn warnings(facts: &Facts, neighbours: &Neighbours) -> Vec<String> {
    let Some(source) = &facts.source else { return Vec::new() };
    let mut warnings = Vec::new();
    let managers = MANAGERS
        .iter()
        .filter_map(|(place, key, what)| Some(format!("{what} {}", entry(&source.body, place, key)?)));
    let mut managers: Vec<String> = managers.collect();
    if managers.is_empty()
        && let Some(manager) = entry(&source.body, "labels", "app.kubernetes.io/managed-by")
    {
        managers.push(manager.to_owned());
    }
    if !managers.is_empty() {
        warnings.push(format!(
            "{} is kept by {}, which would create it again: stop its syncing, and change apiVersion to {} in \
             the manifest before it starts again",
            source.full_name(),
            managers.join(" and "),
            facts.to.api_version()
        ));
    }
    let selected = |budget: &&Value| {
        let selector = budget.pointer("/spec/selector").cloned().unwrap_or_default();
        let selector: LabelSelector = serde_json::from_value(selector).unwrap_or_default();
        facts.controlled_by(source).any(|set| selects(&selector, labels(set)))
    };
    warnings.extend(neighbours.budgets.iter().filter(selected).map(|budget| {
        format!(
            "poddisruptionbudget/{} selects the pods by their labels and keeps working unchanged",
            name(budget)
        )
    }));
    warnings.extend(neighbours.unseen.iter().map(|kind| {
        format!(
            "you may not list {kind} in namespace {}, so none of them was checked: ask somebody who may \
             whether one names {}",
            facts.namespace,
            source.full_name()
        )
    }));
    warnings.extend(lost(facts, source));
    if let Some(set) = foreign(facts) {
        warnings
            .push(format!("replicaset.apps/{} matches the selector and belongs to another owner", name(set)));
    }
    warnings
}

/// What decides nothing now, and goes, since apps/v1 does not have it.
fn lost(facts: &Facts, source: &Deployment) -> Vec<String> {
    if diverged(facts, source).is_some() {
        return Vec::new();
    }
    let spec = source.spec();
    let (name, version) = (source.full_name(), facts.to.api_version());
    let strategy = spec.strategy.unwrap_or_default();
    let steps = strategy.rolling_update.and_then(|limits| limits.steps).filter(|steps| !steps.is_empty());
    let all = [
        (spec.pin.is_some(), format!("spec.pin of {name} is left out, since {version} has no pin")),
        (
            spec.failure_policy.is_some(),
            format!("spec.failurePolicy of {name} is left out, since {version} has no failure policy"),
        ),
        (
            spec.resume_policy.is_some(),
            format!("spec.resumePolicy of {name} is left out, since {version} has no resume policy"),
        ),
        (
            steps.is_some(),
            format!("spec.strategy.rollingUpdate.steps of {name} is left out, since {version} has no steps"),
        ),
        (
            strategy.hooks.is_some(),
            format!("spec.strategy.hooks of {name} is left out, since {version} has no hooks"),
        ),
        (
            strategy.custom.is_some(),
            format!("spec.strategy.custom of {name} is left out, since {version} has only RollingUpdate"),
        ),
    ];
    all.into_iter().filter(|(is_set, _)| *is_set).map(|(_, words)| words).collect()
}

/// A ReplicaSet that the selector finds and that neither of the two nor a sibling controls.
fn foreign(facts: &Facts) -> Option<&Value> {
    let known: Vec<&str> = [&facts.source, &facts.target]
        .into_iter()
        .flatten()
        .map(|deployment| deployment.text("/metadata/uid"))
        .chain(facts.sets.iter().map(|set| text(set, "/metadata/uid")))
        .collect();
    facts.sets.iter().find(|set| controller_of(set).is_some_and(|owner| !known.contains(&owner)))
}
