//! What the tenant does: mostly copies of what others have, with something forged in them.

use plan::keys::{DESIRED_REPLICAS, FINGERPRINTS, HASH_LABEL, MANAGED_LABEL, REVISION, ROLLOUT};
use serde_json::{Value, json};
use world::{Deletion, Key, Mode, Object, Patch, Resource, Subresource};

use super::{TENANT, Tenant};
use crate::actor::Actor;
use crate::chance::Dice;
use crate::engine::Engine;
use crate::history::workloads_of;
use crate::nature::image;

/// What no annotation should be, beside a text that is longer than a reasonable one.
const GARBAGE: [&str; 7] = ["", "-1", "9223372036854775807", "9223372036854775808", "x", "{}", "[null]"];
const HUGE: usize = 100_000;

impl Engine<'_> {
    /// One act. Whatever is refused has no effect.
    pub(super) fn tenant_acts(&mut self) {
        let Some(mut tenant) = self.tenant.take() else { return };
        let workloads = workloads_of(self.flavour);
        match tenant.dice.below(12) {
            0..5 => self.forge(&mut tenant, Resource::ReplicaSets),
            5 => self.forge(&mut tenant, Resource::Pods),
            6..8 => self.forge(&mut tenant, workloads),
            8 => self.forge_status(&mut tenant.dice),
            9 => self.delete(&mut tenant.dice, workloads),
            10 => self.delete(&mut tenant.dice, Resource::ReplicaSets),
            _ => {
                let key = self.any(&mut tenant.dice, Resource::ReplicaSets, TENANT);
                let patch = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
                _ = key.map(|key| self.store.patch(&key, &patch, Subresource::Main, Mode::Store));
            }
        }
        self.tenant = Some(tenant);
        self.settle(Actor::Foreign);
    }

    fn any(&self, dice: &mut Dice, resource: Resource, namespace: &str) -> Option<Key> {
        let there: Vec<Key> = self.store.list(resource, Some(namespace)).map(Key::of).collect();
        there.get(usize::try_from(dice.below(there.len() as u64)).unwrap_or(0)).cloned()
    }

    /// A copy of an object of somebody else, or what was there of this name becomes one.
    fn forge(&mut self, tenant: &mut Tenant, resource: Resource) {
        let namespace = self.workload_key(0).namespace;
        let original = self.any(&mut tenant.dice, resource, &namespace).and_then(|key| self.store.get(&key));
        let Some(original) = original else { return };
        let own = self.store.get(&Key::new(
            workloads_of(self.flavour),
            TENANT,
            original.label("app").unwrap_or(""),
        ));
        let forged = match resource {
            Resource::Pods => pod(original),
            Resource::ReplicaSets => set(&mut tenant.dice, original, own),
            _ => workload(tenant, original),
        };
        let object = Object::from_value(resource, forged.clone());
        let key = Key::of(&object);
        if self.store.get(&key).is_none() {
            _ = self.store.create(object, Mode::Store);
        } else if resource != Resource::Pods {
            _ = self.store.patch(&key, &Patch::Merge(forged), Subresource::Main, Mode::Store);
        }
    }

    fn forge_status(&mut self, dice: &mut Dice) {
        let number = dice.one_of(&[0, 1, 7, 2_147_483_647], 1);
        let status = json!({ "observedGeneration": number, "collisionCount": number, "revision": number,
                             "replicas": number, "availableReplicas": number });
        if let Some(key) = self.any(dice, workloads_of(self.flavour), TENANT) {
            let patch = Patch::Merge(json!({ "status": status }));
            _ = self.store.patch(&key, &patch, Subresource::Status, Mode::Store);
        }
    }

    fn delete(&mut self, dice: &mut Dice, resource: Resource) {
        if let Some(key) = self.any(dice, resource, TENANT) {
            _ = self.store.delete(&key, &Deletion::default());
        }
    }
}

/// The object as the tenant would send it.
fn copy(original: &Object) -> Value {
    let mut value = original.to_value();
    let metadata = value.get_mut("metadata").and_then(Value::as_object_mut);
    if let Some(metadata) = metadata {
        metadata.insert("namespace".to_owned(), json!(TENANT));
        metadata.remove("resourceVersion");
        metadata.remove("uid");
    }
    value
}

fn pod(original: &Object) -> Value {
    let mut pod = copy(original);
    // Nobody runs it.
    set_at(&mut pod, "/spec/nodeName", Value::Null);
    pod
}

fn set(dice: &mut Dice, original: &Object, own: Option<&Object>) -> Value {
    let mut set = copy(original);
    let owner = |version: &str, kind: &str, uid: &str| json!([{ "apiVersion": version, "kind": kind, "name": original.label("app"), "uid": uid, "controller": true }]);
    // The garbage collector soon deletes a ReplicaSet with a forged owner, unless a finalizer keeps it. It leaves the
    // ReplicaSet alone if it does not know the kind of the owner. The operator asks for the uid only.
    let owners = match (dice.below(8), original.controller_uid(), own) {
        (0..3, ..) => None,
        (3..6, Some(uid), _) => Some(owner("example.com/v1", "Other", uid)),
        (6, _, Some(own)) => Some(owner(&own.resource.api_version(), "Deployment", own.uid())),
        _ => Some(Value::Null),
    };
    if let Some(owners) = owners {
        set_at(&mut set, "/metadata/ownerReferences", owners);
    }
    let is_bound = dice.percent(40);
    set_at(
        &mut set,
        "/metadata/finalizers",
        if is_bound { json!(["example.com/stays"]) } else { Value::Null },
    );
    if dice.percent(25) {
        set_at(&mut set, "/metadata/name", json!(format!("{}-forged", original.name())));
    }
    if dice.percent(20) {
        annotate(dice, &mut set);
    }
    if dice.percent(20) {
        set_at(
            &mut set,
            "/metadata/labels",
            json!({ "app": original.label("app"), HASH_LABEL: "forged", MANAGED_LABEL: "true" }),
        );
    }
    let size = dice.one_of(&[original.spec_number("replicas"), Some(0), Some(1), Some(3)], None);
    set_at(&mut set, "/spec/replicas", json!(size));
    set
}

fn workload(Tenant { dice, floods, .. }: &mut Tenant, original: &Object) -> Value {
    let mut workload = copy(original);
    set_at(
        &mut workload,
        "/spec/template/spec/containers",
        json!([{ "name": "app", "image": image(u8::try_from(dice.below(6)).unwrap_or(0)) }]),
    );
    if *floods {
        set_at(&mut workload, "/spec/replicas", json!(dice.between(1, 3)));
    } else if dice.percent(50) {
        set_at(&mut workload, "/spec/replicas", json!(0));
    } else {
        set_at(&mut workload, "/spec/paused", json!(true));
    }
    if dice.percent(20) {
        annotate(dice, &mut workload);
    }
    workload
}

/// Garbage where others have content.
fn annotate(dice: &mut Dice, object: &mut Value) {
    let garbage = if dice.percent(10) { "x".repeat(HUGE) } else { dice.one_of(&GARBAGE, "").to_owned() };
    let name = dice.one_of(&[REVISION, FINGERPRINTS, DESIRED_REPLICAS, ROLLOUT], REVISION);
    let annotations = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
    if let Some(annotations) = annotations {
        annotations.insert(name.to_owned(), json!(garbage));
    }
}

/// Sets a member of an object that is there.
fn set_at(object: &mut Value, path: &str, value: Value) {
    let Some((parent, member)) = path.rsplit_once('/') else { return };
    if let Some(members) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
        members.insert(member.to_owned(), value);
    }
}
