//! A rollout that waits at a step (SP-8).

use plan::keys::reason;

use super::facts::{Diagnosis, Facts, Verdict};
use crate::at_step::{self, Rest};
use crate::failed;
use crate::rollouts;

/// The rollout waits at a step: for a person, or for some time.
pub(super) fn at_step(facts: &Facts<'_>, rest: &Rest) -> Diagnosis {
    let command = |verb| facts.deployment.command(verb);
    let (promote, abort) = (command("promote"), command("abort"));
    let has_replicas = facts.deployment.spec().replicas != Some(0);
    let (verdict, more, next) = match rest.ends() {
        true => {
            let force = if rest.awaits_gate() { " --force" } else { "" };
            (Verdict::Waiting, format!("To go on at once: `{promote}{force}`. "), command("status"))
        }
        false if rest.awaits_gate() => (Verdict::Paused, String::new(), format!("{promote} --force")),
        false if has_replicas => (Verdict::Paused, String::new(), promote),
        false => (Verdict::Paused, String::new(), format!("{} --replicas=COUNT", command("scale"))),
    };
    let more = format!("{more}{}", log_of(facts, &rest.words));
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

/// A hook has not passed, or a Job of the revision is not accepted (GA-1, GA-5).
pub(super) fn before(facts: &Facts<'_>) -> Option<Diagnosis> {
    let status = facts.deployment.status();
    let (verdict, cause, words) = if let Some(words) = at_step::hook(&status) {
        (Verdict::Waiting, reason::AWAITING_HOOK, words)
    } else {
        let (cause, words) = failed::stalled(&status, &[reason::JOB_REFUSED])?;
        (Verdict::Blocked, cause, words)
    };
    let text = format!("{words}. {}", log_of(facts, &words)).trim_end().to_owned();
    Some(Diagnosis { verdict, cause: cause.into(), text, next: Some(facts.deployment.command("status")) })
}

/// How to read the log of the Job that these words name, in a sentence with a blank after it; empty if they name none.
fn log_of(facts: &Facts<'_>, words: &str) -> String {
    let name = words.split_once("Job ").and_then(|(_, rest)| rest.split(' ').next());
    let namespace = facts.deployment.namespace();
    name.map_or_else(String::new, |name| format!("Its log: `kubectl logs -n {namespace} job/{name}`. "))
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
