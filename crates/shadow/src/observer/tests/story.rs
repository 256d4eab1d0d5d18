//! A Deployment under kube-controller-manager, as the watches show it.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;
use crate::tally::Tally;

pub(super) const KCM: &str = "kube-controller-manager";

/// A Deployment `web` under kube-controller-manager, and what is seen of it.
pub(super) struct Story {
    pub(super) observer: Observer,
    pub(super) version: u64,
    pub(super) directory: PathBuf,
}

impl Story {
    pub(super) fn new(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("shadow-{name}-{}", std::process::id()));
        let tally = Tally::new("apps/v1", &prometheus::Registry::new()).unwrap();
        let keep = Keep::new(Some(&directory), false).unwrap();
        let mut observer = Observer::new(Flavour::AppsV1, KCM.to_owned(), tally, keep, Reasons::default());
        for which in Which::ALL {
            observer.list(which, Timestamp::now(), Vec::new());
        }
        Self { observer, version: 100, directory }
    }

    pub(super) fn tell(&mut self, which: Which, object: &Value, author: &Value, is_gone: bool) {
        self.version += 1;
        let mut object = object.clone();
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        object["metadata"]["managedFields"] = json!([author]);
        let signed = Box::new(Signed::new(object));
        let news = News::Object { which, at: Timestamp::now(), is_gone, object: signed };
        self.observer.see(self.version, news);
    }

    pub(super) fn user(&mut self, deployment: &Value) {
        self.tell(Which::Deployments, deployment, &by("kubectl", "", "spec"), false);
    }

    pub(super) fn status(&mut self, deployment: &Value) {
        self.tell(Which::Deployments, deployment, &by(KCM, "status", "status"), false);
    }

    pub(super) fn set(&mut self, set: &Value) {
        self.tell(Which::ReplicaSets, set, &by(KCM, "", "spec"), false);
    }

    pub(super) fn set_status(&mut self, set: &Value) {
        self.tell(Which::ReplicaSets, set, &by(KCM, "status", "status"), false);
    }

    pub(super) fn counts(mut self) -> Value {
        self.observer.tick(Timestamp::now(), true);
        let _ = std::fs::remove_dir_all(&self.directory);
        self.observer.tally.json(1, 0)
    }
}

/// An entry of managed fields that owns everything below one member, and annotations.
pub(super) fn by(manager: &str, subresource: &str, member: &str) -> Value {
    let fields = json!({ format!("f:{member}"): {}, "f:metadata": {} });
    json!({"manager": manager, "operation": "Update", "subresource": subresource, "fieldsV1": fields,
           "time": "2026-01-01T00:00:00Z"})
}

pub(super) fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": image}]}})
}

pub(super) fn deployment(replicas: i64) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "n", "uid": "d-1", "generation": 1},
        "spec": {
            "replicas": replicas, "progressDeadlineSeconds": 600, "revisionHistoryLimit": 10,
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": template("app:v1"),
        },
    })
}

/// The ReplicaSet that kube-controller-manager makes of a Deployment; its hash is not Rollwright's.
pub(super) fn set(replicas: i64) -> Value {
    let mut template = template("app:v1");
    template["metadata"]["labels"]["pod-template-hash"] = json!("7d9f6b5c4");
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": "web-7d9f6b5c4", "namespace": "n", "uid": "s-1", "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app": "web", "pod-template-hash": "7d9f6b5c4"},
            "annotations": {"deployment.kubernetes.io/revision": "1",
                "deployment.kubernetes.io/desired-replicas": replicas.to_string(),
                "deployment.kubernetes.io/max-replicas": (replicas + 1).to_string()},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d-1",
                "controller": true, "blockOwnerDeletion": true}],
        },
        "spec": {"replicas": replicas, "template": template,
            "selector": {"matchLabels": {"app": "web", "pod-template-hash": "7d9f6b5c4"}}},
        "status": {"replicas": 0},
    })
}

pub(super) fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    let time = "2026-01-01T00:00:00Z";
    json!({"type": kind, "status": status, "reason": reason, "message": message,
           "lastUpdateTime": time, "lastTransitionTime": time})
}

/// The status that upstream writes right after it has created the ReplicaSet.
pub(super) fn created_status() -> Value {
    json!({"conditions": [condition("Progressing", "True", "NewReplicaSetCreated",
        "Created new replica set \"web-7d9f6b5c4\"")]})
}

/// And the next one, while no pod is there.
pub(super) fn counted_status(unavailable: i64) -> Value {
    let mut status = created_status();
    status["observedGeneration"] = json!(1);
    status["unavailableReplicas"] = json!(unavailable);
    status["terminatingReplicas"] = json!(0);
    let available = condition(
        "Available",
        "False",
        "MinimumReplicasUnavailable",
        "Deployment does not have minimum availability.",
    );
    status["conditions"].as_array_mut().unwrap().push(available);
    status
}

pub(super) fn with_status(mut deployment: Value, status: Value) -> Value {
    deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = json!("1");
    deployment["status"] = status;
    deployment
}
