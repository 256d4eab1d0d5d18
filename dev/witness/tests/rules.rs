//! Each rule finds what it is there for, and is silent where all is well.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use witness::{Version, Who, Witness};
use world::{Object, Resource};

/// A Deployment of four replicas with these members of spec and status.
fn deployment(spec: Value, status: Value) -> Object {
    annotated(&json!({}), spec, status)
}

/// The same with annotations.
fn annotated(annotations: &Value, spec: Value, status: Value) -> Object {
    let mut object = json!({
        "metadata": {
            "name": "web", "namespace": "default", "uid": "d", "generation": 3, "annotations": annotations,
        },
        "spec": { "replicas": 4 },
        "status": { "observedGeneration": 3, "revision": 2 },
    });
    for (part, members) in [("spec", spec), ("status", status)] {
        let into = object[part].as_object_mut().unwrap();
        into.extend(members.as_object().unwrap().clone());
    }
    Object::from_value(Resource::Deployments, object)
}

/// Its ReplicaSet of a revision, with a size and a verdict.
fn set(revision: i64, size: i64, verdict: Option<&str>) -> Object {
    set_of(revision, size, verdict, &json!({}))
}

/// The same with a template.
fn set_of(revision: i64, size: i64, verdict: Option<&str>, template: &Value) -> Object {
    let memory = json!({ "version": 1, "revision": revision, "verdict": verdict }).to_string();
    let object = json!({
        "metadata": {
            "name": format!("web-{revision}abc"), "namespace": "default", "uid": format!("s{revision}"),
            "labels": { "pod-template-hash": format!("{revision}abc") },
            "annotations": { "deployment.kubernetes.io/revision": revision.to_string(), "rollwright.dev/rollout": memory },
            "ownerReferences": [{ "kind": "Deployment", "name": "web", "uid": "d", "controller": true }],
        },
        "spec": { "replicas": size, "template": template },
    });
    Object::from_value(Resource::ReplicaSets, object)
}

/// What is objected to in the last of these versions, ten minutes apart. The operator wrote that one, and each that
/// differs in the status of the Deployment alone; all others are users' and the cluster's.
fn objections(versions: &[Object]) -> Vec<(&'static str, String)> {
    let mut witness = Witness::default();
    let mut now = Timestamp::UNIX_EPOCH;
    let mut last = Vec::new();
    for (number, object) in versions.iter().enumerate() {
        let before = versions[..number].iter().rev().find(|other| other.uid() == object.uid());
        let is_last = number + 1 == versions.len();
        let is_set = object.resource == Resource::ReplicaSets;
        let is_status =
            before.is_some_and(|it| !is_set && it.metadata == object.metadata && it.spec == object.spec);
        let who = if is_last || is_status {
            Who::Operator
        } else if is_set {
            Who::Cluster
        } else {
            Who::User
        };
        let version = Version { before, object, is_deleted: false, who, now, is_undisturbed: true };
        last = witness.see(&version);
        now += SignedDuration::from_mins(10);
    }
    last.into_iter().filter_map(|finding| Some((finding.name, finding.broken?))).collect()
}

/// A rule, versions that it objects to, and versions that differ in the last one, to which nobody objects.
fn check(name: &str, before: &[Object], bad: Object, good: Object) {
    let play = |last: Object| objections(&[before, &[last]].concat());
    let found = play(bad);
    assert!(found.iter().any(|(by, _)| *by == name), "{name}: {found:?}");
    assert_eq!(play(good), [], "{name}");
}

fn status(status: Value) -> Object {
    deployment(json!({}), status)
}

#[test]
fn records_and_generations() {
    let record = |id: i64, outcome: &str| json!([{ "id": id, "outcome": outcome }]);
    check(
        "UM-10",
        &[status(json!({}))],
        status(json!({ "observedGeneration": 2 })),
        status(json!({ "replicas": 1 })),
    );
    let known = [status(json!({ "history": record(1, "Failed") }))];
    let bad = status(json!({ "history": record(1, "Succeeded") }));
    check("UM-16", &known, bad, status(json!({ "history": record(1, "Failed"), "replicas": 1 })));
    let again = |id: i64| status(json!({ "history": record(1, "Failed"), "rollout": { "id": id } }));
    check("UM-20", &known, again(1), again(2));
}

#[test]
fn verdicts_change_by_acts_alone() {
    let known = [status(json!({})), status(json!({ "replicas": 1 })), set(2, 4, Some("Failed"))];
    check("UM-8", &known, set(2, 4, Some("Good")), set(2, 4, Some("Failed")));
    let retry = annotated(&json!({ "rollwright.dev/retry": "2" }), json!({}), json!({}));
    let retried = [known.as_slice(), &[retry]].concat();
    assert_eq!(objections(&[retried.as_slice(), &[set(2, 4, Some("Good"))]].concat()), []);
}

#[test]
fn sizes_under_recreate() {
    let recreate = deployment(json!({ "strategy": { "type": "Recreate" } }), json!({}));
    for old in [0, 1] {
        let grown = objections(&[recreate.clone(), set(1, old, None), set(2, 0, None), set(2, 4, None)]);
        assert_eq!(grown.iter().any(|(by, _)| *by == "UM-19"), old > 0, "{grown:?}");
    }
}

#[test]
fn what_holds_everything_is_named() {
    let ready =
        |reason: &str| json!([{ "type": "Ready", "status": "False", "reason": reason, "message": "" }]);
    let paused = |reason: &str| deployment(json!({ "paused": true }), json!({ "conditions": ready(reason) }));
    let known = [deployment(json!({ "paused": true }), json!({}))];
    check("UM-13", &known, paused("RolloutInProgress"), paused("DeploymentPaused"));
    let pinned = |reason: &str| {
        let target = json!({ "podTemplateHash": "9xyz", "reason": "PinTargetMissing" });
        status(json!({ "target": target, "conditions": ready(reason) }))
    };
    check("UM-13", &[status(json!({}))], pinned("RolloutFailed"), pinned("PinTargetMissing"));
}

#[test]
fn sentences_and_names() {
    let sets = [status(json!({})), set(1, 0, None), set(2, 4, None)];
    let about = |name: &str| {
        let message = format!("pod {name}-x7k cannot pull its image");
        status(json!({ "conditions": [{ "type": "Reconciling", "status": "True", "message": message }] }))
    };
    check("UM-16", &sets, about("web-1abc"), about("web-2abc"));
    let fallback = |hash: &str| status(json!({ "fallback": { "podTemplateHash": hash } }));
    check("UM-18", &sets, fallback("7gone"), fallback("1abc"));
}

#[test]
fn steps_are_left_when_their_time_is_over() {
    let at = |step: i64, (field, value): &(&str, Value)| {
        let steps = json!([{ "updated": 1, *field: value }, { "updated": 2 }]);
        let strategy = json!({ "strategy": { "rollingUpdate": { "steps": steps } } });
        let rollout =
            json!({ "id": 1, "revision": 2, "step": step, "restStartTime": "1970-01-01T00:00:00Z" });
        deployment(strategy, json!({ "rollout": rollout }))
    };
    // Ten minutes have passed.
    for (condition, is_early) in [
        (("waitSeconds", json!(700)), true),
        (("waitSeconds", json!(600)), false),
        (("approval", json!("Required")), true),
    ] {
        let found = objections(&[at(1, &condition), at(2, &condition)]);
        assert_eq!(found.iter().any(|(by, _)| *by == "UM-5"), is_early, "{condition:?}: {found:?}");
    }
}

#[test]
fn triggers_are_differences() {
    let rollout =
        |trigger: &str| status(json!({ "rollout": { "id": 2, "revision": 2, "trigger": trigger } }));
    let of = |revision: i64, image: &str, env: &str| {
        let container = json!({ "name": "app", "image": image, "env": [{ "name": "A", "value": env }] });
        let labels = json!({ "pod-template-hash": format!("{revision}abc") });
        let template = json!({ "metadata": { "labels": labels }, "spec": { "containers": [container] } });
        set_of(revision, 4, None, &template)
    };
    let known = |env: &str| [status(json!({ "revision": 1 })), of(1, "app:v1", "1"), of(2, "app:v2", env)];
    check("UM-20", &known("1"), rollout("TemplateChanged"), rollout("NewImage"));
    check("UM-20", &known("2"), rollout("NewImage"), rollout("TemplateChanged"));
}

#[test]
fn an_abort_is_no_failure() {
    let target = |reason: &str| {
        let target = json!({ "podTemplateHash": "1abc", "revision": 1, "reason": reason });
        status(json!({ "target": target }))
    };
    let sets = [set(1, 4, Some("Good")), set(2, 0, Some("Failed"))];
    check("UM-21", &[&[status(json!({}))], &sets[..]].concat(), target("Aborted"), target("Reverted"));
    let abort = json!({ "rollwright.dev/abort": "2" });
    let aborted = [&[annotated(&abort, json!({}), json!({}))], &sets[..]].concat();
    check("UM-21", &aborted, target("Reverted"), target("Aborted"));
    // A retry has no effect before the revision has failed, and afterwards it ends the abort.
    let both = json!({ "rollwright.dev/abort": "2", "rollwright.dev/retry": "2" });
    let retried = [annotated(&both, json!({}), json!({}))];
    check("UM-21", &[&retried[..], &sets].concat(), target("Reverted"), target("Aborted"));
    let again = [&aborted[..], &retried, &[set(2, 1, None)]].concat();
    check("UM-21", &again, target("Aborted"), target("Reverted"));
}

/// Paused, the status names the revision of the template before. Who aborts that revision then aborts nothing.
#[test]
fn a_template_that_was_replaced_is_not_aborted() {
    let template = |image: &str| json!({ "spec": { "containers": [{ "name": "app", "image": image }] } });
    let paused = |image: &str, status: Value| {
        let abort = json!({ "rollwright.dev/abort": "2" });
        annotated(&abort, json!({ "paused": true, "template": template(image) }), status)
    };
    let reverted = |image: &str| {
        let target = json!({ "podTemplateHash": "1abc", "revision": 1, "reason": "Reverted" });
        paused(image, json!({ "target": target }))
    };
    let known = [
        paused("app:v3", json!({})),
        set(1, 4, Some("Good")),
        set_of(2, 0, Some("Failed"), &template("app:v2")),
    ];
    check("UM-21", &known, reverted("app:v2"), reverted("app:v3"));
}
