//! The corpus uses every pod field, and means the same in both kinds.

use std::collections::BTreeSet;

use api::crd;
use cluster::Release;
use serde_json::{Value, json};

use crate::suite::{Flavour, is_reference, suite, template};

/// Pod fields that no Deployment of apps/v1 can have, each with something that shows it.
fn not_in_deployments() -> Vec<(&'static str, Value)> {
    let probe = json!({"exec": {"command": ["true"]}, "terminationGracePeriodSeconds": 1});
    let container = |name: &str| json!({"name": name, "image": "i", "readinessProbe": probe});
    let claim = json!({"metadata": {"name": "x"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
    }});
    let volume = json!({"name": "v", "ephemeral": {"volumeClaimTemplate": claim}});
    let mut sidecar = container("side");
    sidecar["restartPolicy"] = json!("Always");
    let claims = json!({
        "resourceClaims": [{"name": "c", "resourceClaimName": "c"}],
        "resources": {"requests": {"cpu": 1}, "claims": [{"name": "c"}]},
    });
    vec![
        // S1.24.
        (".spec.activeDeadlineSeconds", json!({"activeDeadlineSeconds": 1})),
        (".spec.ephemeralContainers", json!({"ephemeralContainers": [{"name": "e", "image": "i"}]})),
        // Not for readiness probes, though the type has it.
        (
            ".spec.containers[].readinessProbe.terminationGracePeriodSeconds",
            json!({"containers": [container("c")]}),
        ),
        (
            ".spec.initContainers[].readinessProbe.terminationGracePeriodSeconds",
            json!({"initContainers": [sidecar]}),
        ),
        // Not for the pod as a whole.
        (".spec.resources.claims", claims),
        // A PersistentVolumeClaim from a template takes labels and annotations only.
        (".spec.volumes[].ephemeral.volumeClaimTemplate.metadata.", json!({"volumes": [volume]})),
    ]
}

/// All paths of a schema; `[]` and `{}` stand for an item and an entry.
fn fields(schema: &Value, at: &str, found: &mut BTreeSet<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let at = format!("{at}.{name}");
        fields(property, &at, found);
        found.insert(at);
    }
    fields_below(schema, at, found);
}

fn fields_below(schema: &Value, at: &str, found: &mut BTreeSet<String>) {
    for (key, suffix) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(child) = schema.get(key) {
            fields(child, &format!("{at}{suffix}"), found);
        }
    }
}

/// The paths of a schema that a value uses.
fn used(value: &Value, schema: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (name, child) in map.iter().filter(|(_, child)| !child.is_null()) {
                if let Some(property) = schema["properties"].get(name) {
                    let at = format!("{at}.{name}");
                    used(child, property, &at, found);
                    found.insert(at);
                }
            }
        }
        Value::Array(items) => {
            items.iter().for_each(|item| used(item, &schema["items"], &format!("{at}[]"), found));
        }
        _ => {}
    }
}

/// Drops nulls, which are absent values, and fills in the one default of list keys.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut map: serde_json::Map<String, Value> = map
                .iter()
                .filter(|(_, child)| !child.is_null())
                .map(|(name, child)| (name.clone(), without_nulls(child)))
                .collect();
            if let Some(secrets) = map.get_mut("imagePullSecrets").and_then(Value::as_array_mut) {
                for secret in secrets.iter_mut().filter_map(Value::as_object_mut) {
                    secret.entry("name").or_insert(json!(""));
                }
            }
            Value::Object(map)
        }
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        other => other.clone(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_kinds_take_the_corpus_and_mean_the_same() {
    let suite = suite().await;
    for manifest in suite.corpus().await {
        let name = &manifest["metadata"]["name"];
        let apps = suite.try_create(Flavour::Apps, &manifest["spec"]).await;
        let apps = template(&apps.unwrap_or_else(|message| panic!("{name} in apps/v1: {message}")));
        let ours = suite.try_create(Flavour::Ours, &manifest["spec"]).await;
        let ours = template(&ours.unwrap_or_else(|message| panic!("{name}: {message}")));
        assert_eq!(
            without_nulls(&ours),
            without_nulls(&template(&manifest)),
            "{name} is stored as it was written"
        );
        assert_eq!(suite.as_stored(&ours).await.unwrap(), apps, "{name} in a ReplicaSet");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_corpus_uses_every_pod_field() {
    let suite = suite().await;
    let schema = crd::template_schema(&suite.document(crd::OPENAPI_PATH).await).unwrap();
    let (mut all, mut written, mut stored) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    fields(&schema, "", &mut all);
    for manifest in suite.corpus().await {
        used(&template(&manifest), &schema, "", &mut written);
        let apps = suite.try_create(Flavour::Apps, &manifest["spec"]).await.unwrap();
        used(&template(&apps), &schema, "", &mut stored);
    }
    let known = not_in_deployments();
    let is_known = |field: &str| known.iter().any(|(prefix, _)| field.starts_with(prefix));
    if is_reference() {
        let unused: Vec<_> = all.difference(&written).filter(|field| !is_known(field)).collect();
        assert!(unused.is_empty(), "no manifest of the corpus uses {unused:#?}");
    }
    // 1.33 leaves out the one manifest with a command that is not empty.
    if Release::selected().unwrap().is_since("1.34") {
        let dropped: Vec<_> = written.difference(&stored).collect();
        assert!(dropped.is_empty(), "apps/v1 does not keep {dropped:#?}");
    }
    println!("{} pod fields, {} used and stored", all.len(), stored.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_left_out_of_the_corpus_are_refused_by_apps_v1() {
    let suite = suite().await;
    for (field, fragment) in not_in_deployments() {
        let mut spec = json!({"selector": {"matchLabels": {"app": "x"}}, "template": {
            "metadata": {"labels": {"app": "x"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }});
        let pod = spec["template"]["spec"].as_object_mut().unwrap();
        pod.extend(fragment.as_object().unwrap().clone());
        let message = suite.try_create(Flavour::Apps, &spec).await.expect_err(field);
        let last = field.trim_end_matches('.').rsplit('.').next().unwrap();
        assert!(message.contains(last), "{field}: {message}");
    }
}

/// Where a value has a required field, as JSON pointers with the field's path in the schema.
fn requirements(value: &Value, schema: &Value, pointer: &str, at: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                if map.contains_key(name) {
                    found.push((format!("{pointer}/{name}"), format!("{at}.{name}")));
                }
            }
            for (name, child) in map {
                if let Some(property) = schema["properties"].get(name) {
                    let (pointer, at) = (format!("{pointer}/{name}"), format!("{at}.{name}"));
                    requirements(child, property, &pointer, &at, found);
                }
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                let (pointer, at) = (format!("{pointer}/{i}"), format!("{at}[]"));
                requirements(item, &schema["items"], &pointer, &at, found);
            }
        }
        _ => {}
    }
}

/// A manifest that apps/v1 takes without a field must not be refused for lack of it. The owner's
/// uid is the key of a list, which a CRD needs.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_required_that_apps_v1_does_not_require() {
    let suite = suite().await;
    let schema = crd::template_schema(&suite.document(crd::OPENAPI_PATH).await).unwrap();
    let mut seen = BTreeSet::new();
    let mut accepted = Vec::new();
    for manifest in suite.corpus().await {
        let mut found = Vec::new();
        requirements(&template(&manifest), &schema, "", "", &mut found);
        for (pointer, field) in found {
            if !seen.insert(field.clone()) {
                continue;
            }
            let mut spec = manifest["spec"].clone();
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            let parent = spec.pointer_mut(&format!("/template{parent}")).unwrap();
            parent.as_object_mut().unwrap().remove(name);
            if suite.try_create(Flavour::Apps, &spec).await.is_ok() {
                accepted.push(field);
            }
        }
    }
    assert!(seen.len() > if is_reference() { 150 } else { 130 }, "{} required fields were tried", seen.len());
    assert_eq!(accepted, [".metadata.ownerReferences[].uid"]);
}
