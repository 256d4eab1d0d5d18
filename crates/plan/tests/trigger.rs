//! Why a rollout began, by the difference of two templates.

use plan::keys::RESTARTED_AT;
use plan::{Outline, Trigger};
use serde_json::{Value, json};

fn between(before: &Value, after: &Value) -> Trigger {
    Trigger::between(Outline::of(before), Outline::of(after))
}

fn base() -> Value {
    json!({
        "metadata": { "labels": { "app": "web" } },
        "spec": {
            "initContainers": [{ "name": "init", "image": "init:1" }],
            "containers": [{ "name": "web", "image": "web:1", "env": [{ "name": "IMAGE", "value": "web:1" }] }],
        },
    })
}

/// The template with one field set.
fn with(pointer: &str, value: Value) -> Value {
    let mut template = base();
    *template.pointer_mut(pointer).unwrap() = value;
    template
}

fn restarted(mut template: Value, at: &str) -> Value {
    template["metadata"]["annotations"][RESTARTED_AT] = at.into();
    template
}

#[test]
fn images_alone_are_a_new_image() {
    for image in ["/spec/containers/0/image", "/spec/initContainers/0/image"] {
        assert_eq!(between(&base(), &with(image, json!("web:2"))), Trigger::NewImage, "{image}");
    }
    let mut unset = base();
    unset["spec"]["containers"][0].as_object_mut().unwrap().remove("image");
    assert_eq!(between(&base(), &unset), Trigger::NewImage);
}

#[test]
fn the_time_of_a_restart_alone_is_a_restart() {
    let (first, second) = (restarted(base(), "2026-04-01"), restarted(base(), "2026-04-02"));
    for (before, after) in [(&base(), &first), (&first, &second), (&second, &base())] {
        assert_eq!(between(before, after), Trigger::Restart);
    }
    let bare = json!({ "spec": {} });
    assert_eq!(between(&bare, &restarted(json!({ "metadata": {}, "spec": {} }), "now")), Trigger::Restart);
}

#[test]
fn all_else_is_a_changed_template() {
    let both = restarted(with("/spec/containers/0/image", json!("web:2")), "2026-04-01");
    let named = with("/spec/containers/0/name", json!("proxy"));
    let env = with("/spec/containers/0/env/0/value", json!("web:2"));
    let label = with("/metadata/labels/app", json!("shop"));
    let mut annotated = base();
    annotated["metadata"]["annotations"] = json!({ "example.com/restartedAt": "now" });
    for other in [both, named, env, label, annotated, base(), json!(null), json!({ "spec": [] })] {
        assert_eq!(between(&base(), &other), Trigger::TemplateChanged, "{other}");
    }
}

/// The server may store nulls apart, other keys first, and a hash label; that is no other template.
#[test]
fn what_means_the_same_has_the_same_outline() {
    let odd = json!({
        "spec": {
            "containers": [{ "image": "web:1", "env": [{ "value": "web:1", "name": "IMAGE" }], "name": "web" }],
            "initContainers": [{ "name": "init", "image": "init:1" }], "nodeName": null,
        },
        "metadata": { "labels": { "pod-template-hash": "x", "app": "web" }, "annotations": {} },
    });
    assert_eq!(Outline::of(&odd), Outline::of(&base()));
}

#[test]
fn an_outline_is_read_as_it_is_written() {
    let outline = Outline::of(&base());
    assert_eq!(Outline::read(&outline.to_string()), Some(outline));
    for odd in ["", "00", "zz0000000000000000000000", "0000000000000000000000000", "é00000000000000000000000"]
    {
        assert_eq!(Outline::read(odd), None, "{odd}");
    }
}
