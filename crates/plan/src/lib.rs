//! The pure planner: what to do next, decided from a snapshot and a time.
//!
//! [`plan`] is the whole of it. It does no IO, reads no clock and draws no lots: the same
//! snapshot and time give the same step. Everything that decides something about a Deployment
//! (the operator, the simulator, the oracle, the CLI's explanations) calls this function.
//!
//! The order of situations in [`decide`] is the policy (S3); each rule has a module of its own.

mod action;
pub mod bug;
mod collision;
mod conditions;
mod counters;
mod draft;
pub mod equality;
pub mod fenceposts;
mod flavour;
mod history;
pub mod intstr;
pub mod keys;
mod kstatus;
mod new_set;
mod observed;
mod outcome;
mod ownership;
mod pace;
mod pause;
pub mod progress;
pub mod quantity;
mod recreate;
pub mod revision;
mod rollback;
pub mod rolling;
pub mod rollout;
pub mod scale;
pub mod selector;
mod status;
pub mod template;
mod why;

pub use action::{
    Action, Ask, Claim, Event, EventKind, NewReplicaSet, Plan, Planned, Purpose, RollBack, StatusWrite, Step,
    Target, UpdateReplicaSet, Wake,
};
pub use conditions::{Condition, set_condition, whole_seconds};
pub use flavour::Flavour;
pub use new_set::set_name;
pub use observed::{
    Answers, DryRun, Map, Observed, Options, Pod, ReplicaSet, SetFailure, SetStatus, Strategy,
    TemplateSummary, Workload,
};
pub use outcome::{Aftermath, Failure, Verdict, after_failure};
pub use scale::replica_count;
pub use status::{CollisionRecord, Ours, RecentRollback, RollbackRecord, Status};
pub use why::Why;

use jiff::Timestamp;

use bug::{Bug, has};
use draft::Draft;
use keys::reason;
use selector::LabelSelector;

/// Decides the next step of a pass over one Deployment (S3).
///
/// Questions and claims come first, one at a time; the caller adds what it learned to the
/// snapshot and calls again. [`Step::Act`] ends the pass.
#[must_use]
pub fn plan(observed: &Observed, now: Timestamp) -> Step {
    let workload = &observed.workload;
    if workload.selector.as_ref().is_none_or(LabelSelector::is_empty) {
        return Step::Act(Box::new(without_selector(observed, now)));
    }
    let ownership = ownership::sort_out(observed);
    if !ownership.claims.is_empty() {
        return Step::Claim(ownership.claims);
    }
    let mut draft = Draft::new(observed, ownership.claimed, now);
    match decide(&mut draft) {
        Err(ask) => Step::Ask(ask),
        Ok(()) => {
            let mut plan = draft.finish();
            pace::hold_back(&mut plan, observed, now);
            Step::Act(Box::new(plan))
        }
    }
}

/// The ladder of situations (S3.5–S3.10). Its order is the policy.
fn decide(draft: &mut Draft<'_>) -> Result<(), Ask> {
    let workload = draft.workload;
    if workload.deleting {
        draft.why = Why::Deleting;
        new_set::find_only(draft)?;
        progress::report_without_estimate(draft);
        return Ok(());
    }
    pause::note(draft);
    if workload.paused && !has(Bug::RollsWhilePaused) {
        return synchronise(draft);
    }
    match workload.rollback_to {
        Some(requested) if !rollback::is_refused(draft, requested) => {
            return rollback::roll_back(draft, requested);
        }
        Some(_) => {}
        None => rollback::forget_refusal(draft),
    }
    new_set::find(draft)?;
    if scale::is_scaling_event(draft) {
        return synchronise_found(draft);
    }
    match &workload.strategy {
        Strategy::RollingUpdate { .. } => rolling::roll(draft),
        Strategy::Recreate => recreate::recreate(draft),
        Strategy::Unknown(kind) => {
            let error = format!("unexpected deployment strategy type: {kind}");
            draft.why = Why::Blocked(error.clone());
            draft.error = Some(error);
            Ok(())
        }
    }
}

/// A pass that scales but does not roll out: paused, or `spec.replicas` changed (S3.11).
fn synchronise(draft: &mut Draft<'_>) -> Result<(), Ask> {
    draft.why = Why::Paused;
    new_set::find_once(draft)?;
    scale::scale(draft);
    if draft.workload.rollback_to.is_none() {
        history::clean_up(draft);
    }
    progress::report_without_estimate(draft);
    Ok(())
}

fn synchronise_found(draft: &mut Draft<'_>) -> Result<(), Ask> {
    draft.why = Why::Stepping;
    scale::scale(draft);
    progress::report_without_estimate(draft);
    Ok(())
}

/// Without a selector nothing is touched (S2.10). On our kind it is taken from the template.
fn without_selector(observed: &Observed, now: Timestamp) -> Plan {
    let workload = &observed.workload;
    let mut draft = Draft::new(observed, Vec::new(), now);
    let mut labels = workload.template.labels.clone();
    // A set has a hash label of its own; the user's would match none.
    labels.remove(keys::HASH_LABEL);
    let is_absent = workload.selector.is_none();
    if observed.flavour.is_custom_resource() && is_absent && !labels.is_empty() && !workload.deleting {
        let selector = LabelSelector { match_labels: labels, ..LabelSelector::default() };
        draft.why = Why::Stepping;
        draft.push(Action::SetSelector(selector), Vec::new());
    } else {
        let message = "This deployment is selecting all pods. A non-empty selector is required.";
        draft.why = Why::Blocked("spec.selector is empty: name the labels of the pods".to_owned());
        draft.events.push(Event::warning(reason::SELECTING_ALL, message.to_owned()));
        let mut status = draft.status.clone();
        if status.observed_generation < workload.generation {
            status.to_mut().observed_generation = workload.generation;
            draft.write_status(status);
        }
    }
    draft.finish()
}
