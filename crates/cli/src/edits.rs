//! What the verbs write: pure functions from what was read to a patch.

use api::{Pin, encode};
use kube::api::Patch;
use plan::keys::{CHANGE_CAUSE, HASH_LABEL, RESTARTED_AT, ROLLBACK_TO, is_never_copied, reason};
use plan::{Flavour, equality};
use serde_json::{Map, Value, json};

use crate::args::pin::PinArguments;
use crate::cluster::Deployment;
use crate::failure::Failure;
use crate::history::Revision;
use crate::migrate::facts::is_of_template;
use crate::migrate::unfinished;
use crate::newer;
use crate::pinned;

/// Why there is nothing to do; the revision follows.
const SAME_TEMPLATE: &str = "current template already matches";
const SAME_PIN: &str = "spec.pin already names";

pub(crate) fn pause(deployment: &Deployment) -> Result<Patch<Value>, Failure> {
    if deployment.is_paused() {
        return Err(Failure::Rollout(format!("{} is already paused", deployment.full_name())));
    }
    Ok(Patch::Merge(json!({"spec": encode::paused(true)})))
}

pub(crate) fn resume(deployment: &Deployment) -> Result<Patch<Value>, Failure> {
    unfinished::none(deployment)?;
    if !deployment.is_paused() {
        return Err(Failure::Rollout(format!("{} is neither paused nor held", deployment.full_name())));
    }
    Ok(Patch::Merge(json!({"spec": encode::paused(false)})))
}

pub(crate) fn restart(deployment: &Deployment, now: jiff::Timestamp) -> Result<Patch<Value>, Failure> {
    heeded(deployment, "a restart")?;
    let annotations = json!({RESTARTED_AT: format!("{now:.0}")});
    Ok(Patch::Merge(json!({"spec": {"template": {"metadata": {"annotations": annotations}}}})))
}

/// What going back to a revision comes to.
#[derive(Debug)]
pub(crate) enum Undo {
    /// The Deployment is in that state already; the words end with the revision.
    Nothing(&'static str),
    /// This patch.
    Patch(Patch<Value>),
}

/// Refuses what the operator would not do now: while the Deployment is paused, it would wait, and a newer operator may
/// have left something.
pub(crate) fn heeded(deployment: &Deployment, what: &str) -> Result<(), Failure> {
    unfinished::none(deployment)?;
    newer::none(deployment, what)?;
    if !deployment.is_paused() {
        return Ok(());
    }
    let (name, resume) = (deployment.full_name(), deployment.command("resume"));
    Err(Failure::Paused(format!("{name} is paused, so {what} would wait; run resume first: {resume}")))
}

/// Refuses a rollback with a template that would not run now: the Deployment is paused, or a pin is in force (FP-11).
pub(crate) fn runs_its_template(deployment: &Deployment) -> Result<(), Failure> {
    heeded(deployment, "a rollback")?;
    let Some(pin) = pinned::in_force(deployment) else { return Ok(()) };
    Err(Failure::Rollout(format!(
        "{} is pinned (spec.pin.podTemplateHash {}), so the template of a rollback would not run; remove the pin first: {}; or \
         pin another revision with --pin",
        deployment.full_name(),
        pin.pod_template_hash,
        deployment.command("unpin")
    )))
}

/// Whether a revision has the current template: its ReplicaSet has defaults of the server that a Rollwright Deployment
/// does not have.
fn is_declared(deployment: &Deployment, revision: &Revision) -> bool {
    equality::equal(deployment.template(), &revision.template) || is_of_template(deployment, &revision.set)
}

/// Goes back to a revision: a Rollwright Deployment is asked by its field, and the operator does the rest; a Deployment
/// of apps/v1 gets the template and annotations of the revision, as from `kubectl rollout undo`.
pub(crate) fn undo(deployment: &Deployment, revision: &Revision) -> Result<Undo, Failure> {
    if is_declared(deployment, revision) {
        return Ok(Undo::Nothing(SAME_TEMPLATE));
    }
    if deployment.flavour == Flavour::Rollwright {
        return Ok(Undo::Patch(Patch::Merge(json!({"spec": encode::rollback_to(revision.number)}))));
    }
    let mut operations = vec![json!({"op": "replace", "path": "/spec/template", "value": revision.template})];
    operations.extend(annotations(deployment, revision));
    Ok(Undo::Patch(unless_changed(deployment, operations)?))
}

/// Goes back to a revision and leaves the template: `spec.pin` names the ReplicaSet to run.
pub(crate) fn pin(
    deployment: &Deployment,
    revision: &Revision,
    wish: &PinArguments,
) -> Result<Undo, Failure> {
    let Deployment { flavour, .. } = deployment;
    if !flavour.has_status_extras() {
        return Err(Failure::Usage(format!(
            "{} cannot be pinned, since {} has no spec.pin; leave --pin out, or migrate it first: {}",
            deployment.full_name(),
            flavour.api_version(),
            deployment.command("migrate")
        )));
    }
    heeded(deployment, "a rollback")?;
    let Some(hash) = revision.hash() else {
        let set = revision.set_name();
        return Err(Failure::Rollout(format!(
            "replicaset.apps/{set} has no label {HASH_LABEL}, so spec.pin cannot name it"
        )));
    };
    let template = deployment.template();
    let known = pinned::in_force(deployment);
    // Who asks for no pin gets one only where there is something to change.
    match &known {
        Some(known) if !wish.pin && known.pod_template_hash == hash => return Ok(Undo::Nothing(SAME_PIN)),
        None if !wish.pin && is_declared(deployment, revision) => {
            return Ok(Undo::Nothing(SAME_TEMPLATE));
        }
        _ => {}
    }
    let template_fingerprint =
        wish.until_next_template.then(|| flavour.fingerprint(template).as_str().to_owned());
    let pin = Pin { pod_template_hash: hash.to_owned(), template_fingerprint, reason: wish.reason.clone() };
    if deployment.spec().pin.as_ref() == Some(&pin) {
        return Ok(Undo::Nothing(SAME_PIN));
    }
    if pin.template_fingerprint.is_none() {
        return Ok(Undo::Patch(Patch::Merge(json!({"spec": encode::pin(Some(&pin))}))));
    }
    // A template that came in the meantime is the next one, which ends the pin.
    Ok(Undo::Patch(json_patch(encode::pin_patch(&pin, template))?))
}

/// Removes the pin.
pub(crate) fn unpin(deployment: &Deployment) -> Result<Patch<Value>, Failure> {
    if deployment.spec().pin.is_none() {
        let reverted = pinned::target(&deployment.body).filter(pinned::is_reverted);
        let more = reverted.map_or_else(String::new, |target| {
            let what = match pinned::word(&target) {
                reason::ABORTED => "somebody aborted its declared revision",
                _ => "its declared revision failed",
            };
            format!("; {what}; to run that again: {}", deployment.command("retry"))
        });
        return Err(Failure::Rollout(format!("{} is not pinned{more}", deployment.full_name())));
    }
    Ok(Patch::Merge(json!({"spec": encode::pin(None)})))
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
    use crate::code::Code;
    use crate::history::revisions;
    use crate::pinned::samples;

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
            assert!(matches!(undo(&deployment(flavour, false), &first("app:2")), Ok(Undo::Nothing(_))));
            assert!(runs_its_template(&deployment(flavour, true)).is_err(), "paused");
        }
        let (declared, mut revisions) = (samples::reverted(), samples::revisions());
        revisions[0].template["spec"]["restartPolicy"] = json!("Always");
        assert!(matches!(undo(&declared, &revisions[0]), Ok(Undo::Nothing(SAME_TEMPLATE))), "a default");
        assert!(pause(&deployment(Flavour::AppsV1, true)).is_err());
        assert!(resume(&deployment(Flavour::AppsV1, false)).is_err());
        assert!(restart(&deployment(Flavour::AppsV1, true), jiff::Timestamp::UNIX_EPOCH).is_err());
        assert!(unpin(&deployment(Flavour::Rollwright, false)).is_err());
        let reverted = unpin(&samples::reverted()).err().map(|error| error.to_string()).unwrap_or_default();
        let retry = "is not pinned; its declared revision failed; to run that again: kubectl rollwright retry \
                     deployment.rollwright.dev/web -n shop";
        assert!(reverted.contains(retry), "{reverted}");
    }

    fn wish(reason: Option<&str>, until_next_template: bool) -> PinArguments {
        PinArguments { pin: true, no_pin: false, reason: reason.map(str::to_owned), until_next_template }
    }

    #[test]
    fn a_pin_names_the_set_and_leaves_the_template() {
        let (pinned, revisions) = (samples::pinned(), samples::revisions());
        let of = |number: i64, wish: &PinArguments| {
            let revision = revisions.iter().find(|revision| revision.number == number).unwrap();
            sent(pin(&pinned, revision, wish))
        };
        let members = json!({"podTemplateHash": "h5", "templateFingerprint": null, "reason": "INC-9"});
        assert_eq!(of(5, &wish(Some("INC-9"), false)), json!({"spec": {"pin": members}}));
        let patch = of(6, &wish(None, true));
        let template = &pinned.body["spec"]["template"];
        let fingerprint = Flavour::Rollwright.fingerprint(template);
        // The pin must not be that of a template that came in between.
        let expected = json!([
            {"op": "test", "path": "/spec/template", "value": template},
            {"op": "add", "path": "/spec/pin", "value": {"podTemplateHash": "h6", "templateFingerprint": fingerprint.as_str()}},
        ]);
        assert_eq!(patch, expected);
        // The same pin, and no other wish than that.
        for same in [wish(Some(samples::REASON), false), PinArguments::default()] {
            assert!(matches!(pin(&pinned, &revisions[1], &same), Ok(Undo::Nothing(SAME_PIN))));
        }
        assert_eq!(unpin(&pinned).ok(), Some(Patch::Merge(json!({"spec": {"pin": null}}))));
    }

    #[test]
    fn a_pin_that_nobody_asked_for_is_no_pin_of_the_template() {
        let (mut unpinned, revisions) = (samples::pinned(), samples::revisions());
        unpinned.body["spec"]["pin"] = Value::Null;
        let default = PinArguments::default();
        assert!(matches!(pin(&unpinned, &revisions[0], &default), Ok(Undo::Nothing(SAME_TEMPLATE))));
        assert_eq!(sent(pin(&unpinned, &revisions[1], &default))["spec"]["pin"]["podTemplateHash"], "h6");
        assert_eq!(
            sent(pin(&unpinned, &revisions[0], &wish(None, false)))["spec"]["pin"]["podTemplateHash"],
            "h7"
        );
    }

    #[test]
    fn what_stands_in_the_way_of_a_pin_or_of_a_rollback_is_named() {
        let (pinned, revisions) = (samples::pinned(), samples::revisions());
        let words = |error: Failure| (error.code(), error.to_string());
        let refused = |undo: Result<Undo, Failure>| undo.err().map(words);
        let (code, message) = runs_its_template(&pinned).err().map(words).unwrap();
        assert_eq!(code, Code::Failed);
        assert!(message.contains("unpin deployment.rollwright.dev/web -n shop"), "{message}");
        let apps = deployment(Flavour::AppsV1, false);
        let (code, message) = refused(pin(&apps, &revisions[1], &wish(None, false))).unwrap();
        assert_eq!(code, Code::Usage);
        assert!(message.contains("kubectl rollwright migrate deployment.apps/web"), "{message}");
        let mut paused = pinned;
        paused.body["spec"]["paused"] = json!(true);
        let (code, _) = refused(pin(&paused, &revisions[2], &wish(None, false))).unwrap();
        assert_eq!(code, Code::Paused);
        // With another template, this pin is not in force, and does not hinder a rollback.
        let mut over = samples::pinned();
        over.body["spec"]["pin"]["templateFingerprint"] = json!(format!("v1:{}", "0".repeat(64)));
        assert!(runs_its_template(&over).is_ok());
        assert_eq!(sent(undo(&over, &revisions[2])), json!({"spec": {"rollbackTo": {"revision": 5}}}));
    }
}
