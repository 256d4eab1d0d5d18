//! Each situation that the page shows.

use plan::keys::ROLLOUT;

use super::*;
use crate::migrate::facts::MIGRATED_FROM;

/// A request to abort revision 7.
const ABORTED_BY: &str = "7/2026-04-01T12:04:30.123Z";

pub(super) fn rolling() -> Deployment {
    let mut deployment = samples::held("RolloutInProgress");
    deployment.body["spec"]["failurePolicy"] = Value::Null;
    let status = &mut deployment.body["status"];
    (status["updatedReplicas"], status["fallback"]) = (json!(1), Value::Null);
    status["conditions"] = json!([]);
    deployment
}

fn on_apps(mut deployment: Deployment) -> Deployment {
    deployment.body["spec"]["strategy"] =
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}});
    Deployment { flavour: Flavour::AppsV1, ..deployment }
}

/// The operator reports that others go first.
pub(super) fn queue() -> Value {
    json!({"metadata": {"generation": 10}, "status": {"conditions": [{"type": "Progressing",
        "status": "Unknown", "reason": "Queued",
        "message": "waiting in the queue for a rollout slot: 23 Deployments are before it"}]}})
}

fn conditions(conditions: &Value) -> Value {
    json!({"status": {"conditions": conditions}})
}

/// A pod of revision 7 in which this is the state of the container.
fn new_pod(name: &str, state: &Value) -> Value {
    let mut pod = pod(&container(state));
    pod["metadata"]["name"] = json!(format!("web-h7-{name}"));
    pod["metadata"]["uid"] = json!(name);
    pod
}

pub(super) fn waits(reason: &str, message: &str) -> Vec<Value> {
    let state = json!({"state": {"waiting": {"reason": reason, "message": message}}});
    vec![new_pod("a", &state), new_pod("b", &state)]
}

fn refused_by(title: &'static str, message: &str) -> Situation {
    let mut situation = Situation::rolling(title);
    situation.sets[2]["status"]["conditions"] =
        json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}]);
    situation
}

fn of_events(title: &'static str, reason: &str, message: &str, state: &Value) -> Situation {
    let event = json!({"reason": reason, "message": message, "involvedObject": {"uid": "a"}});
    Situation { events: vec![event], ..Situation::rolling(title).pods(vec![new_pod("a", state)]) }
}

pub(super) fn of_pods() -> Vec<Situation> {
    let unschedulable = json!({"metadata": {"name": "web-h7-a", "uid": "a"}, "status": {"conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
         "message": "0/3 nodes are available: 3 Insufficient cpu."}]}});
    let crashed = json!({"state": {"waiting": {"reason": "CrashLoopBackOff"}},
                         "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}});
    let rolling = Situation::rolling;
    let first = rolling("The image of the first revision cannot be pulled");
    let first = Situation { sets: vec![samples::set(7, 1)], ..first };
    let paused = rolling("Paused, and the image cannot be pulled").edited(&json!({"spec": {"paused": true}}));
    let running = json!({"state": {"running": {}}});
    let held = json!({"metadata": {"name": "web-h6-a"}});
    let budget = json!({"metadata": {"name": "web-pdb"}, "spec": {"selector": {"matchLabels": {"app": "web"}}},
                        "status": {"disruptionsAllowed": 0}});
    let blocker = json!({"cause": "ImagePull", "pods": 2, "totalPods": 3, "container": "app",
                         "message": "cannot pull the image app:7"});
    let unread = rolling("You may not list pods, and the operator reports a cause");
    let unread = unread.edited(&json!({"status": {"blockers": [blocker]}}));
    let (no_pods, no_events) = (Unread { pods: true, events: true }, Unread { pods: false, events: true });
    let missing = || waits("ImagePullBackOff", "not found");
    vec![
        rolling("The image cannot be pulled").pods(missing()),
        first.pods(missing()),
        paused.pods(missing()),
        rolling("A ConfigMap is missing")
            .pods(waits("CreateContainerConfigError", "configmap \"a\" not found")),
        rolling("The container crashes").pods(vec![new_pod("a", &crashed)]),
        rolling("No node accepts the pod").pods(vec![unschedulable]),
        of_events("A probe fails", "Unhealthy", "Readiness probe failed: connection refused", &running),
        of_events("A volume cannot be mounted", "FailedMount", "configmap \"a\" not found", &json!({})),
        Situation { overdue: vec![held], ..rolling("An old pod does not terminate") }
            .why(Why::WaitingForTermination),
        Situation { unread: no_pods, ..unread },
        Situation { unread: no_pods, ..rolling("You may not list pods") },
        Situation { unread: no_events, ..rolling("You may not list events") },
        Situation { budgets: vec![budget], ..rolling("A budget allows no eviction") },
        refused_by(
            "A quota is used up",
            "pods \"web-h7-\" is forbidden: exceeded quota: small, requested: pods=1",
        ),
        refused_by(
            "A LimitRange refuses the pods",
            "pods \"web-h7-a\" is forbidden: maximum cpu usage per Container is 100m, but limit is 1",
        ),
        refused_by(
            "A webhook refuses the pods",
            "admission webhook \"pods.example\" denied the request: not today",
        ),
        refused_by(
            "A policy refuses the pods",
            "ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no",
        ),
        refused_by(
            "Pod Security refuses the pods",
            "violates PodSecurity \"baseline:latest\": host namespaces",
        ),
        refused_by("The server refuses the pods for another reason", "pods \"web-h7-a\" is forbidden: no."),
    ]
}

pub(super) fn of_rollouts() -> Vec<Situation> {
    let rolling = Situation::rolling;
    let late = json!([{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded",
                       "message": "ReplicaSet \"web-h7\" has timed out progressing."}]);
    let refused = json!([{"type": "Progressing", "status": "False", "reason": "ReplicaSetCreateError",
                          "message": "admission webhook \"sets.example\" denied the request: no"}]);
    let complete = json!({"status": {"updatedReplicas": 3, "replicas": 3}});
    let empty = json!({"spec": {"replicas": 0}, "status": {"updatedReplicas": 0, "replicas": 0,
                       "readyReplicas": 0, "availableReplicas": 0}});
    let young = json!({"spec": {"minReadySeconds": 30}, "status": {"readyReplicas": 4}});
    let refusal = json!({"spec": {"rollbackTo": {"revision": 99}}, "status": {"conditions": [{
        "type": "RollbackRefused", "status": "True", "message": "there is no revision 99"}]}});
    let deleted = json!({"metadata": {"deletionTimestamp": "2026-04-01T12:04:00Z"}});
    let held_by = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    let marked = json!({"metadata": {"labels": {MIGRATED_FROM: "uid.1"}}, "spec": {"paused": true}});
    let cut = rolling("A migration was cut").edited(&marked);
    let mut cut_back = rolling("A migration back was cut").edited(&marked).edited(&complete);
    cut_back.deployment = on_apps(cut_back.deployment);
    let new = json!({"metadata": {"generation": 10}});
    let unobserved = |title, unobserved| {
        let unobserved = Some(unobserved);
        Situation { unobserved, ..rolling(title).edited(&new) }
    };
    let mut of_apps = unobserved("The controller of apps/v1 does not run", Unobserved::Absent);
    of_apps.deployment = on_apps(of_apps.deployment);
    vec![
        rolling("All pods are available").edited(&complete),
        rolling("There are no replicas").edited(&empty),
        rolling("The rollout is late").edited(&conditions(&late)),
        rolling("A ReplicaSet is refused").edited(&conditions(&refused)),
        rolling("Pods are ready and not yet available").edited(&young),
        rolling("A rollback is refused").edited(&refusal),
        rolling("Paused").edited(&json!({"spec": {"paused": true}})),
        rolling("Deleted, and a finalizer holds it").edited(&deleted).edited(&held_by).why(Why::Deleting),
        rolling("Deleted in the foreground").edited(&deleted).why(Why::Deleting),
        cut,
        cut_back,
        Situation { unobserved: Some(Unobserved::Waiting), ..rolling("In the queue").edited(&queue()) },
        unobserved("Not observed yet", Unobserved::Waiting),
        unobserved("The operator does not run", Unobserved::Absent),
        unobserved("The operator does not see it", Unobserved::Unseen),
        unobserved("Nothing shows whether the operator runs", Unobserved::Unclear),
        of_apps,
        Situation {
            why: Err("spec.replicas is no number".to_owned()),
            ..rolling("The operator cannot read it")
        },
    ]
}

pub(super) fn instead_of_the_declared() -> Vec<Situation> {
    let history = |outcome: &str, reason: &str, message: &str| {
        json!({"status": {"history": [
            {"id": 9, "revision": 7, "outcome": outcome, "reason": reason, "message": message}]}})
    };
    let pulled = history("Failed", "ImagePull", "2 of 2 pods cannot pull the image app:7 of container app");
    let quota =
        history("Failed", "Quota", "1 of 3 pods are refused: pods \"a\" is forbidden: exceeded quota: small");
    let aborted = json!({
        "metadata": {"annotations": {"rollwright.dev/abort": ABORTED_BY}, "managedFields": [{
            "manager": "rollwright-cli", "operation": "Update", "time": "2026-04-01T12:04:30Z",
            "fieldsV1": {"f:metadata": {"f:annotations": {"f:rollwright.dev/abort": {}}}}}]},
        "status": {"target": {"reason": "Aborted"}},
    });
    let nobody = json!({"metadata": {"managedFields": null}});
    let paused = json!({"spec": {"paused": true}});
    let reverted = |title| Situation::new(title, samples::reverted()).why(instead(Why::Converged));
    let pinned = |title| Situation::new(title, samples::pinned()).why(instead(Why::Converged));
    let held = |title, reason| {
        let why = Why::Blocked(samples::HELD.to_owned());
        Situation::new(title, samples::held(reason)).why(why)
    };
    let by = |title, change: &Value| {
        let mut situation = reverted(title).edited(&aborted).edited(change);
        let memory = json!({"revision": 7, "verdict": "Failed", "aborted": true, "abort": ABORTED_BY});
        situation.sets[2]["metadata"]["annotations"][ROLLOUT] = json!(memory.to_string());
        situation
    };
    let none_is_good = format!(
        "blocked: the declared revision 7 failed, and no other revision is known to be good{}",
        samples::HELD.strip_prefix("the declared revision 7 failed").unwrap()
    );
    let none_is_good = json!({"status": {"fallback": null, "conditions": [
        {"type": "Stalled", "status": "True", "reason": "NoGoodRevision", "message": none_is_good}]}});
    let missing = Situation::new("The pin names no ReplicaSet", samples::missing());
    let waiting = Why::WaitingForAvailable { set: "web-h6".to_owned(), available: 1, desired: 3 };
    let asked = json!({"metadata": {"annotations": {"rollwright.dev/retry": "7/again"}}});
    let mut empty = samples::resting(
        &json!({"waitSeconds": 600}),
        "step 2 of 4: 0 of 0 updated, rests while there are no replicas",
    );
    empty.body["spec"]["replicas"] = json!(0);
    let newer = samples::newer(samples::resting_until_promoted());
    let resting = |title, deployment| Situation::new(title, deployment).why(Why::Stepping);
    vec![
        reverted("Reverted").edited(&pulled),
        reverted("Reverted because of a quota").edited(&quota),
        reverted("Reverted, and the way back is under way").edited(&pulled).why(instead(waiting.clone())),
        reverted("Reverted, and paused").edited(&paused),
        reverted("Reverted, and somebody asked for a retry").edited(&asked),
        by("Aborted", &json!({})),
        by("Aborted, and nobody knows by whom", &nobody),
        held("Failed, and the policy stops", "RolloutFailed").pods(waits("ImagePullBackOff", "not found")),
        held("Failed, and nothing shows why", "RolloutFailed"),
        held("Failed, and no revision is good", "NoGoodRevision").edited(&none_is_good),
        pinned("Pinned"),
        pinned("Pinned, and on the way there").why(instead(waiting)),
        missing.why(Why::Blocked("spec.pin.podTemplateHash h9 matches no ReplicaSet".to_owned())),
        resting("At a step for some time", samples::resting_for_some_time()),
        resting("At a step until somebody promotes it", samples::resting_until_promoted()),
        resting("At a step without replicas", empty),
        resting("A newer operator was here", newer),
    ]
}
