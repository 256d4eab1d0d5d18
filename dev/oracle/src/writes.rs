//! Write requests: as they are logged, and what they make of an object.

use api::encode;
use jiff::Timestamp;
use plan::{Action, Flavour, Target, Workload};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// A write request to the in-memory cluster.
pub(crate) struct Write {
    verb: &'static str,
    resource: &'static str,
    name: String,
    op: Option<&'static str>,
    body: Body,
}

enum Body {
    Create(Value),
    Merge(Value),
    OwnerChange(Value),
    Operations(Value),
    Delete { uid: String, version: String },
}

/// The request that an action comes to.
pub(crate) fn of(flavour: Flavour, workload: &Workload, action: &Action) -> Write {
    let deployment =
        |verb, body| Write { verb, resource: "deployments", name: workload.name.clone(), op: None, body };
    let set = |verb, name: &str, body| Write {
        verb,
        resource: "replicasets",
        name: name.to_owned(),
        op: None,
        body,
    };
    match action {
        Action::SetSelector(selector) => {
            deployment("update", Body::Merge(encode::selector_patch(workload, selector)))
        }
        Action::CreateReplicaSet(new) => {
            set("create", &new.name, Body::Create(tree(&encode::replica_set(flavour, workload, new))))
        }
        Action::UpdateReplicaSet(update) => {
            set("update", &update.target.name, Body::Merge(encode::update_patch(update)))
        }
        Action::DeleteReplicaSet(target) => {
            let Target { name, uid, resource_version } = target;
            set("delete", name, Body::Delete { uid: uid.clone(), version: resource_version.clone() })
        }
        Action::WriteStatus(write) => {
            deployment("updateStatus", Body::Merge(encode::status_patch(flavour, workload, write)))
        }
        Action::CreateJob(new) => {
            Write { resource: "jobs", ..set("create", &new.name, Body::Merge(Value::Null)) }
        }
        Action::DeleteJob { name, .. } => {
            Write { resource: "jobs", ..set("delete", name, Body::Merge(Value::Null)) }
        }
        Action::RollBack(write) => {
            deployment("update", Body::Operations(tree(&encode::rollback_patch(flavour, workload, write))))
        }
    }
}

impl Write {
    pub(crate) fn change_owner(target: &Target, op: &'static str, patch: Value) -> Self {
        let name = target.name.clone();
        Self { verb: "patch", resource: "replicasets", name, op: Some(op), body: Body::OwnerChange(patch) }
    }

    pub(crate) fn verb(&self) -> &'static str {
        self.verb
    }

    pub(crate) fn resource(&self) -> &'static str {
        self.resource
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The resourceVersion that the request insists on.
    pub(crate) fn expected_version(&self) -> Option<String> {
        match &self.body {
            Body::Create(_) => None,
            Body::Merge(patch) | Body::OwnerChange(patch) => {
                patch.pointer("/metadata/resourceVersion")?.as_str().map(str::to_owned)
            }
            Body::Operations(operations) => {
                let mut all = operations.as_array().into_iter().flatten();
                let operation = all.find(|operation| operation["path"] == "/metadata/resourceVersion")?;
                operation["value"].as_str().map(str::to_owned)
            }
            Body::Delete { version, .. } => Some(version.clone()),
        }
    }

    /// The request itself, preconditions and all.
    pub(crate) fn request(&self) -> Value {
        let body = match &self.body {
            Body::Create(body) | Body::Merge(body) | Body::OwnerChange(body) | Body::Operations(body) => body,
            Body::Delete { uid, version } => &json!({ "uid": uid, "resourceVersion": version }),
        };
        let Self { verb, resource, name, op, .. } = self;
        json!({ "verb": verb, "resource": resource, "name": name, "op": op, "body": body })
    }

    /// The stored object, and what the request makes of it; `None` when there is none.
    pub(crate) fn result(
        &self,
        stored: Option<&Value>,
        deployment: &Value,
        now: Timestamp,
        version: u64,
    ) -> (Option<Value>, Option<Value>) {
        let before = stored.cloned();
        let mut after = before.clone().unwrap_or_default();
        match &self.body {
            Body::Delete { .. } => return (before, None),
            Body::Create(body) => {
                after = body.clone();
                after["metadata"]["uid"] = Value::from(format!("created-{version}"));
                after["metadata"]["generation"] = json!(1);
                after["metadata"]["creationTimestamp"] = Value::from(format!("{now:.0}"));
            }
            Body::Merge(patch) => merge(&mut after, patch),
            Body::OwnerChange(patch) => change_owner(&mut after, patch, deployment),
            Body::Operations(operations) => operate(&mut after, operations),
        }
        if let Some(before) = &before {
            self.raise_generation(before, &mut after);
        }
        (before, Some(after))
    }

    /// S1.18, S1.19.
    fn raise_generation(&self, before: &Value, after: &mut Value) {
        let annotations = before["metadata"]["annotations"] != after["metadata"]["annotations"];
        let counts = before["spec"] != after["spec"] || self.verb == "update" && annotations;
        if counts
            && (self.resource == "replicasets" && before["spec"] != after["spec"]
                || self.is_deployment_update())
        {
            let generation = before["metadata"]["generation"].as_i64().unwrap_or(0);
            after["metadata"]["generation"] = json!(generation + 1);
        }
    }

    fn is_deployment_update(&self) -> bool {
        self.resource == "deployments" && self.verb == "update"
    }

    /// The entry of the log; "from" values are relative to what is stored.
    pub(crate) fn entry(&self, deployment: &Value, set: Option<&Value>) -> Value {
        let mut entry = json!({ "verb": self.verb, "resource": self.resource, "name": self.name });
        if let Some(op) = self.op {
            entry["op"] = json!(op);
        }
        match &self.body {
            Body::Create(body) => {
                entry["replicas"] = body["spec"]["replicas"].clone();
                entry["minReadySeconds"] = body["spec"]["minReadySeconds"].clone();
                entry["labels"] = body["metadata"]["labels"].clone();
                entry["annotations"] = body["metadata"]["annotations"].clone();
                entry["selector"] = body["spec"]["selector"].clone();
            }
            Body::Merge(patch) if self.resource == "replicasets" => {
                let stored = set.cloned().unwrap_or_default();
                self.update_entry(&mut entry, patch, &stored);
            }
            Body::Merge(patch) => {
                entry["status"] = patch["status"].clone();
                annotations_entry(&mut entry, deployment, &self.after(deployment));
            }
            Body::Operations(operations) => {
                let mut all = operations.as_array().into_iter().flatten();
                if let Some(operation) = all.find(|operation| operation["path"] == "/spec/template") {
                    entry["template"] = operation["value"].clone();
                }
                annotations_entry(&mut entry, deployment, &self.after(deployment));
            }
            Body::OwnerChange(_) | Body::Delete { .. } => {}
        }
        entry
    }

    fn update_entry(&self, entry: &mut Value, patch: &Value, stored: &Value) {
        let size = stored["spec"]["replicas"].clone();
        entry["replicasTo"] = patch["spec"].get("replicas").cloned().unwrap_or_else(|| size.clone());
        entry["replicasFrom"] = size;
        if let Some(seconds) = patch["spec"].get("minReadySeconds") {
            entry["minReadySecondsFrom"] = json!(stored["spec"]["minReadySeconds"].as_i64().unwrap_or(0));
            entry["minReadySecondsTo"] = seconds.clone();
        }
        annotations_entry(entry, stored, &self.after(stored));
    }

    fn after(&self, stored: &Value) -> Value {
        let mut after = stored.clone();
        match &self.body {
            Body::Merge(patch) => merge(&mut after, patch),
            Body::Operations(operations) => operate(&mut after, operations),
            _ => {}
        }
        after
    }
}

fn annotations_entry(entry: &mut Value, before: &Value, after: &Value) {
    let empty = Map::new();
    let of = |object: &Value| object["metadata"]["annotations"].as_object().unwrap_or(&empty).clone();
    let (before, after) = (of(before), of(after));
    let set = after.iter().filter(|(key, value)| before.get(*key) != Some(value));
    let set: Map<_, _> = set.map(|(key, value)| (key.clone(), value.clone())).collect();
    let removed: Vec<_> = before.keys().filter(|key| !after.contains_key(*key)).collect();
    if !set.is_empty() {
        entry["annotationsSet"] = Value::Object(set);
    }
    if !removed.is_empty() {
        entry["annotationsRemoved"] = json!(removed);
    }
}

/// RFC 7386.
fn merge(target: &mut Value, patch: &Value) {
    let Some(members) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, member) in members {
        if member.is_null() {
            if let Some(target) = target.as_object_mut() {
                target.remove(key);
            }
        } else {
            merge(&mut target[key.as_str()], member);
        }
    }
}

/// The two strategic merge patches that change owners: the list merges by uid.
fn change_owner(target: &mut Value, patch: &Value, deployment: &Value) {
    let uid = &deployment["metadata"]["uid"];
    let owners = target["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    let mut owners: Vec<_> = owners.into_iter().filter(|owner| owner["uid"] != *uid).collect();
    let change = &patch["metadata"]["ownerReferences"][0];
    if change["$patch"] != "delete" {
        owners.push(change.clone());
    }
    target["metadata"]["ownerReferences"] = Value::from(owners);
}

/// The operations that a rollback uses (RFC 6902).
fn operate(target: &mut Value, operations: &Value) {
    for operation in operations.as_array().into_iter().flatten() {
        let Some((parent, key)) = operation["path"].as_str().and_then(|path| path.rsplit_once('/')) else {
            continue;
        };
        let key = key.replace("~1", "/").replace("~0", "~");
        let Some(members) = target.pointer_mut(parent).and_then(Value::as_object_mut) else { continue };
        if operation["op"] == "remove" {
            members.remove(&key);
        } else {
            members.insert(key, operation["value"].clone());
        }
    }
}

/// The store keeps trees.
pub(crate) fn tree(text: &RawValue) -> Value {
    serde_json::from_str(text.get()).unwrap_or_default()
}
