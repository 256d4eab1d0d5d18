//! A rollout that waits at a step (SP-8).

use plan::keys::reason;

use super::facts::{Diagnosis, Facts, Verdict};
use crate::at_step::Rest;
use crate::rollouts;

/// The rollout waits at a step: for a person, or for some time.
pub(super) fn at_step(facts: &Facts<'_>, rest: &Rest) -> Option<Diagnosis> {
    let command = |verb| facts.deployment.command(verb);
    let (promote, abort) = (command("promote"), command("abort"));
    let mut words = rest.words.chars();
    let first = words.next()?.to_uppercase();
    let has_replicas = facts.deployment.spec().replicas != Some(0);
    let (verdict, more, next) = match rest.ends() {
        true => (Verdict::Waiting, format!("To go on at once: `{promote}`. "), command("status")),
        false if has_replicas => (Verdict::Paused, String::new(), promote),
        false => (Verdict::Paused, String::new(), format!("{} --replicas=COUNT", command("scale"))),
    };
    let left = rest.left(facts.now);
    let rollout = facts.deployment.status().rollout;
    let promoted = rollout.map_or_else(String::new, |rollout| rollouts::promoted(&rollout, facts.now));
    Some(Diagnosis {
        verdict,
        cause: reason::RESTING_AT_STEP.into(),
        text: format!("{first}{}{left}.{promoted} {more}To give the revision up: `{abort}`.", words.as_str()),
        next: Some(next),
    })
}

#[cfg(test)]
mod tests {
    use plan::Why;
    use serde_json::{Value, json};

    use super::*;
    use crate::cluster::Deployment;
    use crate::diagnosis::tests::{diverged_by, is};
    use crate::pinned::samples;
    use crate::rollout::{self, Phase};

    #[test]
    fn a_wait_at_a_step() {
        let diagnosed = |deployment: Deployment| diverged_by(&deployment, Why::Stepping, &[]);
        let abort =
            "To give the revision up: `kubectl rollwright abort deployment.rollwright.dev/web -n shop`.";
        let found = diagnosed(samples::resting_for_some_time());
        let text = "Step 2 of 4: 1 of 3 updated, rests until 12:10:01Z (5m1s left). To go on at once: `kubectl rollwright \
                    promote deployment.rollwright.dev/web -n shop`. ";
        is(&found, Verdict::Waiting, "RestingAtStep", &format!("{text}{abort}"), "kubectl rollwright status");
        let found = diagnosed(samples::resting_until_promoted());
        let text = "Step 2 of 4: 1 of 3 updated, rests until somebody promotes it. To give the revision up: `kubectl";
        let next = "kubectl rollwright promote deployment.rollwright.dev/web -n shop";
        is(&found, Verdict::Paused, "RestingAtStep", text, next);
        let mut promoted = samples::resting_for_some_time();
        promoted.body["status"]["rollout"]["promotions"] =
            json!([{"step": 2, "manager": "alice", "time": "2026-04-01T12:00:00Z"}]);
        let text =
            "(5m1s left). The last promotion was to step 2 by alice 5m ago. To go on at once: `kubectl";
        is(&diagnosed(promoted), Verdict::Waiting, "RestingAtStep", text, "kubectl rollwright status");
        let mut empty = samples::resting_for_some_time();
        empty.body["spec"]["replicas"] = json!(0);
        is(&diagnosed(empty), Verdict::Paused, "RestingAtStep", "To give", "-n shop --replicas=COUNT");
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
            let found = diverged_by(&deployment, Why::Converged, &[]);
            is(&found, Verdict::Blocked, "NewerSpec", "scales this Deployment: spec.analysis is newer", "");
            let rollout = rollout::of(deployment.flavour, "web", &deployment.body);
            assert_eq!(rollout.phase, Phase::Failed);
            assert!(rollout.message.contains("spec.analysis is newer"), "{}", rollout.message);
        }
    }
}
