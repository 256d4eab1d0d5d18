//! How a rollout stands, read from the Deployment alone, by the rules of `kubectl rollout status`.

use std::fmt;

use api::{Condition, ConditionStatus, DeploymentSpec, DeploymentStatus};
use plan::Flavour;
use plan::keys::{condition, reason};
use serde::Serialize;
use serde_json::Value;

use crate::at_step::{self, AtStep, Rest};
use crate::code::Code;
use crate::deletion::Deletion;
use crate::failed;
use crate::migrate::unfinished::Unfinished;
use crate::newer;
use crate::pinned;
use crate::read;
use crate::unobserved::QUEUED;

/// Where a rollout is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// All pods are of the current template and available, and no others are left.
    Complete,
    /// The rollout continues by itself.
    Progressing,
    /// The rollout waits for `spec.paused` to be taken back.
    Paused,
    /// The rollout waits for a word, since the operator restarted.
    Held,
    /// The rollout waits at a step, until somebody promotes it or for some time.
    Resting,
    /// `spec.progressDeadlineSeconds` has passed without progress, or the declared revision failed in another way, or
    /// another one runs.
    Failed,
}

impl Phase {
    /// One word for tables and JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Complete => "Complete",
            Self::Progressing => "Progressing",
            Self::Paused => "Paused",
            Self::Held => "Held",
            Self::Resting => "Resting",
            Self::Failed => "Failed",
        }
    }
}

/// The numbers of a Deployment; what is missing counts as its default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// `spec.replicas`.
    pub desired: i64,
    /// Pods that exist.
    pub current: i64,
    /// Pods of the current template.
    pub updated: i64,
    /// Pods that are ready.
    pub ready: i64,
    /// Pods that have been ready for `spec.minReadySeconds`.
    pub available: i64,
}

/// A rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// Where it is.
    pub phase: Phase,
    /// The same in a sentence, in the words of `kubectl rollout status`.
    pub message: String,
    /// The numbers behind it.
    pub counts: Counts,
    /// Where it is among its steps, if it has any.
    pub(crate) at_step: Option<AtStep>,
}

impl Rollout {
    /// The wait at a step, if it is what the rollout waits for.
    pub(crate) fn rest(&self) -> Option<&Rest> {
        self.at_step.as_ref().and_then(|at| at.rest.as_ref()).filter(|_| self.phase == Phase::Resting)
    }

    /// How a command ends that reports it.
    pub(crate) fn code(&self) -> Code {
        match self.phase {
            Phase::Complete => Code::Done,
            Phase::Failed => Code::Failed,
            Phase::Paused | Phase::Held => Code::Paused,
            Phase::Resting => self.rest().map_or(Code::Unfinished, Rest::code),
            Phase::Progressing => Code::Unfinished,
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { desired, current, updated, ready, available } = self;
        write!(
            f,
            "desired {desired}, current {current}, updated {updated}, ready {ready}, available {available}"
        )
    }
}

impl Counts {
    /// Reads them from a Deployment of either API.
    #[must_use]
    pub fn of(deployment: &Value) -> Self {
        Self::read(&read::spec(deployment), &read::status(deployment))
    }

    /// Pods of the current template that are available for certain: all others could be of an older one.
    pub(crate) fn new_available(&self) -> i64 {
        let old = (self.current - self.updated).max(0);
        (self.available - old).clamp(0, self.updated.max(0))
    }

    fn read(spec: &DeploymentSpec, status: &DeploymentStatus) -> Self {
        let count = |number: Option<i32>| number.map_or(0, i64::from);
        Self {
            desired: spec.replicas.map_or(1, i64::from),
            current: count(status.replicas),
            updated: count(status.updated_replicas),
            ready: count(status.ready_replicas),
            available: count(status.available_replicas),
        }
    }
}

/// Reads a Deployment of either API.
///
/// The order of the questions is kubectl's. Two answers are Rollwright's: a rollout that is paused before its end
/// reports that, and one that was rolled back on request waits until the request is cleared.
#[must_use]
pub fn of(flavour: Flavour, name: &str, deployment: &Value) -> Rollout {
    of_set(flavour, name, deployment, None)
}

/// The same, by one who knows the ReplicaSet of the newest revision.
///
/// After a rollout that got stuck, the condition reports that until the next one makes progress
/// (S9.12), and kubectl takes the next one for failed, a rollback above all. But the condition names
/// the ReplicaSet that it is about.
#[must_use]
pub fn of_set(flavour: Flavour, name: &str, deployment: &Value, newest: Option<&str>) -> Rollout {
    let (spec, status) = (read::spec(deployment), read::status(deployment));
    let counts = Counts::read(&spec, &status);
    let at_step = AtStep::of(&spec, &status).filter(|_| is_observed(deployment));
    let (phase, message) = if let Some(cut) = Unfinished::of_body(flavour, deployment) {
        // What the migration paused is no rollout, however many pods it has.
        (Phase::Paused, format!("deployment \"{name}\": {}", cut.line()))
    } else if let Some(deletion) = Deletion::of(deployment) {
        (Phase::Failed, format!("deployment \"{name}\" {}", deletion.words()))
    } else if let Some(place) = queued(&status) {
        (Phase::Progressing, format!("deployment \"{name}\" is {place}"))
    } else if !is_observed(deployment) {
        (Phase::Progressing, "Waiting for deployment spec update to be observed...".to_owned())
    } else if let Some(newer) = newer::left(&status) {
        (Phase::Failed, format!("deployment \"{name}\": {newer}"))
    } else if let Some(diverged) = diverged(name, &spec, &status) {
        diverged
    } else if let Some((_, words)) =
        failed::held(&status).or_else(|| failed::stalled(&status, &[reason::JOB_REFUSED]))
    {
        (Phase::Failed, format!("deployment \"{name}\": {words}"))
    } else if let Some(words) = failed::after_restart(&status).filter(|_| spec.paused != Some(true)) {
        (Phase::Held, format!("deployment \"{name}\" is held: {words}"))
    } else {
        stands(flavour, name, (&spec, &status), (counts, at_step.as_ref()), newest)
    };
    Rollout { phase, message, counts, at_step }
}

/// Another revision runs than the declared one, or will run: nothing more comes of the declared one.
fn diverged(name: &str, spec: &DeploymentSpec, status: &DeploymentStatus) -> Option<(Phase, String)> {
    let target = status.target.clone()?;
    // A pause holds what runs, so the pin, or the way back, waits for its end.
    let is_held = spec.paused == Some(true) && pinned::runs_another(&target);
    let words = pinned::sentence(spec, target);
    Some(if is_held {
        (Phase::Paused, format!("deployment \"{name}\" is paused: {words}"))
    } else {
        (Phase::Failed, format!("deployment \"{name}\": {words}"))
    })
}

fn stands(
    flavour: Flavour,
    name: &str,
    (spec, status): (&DeploymentSpec, &DeploymentStatus),
    (counts, at_step): (Counts, Option<&AtStep>),
    newest: Option<&str>,
) -> (Phase, String) {
    let waiting = |what: &str| format!("Waiting for deployment \"{name}\" rollout to finish: {what}...");
    if flavour.is_custom_resource() && spec.rollback_to.is_some() {
        if let Some(message) = refusal(spec, status) {
            return (Phase::Failed, format!("the rollback of deployment \"{name}\" is refused: {message}"));
        }
        return (Phase::Progressing, waiting("the rollback that was asked for has not begun"));
    }
    if let Some(rest) = at_step.and_then(|at| at.rest.as_ref()) {
        return (Phase::Resting, format!("deployment \"{name}\": {}", rest.words));
    }
    if let Some(words) = at_step::hook(status) {
        return (Phase::Resting, format!("deployment \"{name}\": {words}"));
    }
    let progressing = status.condition(condition::PROGRESSING);
    let is_of_another = || {
        let about = progressing.and_then(late_set);
        about.is_some() && newest.is_some() && about != newest
    };
    let reason = progressing.and_then(|condition| condition.reason.as_deref());
    if reason == Some(reason::PROGRESS_DEADLINE_EXCEEDED) && !is_of_another() {
        return (Phase::Failed, format!("deployment \"{name}\" exceeded its progress deadline"));
    }
    let Counts { desired, current, updated, available, .. } = counts;
    let left = if updated < desired {
        let step = at_step.filter(|at| at.target_pods < desired);
        let step = step.map_or_else(String::new, |at| match &at.allowed {
            Some(allowed) => format!(", {allowed} allowed"),
            None => format!(", {} at step {} of {}", at.target_pods, at.step, at.steps),
        });
        format!("{updated} out of {desired} new replicas have been updated{step}")
    } else if current > updated {
        format!("{} old replicas are pending termination", current - updated)
    } else if available < updated {
        format!("{available} of {updated} updated replicas are available")
    } else {
        return (Phase::Complete, format!("deployment \"{name}\" successfully rolled out"));
    };
    if spec.paused == Some(true) {
        return (Phase::Paused, format!("deployment \"{name}\" is paused: {left}"));
    }
    (Phase::Progressing, waiting(&left))
}

/// Whether the controller has seen the last change of the spec (S9.1).
#[must_use]
pub fn is_observed(deployment: &Value) -> bool {
    let generation = deployment.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
    read::status(deployment).observed_generation.unwrap_or(0) >= generation
}

/// Whether the rollout still has to begin: no controller has observed the last change, or the operator has looked and
/// reports that others go first.
#[must_use]
pub fn is_yet_to_begin(deployment: &Value) -> bool {
    !is_observed(deployment) || is_queued(deployment)
}

/// Whether the operator reports that other rollouts go first.
#[must_use]
pub fn is_queued(deployment: &Value) -> bool {
    queued(&read::status(deployment)).is_some()
}

/// The operator's message for a rollout in the queue: `waiting in the queue for a rollout slot: ...`.
pub(crate) fn queued(status: &DeploymentStatus) -> Option<&str> {
    // Without a deadline there is no condition Progressing.
    let places =
        [(condition::PROGRESSING, ConditionStatus::Unknown), (condition::RECONCILING, ConditionStatus::True)];
    let said = places.into_iter().find_map(|(kind, holds)| {
        let found = status.condition(kind)?;
        (found.status == holds && found.reason.as_deref() == Some(QUEUED)).then_some(found)
    })?;
    Some(said.message.as_deref().unwrap_or("waiting in the queue for a rollout slot").trim_end_matches('.'))
}

/// Why the operator refuses the rollback that the spec asks for, if it does (S10). The request stays until somebody
/// removes it: there is nothing to wait for.
pub(crate) fn refusal<'a>(spec: &DeploymentSpec, status: &'a DeploymentStatus) -> Option<&'a str> {
    let condition = status.condition(condition::ROLLBACK_REFUSED).filter(|_| spec.rollback_to.is_some())?;
    (condition.status == ConditionStatus::True).then(|| condition.message.as_deref().unwrap_or_default())
}

/// The ReplicaSet that the condition `Progressing` is about: `ReplicaSet "web-1" has timed out ...`.
fn late_set(progressing: &Condition) -> Option<&str> {
    progressing.message.as_deref()?.strip_prefix("ReplicaSet \"")?.split('"').next()
}

#[cfg(test)]
mod tests;
