//! How a rollout stands in a word or two, from the Deployment alone: for the column STATUS, and what `list` selects by.

use api::ConditionStatus;
use clap::Args;
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
    Held,
    Paused,
    Pinned,
    Complete,
}

/// Each state with its word in the column STATUS, in their order.
pub(crate) const WORDS: [(State, &str); 9] = [
    (State::Blocked, "Blocked"),
    (State::Reverted, "Reverted"),
    (State::Rolling, "Rolling"),
    (State::Queued, "Queued"),
    (State::Resting, "Resting"),
    (State::Held, "Held"),
    (State::Paused, "Paused"),
    (State::Pinned, "Pinned"),
    (State::Complete, "Complete"),
];

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
    /// List Deployments with a rollout that waits for a word, since the operator restarted.
    #[arg(long)]
    held: bool,
    /// List paused Deployments.
    #[arg(long)]
    paused: bool,
}

impl States {
    /// Whether Deployments in this state are listed.
    pub(crate) fn contain(self, state: State) -> bool {
        let chosen = [
            (self.blocked, State::Blocked),
            (self.rolling, State::Rolling),
            (self.resting, State::Resting),
            (self.queued, State::Queued),
            (self.pinned, State::Pinned),
            (self.reverted, State::Reverted),
            (self.held, State::Held),
            (self.paused, State::Paused),
        ];
        chosen.contains(&(true, state)) || chosen.iter().all(|(is_chosen, _)| !is_chosen)
    }
}

/// How a Deployment stands, in the words of the column STATUS of `kubectl get` as far as they are of the same state.
pub(crate) fn words(deployment: &Deployment) -> String {
    let state = of(deployment);
    let word = WORDS.iter().find(|(known, _)| *known == state).map_or("", |(_, word)| word);
    let column = deployment.workload().map(|workload| clean(&api::state(&workload, &workload.status)));
    if let Ok(column) = column
        && column.starts_with(word)
    {
        return column;
    }
    match state {
        State::Rolling => {
            let counts = Counts::of(&deployment.body);
            format!("{word} {}/{}", counts.new_available(), counts.desired)
        }
        State::Blocked => {
            let status = deployment.status();
            let holding = |kind| status.condition(kind).filter(|it| it.status == ConditionStatus::True);
            let mut causes =
                [condition::STALLED, condition::ROLLBACK_REFUSED].into_iter().filter_map(holding);
            let deleted = Deletion::of(&deployment.body).map(|_| "Deleted".to_owned());
            let cause = deleted.or_else(|| causes.find_map(|it| it.reason.clone()));
            cause.map_or_else(|| word.to_owned(), |cause| clean(&format!("{word}: {cause}")))
        }
        _ => word.to_owned(),
    }
}

/// How a Deployment stands.
pub(crate) fn of(deployment: &Deployment) -> State {
    let body = &deployment.body;
    if deployment.is_paused() {
        return State::Paused;
    }
    if rollout::is_queued(body) {
        return State::Queued;
    }
    match pinned::target(body) {
        Some(target) if pinned::is_pinned(&target) => return State::Pinned,
        Some(target) if pinned::is_reverted(&target) => return State::Reverted,
        _ => {}
    }
    let rollout = rollout::of(deployment.flavour, deployment.name(), body);
    if rollout.phase == Phase::Held {
        return State::Held;
    }
    if is_blocked(body) {
        return State::Blocked;
    }
    match rollout.phase {
        Phase::Complete => State::Complete,
        Phase::Progressing => State::Rolling,
        Phase::Resting => State::Resting,
        Phase::Failed => State::Blocked,
        Phase::Paused => State::Paused,
        Phase::Held => State::Held,
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
    use plan::Flavour;
    use serde_json::json;

    use super::*;
    use crate::pinned::samples;

    /// Three pods of the current template, some of them available.
    fn deployment(flavour: Flavour, available: i64, conditions: &Value) -> Deployment {
        let body = json!({
            "metadata": {"generation": 2},
            "spec": {"replicas": 3},
            "status": {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3,
                       "availableReplicas": available, "conditions": conditions},
        });
        Deployment { flavour, body }
    }

    fn edited(mut deployment: Deployment, change: &Value) -> Deployment {
        json_patch::merge(&mut deployment.body, change);
        deployment
    }

    #[test]
    fn each_state_has_the_words_of_the_column_status() {
        let progressing =
            |status: &str, reason: &str| json!([{"type": "Progressing", "status": status, "reason": reason}]);
        let late = progressing("False", "ProgressDeadlineExceeded");
        for flavour in [Flavour::Rollwright, Flavour::AppsV1] {
            let of_numbers = |available, conditions: &Value| deployment(flavour, available, conditions);
            for (deployment, expected) in [
                (of_numbers(3, &json!([])), "Complete"),
                (of_numbers(2, &json!([])), "Rolling 2/3"),
                (of_numbers(2, &late), "Blocked: ProgressDeadlineExceeded"),
                (of_numbers(3, &progressing("Unknown", "Queued")), "Queued"),
                (edited(of_numbers(3, &late), &json!({"spec": {"paused": true}})), "Paused"),
            ] {
                assert_eq!(words(&deployment), expected, "{flavour:?}");
            }
        }
        let paused = json!({"spec": {"paused": true}});
        for sample in [samples::pinned(), samples::reverted()] {
            assert_eq!(of(&edited(sample, &paused)), State::Paused);
        }
    }

    #[test]
    fn what_is_reported_of_before_the_last_change_blocks_nothing() {
        let next = json!({"metadata": {"generation": 10}});
        let rolling = |conditions: &Value| deployment(Flavour::Rollwright, 2, conditions);
        let holds = |kind: &str, status: &str| json!([{"type": kind, "status": status, "reason": "X"}]);
        let blocker = rolling(&json!([]));
        for sample in [
            edited(blocker, &json!({"status": {"blockers": [{"cause": "ImagePull"}]}})),
            rolling(&holds("Stalled", "True")),
            rolling(&holds("ReplicaFailure", "True")),
            samples::pinned(),
            samples::reverted(),
            samples::resting_for_some_time(),
        ] {
            assert_ne!(of(&sample), State::Rolling);
            // Somebody has restarted it, and the operator has not observed that.
            let next = edited(sample, &next);
            assert_eq!(of(&next), State::Rolling);
            assert!(words(&next).starts_with("Rolling "), "{}", words(&next));
        }
        for kind in ["Stalled", "ReplicaFailure"] {
            assert_eq!(of(&rolling(&holds(kind, "False"))), State::Rolling, "{kind}");
        }
        let refused = json!([{"type": "Progressing", "status": "False", "reason": "ReplicaSetCreateError"}]);
        assert_eq!(of(&edited(rolling(&refused), &next)), State::Blocked, "it is about the last change");
    }

    #[test]
    fn flags_add_up_and_none_lists_all() {
        let both = States { blocked: true, rolling: true, ..States::default() };
        for (state, _) in WORDS {
            assert!(States::default().contain(state));
            assert_eq!(both.contain(state), [State::Blocked, State::Rolling].contains(&state));
        }
        assert!(States { pinned: true, ..States::default() }.contain(State::Pinned));
    }
}
