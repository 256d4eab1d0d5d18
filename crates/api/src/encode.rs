//! Actions of a plan as request bodies, each with its precondition.
//!
//! Patches change existing objects and name only what changes, so no unknown field is lost. `metadata.uid`
//! and `metadata.resourceVersion` in a patch make the server answer 409 if the object is not the one that
//! the decision was made from.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use plan::keys::{REVISION, ROLLBACK_TO};
use plan::selector::LabelSelector;
use plan::template::Template;
use plan::{Flavour, NewReplicaSet, RollBack, Status, StatusWrite, Target, UpdateReplicaSet, Workload};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::state::state;
use crate::{DeploymentStatus, LastScale, Pin};

/// What the status of apps/v1 has; the rest is rollwright.dev's alone.
const STATUS_OF_APPS: [&str; 9] = [
    "availableReplicas",
    "collisionCount",
    "conditions",
    "observedGeneration",
    "readyReplicas",
    "replicas",
    "terminatingReplicas",
    "unavailableReplicas",
    "updatedReplicas",
];

/// A ReplicaSet as it is created (S4.9, S4.10). The template goes from text to text.
#[must_use]
pub fn replica_set(flavour: Flavour, workload: &Workload, set: &NewReplicaSet) -> Box<RawValue> {
    with_metadata(json!({ "name": set.name }), flavour, workload, set)
}

/// The ReplicaSet of a dry run: a name of its own, so that an existing ReplicaSet is no obstacle.
#[must_use]
pub fn dry_run_replica_set(flavour: Flavour, workload: &Workload, set: &NewReplicaSet) -> Box<RawValue> {
    with_metadata(json!({ "generateName": "rollwright-dry-run-" }), flavour, workload, set)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReplicaSetBody<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: Value,
    spec: ReplicaSetSpec<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReplicaSetSpec<'a> {
    replicas: i64,
    min_ready_seconds: i64,
    selector: &'a LabelSelector,
    template: &'a Template,
}

fn with_metadata(
    mut metadata: Value,
    flavour: Flavour,
    workload: &Workload,
    set: &NewReplicaSet,
) -> Box<RawValue> {
    if let Some(members) = metadata.as_object_mut() {
        members.extend([
            ("namespace".to_owned(), json!(workload.namespace)),
            ("labels".to_owned(), json!(set.labels)),
            ("annotations".to_owned(), json!(set.annotations)),
            ("ownerReferences".to_owned(), json!([owner_reference(flavour, workload)])),
        ]);
    }
    let NewReplicaSet { size, min_ready_seconds, selector, template, .. } = set;
    let spec = ReplicaSetSpec { replicas: *size, min_ready_seconds: *min_ready_seconds, selector, template };
    raw(&ReplicaSetBody { api_version: "apps/v1", kind: "ReplicaSet", metadata, spec })
}

/// A body as text.
#[must_use]
pub fn raw(value: &impl Serialize) -> Box<RawValue> {
    // Each key is a text, so that all of it can be written.
    to_raw_value(value).unwrap_or_default()
}

fn owner_reference(flavour: Flavour, workload: &Workload) -> OwnerReference {
    OwnerReference {
        api_version: flavour.api_version().to_owned(),
        kind: "Deployment".to_owned(),
        name: workload.name.clone(),
        uid: workload.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

fn preconditions(uid: &str, resource_version: &str) -> Value {
    json!({ "uid": uid, "resourceVersion": resource_version })
}

/// Merge patch that changes a ReplicaSet (S4.3, S8.9).
#[must_use]
pub fn update_patch(update: &UpdateReplicaSet) -> Value {
    let Target { uid, resource_version, .. } = &update.target;
    let mut patch = json!({ "metadata": preconditions(uid, resource_version) });
    if !update.annotations.is_empty() {
        insert(&mut patch, "metadata", "annotations", json!(update.annotations));
    }
    if update.ends_tracking {
        // The API server takes this for none, and tracks nothing from then on, until somebody applies server-side.
        insert(&mut patch, "metadata", "managedFields", json!([{}]));
    }
    if update.size_to != update.size_from {
        insert(&mut patch, "spec", "replicas", json!(update.size_to));
    }
    if let Some((_, seconds)) = update.min_ready_seconds {
        insert(&mut patch, "spec", "minReadySeconds", json!(seconds));
    }
    patch
}

fn insert(object: &mut Value, parent: &str, field: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        let parent = members.entry(parent).or_insert_with(|| json!({}));
        if let Some(members) = parent.as_object_mut() {
            members.insert(field.to_owned(), value);
        }
    }
}

/// Strategic merge patch that makes the Deployment the controller of an orphan (S2.17).
#[must_use]
pub fn adopt_patch(flavour: Flavour, workload: &Workload, target: &Target) -> Value {
    let mut patch = json!({ "metadata": preconditions(&target.uid, &target.resource_version) });
    insert(&mut patch, "metadata", "ownerReferences", json!([owner_reference(flavour, workload)]));
    patch
}

/// Strategic merge patch that gives a ReplicaSet up (S2.14).
#[must_use]
pub fn release_patch(workload: &Workload, target: &Target) -> Value {
    let mut patch = json!({ "metadata": preconditions(&target.uid, &target.resource_version) });
    let removal = json!([{ "$patch": "delete", "uid": workload.uid }]);
    insert(&mut patch, "metadata", "ownerReferences", removal);
    patch
}

/// Merge patch of the status subresource that leaves the history as it is (see
/// [`history::patch`](crate::history::patch)); a field that goes away is null. On apps/v1 the
/// revision annotation travels with it (S1.18, S5.6).
#[must_use]
pub fn status_patch(flavour: Flavour, workload: &Workload, write: &StatusWrite) -> Value {
    let mut patch = Value::from(Map::from_iter([
        ("metadata".to_owned(), preconditions(&workload.uid, &workload.resource_version)),
        ("status".to_owned(), status_of(flavour, workload, write)),
    ]));
    if let Some(revision) = &write.revision_annotation {
        insert(&mut patch, "metadata", "annotations", json!({ REVISION: revision }));
    }
    patch
}

/// The status that a write stores, but for the history.
pub(crate) fn status_of(flavour: Flavour, workload: &Workload, write: &StatusWrite) -> Value {
    let mut status = status(flavour, &write.status);
    if let Some(members) = status.as_object_mut().filter(|_| flavour.has_status_extras()) {
        if let Some(display) = members.get_mut("display").and_then(Value::as_object_mut) {
            display.insert("summary".to_owned(), state(workload, &write.status).into());
        }
        let stored = self::status(flavour, &workload.status);
        for name in ["target", "fallback", "memory", "rollback", "rollout"] {
            let part = members.remove(name).unwrap_or(Value::Null);
            // What cannot be read is stored nevertheless, and has to go away.
            let patch = merge_patch(stored.get(name), part).unwrap_or(Value::Null);
            members.insert(name.to_owned(), patch);
        }
        if let Some(last_scale) = &write.last_scale {
            members.insert("lastScale".to_owned(), json!(LastScale::from(last_scale)));
        }
    }
    status
}

/// Merge patch that makes this value of what is stored, as far as members come and go: what goes away is null, and what
/// was not there is left out. `None` if nothing is left.
fn merge_patch(stored: Option<&Value>, new: Value) -> Option<Value> {
    let stored = stored.filter(|stored| !stored.is_null());
    let Value::Object(members) = new else {
        return Some(new).filter(|new| stored.is_some() || !new.is_null());
    };
    let known = stored.and_then(Value::as_object);
    let gone = known.into_iter().flat_map(Map::keys).filter(|name| !members.contains_key(*name));
    let gone: Vec<_> = gone.map(|name| (name.clone(), Value::Null)).collect();
    let kept = members.into_iter().filter_map(|(name, member)| {
        let patch = merge_patch(known.and_then(|known| known.get(&name)), member)?;
        Some((name, patch))
    });
    let patch: Map<_, _> = kept.chain(gone).collect();
    (!patch.is_empty()).then(|| patch.into())
}

/// A status as it is stored, with explicit nulls where a field has to go away (merge patch).
#[must_use]
pub fn status(flavour: Flavour, status: &Status) -> Value {
    let mut members = match serde_json::to_value(DeploymentStatus::from(status)) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    };
    if !flavour.has_status_extras() {
        members.retain(|name, _| STATUS_OF_APPS.contains(&name.as_str()));
    }
    Value::Object(members)
}

/// What of `spec` a merge patch has that pauses a Deployment of either API, or resumes it.
#[must_use]
pub fn paused(paused: bool) -> Value {
    json!({ "paused": paused })
}

/// What of `spec` a merge patch has that asks rollwright.dev for a rollback.
#[must_use]
pub fn rollback_to(revision: i64) -> Value {
    json!({ "rollbackTo": { "revision": revision } })
}

/// What of `spec` a merge patch has that pins a ReplicaSet of rollwright.dev, or removes the pin. What this pin lacks
/// is null, so that nothing stays of the one before.
#[must_use]
pub fn pin(pin: Option<&Pin>) -> Value {
    let members = |pin: &Pin| {
        let Pin { pod_template_hash, template_fingerprint, reason } = pin;
        json!({ "podTemplateHash": pod_template_hash, "templateFingerprint": template_fingerprint, "reason": reason })
    };
    json!({ "pin": pin.map(members) })
}

/// JSON patch that pins a ReplicaSet of rollwright.dev, unless the template has changed since it was read.
#[must_use]
pub fn pin_patch(pin: &Pin, template: &Value) -> Value {
    json!([
        { "op": "test", "path": "/spec/template", "value": template },
        { "op": "add", "path": "/spec/pin", "value": pin },
    ])
}

/// What of `spec` a merge patch has that removes the failure policy of rollwright.dev.
#[must_use]
pub fn without_failure_policy() -> Value {
    json!({ "failurePolicy": null })
}

/// Lets the spec of a copy begin paused, without a rollback that was asked of the original. The other API has neither a
/// pin, nor policies, steps, hooks, or a deployment process.
pub fn begin_paused(spec: &mut Map<String, Value>) {
    spec.insert("paused".to_owned(), true.into());
    for field in ["rollbackTo", "pin", "failurePolicy", "resumePolicy"] {
        spec.remove(field);
    }
    let strategy = spec.get_mut("strategy").and_then(Value::as_object_mut);
    let limits = strategy.and_then(|strategy| {
        strategy.remove("hooks");
        if strategy.remove("custom").is_some() {
            strategy.insert("type".to_owned(), "RollingUpdate".into());
        }
        strategy.get_mut("rollingUpdate")
    });
    if let Some(limits) = limits.and_then(Value::as_object_mut) {
        limits.remove("steps");
        limits.remove("skipStepsFor");
    }
}

/// The field of `status` that shows which generation was observed.
#[must_use]
pub fn observed(generation: &Value) -> Value {
    json!({ "observedGeneration": generation })
}

/// Merge patch that persists a selector taken from the template's labels.
#[must_use]
pub fn selector_patch(workload: &Workload, selector: &LabelSelector) -> Value {
    json!({
        "metadata": preconditions(&workload.uid, &workload.resource_version),
        "spec": { "selector": selector },
    })
}

/// JSON patch that carries a rollback out, or only clears the request (S10.7, S10.8).
///
/// The template is replaced as a whole, which a merge patch cannot do.
#[must_use]
pub fn rollback_patch(flavour: Flavour, workload: &Workload, write: &RollBack) -> Box<RawValue> {
    #[derive(Serialize)]
    struct Replace<'a> {
        op: &'static str,
        path: &'static str,
        value: &'a Template,
    }
    let mut operations = vec![
        raw(&json!({ "op": "replace", "path": "/metadata/uid", "value": workload.uid })),
        raw(
            &json!({ "op": "replace", "path": "/metadata/resourceVersion", "value": workload.resource_version }),
        ),
    ];
    let by_annotation = flavour.goes_by_annotations();
    let request = if by_annotation { annotation_path(ROLLBACK_TO) } else { "/spec/rollbackTo".to_owned() };
    operations.push(raw(&json!({ "op": "remove", "path": request })));
    if let Some(value) = &write.template {
        operations.push(raw(&Replace { op: "replace", path: "/spec/template", value }));
    }
    if workload.annotations.is_empty() && write.annotations.values().any(Option::is_some) {
        operations.push(raw(&json!({ "op": "add", "path": "/metadata/annotations", "value": {} })));
    }
    for (key, value) in &write.annotations {
        operations.push(raw(&match value {
            Some(value) => json!({ "op": "add", "path": annotation_path(key), "value": value }),
            None => json!({ "op": "remove", "path": annotation_path(key) }),
        }));
    }
    raw(&operations)
}

/// A JSON pointer to an annotation (RFC 6901).
fn annotation_path(key: &str) -> String {
    format!("/metadata/annotations/{}", key.replace('~', "~0").replace('/', "~1"))
}
