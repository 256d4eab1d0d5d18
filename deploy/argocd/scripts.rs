//! The Lua of `deploy/argocd` over the statuses that the operator writes, and the ConfigMap that is made of it
//! (`UPDATE=1 cargo test -p argocd`).

#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use std::path::Path;

use mlua::{Lua, LuaSerdeExt as _};
use serde_json::{Value, json};

const ACTIONS: [&str; 4] = ["pause", "restart", "resume", "undo"];

fn script(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// Runs a script with the global `obj`, as Argo CD does.
fn run(name: &str, object: &Value) -> Value {
    let lua = Lua::new();
    // Without null: Argo CD leaves out what is null.
    lua.globals().set("obj", lua.to_value(object).unwrap()).unwrap();
    let result: mlua::Value = lua.load(script(name)).set_name(name).eval().unwrap();
    lua.from_value(result).unwrap()
}

fn condition(kind: &str, status: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "reason": "Because", "message": message})
}

fn deployment(observed: i64, conditions: &[Value]) -> Value {
    json!({
        "apiVersion": "rollwright.dev/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "generation": 3},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "app", "image": "app:v1"}]}}},
        "status": {"observedGeneration": observed, "revision": 2, "conditions": conditions},
    })
}

fn ready() -> Value {
    deployment(3, &[condition("Available", "True", ""), condition("Ready", "True", "all done")])
}

fn rolling() -> Value {
    deployment(3, &[condition("Ready", "False", "waiting"), condition("Reconciling", "True", "waiting")])
}

fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[field] = value;
    object
}

#[test]
fn health_says_what_the_conditions_say() {
    let stalled =
        deployment(3, &[condition("Ready", "False", "too late"), condition("Stalled", "True", "too late")]);
    let mut fresh = deployment(-1, &[]);
    fresh["status"] = json!({"observedGeneration": -1});
    let mut bare = fresh.clone();
    bare.as_object_mut().unwrap().remove("status");
    let cases = [
        ("done", ready(), "Healthy", "all done"),
        ("rolling", rolling(), "Progressing", "waiting"),
        ("stuck", stalled.clone(), "Degraded", "too late"),
        ("fresh", fresh, "Progressing", "last change"),
        ("without a status", bare, "Progressing", "last change"),
        ("edited since", with(ready(), "/metadata/generation", json!(4)), "Progressing", "last change"),
        ("edited while stuck", with(stalled.clone(), "/metadata/generation", json!(4)), "Progressing", ""),
        ("paused", with(rolling(), "/spec/paused", json!(true)), "Suspended", "spec.paused"),
        (
            "of a former version",
            deployment(3, &[condition("Available", "True", "")]),
            "Progressing",
            "report",
        ),
    ];
    for (name, object, status, message) in cases {
        let health = run("health.lua", &object);
        assert_eq!(health["status"], status, "{name}: {health}");
        assert!(health["message"].as_str().unwrap().contains(message), "{name}: {health}");
    }
}

#[test]
fn actions_are_offered_when_they_make_sense() {
    let enabled = |object: &Value| -> Vec<&str> {
        let found = run("actions/discovery.lua", object);
        assert_eq!(found.as_object().unwrap().len(), ACTIONS.len(), "{found}");
        ACTIONS.into_iter().filter(|name| found[name]["disabled"] == json!(false)).collect()
    };
    assert_eq!(enabled(&ready()), ["pause", "restart", "undo"]);
    assert_eq!(enabled(&with(ready(), "/status/revision", json!(1))), ["pause", "restart"]);
    assert_eq!(enabled(&with(ready(), "/spec/paused", json!(true))), ["resume"]);
}

#[test]
fn actions_change_what_they_are_about_and_nothing_else() {
    for name in ACTIONS {
        let before = ready();
        let mut after = run(&format!("actions/{name}.lua"), &before);
        let spec = after["spec"].as_object_mut().unwrap();
        match name {
            "pause" => assert_eq!(spec.remove("paused"), Some(json!(true))),
            "resume" => assert_eq!(spec.remove("paused"), Some(json!(false))),
            "undo" => assert_eq!(spec.remove("rollbackTo"), Some(json!({"revision": 0}))),
            _ => {
                let metadata = spec["template"].as_object_mut().unwrap().remove("metadata").unwrap();
                let time = metadata["annotations"]["kubectl.kubernetes.io/restartedAt"].as_str().unwrap();
                assert_eq!((time.len(), &time[10..11], &time[19..]), (20, "T", "Z"), "{time}");
            }
        }
        assert_eq!(after, before, "{name}");
    }
}

fn indented(text: &str, by: usize) -> String {
    text.lines().map(|line| format!("{}{line}\n", " ".repeat(by))).collect()
}

/// The ConfigMap `argocd-cm`, with what is about Rollwright.
fn config_map() -> String {
    let mut text = "# Made from the scripts beside it: UPDATE=1 cargo test -p argocd
apiVersion: v1
kind: ConfigMap
metadata:
  name: argocd-cm
  namespace: argocd
  labels:
    app.kubernetes.io/name: argocd-cm
    app.kubernetes.io/part-of: argocd
data:
  resource.customizations.health.rollwright.dev_Deployment: |
"
    .to_owned();
    text += &indented(&script("health.lua"), 4);
    text += "  resource.customizations.actions.rollwright.dev_Deployment: |\n    discovery.lua: |\n";
    text += &indented(&script("actions/discovery.lua"), 6);
    text += "    definitions:\n";
    for name in ACTIONS {
        text += &format!("    - name: {name}\n      action.lua: |\n");
        text += &indented(&script(&format!("actions/{name}.lua")), 8);
    }
    text
}

#[test]
fn the_config_map_has_the_scripts() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("argocd-cm.yaml");
    let made = config_map();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(stored, made, "{} is not up to date: UPDATE=1 cargo test -p argocd", path.display());
}
