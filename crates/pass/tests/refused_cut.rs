//! A cut that is refused takes its room with it, and not the step up that needs none (S6.7, S6.13).

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use api::decode::{self, Defaults};
use jiff::Timestamp;
use pass::{Answer, Cluster, Outcome, Owner, Refusal};
use plan::{Action, Answers, Ask, Claim, Event, Flavour, Observed, Options, ReplicaSet, Workload};
use serde_json::{Value, json};

const FLAVOUR: Flavour = Flavour::AppsV1;

/// Takes every write but cuts, and remembers what it was asked for: `set from to`.
struct Stubborn {
    reason: &'static str,
    asked: Mutex<Vec<String>>,
}

impl Cluster for Stubborn {
    async fn owner(&self, workload: &Workload) -> Result<Option<Owner>, Refusal> {
        Ok(Some(Owner { uid: workload.uid.clone(), deleting: false }))
    }

    async fn claim(&self, _: &Workload, claim: &Claim) -> Result<String, Refusal> {
        panic!("nothing is to be claimed: {claim:?}")
    }

    async fn ask(&self, _: &Workload, ask: &Ask) -> Result<Answer, Refusal> {
        panic!("nothing is to be asked: {ask:?}")
    }

    async fn replica_set(&self, _: &Workload, name: &str) -> Result<Option<ReplicaSet>, Refusal> {
        panic!("nobody asks for {name}")
    }

    async fn act(&self, workload: &Workload, action: &Action) -> Result<Option<String>, Refusal> {
        let mut asked = self.asked.lock().unwrap();
        match action {
            Action::UpdateReplicaSet(update) => {
                asked.push(format!("{} {} {}", update.target.name, update.size_from, update.size_to));
                if update.size_to < update.size_from {
                    let (reason, message) = (self.reason.to_owned(), "no".to_owned());
                    return Err(Refusal { code: 403, reason, message, namespace_terminating: false });
                }
                Ok(None)
            }
            Action::WriteStatus(write) => {
                asked.push(format!("status, {} unavailable", write.status.unavailable_replicas));
                Ok(Some(workload.resource_version.clone()))
            }
            other => panic!("not planned: {other:?}"),
        }
    }

    fn record(&self, _: &Workload, _: &Event) {}
}

fn template(image: &str) -> Value {
    json!({ "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [{ "name": "c", "image": image }] } })
}

fn set(name: &str, image: &str, revision: &str, pods: i64) -> ReplicaSet {
    let object = json!({
        "metadata": {
            "namespace": "ns", "name": name, "uid": name, "resourceVersion": "7", "generation": 1,
            "creationTimestamp": format!("2026-11-22T10:00:0{revision}Z"),
            "labels": { "app": "web", "pod-template-hash": name },
            "annotations": {
                "deployment.kubernetes.io/revision": revision,
                "deployment.kubernetes.io/desired-replicas": "4",
                "deployment.kubernetes.io/max-replicas": "5",
            },
            "ownerReferences": [{ "uid": "w", "controller": true }],
        },
        "spec": { "replicas": pods, "template": template(image) },
        "status": {
            "replicas": pods, "readyReplicas": pods, "availableReplicas": pods, "observedGeneration": 1,
        },
    });
    decode::replica_set(FLAVOUR, &object).expect("a set")
}

/// Four pods, three to five at a time: two old ones and two new ones are available.
fn pass(cluster: &Stubborn) -> Outcome {
    let object = json!({
        "metadata": {
            "namespace": "ns", "name": "web", "uid": "w", "resourceVersion": "9", "generation": 2,
            "annotations": { "deployment.kubernetes.io/revision": "2" },
        },
        "spec": {
            "replicas": 4, "progressDeadlineSeconds": 600,
            "selector": { "matchLabels": { "app": "web" } },
            "strategy": {
                "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 1 },
            },
            "template": template("new"),
        },
        "status": { "observedGeneration": 2, "conditions": [
            { "type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated", "message": "" },
        ] },
    });
    let observed = Observed {
        flavour: FLAVOUR,
        workload: decode::workload(FLAVOUR, &object, Defaults::of(FLAVOUR)).expect("a Deployment"),
        sets: vec![set("old", "old", "1", 2), set("new", "new", "2", 2)],
        answers: Answers::default(),
        options: Options::default(),
    };
    let now: Timestamp = "2026-11-22T10:01:00Z".parse().unwrap();
    let mut run = pin!(pass::run(cluster, observed, now));
    match run.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("it answers at once"),
    }
}

#[test]
fn the_step_up_is_taken_without_the_cut() {
    let cluster = Stubborn { reason: "Forbidden", asked: Mutex::default() };
    let outcome = pass(&cluster);
    let asked = cluster.asked.into_inner().unwrap();
    assert_eq!(asked, ["old 2 1", "new 2 3", "status, 1 unavailable"], "{outcome:?}");
    let error = outcome.error.expect("it is tried again");
    assert!(error.retry && !error.conflict && error.message == "no", "{error:?}");
    assert!(outcome.deviations.contains("S6.13"));
}

/// What was seen is out of date, so nothing more is built upon it.
#[test]
fn a_conflict_ends_the_pass() {
    let cluster = Stubborn { reason: "Conflict", asked: Mutex::default() };
    let outcome = pass(&cluster);
    assert_eq!(cluster.asked.into_inner().unwrap(), ["old 2 1"]);
    assert!(outcome.error.is_some_and(|error| error.retry && error.conflict));
}
