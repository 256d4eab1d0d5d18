//! Requests to end the wait at a step of a rollout (SP-6; rollwright.dev only). The planner decides which step a name
//! means, and whether a request makes sense.

use jiff::Timestamp;
use kube::api::Patch;
use plan::keys::PROMOTE;
use plan::{STEP_NAMES, Workload};
use serde_json::Value;

use crate::at_step::AtStep;
use crate::cluster::Deployment;
use crate::edits;
use crate::failure::Failure;
use crate::goal::{self, Goal};
use crate::history::Revision;
use crate::projection;
use crate::requests;

/// The outcome of a promotion.
#[derive(Debug, PartialEq)]
pub(crate) enum Promotion {
    /// The rollout is there already, in these words.
    Nothing(String),
    /// What is asked for, and what to write.
    Request(String, Patch<Value>),
}

/// What a promotion does about gates on its way that have not passed (GA-8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gates {
    Awaited,
    Passed,
}

/// Asks the operator to advance to a step; to the next one, unless one is named.
pub(crate) fn promote(
    deployment: &Deployment,
    all: &[Revision],
    to: Option<&str>,
    gates: Gates,
    now: Timestamp,
) -> Result<Promotion, Failure> {
    let workload = requests::readable(deployment)?;
    has_steps(deployment, &workload)?;
    let number = requests::judged(deployment, all, "promoted")?;
    edits::heeded(deployment, "a promotion")?;
    let (name, at) = (deployment.name(), reported(deployment, &workload, number)?);
    if to.is_none() && requests::due(deployment, all) == Some("promote") {
        let why = deployment.command("why");
        return Err(Failure::Rollout(format!(
            "the operator has not answered the last promotion of {name} yet, so nobody knows which step is next; to \
             see how it stands: {why}"
        )));
    }
    let goal = goal(deployment, &workload, to, &at)?;
    let between = goal.between(&workload);
    if goal.step == at.index() && !workload.is_custom() {
        return Ok(Promotion::Nothing(format!("is at step {} of {} already{between}", at.step, at.steps)));
    }
    // The time makes it another request than one before a retry.
    let request = match gates {
        Gates::Awaited => format!("{number}/{}/{now:.0}", goal.name),
        Gates::Passed => format!("{number}/{}/force/{now:.0}", goal.name),
    };
    let (place, patch) = (goal.place(&workload), requests::annotation(PROMOTE, &request));
    // What cannot be foreseen is no reason to refuse.
    match projection::refusal(&requests::asking(deployment, PROMOTE, &request), &requests::sets(all), now) {
        Ok(Some(words)) => {
            let has_gates = gates == Gates::Awaited && workload.steps.iter().any(|step| step.gate.is_some());
            let force = if has_gates { "; `promote --force` passes gates" } else { "" };
            Err(Failure::Rollout(format!("revision {number} of {name} is not promoted: {words}{force}")))
        }
        _ => {
            let said = format!("promotion of revision {number} to {place} requested{between}");
            Ok(Promotion::Request(said, patch))
        }
    }
}

/// Refuses a Deployment without steps, and one that leaves none.
fn has_steps(deployment: &Deployment, workload: &Workload) -> Result<(), Failure> {
    let (full, version) = (deployment.full_name(), deployment.flavour.api_version());
    if !deployment.flavour.has_status_extras() {
        let migrate = deployment.command("migrate");
        return Err(Failure::Usage(format!(
            "{full} cannot be promoted, since {version} has no steps; migrate it first: {migrate}"
        )));
    }
    if workload.steps.is_empty() {
        return Err(Failure::Rollout(format!(
            "there is nothing to promote: {full} has no spec.strategy.rollingUpdate.steps, so its rollouts stop at \
             no step"
        )));
    }
    if workload.replicas == 0 {
        let scale = deployment.command("scale");
        return Err(Failure::Rollout(format!(
            "{full} has no replicas, so its rollout leaves no step; give it some first: {scale} --replicas=COUNT"
        )));
    }
    Ok(())
}

/// The step at which the revision is, as the operator reports it.
fn reported(deployment: &Deployment, workload: &Workload, number: i64) -> Result<AtStep, Failure> {
    let (name, status) = (deployment.name(), deployment.status());
    if workload.status.reports_failure(number) {
        let retry = deployment.command("retry");
        return Err(Failure::Rollout(format!(
            "revision {number} of {name} failed; to begin again at the first step: {retry}"
        )));
    }
    let is_its = status.rollout.as_ref().is_some_and(|rollout| rollout.revision == Some(number));
    AtStep::of(&deployment.spec(), &status).filter(|_| is_its).ok_or_else(|| {
        let why = deployment.command("why");
        Failure::Rollout(format!(
            "there is nothing to promote: revision {number} of {name} is at no step; to see how it stands: {why}"
        ))
    })
}

/// The step to advance to.
fn goal(
    deployment: &Deployment,
    workload: &Workload,
    to: Option<&str>,
    at: &AtStep,
) -> Result<Goal, Failure> {
    if let Some(name) = to {
        let step = workload
            .step_named(name)
            .ok_or_else(|| Failure::Usage(format!("--to {name} names no step: write {STEP_NAMES}")))?;
        return Ok(Goal { step, name: name.to_owned() });
    }
    if at.rest.is_none() && at.step < at.steps {
        let (name, promote) = (deployment.name(), deployment.command("promote"));
        return Err(Failure::Rollout(format!(
            "the rollout of {name} has not reached step {} of {} yet; to go on without a stop there, name another \
             step: {promote} --to=PODS",
            at.step, at.steps
        )));
    }
    Ok(goal::next(workload, at.index()))
}

#[cfg(test)]
mod tests;
