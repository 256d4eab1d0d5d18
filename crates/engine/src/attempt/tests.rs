use std::borrow::Cow;

use api::decode::{Defaults, Parts, replica_set, workload};
use futures::FutureExt as _;
use jiff::SignedDuration;
use plan::Flavour;
use serde_json::{Value, json};

use super::*;
use crate::index::{Index, Placed, Sight};
use crate::port::{Cause, Object, Reply, Request};
use crate::state::Settings;

const BEGUN: &str = "2026-01-01T01:00:00Z";
const TEN_MINUTES: Duration = Duration::from_secs(600);

/// A server that accepts every write; the wall clock is set back each time that it is read.
struct Server {
    started: Instant,
    wall: Mutex<Timestamp>,
}

struct Stored(Value);

impl Object for Stored {
    fn parts(&self) -> Parts<'_> {
        Parts::from(&self.0)
    }

    fn version(&self) -> Cow<'_, str> {
        self.metadata("resourceVersion").into()
    }
}

impl Port for Server {
    type Object = Stored;

    fn now(&self) -> Instant {
        self.started
    }

    fn timestamp(&self) -> Timestamp {
        let mut wall = self.wall.lock().unwrap();
        let read = *wall;
        *wall -= SignedDuration::try_from(TEN_MINUTES).unwrap();
        read
    }

    async fn send(&self, _: Request, _: Cause<'_>) -> Result<Reply<Stored>, Refusal> {
        Ok(Reply::Version("3".to_owned()))
    }

    fn note(&self, _: Note<'_>) {}
}

/// Two pods that are not ready, for this reason of Progressing.
fn unready(reason: &str) -> (Workload, Placed) {
    let flavour = Flavour::AppsV1;
    let template = json!({
        "metadata": { "labels": { "app": "web" } },
        "spec": { "containers": [{ "name": "web", "image": "web:1" }] },
    });
    let selector = json!({ "matchLabels": { "app": "web" } });
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastUpdateTime": BEGUN, "lastTransitionTime": BEGUN,
        })
    };
    let conditions = [
        condition("Progressing", "True", reason, "ReplicaSet \"web-1\" is progressing."),
        condition(
            "Available",
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        ),
    ];
    let revision = json!({ "deployment.kubernetes.io/revision": "1" });
    let annotations = json!({
        "deployment.kubernetes.io/revision": "1", "deployment.kubernetes.io/desired-replicas": "2",
        "deployment.kubernetes.io/max-replicas": "3",
    });
    let deployment = json!({
        "metadata": {
            "namespace": "ns", "name": "web", "uid": "w", "resourceVersion": "1", "generation": 1,
            "annotations": revision,
        },
        "spec": {
            "replicas": 2, "progressDeadlineSeconds": 600, "strategy": { "type": "RollingUpdate" },
            "selector": selector, "template": template,
        },
        "status": {
            "observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "unavailableReplicas": 2,
            "conditions": conditions,
        },
    });
    let set = json!({
        "metadata": {
            "namespace": "ns", "name": "web-1", "uid": "s", "resourceVersion": "2", "generation": 1,
            "labels": { "app": "web" }, "annotations": annotations,
            "ownerReferences": [{ "uid": "w", "controller": true }],
        },
        "spec": { "replicas": 2, "selector": selector, "template": template },
        "status": { "replicas": 2, "observedGeneration": 1 },
    });
    let set = Placed { namespace: "ns".to_owned(), set: replica_set(flavour, &set).unwrap().into() };
    (workload(flavour, &deployment, Defaults::of(flavour)).unwrap(), set)
}

/// What follows an attempt at this time.
fn attempt(server: &Server, (deployment, set): (Workload, Placed)) -> Next {
    let mut cache = Index::new(Sight::Whole);
    cache.reset_sets(None, vec![set]);
    cache.reset_workloads(None, vec![deployment], server.started);
    let engine = Engine::new(Flavour::AppsV1, Settings::default(), cache, server.started);
    let key = Key { namespace: "ns".to_owned(), name: "web".to_owned() };
    engine.attempt(server, &key).now_or_never().unwrap()
}

fn server(wall: &str) -> Server {
    Server { started: Instant::now(), wall: Mutex::new(wall.parse().unwrap()) }
}

/// The next look was late by as much as the clock was set back; found by a simulation of many Deployments.
#[test]
fn a_clock_that_is_set_back_during_a_reconcile_delays_nothing() {
    let server = server(BEGUN);
    let next = attempt(&server, unready("ReplicaSetUpdated"));
    let Next::After(wait) = next else { panic!("{next:?}") };
    assert_eq!(wait.reason, Reason::Deadline);
    let delay = wait.until - server.started;
    assert!((TEN_MINUTES..TEN_MINUTES + Duration::from_secs(2)).contains(&delay), "{delay:?}");
}

/// It lost its pods a day after it was complete. No deadline runs, and nobody looks for one ten times a second.
#[test]
fn what_was_complete_awaits_no_deadline() {
    let next = attempt(&server("2026-01-02T01:00:00Z"), unready("NewReplicaSetAvailable"));
    assert_eq!(next, Next::Nothing);
    // One that is about to be late is looked at again.
    let next = attempt(&server("2026-01-01T01:09:59.5Z"), unready("ReplicaSetUpdated"));
    assert!(matches!(next, Next::After(wait) if wait.reason == Reason::Deadline), "{next:?}");
}
