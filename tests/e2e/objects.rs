//! Deployments, ReplicaSets and events as scenarios look at them.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::ReplicaSet;
use serde_json::Value;

use crate::flavour::{Flavour, REVISION};

/// A Deployment of either API.
#[derive(Clone, Debug)]
pub(crate) struct Deployment {
    flavour: Flavour,
    /// The whole object.
    pub(crate) value: Value,
}

/// One entry of `status.conditions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) message: String,
}

impl Deployment {
    pub(crate) fn new(flavour: Flavour, value: Value) -> Self {
        Self { flavour, value }
    }

    fn number(&self, pointer: &str) -> i64 {
        self.value.pointer(pointer).and_then(Value::as_i64).unwrap_or(0)
    }

    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.value.pointer(pointer).and_then(Value::as_str).unwrap_or("")
    }

    pub(crate) fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    pub(crate) fn uid(&self) -> &str {
        self.text("/metadata/uid")
    }

    pub(crate) fn replicas(&self) -> i64 {
        self.value.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1)
    }

    /// Grows with every change of the spec.
    pub(crate) fn generation(&self) -> i64 {
        self.number("/metadata/generation")
    }

    /// A counter of the status; absent is zero.
    pub(crate) fn status(&self, field: &str) -> i64 {
        self.number(&format!("/status/{field}"))
    }

    pub(crate) fn image(&self) -> &str {
        self.text("/spec/template/spec/containers/0/image")
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.value.pointer("/metadata/annotations")?.get(key)?.as_str()
    }

    pub(crate) fn revision(&self) -> i64 {
        self.flavour.revision(&self.value)
    }

    pub(crate) fn asks_for_rollback(&self) -> bool {
        self.flavour.asks_for_rollback(&self.value)
    }

    /// Whether the status belongs to the spec as it is now (S9.1).
    pub(crate) fn is_observed(&self) -> bool {
        self.status("observedGeneration") >= self.generation()
    }

    /// The condition of a type; all empty if there is none.
    pub(crate) fn condition(&self, kind: &str) -> Condition {
        let conditions = self.value.pointer("/status/conditions").and_then(Value::as_array);
        let field = |condition: &Value, name: &str| {
            condition.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let found = conditions
            .into_iter()
            .flatten()
            .find(|condition| condition.get("type").and_then(Value::as_str) == Some(kind));
        found.map_or_else(Condition::default, |condition| Condition {
            status: field(condition, "status"),
            reason: field(condition, "reason"),
            message: field(condition, "message"),
        })
    }

    /// Status and reason of the condition Progressing.
    pub(crate) fn progressing(&self) -> (String, String) {
        let condition = self.condition("Progressing");
        (condition.status, condition.reason)
    }

    /// Whether all pods are new and available, and no others are left (S9.10).
    pub(crate) fn is_complete(&self) -> bool {
        let all = ["replicas", "updatedReplicas", "availableReplicas"];
        self.is_observed() && all.iter().all(|field| self.status(field) == self.replicas())
    }

    /// One line, for the message of a wait that failed.
    pub(crate) fn summary(&self) -> String {
        let (status, reason) = self.progressing();
        format!(
            "{} of {}, generation {}/{}: replicas {}, updated {}, ready {}, available {}, unavailable {}, \
             revision {}, Progressing={status} {reason}",
            self.name(),
            self.replicas(),
            self.status("observedGeneration"),
            self.number("/metadata/generation"),
            self.status("replicas"),
            self.status("updatedReplicas"),
            self.status("readyReplicas"),
            self.status("availableReplicas"),
            self.status("unavailableReplicas"),
            self.revision(),
        )
    }
}

/// A ReplicaSet.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) created: String,
    /// uid of the controller, empty for an orphan.
    pub(crate) owner: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    /// `spec.replicas`.
    pub(crate) size: i64,
    pub(crate) replicas: i64,
    pub(crate) ready: i64,
    pub(crate) available: i64,
    /// Image of the first container.
    pub(crate) image: String,
    pub(crate) object: ReplicaSet,
}

impl Set {
    pub(crate) fn revision(&self) -> i64 {
        self.annotations.get(REVISION).and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    pub(crate) fn annotation(&self, key: &str) -> &str {
        self.annotations.get(key).map_or("", String::as_str)
    }

    pub(crate) fn summary(&self) -> String {
        format!(
            "{} ({}, revision {}): size {}, replicas {}, ready {}, available {}",
            self.name,
            self.image,
            self.revision(),
            self.size,
            self.replicas,
            self.ready,
            self.available
        )
    }
}

impl From<ReplicaSet> for Set {
    fn from(object: ReplicaSet) -> Self {
        let metadata = object.metadata.clone();
        let spec = object.spec.clone().unwrap_or_default();
        let status = object.status.clone().unwrap_or_default();
        let owners = metadata.owner_references.unwrap_or_default();
        let owner = owners.into_iter().find(|owner| owner.controller == Some(true));
        let pod = spec.template.and_then(|template| template.spec);
        let container = pod.and_then(|pod| pod.containers.into_iter().next());
        Self {
            name: metadata.name.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
            created: metadata.creation_timestamp.map(|time| time.0.to_string()).unwrap_or_default(),
            owner: owner.map(|owner| owner.uid).unwrap_or_default(),
            labels: metadata.labels.unwrap_or_default(),
            annotations: metadata.annotations.unwrap_or_default(),
            size: i64::from(spec.replicas.unwrap_or(1)),
            replicas: i64::from(status.replicas),
            ready: i64::from(status.ready_replicas.unwrap_or(0)),
            available: i64::from(status.available_replicas.unwrap_or(0)),
            image: container.and_then(|container| container.image).unwrap_or_default(),
            object,
        }
    }
}

/// The ReplicaSets as one line each.
pub(crate) fn summaries(sets: &[Set]) -> String {
    sets.iter().map(Set::summary).collect::<Vec<_>>().join("; ")
}

/// An event about the Deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) kind: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) count: i32,
}
