//! The step at which a rollout is, as the operator reports it (SP-8; rollwright.dev only).

use api::decode;
use api::{DeploymentSpec, DeploymentStatus};
use jiff::Timestamp;
use plan::Until;
use plan::keys::{condition, reason};
use serde_json::{Value, json};

use crate::cluster::Deployment;
use crate::code::Code;
use crate::failed;
use crate::table::age;
use crate::terminal::clean;

/// Where a rollout is among its steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AtStep {
    /// Counted from 1.
    pub(crate) step: i64,
    pub(crate) steps: i64,
    /// Pods of the new template that the step asks for.
    pub(crate) target_pods: i64,
    /// What a deployment process allows.
    pub(crate) allowed: Option<String>,
    pub(crate) rest: Option<Rest>,
}

/// What is waited for at a step, once the rollout has reached it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    /// In the operator's words, without the end of the sentence.
    pub(crate) words: String,
    since: Option<Timestamp>,
    until: Vec<Until>,
}

impl AtStep {
    /// `None` if the status reports no step.
    pub(crate) fn of(spec: &DeploymentSpec, status: &DeploymentStatus) -> Option<Self> {
        let rollout = status.rollout.as_ref()?;
        let (step, steps) = rollout.step.zip(rollout.steps)?;
        let since = rollout.rest_start_time.as_ref().map(|since| since.0);
        // Only a person passes a gate that failed.
        let until = match failed::stalled(status, &[reason::GATE_FAILED]) {
            Some(_) => vec![Until::Promoted, Until::Gate],
            None => until(spec, step),
        };
        let rest = words(status).map(|words| Rest { words, since, until });
        Some(Self {
            step,
            steps,
            target_pods: rollout.target_pods.unwrap_or(0),
            allowed: rollout.allowed.clone(),
            rest,
        })
    }

    /// Counted from 0.
    pub(crate) fn index(&self) -> usize {
        usize::try_from(self.step - 1).unwrap_or(0)
    }

    /// For programs.
    pub(crate) fn document(&self) -> Value {
        let time =
            |of: fn(&Rest) -> Option<Timestamp>| self.rest.as_ref().and_then(of).map(|it| it.to_string());
        let (start, end) = (time(|rest| rest.since), time(Rest::end));
        json!({
            "step": self.step,
            "steps": self.steps,
            "targetPods": self.target_pods,
            "allowed": self.allowed,
            "restStartTime": start,
            "restEndTime": end,
        })
    }
}

impl Rest {
    /// When the rollout continues by itself; `None` if somebody has to act.
    fn end(&self) -> Option<Timestamp> {
        Until::end(&self.until, self.since)
    }

    /// Whether a Job has to succeed, or failed (GA-8).
    pub(crate) fn awaits_gate(&self) -> bool {
        self.until.iter().any(|until| matches!(until, Until::Gate | Until::Process))
    }

    /// Whether it ends by itself: by a time, or by a Job.
    pub(crate) fn ends(&self) -> bool {
        !self.until.iter().any(|until| matches!(until, Until::Promoted | Until::Replicas))
    }

    /// How a command ends that reports it.
    pub(crate) fn code(&self) -> Code {
        if self.ends() { Code::Unfinished } else { Code::Paused }
    }

    /// How much of it is left, in parentheses after a blank; empty if nobody knows.
    pub(crate) fn left(&self, now: Timestamp) -> String {
        let until = self.end().filter(|until| *until > now);
        until.map_or_else(String::new, |until| format!(" ({} left)", age(&now.to_string(), until)))
    }
}

/// What the operator reports of the wait.
fn words(status: &DeploymentStatus) -> Option<String> {
    let places = [condition::RECONCILING, condition::PROGRESSING];
    let found = places.into_iter().find_map(|kind| {
        let is_it = |reason: &str| reason == reason::RESTING_AT_STEP;
        status.condition(kind).filter(|known| known.reason.as_deref().is_some_and(is_it))
    })?;
    Some(clean(found.message.as_deref()?.trim_end_matches('.')))
}

/// What the operator reports of a hook that has not passed (GA-1).
pub(crate) fn hook(status: &DeploymentStatus) -> Option<String> {
    let reconciling = status.condition(condition::RECONCILING)?;
    let message = reconciling.message.as_deref().unwrap_or_default().trim_end_matches('.');
    (reconciling.reason.as_deref() == Some(reason::AWAITING_HOOK)).then(|| clean(message))
}

/// What ends the wait at a step.
fn until(spec: &DeploymentSpec, step: i64) -> Vec<Until> {
    if spec.replicas == Some(0) {
        return vec![Until::Replicas];
    }
    if spec.strategy.as_ref().is_some_and(|strategy| strategy.custom.is_some()) {
        return vec![Until::Process];
    }
    let limits = spec.strategy.as_ref().and_then(|strategy| strategy.rolling_update.as_ref());
    let mut steps = limits.and_then(|limits| limits.steps.as_deref()).unwrap_or_default().iter();
    let listed = usize::try_from(step.saturating_sub(1)).ok().and_then(|index| steps.nth(index));
    listed.map(decode::until).into_iter().flatten().collect()
}

/// How many pods each step before the end of the rollout updates, for the marks of a bar.
pub(crate) fn marks(deployment: &Deployment) -> Vec<i64> {
    let Ok(workload) = deployment.workload() else { return Vec::new() };
    // What a process will ask for, nobody knows.
    if workload.is_custom() {
        return Vec::new();
    }
    workload.step_sizes().into_iter().filter(|pods| *pods < workload.replicas).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pinned::samples;
    use crate::rollout::{self, Phase, Rollout};

    fn of(deployment: &Deployment) -> Rollout {
        rollout::of(deployment.flavour, deployment.name(), &deployment.body)
    }

    fn at(time: &str) -> Timestamp {
        format!("2026-04-01T{time}Z").parse().unwrap()
    }

    #[test]
    fn a_wait_says_until_when_and_how_much_is_left() {
        let rollout = of(&samples::resting_for_some_time());
        assert_eq!(rollout.phase, Phase::Resting);
        assert_eq!(rollout.message, format!("deployment \"web\": {}", samples::UNTIL));
        let rest = rollout.rest().unwrap();
        assert_eq!(rest.code(), Code::Unfinished);
        assert_eq!(rest.left(at("12:05:51")), " (4m10s left)");
        assert_eq!(rest.left(at("12:10:01")), "", "the operator has yet to go on");
        let document = rollout.at_step.as_ref().map(AtStep::document).unwrap();
        let expected = json!({"step": 2, "steps": 4, "targetPods": 1, "allowed": null, "restStartTime": "2026-04-01T12:00:00Z",
                              "restEndTime": "2026-04-01T12:10:01Z"});
        assert_eq!(document, expected);
    }

    #[test]
    fn a_wait_for_a_person_has_no_end() {
        let rollout = of(&samples::resting_until_promoted());
        assert_eq!(rollout.message, format!("deployment \"web\": {}", samples::UNTIL_PROMOTED));
        let rest = rollout.rest().unwrap();
        assert_eq!((rest.code(), rest.left(at("12:05:50"))), (Code::Paused, String::new()));
    }

    #[test]
    fn without_replicas_nothing_ends_a_wait() {
        let mut deployment = samples::resting_for_some_time();
        deployment.body["spec"]["replicas"] = json!(0);
        for since in [json!("2026-04-01T12:00:00Z"), Value::Null] {
            deployment.body["status"]["rollout"]["restStartTime"] = since;
            let rollout = of(&deployment);
            assert_eq!(rollout.phase, Phase::Resting, "it is not complete, though all pods are there");
            assert_eq!(rollout.rest().map(Rest::code), Some(Code::Paused));
        }
    }

    #[test]
    fn a_rollout_on_its_way_to_a_step_counts_towards_it() {
        let mut deployment = samples::resting_for_some_time();
        deployment.body["status"]["rollout"]["restStartTime"] = Value::Null;
        deployment.body["status"]["conditions"] = json!([]);
        let rollout = &mut deployment.body["status"]["rollout"];
        rollout["step"] = json!(3);
        rollout["targetPods"] = json!(2);
        let rollout = of(&deployment);
        assert_eq!((rollout.phase, rollout.rest()), (Phase::Progressing, None));
        let words = "1 out of 3 new replicas have been updated, 2 at step 3 of 4...";
        assert!(rollout.message.ends_with(words), "{}", rollout.message);
        deployment.body["status"]["rollout"]["targetPods"] = json!(3);
        let words = "1 out of 3 new replicas have been updated...";
        assert!(of(&deployment).message.ends_with(words), "the last step");
    }

    #[test]
    fn what_is_older_than_the_last_change_is_no_step() {
        let mut deployment = samples::resting_for_some_time();
        deployment.body["metadata"]["generation"] = json!(10);
        assert_eq!(of(&deployment).at_step, None);
        let mut none = samples::held("RolloutInProgress");
        assert_eq!(of(&none).at_step, None);
        none.body["status"]["rollout"] = json!({"id": 1, "revision": 7});
        assert_eq!(of(&none).at_step, None);
    }

    #[test]
    fn a_bar_has_marks_before_the_end_only() {
        assert_eq!(marks(&samples::resting_for_some_time()), [1, 1, 2]);
        assert_eq!(marks(&samples::pinned()), [0; 0]);
    }
}
