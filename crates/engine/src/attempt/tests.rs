use std::borrow::Cow;

use api::decode::{Defaults, Parts, replica_set, workload};
use futures::FutureExt as _;
use jiff::SignedDuration;
use plan::Flavour;
use serde_json::{Value, json};

use super::*;
use crate::durations::CHANGED_AGAIN;
use crate::index::{Index, Placed, Sight};
use crate::ledger::Ledger;
use crate::port::{Cause, Object, Reply, Request};
use crate::rivalry::tests::lost;
use crate::state::Settings;

const BEGUN: &str = "2026-01-01T01:00:00Z";
const TEN_MINUTES: Duration = Duration::from_secs(600);

struct Stored(Value);

impl Object for Stored {
    fn parts(&self) -> Parts<'_> {
        Parts::from(&self.0)
    }

    fn version(&self) -> Cow<'_, str> {
        self.metadata("resourceVersion").into()
    }
}

/// A server with a Deployment and its ReplicaSet, which notes what is read. It accepts every write.
struct Shelf {
    started: Instant,
    wall: Mutex<Timestamp>,
    /// By this, the wall clock is set back each time that it is read.
    set_back: SignedDuration,
    objects: (Value, Value),
    reads: Mutex<Vec<String>>,
}

impl Port for Shelf {
    type Object = Stored;

    fn now(&self) -> Instant {
        self.started
    }

    fn timestamp(&self) -> Timestamp {
        let mut wall = self.wall.lock().unwrap();
        let read = *wall;
        *wall -= self.set_back;
        read
    }

    async fn send(&self, request: Request, _: Cause<'_>) -> Result<Reply<Stored>, Refusal> {
        let (deployment, set) = self.objects.clone();
        let (read, reply) = match request {
            Request::Get { name, .. } => (name, Reply::Object(Stored(deployment))),
            Request::ListReplicaSets { selector, .. } => {
                (selector.unwrap().to_string(), Reply::Page(vec![Stored(set)], None))
            }
            _ => return Ok(Reply::Version("3".to_owned())),
        };
        self.reads.lock().unwrap().push(read);
        Ok(reply)
    }

    fn note(&self, _: Note<'_>) {}
}

/// Two pods that are not ready, for this reason of Progressing.
fn unready(reason: &str) -> (Workload, Placed) {
    let (flavour, (deployment, set)) = (Flavour::AppsV1, objects(reason));
    let set = Placed { namespace: "ns".to_owned(), set: replica_set(flavour, &set).unwrap().into() };
    (workload(flavour, &deployment, Defaults::of(flavour)).unwrap(), set)
}

/// The Deployment and its ReplicaSet.
fn objects(reason: &str) -> (Value, Value) {
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
    (deployment, set)
}

/// What follows an attempt at this time.
fn attempt(server: &Shelf, (deployment, set): (Workload, Placed)) -> Next {
    let mut cache = Index::new(Sight::Whole);
    cache.reset_sets(None, vec![set]);
    cache.reset_workloads(None, vec![deployment], server.started);
    let engine = Engine::new(Flavour::AppsV1, Settings::default(), cache, server.started);
    engine.attempt(server, &web()).now_or_never().unwrap()
}

fn server(wall: &str) -> Shelf {
    Shelf {
        started: Instant::now(),
        wall: Mutex::new(wall.parse().unwrap()),
        set_back: SignedDuration::try_from(TEN_MINUTES).unwrap(),
        objects: objects(""),
        reads: Mutex::default(),
    }
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

/// The Deployment lost its pods a day after it was complete. No deadline runs, and nobody looks for one ten times a
/// second.
#[test]
fn what_was_complete_awaits_no_deadline() {
    let next = attempt(&server("2026-01-02T01:00:00Z"), unready("NewReplicaSetAvailable"));
    assert_eq!(next, Next::Nothing);
    // One that is about to be late is looked at again.
    let next = attempt(&server("2026-01-01T01:09:59.5Z"), unready("ReplicaSetUpdated"));
    assert!(matches!(next, Next::After(wait) if wait.reason == Reason::Deadline), "{next:?}");
}

/// Its cache has the Deployment, and no ReplicaSet yet.
fn starting(generation: i64) -> (Shelf, Engine) {
    let mut objects = objects("ReplicaSetUpdated");
    objects.0["metadata"]["generation"] = generation.into();
    let shelf = Shelf { objects, set_back: SignedDuration::ZERO, ..server(BEGUN) };
    let flavour = Flavour::AppsV1;
    let mut cache = Index::new(Sight::Whole);
    let deployment = workload(flavour, &shelf.objects.0, Defaults::of(flavour)).unwrap();
    cache.reset_workloads(None, vec![deployment], shelf.started);
    let engine = Engine::new(flavour, Settings::default(), cache, shelf.started);
    engine.await_lists(shelf.started);
    (shelf, engine)
}

fn web() -> Key {
    Key { namespace: "ns".to_owned(), name: "web".to_owned() }
}

#[test]
fn before_the_lists_come_an_edit_is_acted_upon_from_live_reads() {
    let (shelf, engine) = starting(2);
    let next = engine.attempt(&shelf, &web()).now_or_never().unwrap();
    assert_eq!(*shelf.reads.lock().unwrap(), ["web", "app=web"]);
    let again = Wait { until: shelf.started + EARLY_AGAIN, reason: Reason::Lists };
    assert_eq!(next, Next::After(again), "no watch shows its pods");
}

#[test]
fn before_the_lists_come_nothing_else_is_looked_at() {
    let (shelf, engine) = starting(1);
    let attempt = || engine.attempt(&shelf, &web()).now_or_never().unwrap();
    assert_eq!((attempt(), shelf.reads.lock().unwrap().len()), (Next::Nothing, 0));
    // A user's annotation leaves the generation as it is.
    let mut deployment = workload(Flavour::AppsV1, &shelf.objects.0, Defaults::of(Flavour::AppsV1)).unwrap();
    deployment.resource_version = "9".to_owned();
    engine.workload_came(deployment, shelf.started);
    attempt();
    assert_eq!(shelf.reads.lock().unwrap().len(), 2);
}

#[test]
fn when_the_lists_have_come_everything_is_looked_at() {
    let (shelf, engine) = starting(1);
    engine.sets_listed(None, [unready("ReplicaSetUpdated").1], shelf.started);
    engine.lists_came(shelf.started);
    let later = shelf.started + Duration::from_secs(1);
    assert_eq!(engine.state().queue.take(later), Some(web()));
    engine.attempt(&shelf, &web()).now_or_never().unwrap();
    assert_eq!(shelf.reads.lock().unwrap().len(), 0, "from the cache");
}

#[test]
fn force_gives_way_to_nobody() {
    for force in [false, true] {
        let (shelf, mut engine) = starting(2);
        engine.settings.force = force;
        engine.attempt(&shelf, &web()).now_or_never().unwrap();
        assert_eq!(engine.state().entry(&web()).rivalry.0.is_none(), force, "its status was written");
    }
}

#[test]
fn a_deployment_is_left_to_its_rival_until_it_is_gone() {
    let (_, engine) = starting(2);
    let (mut state, now) = (engine.state(), Instant::now());
    assert_eq!(state.left_until(&web(), now), [None; 2]);
    state.entry(&web()).of("w").rivalry = lost(now);
    state.entry(&web()).ledger.wrote_workload("20", now);
    assert!(state.left_until(&web(), now)[1].is_some());
    state.forget(&web(), now);
    assert_eq!((state.left_until(&web(), now), state.unseen().len()), ([None; 2], 0));
}

/// A server with a policy that has changed the ReplicaSet of the template, and the log of what is found.
struct Policed(Shelf);

impl Port for Policed {
    type Object = Stored;

    fn now(&self) -> Instant {
        self.0.started
    }

    fn timestamp(&self) -> Timestamp {
        self.0.timestamp()
    }

    async fn send(&self, request: Request, cause: Cause<'_>) -> Result<Reply<Stored>, Refusal> {
        match request {
            Request::Create { .. } => {
                self.0.reads.lock().unwrap().push("create".to_owned());
                Err(Refusal::new(409, "AlreadyExists", "there".to_owned()))
            }
            Request::Get { name, .. } if name != "web" => {
                let mut set = self.0.objects.1.clone();
                set["metadata"]["name"] = name.as_str().into();
                set["spec"]["template"]["metadata"]["labels"]["pod-template-hash"] = "1".into();
                set["spec"]["template"]["spec"]["containers"][0]["image"] = "web@sha256:1".into();
                Ok(Reply::Object(Stored(set)))
            }
            _ => self.0.send(request, cause).await,
        }
    }

    fn note(&self, note: Note<'_>) {
        if let Note::Changed(_, field) = note {
            self.0.reads.lock().unwrap().push(field.to_owned());
        }
    }
}

/// Gatekeeper 2963: Kubernetes' controller makes one more ReplicaSet, without end.
#[test]
fn on_apps_v1_a_policy_that_changes_replica_sets_slows_new_names_down() {
    let (shelf, engine) = starting(2);
    engine.sets_listed(None, Vec::<Placed>::new(), shelf.started);
    engine.lists_came(shelf.started);
    let server = Policed(shelf);
    let next = engine.attempt(&server, &web()).now_or_never().unwrap();
    assert!(matches!(next, Next::Failed(_)), "the next name is due: {next:?}");
    let said = server.0.reads.lock().unwrap().last().cloned();
    assert_eq!(said.as_deref(), Some("/spec/containers/0/image"));
    // The watch shows what it wrote. Nothing is created meanwhile, and nothing fails.
    engine.state().entry(&web()).ledger = Ledger::default();
    let next = engine.attempt(&server, &web()).now_or_never().unwrap();
    let again = server.0.started + CHANGED_AGAIN;
    assert_eq!(next, Next::After(Wait { until: again, reason: Reason::NamesTaken }));
    assert_eq!(server.0.reads.lock().unwrap().iter().filter(|read| *read == "create").count(), 1);
}
