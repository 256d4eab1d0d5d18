//! The kinds with few columns in a table.

use jiff::Timestamp;
use serde_json::{Value, json};
use world::{Object, Resource};

use super::cell::{Column, age, list, number, or, text};

pub(super) const NAMESPACE: [Column; 3] =
    [("Name", "string", 0), ("Status", "string", 0), ("Age", "string", 0)];
pub(super) const LEASE: [Column; 3] = [("Name", "string", 0), ("Holder", "string", 0), ("Age", "string", 0)];
pub(super) const CONFIG_MAP: [Column; 3] =
    [("Name", "string", 0), ("Data", "string", 0), ("Age", "string", 0)];
pub(super) const NAME_AND_AGE: [Column; 2] = [("Name", "string", 0), ("Age", "string", 0)];
pub(super) const DEFINITION: [Column; 8] = [
    ("Name", "string", 0),
    ("Scope", "string", 0),
    ("Versions", "string", 0),
    ("Created At", "date", 0),
    ("Group", "string", 1),
    ("Kind", "string", 1),
    ("ShortNames", "string", 1),
    ("Established", "boolean", 1),
];
pub(super) const SERVICE: [Column; 7] = [
    ("Name", "string", 0),
    ("Type", "string", 0),
    ("Cluster-IP", "string", 0),
    ("External-IP", "string", 0),
    ("Port(s)", "string", 0),
    ("Age", "string", 0),
    ("Selector", "string", 1),
];

pub(super) fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let name = json!(object.name());
    let age = json!(age(object, now));
    match object.resource {
        Resource::Namespaces => vec![name, json!(text(&object.status, "/phase")), age],
        Resource::Leases => vec![name, json!(text(&object.spec, "/holderIdentity")), age],
        Resource::ConfigMaps => {
            let size = |field: &str| {
                object.rest.get(field).and_then(Value::as_object).map_or(0, serde_json::Map::len)
            };
            vec![name, json!(size("data") + size("binaryData")), age]
        }
        Resource::Services => service(object, name, age),
        Resource::CustomResourceDefinitions => definition(object, name),
        _ => vec![name, age],
    }
}

fn definition(object: &Object, name: Value) -> Vec<Value> {
    let is = |value: &Value, field: &str| value.get(field) == Some(&Value::Bool(true));
    let served = list(&object.spec, "/versions").iter().filter(|version| is(version, "served"));
    let mut versions: Vec<_> = served
        .map(|version| {
            format!("{}{}", text(version, "/name"), if is(version, "storage") { "(storage)" } else { "" })
        })
        .collect();
    versions.sort();
    let short = list(&object.spec, "/names/shortNames").iter().filter_map(Value::as_str);
    let is_established = list(&object.status, "/conditions")
        .iter()
        .any(|condition| (text(condition, "/type"), text(condition, "/status")) == ("Established", "True"));
    vec![
        name,
        json!(text(&object.spec, "/scope")),
        json!(versions.join(",")),
        json!(text(&object.metadata, "/creationTimestamp")),
        json!(text(&object.spec, "/group")),
        json!(text(&object.spec, "/names/kind")),
        json!(short.collect::<Vec<_>>().join(",")),
        json!(is_established),
    ]
}

fn service(object: &Object, name: Value, age: Value) -> Vec<Value> {
    let ports = list(&object.spec, "/ports").iter().map(|port| {
        let (number, protocol) = (number(port, "/port"), or(text(port, "/protocol"), "TCP"));
        match port.get("nodePort").and_then(Value::as_i64) {
            Some(node) => format!("{number}:{node}/{protocol}"),
            None => format!("{number}/{protocol}"),
        }
    });
    let labels = object.spec.get("selector").and_then(Value::as_object).into_iter().flatten();
    let labels = labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    vec![
        name,
        json!(or(text(&object.spec, "/type"), "ClusterIP")),
        json!(or(text(&object.spec, "/clusterIP"), "<none>")),
        json!("<none>"),
        json!(or(&ports.collect::<Vec<_>>().join(","), "<none>")),
        age,
        json!(or(&labels.collect::<Vec<_>>().join(","), "<none>")),
    ]
}
