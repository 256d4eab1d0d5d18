//! A rollout that waits at a step (SP-8).

use plan::keys::reason;

use super::facts::{Diagnosis, Facts, Verdict};
use crate::at_step::Rest;
use crate::rollouts;

/// The rollout waits at a step: for a person, or for some time.
pub(super) fn at_step(facts: &Facts<'_>, rest: &Rest) -> Diagnosis {
    let command = |verb| facts.deployment.command(verb);
    let (promote, abort) = (command("promote"), command("abort"));
    let has_replicas = facts.deployment.spec().replicas != Some(0);
    let (verdict, more, next) = match rest.ends() {
        true => (Verdict::Waiting, format!("To go on at once: `{promote}`. "), command("status")),
        false if has_replicas => (Verdict::Paused, String::new(), promote),
        false => (Verdict::Paused, String::new(), format!("{} --replicas=COUNT", command("scale"))),
    };
    let left = rest.left(facts.now);
    let rollout = facts.deployment.status().rollout;
    let promoted = rollout.map_or_else(String::new, |rollout| rollouts::promoted(&rollout, facts.now));
    Diagnosis {
        verdict,
        cause: reason::RESTING_AT_STEP.into(),
        text: format!("{}{left}.{promoted} {more}To give the revision up: `{abort}`.", rest.words),
        next: Some(next),
    }
}

#[cfg(test)]
mod tests {
    use plan::Why;
    use serde_json::{Value, json};

    use super::*;
    use crate::cluster::Deployment;
    use crate::diagnosis::tests::{diagnosed, is};
    use crate::pinned::samples;
    use crate::rollout::{self, Phase};

    #[test]
    fn a_wait_at_a_step_names_the_last_promotion_and_comes_after_a_pause() {
        let diagnosed = |deployment: Deployment| diagnosed(&deployment, Why::Stepping, None);
        let mut promoted = samples::resting_for_some_time();
        promoted.body["status"]["rollout"]["promotions"] =
            json!([{"step": 2, "manager": "alice", "time": "2026-04-01T12:00:00Z"}]);
        let text =
            "(5m1s left). The last promotion was to step 2 by alice 5m ago. To go on at once: `kubectl";
        is(&diagnosed(promoted), Verdict::Waiting, "RestingAtStep", text, "kubectl rollwright status");
        let mut paused = samples::resting_until_promoted();
        paused.body["spec"]["paused"] = json!(true);
        is(&diagnosed(paused), Verdict::Paused, "Paused", "until someone resumes it", "resume");
    }

    /// A newer operator's field stops all else, whatever else there is to report.
    #[test]
    fn what_a_newer_operator_left_comes_first() {
        let mut complete = samples::resting_until_promoted();
        let status = &mut complete.body["status"];
        (status["rollout"], status["conditions"]) = (Value::Null, json!([]));
        status["updatedReplicas"] = json!(3);
        let all = [complete, samples::resting_until_promoted(), samples::reverted(), samples::pinned()];
        for deployment in all.map(samples::newer) {
            let found = diagnosed(&deployment, Why::Converged, None);
            is(&found, Verdict::Blocked, "NewerSpec", "scales this Deployment: spec.analysis is newer", "");
            let rollout = rollout::of(deployment.flavour, "web", &deployment.body);
            assert_eq!(rollout.phase, Phase::Failed);
            assert!(rollout.message.contains("spec.analysis is newer"), "{}", rollout.message);
        }
    }
}
