//! How a rollout stands in a word or two, from the Deployment alone: for the column STATUS, and what `list` selects by.

use api::ConditionStatus;
use clap::Args;
use plan::Flavour;
use plan::keys::condition;
use serde_json::Value;

use crate::cluster::Deployment;
use crate::deletion::Deletion;
use crate::pinned;
use crate::read;
use crate::reported;
use crate::rollout::{self, Counts, Phase};
use crate::terminal::clean;

/// How a rollout stands; what needs attention comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    Blocked,
    Reverted,
    Rolling,
    Queued,
    Resting,
    Paused,
    Pinned,
    Complete,
}

/// Which Deployments are listed: all, or those in one of these states.
#[derive(Clone, Copy, Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct States {
    /// List Deployments with a blocked rollout: the deadline has passed, the API server refuses pods, or the
    /// operator reports a cause.
    #[arg(long)]
    blocked: bool,
    /// List Deployments with a rollout in progress.
    #[arg(long)]
    rolling: bool,
    /// List Deployments with a rollout that rests at a step.
    #[arg(long)]
    resting: bool,
    /// List Deployments with a rollout that waits for a rollout slot.
    #[arg(long)]
    queued: bool,
    /// List Deployments that run the revision of spec.pin instead of the declared one.
    #[arg(long)]
    pinned: bool,
    /// List Deployments that run an earlier revision because the declared one failed.
    #[arg(long)]
    reverted: bool,
    /// List paused Deployments.
    #[arg(long)]
    paused: bool,
}

impl States {
    /// Whether this Deployment is one of them.
    pub(crate) fn contain(self, flavour: Flavour, deployment: &Value) -> bool {
        let Self { blocked, rolling, resting, queued, pinned, reverted, paused } = self;
        let is_any = !(blocked || rolling || resting || queued || pinned || reverted || paused);
        is_any
            || match state(flavour, deployment) {
                State::Complete => false,
                State::Rolling => rolling,
                State::Resting => resting,
                State::Blocked => blocked,
                State::Queued => queued,
                State::Pinned => pinned,
                State::Reverted => reverted,
                State::Paused => paused,
            }
    }
}

/// How a Deployment stands, in the words of the column STATUS of `kubectl get` as far as they are of the same state.
pub(crate) fn words(deployment: &Deployment) -> String {
    let state = state(deployment.flavour, &deployment.body);
    let word = format!("{state:?}");
    let column = deployment.workload().map(|workload| clean(&api::state(&workload, &workload.status)));
    match column {
        Ok(column) if column.starts_with(&word) => column,
        _ if state == State::Rolling => {
            let counts = Counts::of(&deployment.body);
            format!("{word} {}/{}", counts.new_available(), counts.desired)
        }
        _ if state == State::Blocked => {
            let status = deployment.status();
            let holding = |kind| status.condition(kind).filter(|it| it.status == ConditionStatus::True);
            let mut causes =
                [condition::STALLED, condition::ROLLBACK_REFUSED].into_iter().filter_map(holding);
            let deleted = Deletion::of(&deployment.body).map(|_| "Deleted".to_owned());
            let cause = deleted.or_else(|| causes.find_map(|it| it.reason.clone()));
            clean(&cause.map_or(word.clone(), |cause| format!("{word}: {cause}")))
        }
        _ => word,
    }
}

/// How a Deployment stands.
pub(crate) fn state(flavour: Flavour, deployment: &Value) -> State {
    if read::spec(deployment).paused == Some(true) {
        return State::Paused;
    }
    if rollout::is_queued(deployment) {
        return State::Queued;
    }
    match pinned::target(deployment) {
        Some(target) if pinned::is_pinned(&target) => return State::Pinned,
        Some(target) if pinned::is_reverted(&target) => return State::Reverted,
        _ => {}
    }
    if is_blocked(deployment) {
        return State::Blocked;
    }
    // The name is for its message only.
    match rollout::of(flavour, "", deployment).phase {
        Phase::Complete => State::Complete,
        Phase::Progressing => State::Rolling,
        Phase::Resting => State::Resting,
        Phase::Failed => State::Blocked,
        Phase::Paused => State::Paused,
    }
}

/// Whether a condition reports what only a change by somebody ends.
fn is_blocked(deployment: &Value) -> bool {
    let status = read::status(deployment);
    let stalled = status.condition(condition::STALLED);
    !reported::blockers(deployment).is_empty()
        || reported::refusal(deployment).is_some()
        || rollout::is_observed(deployment)
            && stalled.is_some_and(|known| known.status == ConditionStatus::True)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pinned::samples;

    fn deployment(available: i64, conditions: &Value) -> Value {
        json!({
            "metadata": {"generation": 2},
            "spec": {"replicas": 3},
            "status": {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3,
                       "availableReplicas": available, "conditions": conditions},
        })
    }

    fn of(deployment: &Value) -> State {
        state(Flavour::Rollwright, deployment)
    }

    #[test]
    fn each_state_is_read_from_the_deployment() {
        assert_eq!(of(&deployment(3, &json!([]))), State::Complete);
        assert_eq!(of(&deployment(2, &json!([]))), State::Rolling);
        let late = json!([{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]);
        assert_eq!(of(&deployment(2, &late)), State::Blocked);
        let queued = json!([{"type": "Progressing", "status": "Unknown", "reason": "Queued"}]);
        assert_eq!(of(&deployment(3, &queued)), State::Queued);
        let mut paused = deployment(3, &late);
        paused["spec"]["paused"] = json!(true);
        assert_eq!(of(&paused), State::Paused);
    }

    #[test]
    fn a_cause_that_the_operator_reports_blocks() {
        let mut blocked = deployment(2, &json!([]));
        blocked["status"]["blockers"] = json!([{"cause": "ImagePull"}]);
        assert_eq!(of(&blocked), State::Blocked);
        blocked["metadata"]["generation"] = json!(3);
        assert_eq!(of(&blocked), State::Rolling);
    }

    #[test]
    fn conditions_of_before_the_last_change_block_nothing() {
        for kind in ["ReplicaFailure", "Stalled"] {
            let mut failing = deployment(2, &json!([{"type": kind, "status": "True"}]));
            assert_eq!(of(&failing), State::Blocked, "{kind}");
            failing["metadata"]["generation"] = json!(3);
            assert_eq!(of(&failing), State::Rolling, "{kind}");
            failing["status"]["conditions"][0]["status"] = json!("False");
            failing["metadata"]["generation"] = json!(2);
            assert_eq!(of(&failing), State::Rolling, "{kind}");
        }
        let refused = json!([{"type": "Progressing", "status": "False", "reason": "ReplicaSetCreateError"}]);
        let mut refused = deployment(2, &refused);
        refused["metadata"]["generation"] = json!(3);
        assert_eq!(of(&refused), State::Blocked);
    }

    #[test]
    fn the_words_are_of_the_state_that_is_counted() {
        let samples = [samples::pinned(), samples::reverted(), samples::resting_for_some_time(), {
            let late = json!([{"type": "Stalled", "status": "True", "reason": "ProgressDeadlineExceeded"}]);
            Deployment { flavour: Flavour::Rollwright, body: deployment(2, &late) }
        }];
        for mut sample in samples {
            let before = state(sample.flavour, &sample.body);
            assert!(words(&sample).starts_with(&format!("{before:?}")), "{}", words(&sample));
            // Somebody has restarted it, and the operator has not observed that.
            sample.body["metadata"]["generation"] = json!(10);
            assert_eq!(state(sample.flavour, &sample.body), State::Rolling, "{before:?}");
            assert!(words(&sample).starts_with("Rolling "), "{before:?}: {}", words(&sample));
        }
    }

    #[test]
    fn the_words_are_those_of_the_column_status() {
        let words = |flavour: Flavour, body: Value| words(&Deployment { flavour, body });
        let late = json!([{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]);
        for (available, conditions, expected) in [
            (3, json!([]), "Complete"),
            (2, json!([]), "Rolling 2/3"),
            (2, late, "Blocked: ProgressDeadlineExceeded"),
        ] {
            let mut body = deployment(available, &conditions);
            assert_eq!(words(Flavour::Rollwright, body.clone()), expected);
            assert_eq!(words(Flavour::AppsV1, body.clone()), expected);
            body["spec"]["paused"] = json!(true);
            assert_eq!(words(Flavour::AppsV1, body.clone()), "Paused");
        }
    }

    #[test]
    fn what_is_pinned_is_not_blocked_unless_its_set_is_gone() {
        let mut pinned = samples::pinned().body;
        assert_eq!(of(&pinned), State::Pinned);
        let contain = |states: States| states.contain(Flavour::Rollwright, &pinned);
        assert!(contain(States { pinned: true, ..States::default() }) && contain(States::default()));
        assert!(!contain(States { blocked: true, paused: true, ..States::default() }));
        pinned["spec"]["paused"] = json!(true);
        assert_eq!(of(&pinned), State::Paused);
        assert_eq!(of(&samples::missing().body), State::Blocked);
    }

    #[test]
    fn what_was_reverted_is_not_blocked_and_what_waits_for_somebody_is() {
        let mut reverted = samples::reverted().body;
        assert_eq!(of(&reverted), State::Reverted);
        let contain = |states: States| states.contain(Flavour::Rollwright, &reverted);
        assert!(contain(States { reverted: true, ..States::default() }) && contain(States::default()));
        assert!(!contain(States { blocked: true, pinned: true, ..States::default() }));
        reverted["spec"]["paused"] = json!(true);
        assert_eq!(of(&reverted), State::Paused);
        for reason in ["RolloutFailed", "NoGoodRevision"] {
            assert_eq!(of(&samples::held(reason).body), State::Blocked, "{reason}");
        }
    }

    #[test]
    fn what_rests_at_a_step_does_not_roll() {
        let resting = samples::resting_for_some_time().body;
        assert_eq!(of(&resting), State::Resting);
        assert_eq!(of(&samples::resting_until_promoted().body), State::Resting);
        let contain = |states: States| states.contain(Flavour::Rollwright, &resting);
        assert!(contain(States { resting: true, ..States::default() }) && contain(States::default()));
        assert!(!contain(States { rolling: true, blocked: true, paused: true, ..States::default() }));
    }

    #[test]
    fn flags_add_up_and_none_lists_all() {
        let (done, rolling) = (deployment(3, &json!([])), deployment(2, &json!([])));
        let contain = |states: States, deployment| states.contain(Flavour::Rollwright, deployment);
        assert!(contain(States::default(), &done));
        let both = States { blocked: true, rolling: true, ..States::default() };
        assert!(contain(both, &rolling) && !contain(both, &done));
        assert!(!contain(States { blocked: true, ..States::default() }, &rolling));
    }
}
