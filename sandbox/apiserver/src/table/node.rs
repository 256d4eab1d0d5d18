//! Nodes.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};
use world::Object;

use super::cell::{Column, age, list, or, text};

pub(super) const COLUMNS: [Column; 10] = [
    ("Name", "string", 0),
    ("Status", "string", 0),
    ("Roles", "string", 0),
    ("Age", "string", 0),
    ("Version", "string", 0),
    ("Internal-IP", "string", 1),
    ("External-IP", "string", 1),
    ("OS-Image", "string", 1),
    ("Kernel-Version", "string", 1),
    ("Container-Runtime", "string", 1),
];

pub(super) fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let ready =
        list(&object.status, "/conditions").iter().find(|condition| text(condition, "/type") == "Ready");
    let mut state = match ready.map(|condition| text(condition, "/status")) {
        Some("True") => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if object.spec.get("unschedulable") == Some(&Value::Bool(true)) {
        state.push_str(",SchedulingDisabled");
    }
    let info = |field: &str| text(&object.status, &format!("/nodeInfo/{field}"));
    let mut kernel = or(info("kernelVersion"), "<unknown>");
    if !info("architecture").is_empty() {
        kernel.push_str(&format!(" ({})", info("architecture")));
    }
    vec![
        json!(object.name()),
        json!(state),
        json!(roles(object)),
        json!(age(object, now)),
        json!(info("kubeletVersion")),
        json!(address(object, "InternalIP")),
        json!(address(object, "ExternalIP")),
        json!(or(info("osImage"), "<unknown>")),
        json!(kernel),
        json!(or(info("containerRuntimeVersion"), "<unknown>")),
    ]
}

fn roles(object: &Object) -> String {
    let labels = object.metadata.get("labels").and_then(Value::as_object);
    let mut roles = BTreeSet::new();
    for (key, value) in labels.into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) if !role.is_empty() => roles.insert(role),
            None if key == "kubernetes.io/role" && !value.is_empty() => roles.insert(value),
            _ => false,
        };
    }
    or(&roles.into_iter().collect::<Vec<_>>().join(","), "<none>")
}

fn address(object: &Object, kind: &str) -> String {
    let addresses = list(&object.status, "/addresses").iter();
    let mut found = addresses.filter(|address| text(address, "/type") == kind);
    or(found.next().map(|address| text(address, "/address")).unwrap_or_default(), "<none>")
}
