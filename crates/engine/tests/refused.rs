//! A cut that is refused takes its room with it, and not the step up that needs none (S6.7, S6.13).
//! Growth that is refused does not take the status of the cut with it (S6.5).

use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use api::decode::{self, Defaults};
use engine::reconcile::{Answer, Cluster, Outcome, Owner, Refusal};
use jiff::Timestamp;
use plan::{
    Action, Answers, Ask, Event, Flavour, Observed, Options, OwnerChange, Pace, ReplicaSet, Workload,
};
use serde_json::{Value, json};

const FLAVOUR: Flavour = Flavour::AppsV1;

/// Takes every write but those to another size, and remembers what it was asked for: `set from to`.
struct Stubborn {
    reason: &'static str,
    /// What it refuses: from one size to another.
    refuses: fn(i64, i64) -> bool,
    asked: Mutex<Vec<String>>,
}

impl Cluster for Stubborn {
    async fn owner(&self, workload: &Workload) -> Result<Option<Owner>, Refusal> {
        Ok(Some(Owner { uid: workload.uid.clone(), deleting: false }))
    }

    async fn change_owner(&self, _: &Workload, change: &OwnerChange) -> Result<String, Refusal> {
        panic!("nothing is to be adopted or released: {change:?}")
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
                if (self.refuses)(update.size_from, update.size_to) {
                    let message = "no".to_owned();
                    return Err(Refusal::new(403, self.reason, message));
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

fn set(name: &str, revision: &str, pods: i64, available: i64) -> ReplicaSet {
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
        "spec": { "replicas": pods, "template": template(name) },
        "status": {
            "replicas": pods, "readyReplicas": available, "availableReplicas": available,
            "observedGeneration": 1,
        },
    });
    decode::replica_set(FLAVOUR, &object).expect("a set")
}

/// Four pods, three to five at a time: two old ones and two new ones are available, of as many new
/// ones as given.
fn reconcile(cluster: &Stubborn, new: i64) -> Outcome {
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
        sets: vec![set("old", "1", 2, 2), set("new", "2", new, 2)],
        answers: Answers::default(),
        options: Options::new(true, Pace::EachReconcile),
    };
    let now: Timestamp = "2026-11-22T10:01:00Z".parse().unwrap();
    let mut run = pin!(engine::reconcile::run(cluster, observed, now));
    match run.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("it answers at once"),
    }
}

#[test]
fn the_step_up_is_taken_without_the_cut() {
    let cluster = Stubborn { reason: "Forbidden", refuses: |from, to| to < from, asked: Mutex::default() };
    let outcome = reconcile(&cluster, 2);
    let asked = cluster.asked.into_inner().unwrap();
    assert_eq!(asked, ["old 2 1", "new 2 3", "status, 1 unavailable"], "{outcome:?}");
    let error = outcome.error.expect("it is tried again");
    assert!(error.retry && !error.conflict && error.message == "no", "{error:?}");
    assert!(outcome.deviations.contains("S6.13"));
}

/// What was seen is out of date, so nothing more is built on it.
#[test]
fn a_conflict_ends_the_reconcile() {
    let cluster = Stubborn { reason: "Conflict", refuses: |from, to| to < from, asked: Mutex::default() };
    let outcome = reconcile(&cluster, 2);
    assert_eq!(cluster.asked.into_inner().unwrap(), ["old 2 1"]);
    assert!(outcome.error.is_some_and(|error| error.retry && error.conflict));
}

/// Of the five pods that the ReplicaSets had before the cut, one is unavailable: as upstream's reconcile, which ends
/// with the cut, reports.
#[test]
fn the_status_of_the_cut_is_written_without_the_growth() {
    let cluster = Stubborn { reason: "Forbidden", refuses: |from, to| to > from, asked: Mutex::default() };
    let outcome = reconcile(&cluster, 3);
    let asked = cluster.asked.into_inner().unwrap();
    assert_eq!(asked, ["old 2 1", "new 3 4", "status, 1 unavailable"], "{outcome:?}");
    assert!(outcome.error.is_some_and(|error| error.retry && !error.conflict && error.message == "no"));
    assert!(outcome.deviations.contains("S6.5"));
}
