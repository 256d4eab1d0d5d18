//! What a migration does next: a function of what there is, so that any state that a killed one leaves is a state to
//! continue from, in either direction.
//!
//! Two rules keep pods as they are:
//! - There is never a moment without a Deployment that holds the spec: the target is made before the
//!   source goes, paused.
//! - A controller adopts the ReplicaSet that has the pods before any other. A paused Deployment gives
//!   its whole size to the newest ReplicaSet that it has, if none of them has pods (S8.3).

use plan::Flavour;
use plan::keys::{HASH_LABEL, REVISION, ROLLBACK_TO};
use serde_json::Value;

use crate::cluster::Deployment;
use crate::migrate::facts::{
    Facts, Holder, HpaChoice, entry, fingerprint, fingerprints, is_deleting, is_managed, is_of_template,
    mark, mark_from, marks, name, size, uid,
};
use crate::migrate::pruned::pruned;
use crate::migrate::write::{self, Change};
use crate::pinned;
use crate::rollout::is_observed;
use crate::stepwise;
use crate::table::counted;

/// What is next.
pub(crate) type Next = stepwise::Next<Change>;

/// Decides.
pub(crate) fn next(facts: &Facts) -> Next {
    match (&facts.source, &facts.target) {
        (None, None) => Next::Stuck(format!(
            "deployment \"{}\" not found in namespace \"{}\"; list shows what there is",
            facts.name, facts.namespace
        )),
        (Some(source), None) => begin(facts, source),
        (Some(source), Some(target)) => both(facts, source, target),
        (None, Some(target)) => settle(facts, target),
    }
}

fn no_current(deployment: &Deployment) -> Next {
    Next::Stuck(format!(
        "no ReplicaSet of {} has its template; wait for its rollout: {}",
        deployment.full_name(),
        deployment.command("status")
    ))
}

fn begin(facts: &Facts, source: &Deployment) -> Next {
    if is_deleting(&source.body) {
        return Next::Stuck(format!("{} is being deleted", facts.source_name()));
    }
    if let Some(next) = undiverged(facts, source) {
        return next;
    }
    let Some((current, _)) = facts.current() else { return no_current(source) };
    // Released by a migration that was called off, and not adopted yet.
    if let Some(set) = facts.loose(current).next() {
        return write::attach(facts, set, current).into();
    }
    // The source may have changed since it was checked.
    let stored = facts.dry_run.as_ref().and_then(|dry_run| dry_run.as_ref().ok());
    if let Some(lack) = stored.and_then(|stored| pruned(facts, source, stored)) {
        return Next::Stuck(lack);
    }
    write::create(facts, source, current).into()
}

fn both(facts: &Facts, source: &Deployment, target: &Deployment) -> Next {
    if mark(source).is_none() && mark(target).is_none() {
        return Next::Stuck(format!(
            "{} exists too, and no migration created it; delete or rename one of them",
            facts.target_name()
        ));
    }
    if is_deleting(&target.body) {
        return Next::Wait(format!("the end of {}, which somebody deleted", facts.target_name()));
    }
    let Some((current, holder)) = facts.current() else { return no_current(source) };
    match holder {
        Holder::Source => hand_over(facts, source, target, current),
        Holder::Target => remove(facts, source, target),
        Holder::Nobody if is_deleting(&source.body) => let_go(facts),
        Holder::Nobody => adoption(facts, current),
    }
}

fn let_go(facts: &Facts) -> Next {
    Next::Wait(format!("the garbage collector to let go of the ReplicaSets of {}", facts.source_name()))
}

fn adoption(facts: &Facts, set: &Value) -> Next {
    Next::Wait(format!("{} to adopt replicaset.apps/{}", facts.controller(), name(set)))
}

/// The pods are the source's, and the target waits for them.
fn hand_over(facts: &Facts, source: &Deployment, target: &Deployment, current: &Value) -> Next {
    if is_deleting(&source.body) {
        return let_go(facts);
    }
    if mark(target).is_none() {
        return Next::Stuck(format!(
            "{} holds the pods, and {} was not created by a migration; delete one of them with \
             --cascade=orphan",
            facts.source_name(),
            facts.target_name()
        ));
    }
    if let Some(next) = undiverged(facts, source) {
        return next;
    }
    if !is_of_template(source, current) {
        return Next::Wait(format!("a ReplicaSet of its template in {}", facts.source_name()));
    }
    if mark(target) != Some(&mark_from(source)) {
        return write::sync(facts, source, target, current).into();
    }
    if let Some(lack) = pruned(facts, source, &target.body) {
        return Next::Stuck(format!(
            "{lack}; then delete {} with --cascade=orphan, and run the same command again",
            facts.target_name()
        ));
    }
    // The target's controller is there, and knows that the target is paused.
    if !is_observed(&target.body) {
        return Next::Wait(format!("{} to see {}", facts.controller(), facts.target_name()));
    }
    if let Some(reason) = unsettled(facts, source, current) {
        return Next::Wait(format!("{reason} in {}", facts.source_name()));
    }
    let is_history = |set: &&Value| name(set) != name(current);
    if let Some(set) = facts.controlled_by(source).filter(is_history).chain(facts.loose(current)).next() {
        return write::attach(facts, set, current).into();
    }
    if facts.to == Flavour::Rollwright && !is_handed_over(target, current) {
        return write::hand_over(target, current).into();
    }
    write::delete(facts, source).into()
}

/// The target has neither a pin nor a failure policy, so the declared revision has to run first.
fn undiverged(facts: &Facts, source: &Deployment) -> Option<Next> {
    let reason = diverged(facts, source)?;
    if !facts.accepts_declared {
        return Some(Next::Stuck(reason));
    }
    if pinned::in_force(source).is_some() {
        return Some(write::unpin(facts, source).into());
    }
    let wait = || Next::Wait(format!("the operator to run the declared revision of {}", facts.source_name()));
    Some(write::unjudge(facts, source).map_or_else(wait, Into::into))
}

/// Why the declared revision is not rolled out: another one is pinned, or it failed. The target can have neither a pin
/// nor a failure policy.
pub(crate) fn diverged(facts: &Facts, source: &Deployment) -> Option<String> {
    let (name, version) = (source.full_name(), facts.to.api_version());
    let consent = "so the declared revision would be rolled out: add --accept-declared to let it, before the \
                   migration";
    let declared = facts.current().map(|(set, _)| set);
    let Some(pin) = pinned::in_force(source) else {
        let words = failed(source, declared?)?;
        return Some(format!(
            "{name} is not rolled out: {words}. {version} has no failure policy, {consent}"
        ));
    };
    let declared = declared.and_then(|set| entry(set, "labels", HASH_LABEL));
    (declared != Some(&*pin.pod_template_hash)).then(|| {
        format!(
            "{name} runs what spec.pin names ({HASH_LABEL} {}) instead of its declared revision. {version} has no \
             pin, {consent}",
            pin.pod_template_hash
        )
    })
}

/// Why the revision of this ReplicaSet failed, and what follows, if the operator reports it: an earlier one runs, or
/// somebody has to act.
fn failed(source: &Deployment, declared: &Value) -> Option<String> {
    let number = entry(declared, "annotations", REVISION)?.parse().ok()?;
    if !source.workload().ok()?.status.reports_failure(number) {
        return None;
    }
    let status = source.status();
    match status.target {
        Some(target) => Some(pinned::sentence(&source.spec(), target)),
        None => crate::failed::held(&status).map(|(_, words)| words),
    }
}

fn is_handed_over(target: &Deployment, current: &Value) -> bool {
    is_managed(current) && fingerprints(current).contains(&fingerprint(target))
}

/// What has to end before the pods may change hands: then one ReplicaSet has all of them.
pub(crate) fn unsettled(facts: &Facts, source: &Deployment, current: &Value) -> Option<String> {
    let spec = source.spec();
    let wants = spec.replicas.map_or(1, i64::from);
    let asked = spec.rollback_to.is_some()
        || (source.flavour == Flavour::AppsV1 && entry(&source.body, "annotations", ROLLBACK_TO).is_some());
    if asked {
        return Some("the rollback that was asked for to be carried out".to_owned());
    }
    let mut others = facts.controlled_by(source).filter(|set| name(set) != name(current));
    if let Some(set) = others.find(|set| size(set) > 0 || replicas(set) > 0) {
        return Some(format!("the rollout to end, which replaces replicaset.apps/{}", name(set)));
    }
    let pods = counted(wants, "pod");
    (size(current) != wants).then(|| format!("replicaset.apps/{} to have {pods}", name(current)))
}

fn replicas(set: &Value) -> i64 {
    set.pointer("/status/replicas").and_then(Value::as_i64).unwrap_or(0)
}

/// The pods are the target's already, and the source is still there: a migration that is called off,
/// or one that somebody interfered with.
fn remove(facts: &Facts, source: &Deployment, target: &Deployment) -> Next {
    if is_deleting(&source.body) {
        return let_go(facts);
    }
    let is_from_it = mark(target).is_some_and(|mark| mark.starts_with(uid(source)));
    let has_pods = facts.controlled_by(source).any(|set| size(set) > 0 || replicas(set) > 0);
    if has_pods || (mark(source).is_none() && !is_from_it) {
        return Next::Stuck(format!(
            "{} was created again, probably by the tool that manages its manifest; stop that tool, delete it with \
             kubectl delete {} -n {}, and run this command again",
            facts.source_name(),
            facts.source_name(),
            facts.namespace
        ));
    }
    write::delete(facts, source).into()
}

/// There is only the target left.
fn settle(facts: &Facts, target: &Deployment) -> Next {
    if is_deleting(&target.body) {
        return Next::Stuck(format!("{} is being deleted", facts.target_name()));
    }
    if let Some((set, Holder::Nobody)) = facts.current() {
        if facts.to == Flavour::Rollwright && !is_managed(set) {
            return write::hand_over(target, set).into();
        }
        return adoption(facts, set);
    }
    if mark(target).is_some() && facts.current().is_none() {
        return no_current(target);
    }
    if let Some(set) = facts.attached().next() {
        return write::release(facts, set).into();
    }
    if let Some(set) = facts.orphans().next() {
        return adoption(facts, set);
    }
    if let Some(scaler) = facts.scalers_of_source().next() {
        match facts.hpa {
            Some(HpaChoice::Retarget) => return write::retarget(facts, scaler).into(),
            Some(HpaChoice::Leave) => {}
            None => return Next::Stuck(undecided(facts, scaler)),
        }
    }
    if mark(target).is_some() {
        return write::finish(facts, target).into();
    }
    // What the controller still remembers of the marks, it could copy again.
    if !is_observed(&target.body) {
        return Next::Wait(format!("{} to see {}", facts.controller(), facts.target_name()));
    }
    if facts.to == Flavour::AppsV1 { unmark(facts, target) } else { Next::Done }
}

fn unmark(facts: &Facts, target: &Deployment) -> Next {
    if marks(&target.body).next().is_some() {
        return write::strip_target(facts, target).into();
    }
    match facts.controlled_by(target).find(|set| marks(set).next().is_some()) {
        Some(set) => write::strip_set(set).into(),
        None => Next::Done,
    }
}

/// An autoscaler names the source, and no flag decides what to do about it.
pub(crate) fn undecided(facts: &Facts, scaler: &Value) -> String {
    format!(
        "horizontalpodautoscaler/{} scales {}, which goes; add --hpa=retarget to let it scale {}, or \
         --hpa=leave to leave it",
        name(scaler),
        facts.source_name(),
        facts.target_name()
    )
}
