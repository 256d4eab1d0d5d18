//! Nodes: there, lost, back, gone.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::kubelet::{Kubelets, at_once, pods_on};
use crate::object::Object;
use crate::refusal::Refused;
use crate::resource::Resource;
use crate::stamp::stamp;
use crate::store::Store;
use crate::store::key::Key;
use crate::write::{Deletion, Mode, Subresource};

impl Kubelets {
    /// Creates the objects of the nodes.
    ///
    /// # Errors
    /// What the server answers, but for nodes that exist.
    pub fn register(&self, store: &mut Store) -> Result<(), Refused> {
        for node in &self.nodes {
            let object = json!({"metadata": {"name": node.name, "labels": {
                "kubernetes.io/hostname": node.name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
            }}});
            let created = store.create(Object::from_value(Resource::Nodes, object), Mode::Store);
            let object = match created {
                Ok(object) => object,
                Err(refused) if refused.reason == "AlreadyExists" => continue,
                Err(refused) => return Err(refused),
            };
            let capacity =
                json!({"cpu": "10k", "memory": "100Ti", "ephemeral-storage": "100Ti", "pods": "100k"});
            let status = json!({
                "capacity": capacity,
                "allocatable": capacity,
                "conditions": [heartbeat("True", "KubeletReady", &stamp(store.now()))],
                "nodeInfo": {
                    "kubeletVersion": crate::KUBERNETES, "operatingSystem": "linux", "architecture": "amd64",
                    "bootID": "", "machineID": "", "systemUUID": "", "kernelVersion": "fake",
                    "osImage": "fake", "containerRuntimeVersion": "fake://1", "kubeProxyVersion": "",
                },
            });
            let object = Object { status: Arc::new(status.into()), ..object };
            store.replace(object, Subresource::Status, Mode::Store)?;
        }
        Ok(())
    }

    /// A node is lost: its pods are not ready, and nothing that is wanted of them happens.
    pub fn lose_node(&mut self, store: &mut Store, name: &str) {
        self.set_lost(store, name, true);
        for pod in pods_on(store, name) {
            let now = store.now();
            let mut conditions = pod.status.get("conditions").cloned().unwrap_or(Value::Null);
            let mut ready = conditions.as_array_mut().into_iter().flatten();
            let ready = ready.find(|condition| {
                condition.get("type").and_then(Value::as_str) == Some("Ready")
                    && condition.get("status").and_then(Value::as_str) == Some("True")
            });
            let Some(ready) = ready.and_then(Value::as_object_mut) else { continue };
            ready.insert("status".to_owned(), Value::from("False"));
            ready.insert("lastTransitionTime".to_owned(), stamp(now));
            let mut status = Value::clone(&pod.status);
            if let Some(members) = status.as_object_mut() {
                members.insert("conditions".to_owned(), conditions);
            }
            if let Some(memory) = self.memory.get_mut(&Key::of(&pod)) {
                memory.life.lose(now);
            }
            // Read a moment ago, so it is as read.
            _ = store.replace(
                Object { status: Arc::new(status.into()), ..pod },
                Subresource::Status,
                Mode::Store,
            );
        }
    }

    /// The pods of a lost node have to go; they stay until the node is back or removed.
    pub fn evict(&mut self, store: &mut Store, name: &str) {
        for pod in pods_on(store, name) {
            _ = store.delete(&Key::of(&pod), &Deletion::default());
        }
    }

    /// A lost node is back. Answers its pods, which need a look.
    pub fn restore_node(&mut self, store: &mut Store, name: &str) -> Vec<Key> {
        self.set_lost(store, name, false);
        pods_on(store, name).iter().map(Key::of).collect()
    }

    /// A lost node is taken out of the cluster, and its pods with it.
    pub fn remove_node(&mut self, store: &mut Store, name: &str) {
        self.nodes.retain(|node| node.name != name);
        for pod in pods_on(store, name) {
            _ = store.delete(&Key::of(&pod), &at_once(&pod));
        }
        _ = store.delete(&Key::new(Resource::Nodes, "", name), &Deletion::default());
    }

    fn set_lost(&mut self, store: &mut Store, name: &str, is_lost: bool) {
        for node in self.nodes.iter_mut().filter(|node| node.name == name) {
            node.is_lost = is_lost;
        }
        let (value, reason) =
            if is_lost { ("Unknown", "NodeStatusUnknown") } else { ("True", "KubeletReady") };
        let condition = heartbeat(value, reason, &stamp(store.now()));
        let Some(node) = store.get(&Key::new(Resource::Nodes, "", name)).cloned() else { return };
        let mut status = Value::clone(&node.status);
        if let Some(members) = status.as_object_mut() {
            members.insert("conditions".to_owned(), json!([condition]));
        }
        _ = store.replace(
            Object { status: Arc::new(status.into()), ..node },
            Subresource::Status,
            Mode::Store,
        );
    }
}

fn heartbeat(value: &str, reason: &str, now: &Value) -> Value {
    json!({
        "type": "Ready", "status": value, "reason": reason, "message": "fake kubelet",
        "lastHeartbeatTime": now, "lastTransitionTime": now,
    })
}
