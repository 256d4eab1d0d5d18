use serde_json::json;

use super::*;

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
        assert_eq!(Trigger::between(&base(), &with(image, json!("web:2"))), Trigger::NewImage, "{image}");
    }
    let mut unset = base();
    unset["spec"]["containers"][0].as_object_mut().unwrap().remove("image");
    assert_eq!(Trigger::between(&base(), &unset), Trigger::NewImage);
}

#[test]
fn the_time_of_a_restart_alone_is_a_restart() {
    let (first, second) = (restarted(base(), "2026-04-01"), restarted(base(), "2026-04-02"));
    for (before, after) in [(&base(), &first), (&first, &second), (&second, &base())] {
        assert_eq!(Trigger::between(before, after), Trigger::Restart);
    }
    let bare = json!({ "spec": {} });
    assert_eq!(
        Trigger::between(&bare, &restarted(json!({ "metadata": {}, "spec": {} }), "now")),
        Trigger::Restart
    );
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
        assert_eq!(Trigger::between(&base(), &other), Trigger::TemplateChanged, "{other}");
    }
}
