//! Snapshots in which one thing can happen.

use api::decode::{self, Defaults};
use jiff::Timestamp;
use plan::template::Template;
use plan::{
    Action, Answers, Flavour, Observed, Options, Pace, Plan, Status, Step, UpdateReplicaSet, Workload,
};
use serde_json::{Map, Value, json};

/// A revision that no old ReplicaSet reaches: a new ReplicaSet with it needs no other one.
pub(crate) const REVISION_AHEAD: &str = "1000000";

/// A paused Deployment and its ReplicaSets. A paused Deployment scales, cleans up and reports, but
/// creates nothing and rolls nothing out.
pub(crate) struct Snapshot {
    pub(crate) deployment: Value,
    pub(crate) sets: Vec<Value>,
    pub(crate) now: Timestamp,
}

impl Snapshot {
    /// With `replicas` and `strategy` of the input, as far as they are there.
    pub(crate) fn paused(input: &Value) -> Self {
        let deployment = json!({
            "metadata": { "namespace": "default", "name": "web", "uid": "owner", "generation": 1 },
            "spec": {
                "paused": true,
                "replicas": input.get("replicas").unwrap_or(&json!(0)),
                "strategy": input.get("strategy").unwrap_or(&json!({ "type": "Recreate" })),
                "selector": { "matchLabels": { "app": "web" } },
                "template": template("new"),
            },
        });
        let now = input.get("now").and_then(Value::as_str).unwrap_or("2026-04-01T00:00:00Z");
        Self { deployment, sets: Vec::new(), now: now.parse().unwrap() }
    }

    /// Adds a ReplicaSet. `object` has what is particular about it; later ReplicaSets are younger unless it has a time.
    pub(crate) fn add(&mut self, name: &str, is_new: bool, object: &Value) {
        let age = self.sets.len();
        let image = if is_new { "new".to_owned() } else { format!("old-{age}") };
        let mut set = json!({
            "metadata": {
                "namespace": "default",
                "name": name,
                "uid": format!("uid-{name}"),
                "labels": { "app": "web" },
                "creationTimestamp": format!("2026-01-01T00:{:02}:{:02}Z", age / 60, age % 60),
                "ownerReferences": [{ "controller": true, "uid": "owner" }],
            },
            "spec": { "template": template(&image) },
        });
        merge(&mut set, object);
        self.sets.push(set);
    }

    pub(crate) fn workload(&self) -> Workload {
        decode::workload(Flavour::AppsV1, &self.deployment, Defaults::Literal).unwrap()
    }

    pub(crate) fn step(&self) -> Step {
        let workload = self.workload();
        let sets = self.sets.iter().map(|set| decode::replica_set(Flavour::AppsV1, set).unwrap()).collect();
        let answers = Answers {
            template: Some(Template::of(&self.deployment["spec"]["template"])),
            pods: Some(Vec::new()),
            ..Answers::default()
        };
        let options = Options::new(true, Pace::EachReconcile);
        plan::plan(&Observed { flavour: Flavour::AppsV1, workload, sets, answers, options }, self.now)
    }

    pub(crate) fn plan(&self) -> Plan {
        match self.step() {
            Step::Act(plan) => *plan,
            other => panic!("not a plan: {other:?}"),
        }
    }
}

/// A workload with `replicas`, `strategy` and what else of a spec the input has.
pub(crate) fn workload(input: &Value) -> Workload {
    let object = json!({ "metadata": {}, "spec": input });
    decode::workload(Flavour::AppsV1, &object, Defaults::Literal).unwrap()
}

pub(crate) fn status(value: &Value) -> Status {
    decode::status(value).unwrap().into()
}

/// The changes of ReplicaSets in a plan, in order.
pub(crate) fn updates(plan: &Plan) -> Vec<&UpdateReplicaSet> {
    let mut updates = Vec::new();
    for planned in &plan.actions {
        if let Action::UpdateReplicaSet(update) = &planned.action {
            updates.push(update);
        }
    }
    updates
}

/// The changes that resize a ReplicaSet: name and new size.
pub(crate) fn resizes(plan: &Plan) -> Vec<(&str, i64)> {
    let resizing = updates(plan).into_iter().filter(|update| update.size_from != update.size_to);
    resizing.map(|update| (update.target.name.as_str(), update.size_to)).collect()
}

/// The status after a plan.
pub(crate) fn status_after(snapshot: &Snapshot, plan: &Plan) -> Status {
    let written = plan.actions.iter().find_map(|planned| match &planned.action {
        Action::WriteStatus(write) => Some(write.status.clone()),
        _ => None,
    });
    written.unwrap_or_else(|| snapshot.workload().status)
}

/// Annotations with the absent ones (null) left out.
pub(crate) fn annotations<const N: usize>(entries: [(&str, &Value); N]) -> Value {
    let there = entries.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(there.map(|(key, value)| (key.to_owned(), value.clone())).collect::<Map<_, _>>())
}

/// Conditions as Go writes them: empty text is left out.
pub(crate) fn without_empty_text(mut conditions: Value) -> Value {
    for condition in conditions.as_array_mut().unwrap() {
        condition.as_object_mut().unwrap().retain(|_, value| value != "");
    }
    conditions
}

fn template(image: &str) -> Value {
    json!({
        "metadata": { "labels": { "app": "web" } },
        "spec": { "containers": [{ "name": "app", "image": image }] },
    })
}

fn merge(target: &mut Value, patch: &Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (key, member) in patch {
                merge(target.entry(key.clone()).or_insert(Value::Null), member);
            }
        }
        (target, patch) => *target = patch.clone(),
    }
}
