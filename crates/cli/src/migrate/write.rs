//! The writes of a migration. Every write names what it was decided from, by uid and version. If that state
//! has changed since, the server refuses the write, and the command reads the state again.

use api::encode;
use plan::keys::{ABORT, FINGERPRINTS, MANAGED_LABEL, MANAGED_VALUE, OUR_PREFIX, is_never_copied};
use plan::template::Template;
use plan::{Flavour, equality};
use serde_json::{Map, Value, json};

use crate::cluster::Deployment;
use crate::migrate::facts::{
    Facts, MIGRATED_FROM, entry, fingerprint, fingerprints, mark_from, marks, name, other_owners,
};
use crate::stepwise;
use diagnosis::text;

/// A request.
pub(crate) type Write = stepwise::Write<Change>;

/// What is sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// Creates the target.
    Create(Value),
    /// A JSON patch of the target.
    Replace(Value),
    /// A merge patch of the target.
    PatchTarget(Value),
    /// A merge patch of the source that lets its declared revision roll out.
    RollOut(Value),
    /// A merge patch of a ReplicaSet.
    PatchSet { name: String, patch: Value },
    /// A merge patch of a HorizontalPodAutoscaler.
    PatchScaler { name: String, patch: Value },
    /// Deletes the source and leaves its ReplicaSets.
    DeleteSource { uid: String, version: String },
}

/// The target, made from the source: paused, so that nothing is created or scaled for it while
/// there are two.
pub(crate) fn create(facts: &Facts, source: &Deployment, current: &Value) -> Write {
    let mut object = manifest(facts, source);
    // What the server would make of the template has to be what the pods run already. A webhook on
    // ReplicaSets may have changed that; then their template is the one to keep.
    let stored = facts.dry_run.as_ref().and_then(|dry_run| dry_run.as_ref().ok());
    let stored = stored.and_then(|stored| stored.pointer("/spec/template"));
    if facts.to == Flavour::AppsV1
        && stored.is_some_and(|stored| !equality::equal(stored, template_of(current)))
    {
        set_template(object.get_mut("spec"), Template::of(template_of(current)).without_hash_label().tree());
    }
    Write { says: format!("create {}, paused", facts.target_name()), change: Change::Create(object) }
}

/// What is sent to create the target: all that people wrote, nothing that controllers did.
pub(crate) fn manifest(facts: &Facts, source: &Deployment) -> Value {
    let mut spec = source.body.get("spec").cloned().unwrap_or_default();
    if let Some(spec) = spec.as_object_mut() {
        encode::begin_paused(spec);
    }
    json!({
        "apiVersion": facts.to.api_version(),
        "kind": "Deployment",
        "metadata": {
            "name": facts.name,
            "namespace": facts.namespace,
            "labels": labels(source),
            "annotations": annotations(source),
        },
        "spec": spec,
    })
}

fn kept(source: &Deployment, place: &str, is_kept: impl Fn(&str) -> bool) -> Map<String, Value> {
    let entries = source.body.pointer(&format!("/metadata/{place}")).and_then(Value::as_object);
    let entries = entries.into_iter().flatten().filter(|(key, _)| is_kept(key));
    entries.map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn labels(source: &Deployment) -> Map<String, Value> {
    let mut labels = kept(source, "labels", |key| !key.starts_with(OUR_PREFIX));
    labels.insert(MIGRATED_FROM.to_owned(), Value::from(mark_from(source)));
    labels
}

/// Without kubectl's copy of the manifest, which is one of the other API, and without bookkeeping.
fn annotations(source: &Deployment) -> Map<String, Value> {
    kept(source, "annotations", |key| !is_never_copied(key))
}

fn set_template(spec: Option<&mut Value>, template: Value) {
    if let Some(spec) = spec.and_then(Value::as_object_mut) {
        spec.insert("template".to_owned(), template);
    }
}

fn template_of(set: &Value) -> &Value {
    set.pointer("/spec/template").unwrap_or(&Value::Null)
}

/// The source has changed since the target was made from it, perhaps by an autoscaler.
pub(crate) fn sync(facts: &Facts, source: &Deployment, target: &Deployment, current: &Value) -> Write {
    let mut spec = manifest(facts, source).get("spec").cloned().unwrap_or_default();
    if facts.to == Flavour::AppsV1 {
        let is_known = equality::equal(target.template(), template_of(current));
        let known = if is_known {
            target.template().clone()
        } else {
            Template::of(template_of(current)).without_hash_label().tree()
        };
        set_template(Some(&mut spec), known);
    }
    let operations = json!([
        {"op": "test", "path": "/metadata/uid", "value": target.text("/metadata/uid")},
        {"op": "test", "path": "/metadata/resourceVersion", "value": target.text("/metadata/resourceVersion")},
        {"op": "replace", "path": "/spec", "value": spec},
        {"op": "add", "path": "/metadata/labels", "value": labels(source)},
        {"op": "add", "path": "/metadata/annotations", "value": annotations(source)},
    ]);
    let says = format!("copy the latest changes of {}", facts.source_name());
    Write { says, change: Change::Replace(operations) }
}

/// The metadata of a merge patch with what it was decided from.
fn metadata(object: &Value, more: &[(&str, Value)]) -> Value {
    let known = ["uid", "resourceVersion"]
        .map(|field| (field, Value::from(text(object, &format!("/metadata/{field}")))));
    known.iter().chain(more).map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
}

fn patch_set(says: String, set: &Value, more: &[(&str, Value)]) -> Write {
    let patch = json!({"metadata": metadata(set, more)});
    Write { says, change: Change::PatchSet { name: name(set).to_owned(), patch } }
}

/// Puts a ReplicaSet of the history in the care of the current one, where no controller of
/// Deployments looks. It has no pods, and one that is adopted before the current one would get some.
pub(crate) fn attach(facts: &Facts, set: &Value, onto: &Value) -> Write {
    let mut owners = other_owners(set);
    owners.push(json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": name(onto),
        "uid": text(onto, "/metadata/uid"),
        "controller": true,
    }));
    let says = format!("attach replicaset.apps/{} with replicaset.apps/{}", name(set), name(onto));
    let mut more = vec![("ownerReferences", Value::from(owners))];
    if facts.to == Flavour::Rollwright {
        more.push(("labels", json!({MANAGED_LABEL: MANAGED_VALUE})));
    }
    patch_set(says, set, &more)
}

/// Lets the declared revision of the source run, which the target should have: without its pin.
pub(crate) fn unpin(facts: &Facts, source: &Deployment) -> Write {
    let patch = json!({"metadata": metadata(&source.body, &[]), "spec": encode::pin(None)});
    declared(facts, "spec.pin", patch)
}

/// The same after it failed: without the failure policy, and without the request to abort it, which also counts without
/// a policy. Nothing if both are gone.
pub(crate) fn unjudge(facts: &Facts, source: &Deployment) -> Option<Write> {
    let has_policy = source.spec().failure_policy.is_some();
    let is_aborted = entry(&source.body, "annotations", ABORT).is_some();
    let what = match (has_policy, is_aborted) {
        (true, true) => format!("spec.failurePolicy and the annotation {ABORT}"),
        (true, false) => "the field spec.failurePolicy".to_owned(),
        (false, true) => format!("the annotation {ABORT}"),
        (false, false) => return None,
    };
    let annotations = is_aborted.then(|| ("annotations", json!({ABORT: null})));
    let metadata = metadata(&source.body, annotations.as_slice());
    let spec = if has_policy { encode::without_failure_policy() } else { json!({}) };
    Some(declared(facts, &what, json!({"metadata": metadata, "spec": spec})))
}

fn declared(facts: &Facts, what: &str, patch: Value) -> Write {
    let name = facts.source_name();
    let says = format!("remove {what} from {name}, so that its declared revision rolls out");
    Write { says, change: Change::RollOut(patch) }
}

/// Makes the current ReplicaSet one that the operator sees, and recognizes as that of this template.
pub(crate) fn hand_over(target: &Deployment, set: &Value) -> Write {
    let known = fingerprint(target).appended_to(&fingerprints(set));
    let more =
        [("labels", json!({MANAGED_LABEL: MANAGED_VALUE})), ("annotations", json!({FINGERPRINTS: known}))];
    patch_set(format!("hand over replicaset.apps/{}", name(set)), set, &more)
}

/// Deletes the source; the garbage collector lets go of its ReplicaSets.
pub(crate) fn delete(facts: &Facts, source: &Deployment) -> Write {
    let says = format!("delete {} and leave its ReplicaSets", facts.source_name());
    let change = Change::DeleteSource {
        uid: source.text("/metadata/uid").to_owned(),
        version: source.text("/metadata/resourceVersion").to_owned(),
    };
    Write { says, change }
}

/// Makes an attached ReplicaSet one that the target's controller adopts; on the way back without a mark of Rollwright.
pub(crate) fn release(facts: &Facts, set: &Value) -> Write {
    let mut more = vec![("ownerReferences", Value::from(other_owners(set)))];
    if facts.to == Flavour::AppsV1 {
        more.extend(without_marks(set));
    }
    patch_set(format!("release replicaset.apps/{}", name(set)), set, &more)
}

fn without_marks(object: &Value) -> Vec<(&'static str, Value)> {
    let removed = |wanted: &str| -> Map<String, Value> {
        let keys = marks(object).filter(|(place, _)| *place == wanted);
        keys.map(|(_, key)| (key.to_owned(), Value::Null)).collect()
    };
    let both = ["labels", "annotations"].map(|place| (place, Value::from(removed(place))));
    both.into_iter().filter(|(_, keys)| keys.as_object().is_some_and(|keys| !keys.is_empty())).collect()
}

/// Takes every mark of Rollwright off a ReplicaSet.
pub(crate) fn strip_set(set: &Value) -> Write {
    patch_set(
        format!("remove Rollwright's marks from replicaset.apps/{}", name(set)),
        set,
        &without_marks(set),
    )
}

/// Takes every mark of Rollwright off the target.
pub(crate) fn strip_target(facts: &Facts, target: &Deployment) -> Write {
    let patch = json!({"metadata": metadata(&target.body, &without_marks(&target.body))});
    let says = format!("remove Rollwright's marks from {}", facts.target_name());
    Write { says, change: Change::PatchTarget(patch) }
}

/// Lets an autoscaler scale the target.
pub(crate) fn retarget(facts: &Facts, scaler: &Value) -> Write {
    let patch = json!({
        "metadata": metadata(scaler, &[]),
        "spec": {"scaleTargetRef": {"apiVersion": facts.to.api_version()}},
    });
    let says = format!("let horizontalpodautoscaler/{} scale {}", name(scaler), facts.target_name());
    Write { says, change: Change::PatchScaler { name: name(scaler).to_owned(), patch } }
}

/// The end: the target's controller may act again.
pub(crate) fn finish(facts: &Facts, target: &Deployment) -> Write {
    let labels = json!({MIGRATED_FROM: null});
    let patch =
        json!({"metadata": metadata(&target.body, &[("labels", labels)]), "spec": encode::paused(false)});
    Write { says: format!("resume {}", facts.target_name()), change: Change::PatchTarget(patch) }
}
