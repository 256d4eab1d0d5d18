//! What the API server reports: the Deployment, its ReplicaSets, its pods and the events about it, as the watches
//! report them.
//!
//! The demo reads objects as JSON, as any client would, and shares no code
//! with the operator: a mistake of the operator's types must not hide itself.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::watches::NAME;

/// The annotation that holds a ReplicaSet's revision.
const REVISION: &str = "deployment.kubernetes.io/revision";

/// The state of everything the demo shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub(crate) deployment: Option<Deployment>,
    pub(crate) sets: BTreeMap<String, Set>,
    pub(crate) pods: BTreeMap<String, Pod>,
    /// The oldest first.
    pub(crate) events: Vec<Event>,
}

/// What the demo reads of the custom resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deployment {
    pub(crate) generation: i64,
    pub(crate) observed: i64,
    pub(crate) image: String,
    pub(crate) paused: bool,
    pub(crate) rollback_to: bool,
    pub(crate) wanted: i64,
    pub(crate) revision: i64,
    pub(crate) ready: i64,
    pub(crate) updated: i64,
    pub(crate) available: i64,
    pub(crate) conditions: Vec<Condition>,
    /// Revision that the last rollback restored, and its outcome.
    pub(crate) rollback: Option<(i64, String)>,
}

/// One entry of `status.conditions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// What the demo reads of a ReplicaSet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) revision: i64,
    pub(crate) image: String,
    pub(crate) desired: i64,
    pub(crate) current: i64,
    pub(crate) ready: i64,
}

/// What the demo reads of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pod {
    /// Uid of the ReplicaSet that controls it.
    pub(crate) owner: String,
    pub(crate) image: String,
    pub(crate) ready: bool,
    pub(crate) deleting: bool,
    /// Why its container waits, such as `ImagePullBackOff`.
    pub(crate) waiting: Option<String>,
}

/// An event about the Deployment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) time: Timestamp,
    pub(crate) name: String,
    pub(crate) is_warning: bool,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) count: i64,
}

/// How many pods of one ReplicaSet are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    pub(crate) ready: usize,
    pub(crate) starting: usize,
    pub(crate) failing: usize,
    pub(crate) leaving: usize,
}

impl World {
    /// Reads all objects of the namespace.
    pub(crate) fn read(deployments: &[Value], sets: &[Value], pods: &[Value], events: &[Value]) -> Self {
        let uid = |object: &Value| text(object, "/metadata/uid");
        let deployment = deployments.iter().find(|object| text(object, "/metadata/name") == NAME);
        let owner = deployment.map(uid);
        // The ReplicaSets' own watch may be faster than the Deployment's.
        let is_ours = |set: &&Value| owner.is_none() || controller(set) == owner;
        let mut events: Vec<Event> = events.iter().filter_map(|object| Event::read(object, NAME)).collect();
        events.sort();
        Self {
            deployment: deployment.map(Deployment::read),
            sets: sets.iter().filter(is_ours).map(|set| (uid(set), Set::read(set))).collect(),
            pods: pods.iter().map(|pod| (uid(pod), Pod::read(pod))).collect(),
            events,
        }
    }

    /// Sets, the newest revision first.
    pub(crate) fn newest_first(&self) -> Vec<(&String, &Set)> {
        let mut sets: Vec<_> = self.sets.iter().collect();
        sets.sort_by(|a, b| (b.1.revision, &b.1.name).cmp(&(a.1.revision, &a.1.name)));
        sets
    }

    /// The ReplicaSet with pods that run this image.
    pub(crate) fn set_of_image(&self, image: &str) -> Option<(&String, &Set)> {
        self.sets.iter().find(|(_, set)| set.image == image)
    }

    /// States of the pods that a ReplicaSet controls.
    pub(crate) fn census(&self, set: &str) -> Census {
        let mut census = Census::default();
        for pod in self.pods.values().filter(|pod| pod.owner == set) {
            let counter = match pod {
                Pod { deleting: true, .. } => &mut census.leaving,
                Pod { ready: true, .. } => &mut census.ready,
                Pod { waiting: Some(_), .. } => &mut census.failing,
                Pod { .. } => &mut census.starting,
            };
            *counter += 1;
        }
        census
    }

    /// Pods that serve: ready, not shutting down, of one of the Deployment's ReplicaSets.
    pub(crate) fn serving(&self) -> usize {
        self.sets.keys().map(|set| self.census(set).ready).sum()
    }

    /// Pods that all ReplicaSets together ask for.
    pub(crate) fn asked_for(&self) -> i64 {
        self.sets.values().map(|set| set.desired).sum()
    }

    /// A condition of the Deployment, if it has it.
    pub(crate) fn condition(&self, kind: &str) -> Option<&Condition> {
        self.deployment.as_ref()?.conditions.iter().find(|condition| condition.kind == kind)
    }
}

impl Deployment {
    fn read(object: &Value) -> Self {
        let conditions = array(object, "/status/conditions").iter().map(Condition::read).collect();
        let result = object.pointer("/status/rollback/result").and_then(Value::as_str);
        Self {
            generation: number(object, "/metadata/generation"),
            observed: number(object, "/status/observedGeneration"),
            image: text(object, "/spec/template/spec/containers/0/image"),
            paused: flag(object, "/spec/paused"),
            rollback_to: object.pointer("/spec/rollbackTo").is_some(),
            wanted: number(object, "/spec/replicas"),
            revision: number(object, "/status/revision"),
            ready: number(object, "/status/readyReplicas"),
            updated: number(object, "/status/updatedReplicas"),
            available: number(object, "/status/availableReplicas"),
            conditions,
            rollback: result.map(|result| (number(object, "/status/rollback/revision"), result.to_owned())),
        }
    }
}

impl Condition {
    fn read(condition: &Value) -> Self {
        Self {
            kind: text(condition, "/type"),
            status: text(condition, "/status"),
            reason: text(condition, "/reason"),
            message: text(condition, "/message"),
        }
    }
}

impl Set {
    fn read(object: &Value) -> Self {
        let annotations = object.pointer("/metadata/annotations");
        let revision = annotations.and_then(|all| all.get(REVISION)).and_then(Value::as_str);
        Self {
            name: text(object, "/metadata/name"),
            revision: revision.and_then(|revision| revision.parse().ok()).unwrap_or(0),
            image: text(object, "/spec/template/spec/containers/0/image"),
            desired: number(object, "/spec/replicas"),
            current: number(object, "/status/replicas"),
            ready: number(object, "/status/readyReplicas"),
        }
    }
}

impl Pod {
    fn read(object: &Value) -> Self {
        let is_ready = |condition: &&Value| text(condition, "/type") == "Ready";
        let ready = array(object, "/status/conditions").iter().find(is_ready);
        let waiting = object.pointer("/status/containerStatuses/0/state/waiting/reason");
        Self {
            owner: controller(object).unwrap_or_default(),
            image: text(object, "/spec/containers/0/image"),
            ready: ready.is_some_and(|condition| text(condition, "/status") == "True"),
            deleting: object.pointer("/metadata/deletionTimestamp").is_some(),
            waiting: waiting.and_then(Value::as_str).map(str::to_owned),
        }
    }
}

impl Event {
    /// Reads an event about this Deployment; none for any other object.
    fn read(object: &Value, deployment: &str) -> Option<Self> {
        let is_ours = text(object, "/involvedObject/kind") == "Deployment"
            && text(object, "/involvedObject/name") == deployment;
        let count = object.pointer("/series/count").or_else(|| object.pointer("/count"));
        is_ours.then(|| Self {
            time: event_time(object).unwrap_or_default(),
            name: text(object, "/metadata/name"),
            is_warning: text(object, "/type") == "Warning",
            reason: text(object, "/reason"),
            message: text(object, "/message"),
            count: count.and_then(Value::as_i64).unwrap_or(1),
        })
    }
}

/// Uid of the controller among the owners of an object.
fn controller(object: &Value) -> Option<String> {
    let mut owners = array(object, "/metadata/ownerReferences").iter();
    owners.find(|owner| flag(owner, "/controller")).map(|owner| text(owner, "/uid"))
}

fn event_time(object: &Value) -> Option<Timestamp> {
    let places = ["/series/lastObservedTime", "/lastTimestamp", "/eventTime", "/metadata/creationTimestamp"];
    places.iter().find_map(|place| object.pointer(place)?.as_str()?.parse().ok())
}

fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn number(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or(0)
}

fn flag(object: &Value, pointer: &str) -> bool {
    object.pointer(pointer).and_then(Value::as_bool).unwrap_or(false)
}

fn array<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
