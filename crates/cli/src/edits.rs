//! What the verbs write: pure functions from what was read to a patch.

use api::encode;
use kube::api::Patch;
use plan::keys::{CHANGE_CAUSE, RESTARTED_AT, ROLLBACK_TO, is_never_copied};
use plan::{Flavour, equality};
use serde_json::{Map, Value, json};

use crate::cluster::Deployment;
use crate::failure::Failure;
use crate::history::Revision;

/// Pauses.
pub(crate) fn pause(deployment: &Deployment) -> Result<Patch<Value>, Failure> {
    if deployment.is_paused() {
        return Err(Failure::Rollout(format!("{} is already paused", deployment.full_name())));
    }
    Ok(Patch::Merge(json!({"spec": encode::paused(true)})))
}

/// Resumes.
pub(crate) fn resume(deployment: &Deployment) -> Result<Patch<Value>, Failure> {
    if !deployment.is_paused() {
        return Err(Failure::Rollout(format!("{} is not paused", deployment.full_name())));
    }
    Ok(Patch::Merge(json!({"spec": encode::paused(false)})))
}

/// Restarts.
pub(crate) fn restart(deployment: &Deployment, now: jiff::Timestamp) -> Result<Patch<Value>, Failure> {
    if deployment.is_paused() {
        let name = deployment.full_name();
        return Err(Failure::Paused(format!("{name} is paused, so a restart would wait; run resume first")));
    }
    let annotations = json!({RESTARTED_AT: format!("{now:.0}")});
    Ok(Patch::Merge(json!({"spec": {"template": {"metadata": {"annotations": annotations}}}})))
}

/// What going back to a revision comes to.
#[derive(Debug)]
pub(crate) enum Undo {
    /// The template is that of the revision already.
    Nothing,
    /// This patch.
    Patch(Patch<Value>),
}

/// Goes back to a revision: ours is asked by its field, and does the rest itself; a Deployment of
/// apps/v1 gets the template and annotations of the revision, as from `kubectl rollout undo`.
pub(crate) fn undo(deployment: &Deployment, revision: &Revision) -> Result<Undo, Failure> {
    if deployment.is_paused() {
        let name = deployment.full_name();
        return Err(Failure::Paused(format!("{name} is paused, so a rollback would wait; run resume first")));
    }
    let current = deployment.body.pointer("/spec/template").unwrap_or(&Value::Null);
    if equality::equal(current, &revision.template) {
        return Ok(Undo::Nothing);
    }
    if deployment.flavour == Flavour::Rollwright {
        return Ok(Undo::Patch(Patch::Merge(json!({"spec": encode::rollback_to(revision.number)}))));
    }
    let mut operations = vec![json!({"op": "replace", "path": "/spec/template", "value": revision.template})];
    operations.extend(annotations(deployment, revision));
    Ok(Undo::Patch(unless_changed(deployment, operations)?))
}

/// Operations as a JSON patch (RFC 6902).
pub(crate) fn json_patch(operations: Value) -> Result<Patch<Value>, Failure> {
    let patch = serde_json::from_value(operations);
    patch.map(Patch::Json).map_err(|error| Failure::Rollout(error.to_string()))
}

/// The same, refused if somebody has changed the specification since it was read. A new status does not
/// matter.
pub(crate) fn unless_changed(
    deployment: &Deployment,
    operations: Vec<Value>,
) -> Result<Patch<Value>, Failure> {
    let generation = deployment.body.pointer("/metadata/generation");
    let test = json!({"op": "test", "path": "/metadata/generation", "value": generation});
    json_patch([test].into_iter().chain(operations).collect())
}

/// Operations that leave the Deployment's own bookkeeping, and take all else from the revision.
///
/// One for each annotation that differs: an annotation that somebody adds in the meantime stays.
fn annotations(deployment: &Deployment, revision: &Revision) -> Vec<Value> {
    let current = deployment.body.pointer("/metadata/annotations").and_then(Value::as_object);
    let wanted: Map<String, Value> = revision
        .annotations()
        .filter(|(key, value)| !is_never_copied(key) && (*key, *value) != (CHANGE_CAUSE, ""))
        .map(|(key, value)| (key.to_owned(), Value::from(value)))
        .collect();
    let Some(current) = current else {
        return vec![json!({"op": "add", "path": "/metadata/annotations", "value": wanted})];
    };
    let path = |key: &str| format!("/metadata/annotations/{}", key.replace('~', "~0").replace('/', "~1"));
    let surplus = current
        .keys()
        .filter(|key| !wanted.contains_key(*key) && (!is_never_copied(key) || *key == ROLLBACK_TO));
    let removed = surplus.map(|key| json!({"op": "remove", "path": path(key)}));
    let differing = wanted.iter().filter(|(key, value)| current.get(*key) != Some(*value));
    let added = differing.map(|(key, value)| json!({"op": "add", "path": path(key), "value": value}));
    removed.chain(added).collect()
}

#[cfg(test)]
mod tests {
    use plan::keys::{LAST_APPLIED, REVISION};

    use super::*;
    use crate::history::revisions;

    fn deployment(flavour: Flavour, paused: bool) -> Deployment {
        let body = json!({
            "metadata": {"name": "web", "generation": 4, "annotations": {
                REVISION: "2", LAST_APPLIED: "{}", "team": "new", ROLLBACK_TO: "1"}},
            "spec": {"paused": paused, "template": {"spec": {"containers": [{"name": "app", "image": "app:2"}]}}},
        });
        Deployment { flavour, body }
    }

    fn first(image: &str) -> Revision {
        let set = json!({
            "metadata": {"name": "web-1", "annotations": {REVISION: "1", "team": "old"}},
            "spec": {"template": {"spec": {"containers": [{"name": "app", "image": image}]}}},
        });
        revisions(vec![set]).swap_remove(0)
    }

    fn sent(undo: Result<Undo, Failure>) -> Value {
        match undo {
            Ok(Undo::Patch(Patch::Merge(patch))) => patch,
            Ok(Undo::Patch(Patch::Json(patch))) => serde_json::to_value(patch).unwrap_or_default(),
            _ => Value::Null,
        }
    }

    #[test]
    fn ours_is_asked_by_its_field() {
        let patch = sent(undo(&deployment(Flavour::Rollwright, false), &first("app:1")));
        assert_eq!(patch, json!({"spec": {"rollbackTo": {"revision": 1}}}));
    }

    #[test]
    fn apps_gets_template_and_annotations_of_the_revision() {
        let patch = sent(undo(&deployment(Flavour::AppsV1, false), &first("app:1")));
        assert_eq!(patch[0], json!({"op": "test", "path": "/metadata/generation", "value": 4}));
        assert_eq!(patch[1]["value"]["spec"]["containers"][0]["image"], "app:1");
        // Only what differs: what somebody adds in the meantime stays.
        assert_eq!(
            patch[2],
            json!({"op": "remove", "path": "/metadata/annotations/deprecated.deployment.rollback.to"})
        );
        assert_eq!(patch[3], json!({"op": "add", "path": "/metadata/annotations/team", "value": "old"}));
        assert_eq!(patch[4], Value::Null);
    }

    #[test]
    fn nothing_is_done_twice() {
        for flavour in [Flavour::Rollwright, Flavour::AppsV1] {
            assert!(matches!(undo(&deployment(flavour, false), &first("app:2")), Ok(Undo::Nothing)));
            assert!(undo(&deployment(flavour, true), &first("app:1")).is_err(), "paused");
        }
        assert!(pause(&deployment(Flavour::AppsV1, true)).is_err());
        assert!(resume(&deployment(Flavour::AppsV1, false)).is_err());
        assert!(restart(&deployment(Flavour::AppsV1, true), jiff::Timestamp::UNIX_EPOCH).is_err());
    }
}
