use serde_json::json;

use super::*;
use crate::pinned::samples;
use crate::state::{self, State};

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
    assert_eq!(phase(&deployment([2, 2, 3, 4, 1, 3])), waiting("1 out of 3 new replicas have been updated"));
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
    let words = "deployment \"web\" is waiting in the queue for a rollout slot: 23 Deployments are before it";
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
    let held = ["RolloutFailed", "NoGoodRevision"].map(samples::held);
    for sample in [samples::pinned(), samples::missing(), samples::reverted()].into_iter().chain(held) {
        let mut body = sample.body.clone();
        let (failed, words) = phase(&body);
        assert_eq!(failed, Phase::Failed, "{words}");
        // A pause holds only what runs.
        if state::of(&sample) != State::Blocked {
            body["spec"]["paused"] = json!(true);
            let paused = words.replace("\"web\":", "\"web\" is paused:");
            assert_eq!(phase(&body), (Phase::Paused, paused));
        }
        body["metadata"]["generation"] = json!(10);
        assert_eq!(phase(&body).0, Phase::Progressing, "a status of before the last change shows nothing");
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
