//! Broken rollouts, one per cause.

use plan::Flavour;
use plan::keys::REVISION;
use serde_json::{Value, json};

use jiff::Timestamp;

use super::*;
use crate::cluster::Deployment;
use crate::history::revisions;
use crate::pinned::samples;

mod page;

/// A rollout of two pods; one of them is not there yet.
fn deployment() -> Value {
    json!({
        "metadata": {"name": "web", "namespace": "shop", "generation": 2},
        "spec": {"replicas": 2, "template": {"metadata": {"labels": {"app": "web"}}}},
        "status": {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 1, "readyReplicas": 2,
                   "availableReplicas": 2, "conditions": []},
    })
}

fn set(conditions: &Value) -> Value {
    json!({
        "metadata": {"name": "web-5f9", "uid": "new", "annotations": {REVISION: "2"}},
        "status": {"conditions": conditions},
    })
}

fn pod(status: &Value) -> Value {
    json!({"metadata": {"name": "web-5f9-x", "namespace": "shop", "uid": "p"}, "status": status})
}

#[derive(Default)]
struct Case {
    deployment: Option<Value>,
    set: Option<Value>,
    pods: Vec<Value>,
    overdue: Vec<Value>,
    events: Vec<Value>,
    unread: Unread,
    unobserved: Option<Unobserved>,
    why: Option<Why>,
    is_first: bool,
}

impl Case {
    fn diagnosed(self) -> Diagnosis {
        let body = self.deployment.unwrap_or_else(deployment);
        let deployment = Deployment { flavour: Flavour::Rollwright, body };
        let why = Why::WaitingForAvailable { set: "web-5f9".to_owned(), available: 0, desired: 2 };
        let earlier = json!({"metadata": {"name": "web-4c8", "annotations": {REVISION: "1"}}});
        let earlier = (!self.is_first).then_some(earlier);
        let newest = self.set.unwrap_or_else(|| set(&json!([])));
        let revisions = revisions([newest].into_iter().chain(earlier).collect());
        diagnose(&Facts {
            deployment: &deployment,
            revisions: &revisions,
            running: revisions.first(),
            new_pods: &self.pods,
            overdue: &self.overdue,
            events: &self.events,
            unread: self.unread,
            budgets: &[],
            unobserved: self.unobserved,
            why: Ok(self.why.unwrap_or(why)),
            now: Timestamp::UNIX_EPOCH,
        })
    }

    fn of_pod(status: &Value) -> Diagnosis {
        Self { pods: vec![pod(status)], ..Self::default() }.diagnosed()
    }
}

#[track_caller]
pub(super) fn is(diagnosis: &Diagnosis, verdict: Verdict, cause: &str, text: &str, next: &str) {
    assert_eq!((diagnosis.verdict, &*diagnosis.cause), (verdict, cause), "{diagnosis:?}");
    assert!(diagnosis.text.contains(text), "{diagnosis:?}");
    assert!(diagnosis.next.as_deref().unwrap_or_default().contains(next), "{diagnosis:?}");
}

fn container(state: &Value) -> Value {
    let mut status = json!({"name": "app", "image": "app:9"});
    for (key, value) in state.as_object().into_iter().flatten() {
        status[key] = value.clone();
    }
    json!({"phase": "Pending", "containerStatuses": [status]})
}

#[test]
fn an_image_that_cannot_be_pulled() {
    let state = json!({"state": {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}});
    let found = Case::of_pod(&container(&state));
    is(&found, Verdict::Blocked, "ImagePull", "1 pod of web-5f9 cannot pull the image app:9", "undo");
    let first = Case { pods: vec![pod(&container(&state))], is_first: true, ..Case::default() }.diagnosed();
    is(&first, Verdict::Blocked, "ImagePull", "cannot pull", "-n shop app=IMAGE");
}

#[test]
fn a_crash_loop() {
    let state = json!({
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": 137}},
    });
    let found = Case::of_pod(&container(&state));
    let next = "kubectl logs web-5f9-x -c app -n shop --previous";
    is(&found, Verdict::Blocked, "CrashLoop", "cannot keep container app running, last exit code 137", next);
}

#[test]
fn a_pod_that_no_node_takes() {
    let found = Case::of_pod(&json!({"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available: 3 Insufficient cpu."}]}));
    is(
        &found,
        Verdict::Blocked,
        "Unschedulable",
        "Insufficient cpu",
        "kubectl describe pod web-5f9-x -n shop",
    );
}

fn refused(message: &str) -> Diagnosis {
    let conditions =
        json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}]);
    Case { set: Some(set(&conditions)), ..Case::default() }.diagnosed()
}

#[test]
fn refusals_of_the_server() {
    let quota = refused("pods \"web-5f9-\" is forbidden: exceeded quota: small, requested: pods=1");
    is(
        &quota,
        Verdict::Blocked,
        "Quota",
        "The API server refuses a pod of this rollout",
        "kubectl describe quota -n shop",
    );
    let webhook = refused("admission webhook \"policy.example\" denied the request: no");
    is(&webhook, Verdict::Blocked, "AdmissionWebhook", "denied the request", "webhookconfigurations");
    let limit = refused("pods \"x\" is forbidden: maximum cpu usage per Container is 1, but limit is 2");
    is(&limit, Verdict::Blocked, "Refused", "maximum cpu usage", "kubectl describe limitrange -n shop");
    is(&refused("no."), Verdict::Blocked, "Refused", "of this rollout: no.", "kubectl rollwright undo");
    let security = refused("pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\"");
    is(&security, Verdict::Blocked, "PodSecurity", "restricted", "--show-labels");
}

#[test]
fn a_replica_set_that_is_refused() {
    let mut body = deployment();
    // A change with a refused ReplicaSet does not count as observed.
    body["metadata"]["generation"] = json!(3);
    body["status"]["conditions"] = json!([{"type": "Progressing", "status": "False",
        "reason": "ReplicaSetCreateError", "message": "admission webhook \"x\" denied the request"}]);
    let found = Case { deployment: Some(body), ..Case::default() }.diagnosed();
    is(
        &found,
        Verdict::Blocked,
        "AdmissionWebhook",
        "The API server refuses a ReplicaSet of this rollout",
        "webhookconfigurations",
    );
}

#[test]
fn a_readiness_probe_that_fails() {
    let running = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}],
                         "containerStatuses": [{"name": "app", "state": {"running": {}}}]});
    let event = json!({"reason": "Unhealthy", "involvedObject": {"uid": "p"},
                       "message": "Readiness probe failed: HTTP probe failed with statuscode: 503"});
    let found = Case { pods: vec![pod(&running)], events: vec![event], ..Case::default() }.diagnosed();
    is(&found, Verdict::Blocked, "ReadinessProbe", "statuscode: 503", "describe pod");
    // Without the event it may only be starting.
    is(&Case::of_pod(&running), Verdict::Waiting, "Progressing", "waiting for pods of web-5f9", "status");
}

#[test]
fn a_volume_that_is_not_mounted() {
    let creating = container(&json!({"state": {"waiting": {"reason": "ContainerCreating"}}}));
    let event = json!({"reason": "FailedMount", "involvedObject": {"uid": "p"},
                       "message": "MountVolume.SetUp failed for volume \"c\" : configmap \"c\" not found"});
    let found = Case { pods: vec![pod(&creating)], events: vec![event], ..Case::default() }.diagnosed();
    is(
        &found,
        Verdict::Blocked,
        "Volume",
        "1 pod of web-5f9 cannot mount a volume: MountVolume",
        "describe pod",
    );
}

#[test]
fn what_the_operator_reports_is_said_to_who_may_not_list_pods() {
    let mut body = deployment();
    let words = "cannot pull the image app:9";
    let blocker = json!({"cause": "ImagePull", "pods": 2, "totalPods": 3, "message": words});
    body["status"]["blockers"] = json!([blocker]);
    let unread = Unread { pods: true, ..Unread::default() };
    let case = |unread| Case { deployment: Some(body.clone()), unread, ..Case::default() }.diagnosed();
    let found = case(unread);
    is(&found, Verdict::Blocked, "ImagePull", "2 of 3 pods cannot pull the image app:9.", "undo");
    assert!(!found.text.contains("may not list"), "{}", found.text);
    // Who sees the pods sees more than the operator saw a moment ago.
    is(&case(Unread::default()), Verdict::Waiting, "Progressing", "waiting for pods of web-5f9", "status");
}

#[test]
fn old_pods_that_stay_block_only_a_rollout_that_waits_for_them() {
    let stay = |why| Case { overdue: vec![pod(&json!({}))], why, ..Case::default() }.diagnosed();
    let next = "kubectl describe pod web-5f9-x -n shop";
    let found = stay(Some(Why::WaitingForTermination));
    is(&found, Verdict::Blocked, "Terminating", "1 pod has not terminated within the grace period", next);
    is(&stay(None), Verdict::Waiting, "Progressing", "waiting for pods of web-5f9", "status");
}

#[test]
fn pods_that_are_ready_and_not_yet_available() {
    let mut body = deployment();
    body["spec"]["minReadySeconds"] = json!(30);
    body["status"]["readyReplicas"] = json!(3);
    let found = Case { deployment: Some(body), ..Case::default() }.diagnosed();
    is(&found, Verdict::Waiting, "MinReadySeconds", "after 30 s", "status");
}

/// A change that no controller has observed; the operator may have reported that it waits.
fn unbegun(unobserved: Unobserved, place: Option<&str>) -> Diagnosis {
    let mut body = deployment();
    body["metadata"]["generation"] = json!(3);
    if let Some(place) = place {
        body["status"]["conditions"] =
            json!([{"type": "Progressing", "status": "Unknown", "reason": "Queued", "message": place}]);
    }
    Case { deployment: Some(body), unobserved: Some(unobserved), ..Case::default() }.diagnosed()
}

#[test]
fn a_controller_that_does_not_run() {
    let place = "waiting in the queue for a rollout slot: 23 Deployments are before it";
    for place in [None, Some(place)] {
        let found = unbegun(Unobserved::Absent, place);
        is(&found, Verdict::Blocked, "NoController", "does not run", "app.kubernetes.io/name=rollwright");
    }
}

#[test]
fn a_controller_that_does_not_see_the_change() {
    let next = "kubectl get namespace shop --show-labels";
    is(
        &unbegun(Unobserved::Unseen, None),
        Verdict::Blocked,
        "NoController",
        "runs, and does not see it",
        next,
    );
}

#[test]
fn a_rollout_that_waits_in_the_queue() {
    let found = unbegun(Unobserved::Waiting, None);
    let text = "The rollout is waiting in the queue: the operator has not observed this change yet.";
    is(&found, Verdict::Waiting, "Queued", text, "kubectl rollwright status");
    for unobserved in [Unobserved::Waiting, Unobserved::Unclear] {
        let found = unbegun(
            unobserved,
            Some("waiting in the queue for a rollout slot: 23 Deployments are before it."),
        );
        let text = "The rollout is waiting in the queue for a rollout slot: 23 Deployments are before it.";
        is(&found, Verdict::Waiting, "Queued", text, "kubectl rollwright status");
    }
}

#[test]
fn both_possibilities_where_nothing_shows_which() {
    let found = unbegun(Unobserved::Unclear, None);
    let text = "waiting in the queue, or the operator does not run or does not see this change";
    is(&found, Verdict::Waiting, "NotObserved", text, "kubectl rollwright status");
}

#[test]
fn a_deadline_that_has_passed_without_any_trace() {
    let mut body = deployment();
    body["status"]["conditions"] =
        json!([{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]);
    let found = Case { deployment: Some(body), ..Case::default() }.diagnosed();
    is(&found, Verdict::Blocked, "ProgressDeadlineExceeded", "no progress", "undo");
}

#[test]
fn what_could_not_be_read_is_named_where_it_matters() {
    let blind = |unread, pods| Case { unread, pods, ..Case::default() }.diagnosed();
    let (no_pods, no_events) = (Unread { pods: true, events: true }, Unread { pods: false, events: true });
    is(&blind(no_pods, vec![]), Verdict::Waiting, "Progressing", "You may not list its pods", "status");
    is(&blind(no_events, vec![]), Verdict::Waiting, "Progressing", "Events could not be listed", "status");
    let state = json!({"state": {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}});
    let found = blind(no_events, vec![pod(&container(&state))]);
    is(&found, Verdict::Blocked, "ImagePull", "cannot pull", "undo");
    assert!(!found.text.contains("could not be listed"), "{found:?}");
}

/// A Deployment of the samples, with such a reason of the planner.
pub(super) fn diverged_by(deployment: &Deployment, why: Why, new_pods: &[Value]) -> Diagnosis {
    awaited_by(deployment, why, new_pods, None)
}

/// The same, where such signs of life are found.
pub(super) fn awaited_by(
    deployment: &Deployment,
    why: Why,
    new_pods: &[Value],
    unobserved: Option<Unobserved>,
) -> Diagnosis {
    let revisions = samples::revisions();
    diagnose(&Facts {
        deployment,
        revisions: &revisions,
        running: crate::pinned::running(deployment, &revisions),
        new_pods,
        overdue: &[],
        events: &[],
        unread: Unread::default(),
        budgets: &[],
        unobserved,
        why: Ok(why),
        now: "2026-04-01T12:05:00Z".parse().unwrap(),
    })
}

pub(super) fn instead(why: Why) -> Why {
    Why::Instead { why: Box::new(why), words: "revision 6 runs".to_owned() }
}

#[test]
fn a_pin_is_the_cause_whatever_its_revision_waits_for() {
    let words = capitalized(&format!("{}.", samples::WORDS));
    let next = "kubectl rollwright unpin deployment.rollwright.dev/web -n shop";
    let found = diverged_by(&samples::pinned(), instead(Why::Converged), &[]);
    is(&found, Verdict::Blocked, "Pinned", &words, next);
    assert_eq!(found.text, words);
    let waiting = Why::WaitingForAvailable { set: "web-h6".to_owned(), available: 1, desired: 3 };
    let found = diverged_by(&samples::pinned(), instead(waiting), &[]);
    is(&found, Verdict::Blocked, "Pinned", "rolled out. The controller is waiting for pods", next);
    assert!(found.text.starts_with(&words), "{}", found.text);
    let state = json!({"state": {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}});
    let found = diverged_by(&samples::pinned(), instead(Why::Stepping), &[pod(&container(&state))]);
    is(&found, Verdict::Blocked, "Pinned", "1 pod of web-h6 cannot pull the image app:9", next);
}

#[test]
fn a_pin_of_nothing_names_what_there_is() {
    let blocked = Why::Blocked("spec.pin.podTemplateHash h9 matches no ReplicaSet".to_owned());
    let words = "spec.pin.podTemplateHash h9 (INC-4711) matches no ReplicaSet of this Deployment: correct it";
    let mut deployment = samples::missing();
    for paused in [false, true] {
        deployment.body["spec"]["paused"] = json!(paused);
        let found = diverged_by(&deployment, blocked.clone(), &[]);
        is(&found, Verdict::Blocked, "PinTargetMissing", words, "unpin");
        let known = "There are: h7 (revision 7), h6 (revision 6), h5 (revision 5).";
        assert!(found.text.ends_with(known), "{}", found.text);
    }
}

#[test]
fn a_pause_comes_before_a_pin() {
    let mut deployment = samples::pinned();
    deployment.body["spec"]["paused"] = json!(true);
    let found = diverged_by(&deployment, Why::Paused, &[]);
    is(&found, Verdict::Paused, "Paused", "until someone resumes it", "resume");
}

#[test]
fn nothing_is_wrong_with_a_complete_rollout() {
    let mut body = deployment();
    body["status"] = json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2,
                            "availableReplicas": 2});
    let found = Case { deployment: Some(body), ..Case::default() }.diagnosed();
    is(&found, Verdict::Complete, "Complete", "successfully rolled out", "");
}
