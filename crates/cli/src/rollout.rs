//! How a rollout stands, read from the Deployment alone, by the rules of `kubectl rollout status`.

use api::{Condition, ConditionStatus, DeploymentSpec, DeploymentStatus};
use plan::Flavour;
use plan::keys::{condition, reason};
use serde_json::Value;

use crate::at_step::{AtStep, Rest};
use crate::failed;
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
            Self::Resting => "Resting",
            Self::Failed => "Failed",
        }
    }
}

/// The numbers of a Deployment; what is missing counts as its default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
/// After a rollout that got stuck, the condition keeps saying so until the next one makes progress
/// (S9.12), and kubectl takes the next one for failed, a rollback above all. But the condition names
/// the ReplicaSet that it is about.
#[must_use]
pub fn of_set(flavour: Flavour, name: &str, deployment: &Value, newest: Option<&str>) -> Rollout {
    let (spec, status) = (read::spec(deployment), read::status(deployment));
    let counts = Counts::read(&spec, &status);
    let at_step = AtStep::of(&spec, &status).filter(|_| is_observed(deployment));
    let (phase, message) = if let Some(place) = queued(&status) {
        (Phase::Progressing, format!("deployment \"{name}\" is {place}"))
    } else if !is_observed(deployment) {
        (Phase::Progressing, "Waiting for deployment spec update to be observed...".to_owned())
    } else if let Some(newer) = newer::left(&status) {
        (Phase::Failed, format!("deployment \"{name}\": {newer}"))
    } else if let Some(diverged) = diverged(name, &spec, &status) {
        diverged
    } else if let Some((_, words)) = failed::held(&status) {
        (Phase::Failed, format!("deployment \"{name}\": {words}"))
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
        // A request that is refused stays until somebody removes it: there is nothing to wait for.
        if let Some(message) = refusal(status) {
            return (Phase::Failed, format!("the rollback of deployment \"{name}\" is refused: {message}"));
        }
        return (Phase::Progressing, waiting("the rollback that was asked for has not begun"));
    }
    if let Some(rest) = at_step.and_then(|at| at.rest.as_ref()) {
        return (Phase::Resting, format!("deployment \"{name}\": {}", rest.words));
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
        let step = step.map_or_else(String::new, |at| {
            format!(", {} at step {} of {}", at.target_pods, at.step, at.steps)
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

/// Why the operator refuses the rollback that the spec asks for, if it does (S10).
fn refusal(status: &DeploymentStatus) -> Option<&str> {
    let condition = status.condition(condition::ROLLBACK_REFUSED)?;
    (condition.status == ConditionStatus::True).then(|| condition.message.as_deref().unwrap_or_default())
}

/// The ReplicaSet that the condition `Progressing` is about: `ReplicaSet "web-1" has timed out ...`.
fn late_set(progressing: &Condition) -> Option<&str> {
    progressing.message.as_deref()?.strip_prefix("ReplicaSet \"")?.split('"').next()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pinned::samples;

    /// Generation, observed generation, desired, current, updated, available.
    fn deployment(numbers: [i64; 6]) -> Value {
        let [generation, observed, desired, current, updated, available] = numbers;
        json!({
            "metadata": {"generation": generation},
            "spec": {"replicas": desired},
            "status": {"observedGeneration": observed, "replicas": current, "updatedReplicas": updated,
                       "availableReplicas": available},
        })
    }

    fn phase(deployment: &Value) -> (Phase, String) {
        let rollout = of(Flavour::Rollwright, "web", deployment);
        (rollout.phase, rollout.message)
    }

    #[test]
    fn the_words_are_those_of_kubectl() {
        let waiting = |what: &str| {
            (Phase::Progressing, format!("Waiting for deployment \"web\" rollout to finish: {what}..."))
        };
        assert_eq!(
            phase(&deployment([2, 1, 3, 3, 3, 3])).1,
            "Waiting for deployment spec update to be observed..."
        );
        assert_eq!(
            phase(&deployment([2, 2, 3, 4, 1, 3])),
            waiting("1 out of 3 new replicas have been updated")
        );
        assert_eq!(phase(&deployment([2, 2, 3, 4, 3, 3])), waiting("1 old replicas are pending termination"));
        assert_eq!(phase(&deployment([2, 2, 3, 3, 3, 2])), waiting("2 of 3 updated replicas are available"));
        let done = (Phase::Complete, "deployment \"web\" successfully rolled out".to_owned());
        assert_eq!(phase(&deployment([2, 2, 3, 3, 3, 3])), done);
        assert_eq!(phase(&deployment([2, 2, 0, 0, 0, 0])), done);
    }

    #[test]
    fn a_pod_that_was_created_is_not_available_yet() {
        let new_available = |numbers| Counts::of(&deployment(numbers)).new_available();
        assert_eq!(new_available([2, 2, 4, 5, 1, 4]), 0, "the old ones are");
        assert_eq!(new_available([2, 2, 4, 4, 4, 0]), 0, "none is");
        assert_eq!(new_available([2, 2, 4, 5, 3, 4]), 2);
        assert_eq!(new_available([2, 2, 4, 4, 4, 4]), 4);
        assert_eq!(new_available([2, 2, 4, 0, 0, 0]), 0);
    }

    #[test]
    fn a_fresh_object_is_not_complete() {
        let fresh = json!({"metadata": {"generation": 1}, "spec": {"replicas": 0}});
        assert_eq!(phase(&fresh).0, Phase::Progressing);
    }

    #[test]
    fn a_pause_counts_only_before_the_end() {
        let mut paused = deployment([2, 2, 3, 4, 1, 3]);
        paused["spec"]["paused"] = json!(true);
        assert_eq!(phase(&paused).0, Phase::Paused);
        let mut complete = deployment([2, 2, 3, 3, 3, 3]);
        complete["spec"]["paused"] = json!(true);
        assert_eq!(phase(&complete).0, Phase::Complete);
    }

    #[test]
    fn a_late_rollout_has_failed_unless_it_was_changed_since() {
        let mut late = deployment([2, 2, 3, 4, 1, 3]);
        late["status"]["conditions"] =
            json!([{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]);
        assert_eq!(phase(&late).0, Phase::Failed);
        late["metadata"]["generation"] = json!(3);
        assert_eq!(phase(&late).0, Phase::Progressing);
    }

    #[test]
    fn the_next_rollout_has_not_failed_because_the_last_one_did() {
        let mut late = deployment([2, 2, 3, 4, 1, 3]);
        late["status"]["conditions"] = json!([{
            "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded",
            "message": "ReplicaSet \"web-bad\" has timed out progressing.",
        }]);
        let phase = |newest| of_set(Flavour::AppsV1, "web", &late, newest).phase;
        assert_eq!(phase(Some("web-bad")), Phase::Failed);
        assert_eq!(phase(Some("web-good")), Phase::Progressing);
        assert_eq!(phase(None), Phase::Failed);
    }

    #[test]
    fn a_queued_rollout_says_what_the_operator_says() {
        let mut queued = deployment([3, 2, 3, 3, 3, 3]);
        queued["status"]["conditions"] = json!([{
            "type": "Progressing", "status": "Unknown", "reason": "Queued",
            "message": "waiting in the queue for a rollout slot: 23 Deployments are before it",
        }]);
        let words =
            "deployment \"web\" is waiting in the queue for a rollout slot: 23 Deployments are before it";
        assert_eq!(phase(&queued), (Phase::Progressing, words.to_owned()));
        // The counters are those of the change before, so they prove nothing.
        queued["metadata"]["generation"] = json!(2);
        assert_eq!(phase(&queued).0, Phase::Progressing);
        queued["status"]["conditions"][0]["status"] = json!("True");
        assert_eq!(phase(&queued).0, Phase::Complete);
        // Without a deadline only this one is there.
        queued["status"]["conditions"][0]["type"] = json!("Reconciling");
        assert_eq!(phase(&queued), (Phase::Progressing, words.to_owned()));
    }

    #[test]
    fn what_runs_instead_of_the_declared_revision_is_no_success() {
        let mut pinned = samples::pinned().body;
        let words = samples::WORDS;
        assert_eq!(phase(&pinned), (Phase::Failed, format!("deployment \"web\": {words}")));
        pinned["spec"]["paused"] = json!(true);
        assert_eq!(phase(&pinned), (Phase::Paused, format!("deployment \"web\" is paused: {words}")));
        let mut missing = samples::missing().body;
        missing["spec"]["paused"] = json!(true);
        let (failed, words) = phase(&missing);
        assert_eq!(failed, Phase::Failed);
        assert!(words.contains("spec.pin.podTemplateHash h9 (INC-4711) matches no ReplicaSet"), "{words}");
        // A status of before the last change shows nothing.
        missing["metadata"]["generation"] = json!(10);
        assert_eq!(phase(&missing).0, Phase::Progressing);
    }

    #[test]
    fn a_revision_that_failed_is_no_success() {
        let mut reverted = samples::reverted().body;
        let words = samples::reverted_words();
        assert_eq!(phase(&reverted), (Phase::Failed, format!("deployment \"web\": {words}")));
        reverted["spec"]["paused"] = json!(true);
        assert_eq!(phase(&reverted), (Phase::Paused, format!("deployment \"web\" is paused: {words}")));
        for reason in ["RolloutFailed", "NoGoodRevision"] {
            let mut held = samples::held(reason).body;
            let words = samples::HELD;
            assert_eq!(phase(&held), (Phase::Failed, format!("deployment \"web\": {words}")));
            held["metadata"]["generation"] = json!(10);
            assert_eq!(phase(&held).0, Phase::Progressing, "the next template is another revision");
        }
    }

    #[test]
    fn a_rollback_that_waits_is_not_complete() {
        let mut asked = deployment([2, 2, 3, 3, 3, 3]);
        asked["spec"]["rollbackTo"] = json!({"revision": 0});
        assert_eq!(phase(&asked).0, Phase::Progressing);
        asked["status"]["conditions"] =
            json!([{"type": "RollbackRefused", "status": "True", "message": "it came back"}]);
        let refused = "the rollback of deployment \"web\" is refused: it came back";
        assert_eq!(phase(&asked), (Phase::Failed, refused.to_owned()));
    }
}
