//! The definition that is made of the types means what the one meant that was written by hand.
//!
//! `before.json` is the last one of those, without descriptions and without the pod template, which comes
//! from the API server. Fields and rules may be added; nothing may be lost or mean something else.

use kube_core::Resource as _;
use kube_core::crd::CustomResourceExt as _;
use rollwright_api::Deployment;
use rollwright_api::crd::{CRD_NAME, GROUP, KIND, PLURAL, SHORT_NAME, VERSION, crd};
use serde_json::{Value, json};

const TEMPLATE: &str =
    "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/template/properties";

const STATUS: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties";

fn now() -> Value {
    let mut definition = crd(None).unwrap();
    *definition.pointer_mut(TEMPLATE).unwrap() = json!({});
    // This changes how the server records who wrote them, and not what can be written.
    for part in ["collisions", "rollback"] {
        let part = definition.pointer_mut(&format!("{STATUS}/{part}")).and_then(Value::as_object_mut);
        part.unwrap().remove("x-kubernetes-map-type").unwrap();
    }
    plain(&mut definition);
    definition
}

fn before() -> Value {
    let mut definition: Value = serde_json::from_str(include_str!("before.json")).unwrap();
    // The API server fills it in: the kind and `List`.
    definition["spec"]["names"].as_object_mut().unwrap().remove("listKind").unwrap();
    // Three names were set aside; nobody wrote them.
    let status = definition.pointer_mut(STATUS).and_then(Value::as_object_mut).unwrap();
    for reserved in ["rollout", "history", "target"] {
        status.remove(reserved).unwrap();
    }
    plain(&mut definition);
    definition
}

/// Takes out what people read, and what holds by default.
fn plain(node: &mut Value) {
    match node {
        Value::Object(members) => {
            let is_text = |key: &str, value: &Value| key == "description" && value.is_string();
            let is_default = |key: &str, value: &Value| key == "x-kubernetes-list-type" && value == "atomic";
            members.retain(|key, value| !is_text(key, value) && !is_default(key, value));
            if let Some(Value::Array(names)) = members.get_mut("required") {
                names.sort_by_key(Value::to_string);
            }
            members.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

/// Lists that may gain entries: a rule that refuses more is judged by itself, and a column hides no other.
const GROWING: [&str; 2] = ["/x-kubernetes-validations", "/additionalPrinterColumns"];

/// Where two definitions differ, but for what was added.
fn differences(before: &Value, now: &Value, at: &str, found: &mut Vec<String>) {
    match (before, now) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                let at = format!("{at}/{key}");
                match new.get(key) {
                    Some(other) => differences(value, other, &at, found),
                    None => found.push(format!("{at} is gone")),
                }
            }
            let added = new.keys().filter(|key| !old.contains_key(*key) && !at.ends_with("/properties"));
            found.extend(added.map(|key| format!("{at}/{key} is new")));
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                differences(old, new, &format!("{at}/{index}"), found);
            }
        }
        (Value::Array(old), Value::Array(new)) if GROWING.iter().any(|list| at.ends_with(list)) => {
            let lost = old.iter().filter(|item| !new.contains(item));
            found.extend(lost.map(|item| format!("{at} lacks {item}")));
        }
        _ if before == now => {}
        _ => found.push(format!("{at} was {before}, is {now}")),
    }
}

#[test]
fn it_means_what_it_meant() {
    let mut found = Vec::new();
    // The metadata has a number that changes.
    differences(&before()["spec"], &now()["spec"], "/spec", &mut found);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_difference_is_found() {
    for (path, value) in [
        ("/spec/scope", json!("Cluster")),
        ("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/paused/nullable", Value::Null),
        ("/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/conditions", json!({})),
        ("/spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-validations", json!([])),
    ] {
        let mut other = now();
        *other.pointer_mut(path).unwrap() = value;
        let mut found = Vec::new();
        differences(&before(), &other, "", &mut found);
        assert!(!found.is_empty(), "{path}");
    }
}

/// A client-side apply keeps it in an annotation of at most 256 KiB; this bound shows growth early.
#[test]
fn it_can_be_applied_by_the_client() {
    let definition = crd(None).unwrap().to_string();
    assert!(definition.len() < 100_000, "{} bytes", definition.len());
}

#[test]
fn names_are_those_of_the_type() {
    assert_eq!((Deployment::group(&()), Deployment::version(&())), (GROUP.into(), VERSION.into()));
    assert_eq!((Deployment::kind(&()), Deployment::plural(&())), (KIND.into(), PLURAL.into()));
    assert_eq!((Deployment::crd_name(), Deployment::shortnames()), (CRD_NAME, [SHORT_NAME].as_slice()));
}
