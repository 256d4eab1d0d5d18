//! OpenAPI definitions for kustomize: how strategic merge patches treat Rollwright's lists.
//!
//! Kustomize knows the merge keys of the built-in kinds only, and a file named under `openapi: path:` replaces what it
//! knows. So the shipped file holds both: the built-in kinds, and the Rollwright Deployment with the pod template of
//! apps/v1. Only what steers a merge is kept.

use std::collections::BTreeMap;

use kube_core::crd::CustomResourceExt as _;
use serde_json::{Map, Value, json};

use super::template::SchemaError;
use super::{GROUP, KIND, ROOT, VERSION};
use crate::Deployment;

const APPS_SPEC: &str = "io.k8s.api.apps.v1.DeploymentSpec";
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const OURS: &str = "dev.rollwright.v1.Deployment";
const OUR_SPEC: &str = "dev.rollwright.v1.DeploymentSpec";
/// Definitions of other extensions that a cluster may have are left out.
const BUILT_IN: &str = "io.k8s.";
const REFERENCE: &str = "#/definitions/";
const KINDS: &str = "x-kubernetes-group-version-kind";

/// What decides a merge: the shape, the kinds, and the keys of lists.
const KEPT: [&str; 5] = [
    "type",
    "$ref",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-list-map-keys",
];

/// Builds the definitions for `openapi: path:` of a kustomization from the document at
/// [`OPENAPI_V2_PATH`](super::OPENAPI_V2_PATH): the stable built-in kinds that manifests use, and the Rollwright
/// Deployment.
///
/// # Errors
///
/// If the document has no definitions, or not that of an apps/v1 Deployment's spec.
pub fn kustomize_openapi(openapi: &Value) -> Result<Value, SchemaError> {
    let source = openapi.get("definitions").and_then(Value::as_object).ok_or(SchemaError::NotOpenApi)?;
    let mut definitions = BTreeMap::new();
    for (name, definition) in source {
        if let Some(kind) = manifest_kind(name, definition) {
            let mut kept = trim(definition);
            drop_status(&mut kept);
            kept.insert(KINDS.into(), json!([kind]));
            add_references(&kept, source, &mut definitions);
            definitions.insert(name.clone(), kept);
        }
    }
    let apps = source.get(APPS_SPEC).ok_or_else(|| SchemaError::Missing(APPS_SPEC.to_owned()))?;
    definitions.insert(OUR_SPEC.to_owned(), our_spec(apps)?);
    definitions.insert(OURS.to_owned(), our_kind());
    Ok(json!({ "definitions": definitions }))
}

/// The definitions as text, one per line, so that a change shows which one changed.
#[must_use]
pub fn kustomize_text(definitions: &Value) -> String {
    let lines: Vec<String> = definitions
        .get("definitions")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, definition)| format!("{}: {definition}", Value::String(name.clone())))
        .collect();
    format!("{{\"definitions\": {{\n{}\n}}}}\n", lines.join(",\n"))
}

/// The kind that a definition stands for, if manifests of it make sense: a stable built-in one
/// with a `metadata` of its own, which lists and requests lack.
fn manifest_kind<'a>(name: &str, definition: &'a Value) -> Option<&'a Value> {
    let kinds = definition.get(KINDS)?.as_array()?;
    let [kind] = kinds.as_slice() else { return None };
    let version = kind.get("version")?.as_str()?;
    let stable = version.strip_prefix('v')?.chars().all(|c| c.is_ascii_digit());
    let metadata = definition.pointer("/properties/metadata/$ref").and_then(Value::as_str);
    let of_object = metadata.and_then(|path| path.strip_prefix(REFERENCE)) == Some(OBJECT_META);
    (name.starts_with(BUILT_IN) && stable && of_object).then_some(kind)
}

/// A patch of `status` has no place in a kustomization, and half of the definitions hang on it.
fn drop_status(definition: &mut Map<String, Value>) {
    if let Some(properties) = definition.get_mut("properties").and_then(Value::as_object_mut) {
        properties.remove("status");
    }
}

fn trim(node: &Value) -> Map<String, Value> {
    let mut out = Map::new();
    for key in KEPT {
        if let Some(value) = node.get(key) {
            out.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(properties) = node.get("properties").and_then(Value::as_object) {
        let trimmed: Map<String, Value> =
            properties.iter().map(|(name, child)| (name.clone(), Value::Object(trim(child)))).collect();
        out.insert("properties".into(), Value::Object(trimmed));
    }
    for key in ["items", "additionalProperties"] {
        if let Some(child) = node.get(key).filter(|child| child.is_object()) {
            out.insert(key.into(), Value::Object(trim(child)));
        }
    }
    out
}

/// Adds what a definition refers to, and what that refers to.
fn add_references(
    from: &Map<String, Value>,
    source: &Map<String, Value>,
    definitions: &mut BTreeMap<String, Map<String, Value>>,
) {
    let mut names = Vec::new();
    for value in from.values() {
        references(value, &mut names);
    }
    while let Some(name) = names.pop() {
        if definitions.contains_key(&name) {
            continue;
        }
        if let Some(definition) = source.get(&name) {
            let trimmed = trim(definition);
            for value in trimmed.values() {
                references(value, &mut names);
            }
            definitions.insert(name, trimmed);
        }
    }
}

fn references(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if let Some(path) = map.get("$ref").and_then(Value::as_str) {
                names.extend(path.strip_prefix(REFERENCE).map(str::to_owned));
            }
            for child in map.values() {
                references(child, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, names)),
        _ => {}
    }
}

/// The spec of apps/v1, with the fields that only rollwright.dev has.
fn our_spec(apps: &Value) -> Result<Map<String, Value>, SchemaError> {
    let mut spec = trim(apps);
    let definition = serde_json::to_value(Deployment::crd())?;
    let own = definition.pointer(ROOT).and_then(|root| root.pointer("/properties/spec/properties"));
    if let Some(properties) = spec.get_mut("properties").and_then(Value::as_object_mut) {
        for (name, field) in own.and_then(Value::as_object).into_iter().flatten() {
            properties.entry(name.clone()).or_insert_with(|| Value::Object(trim(field)));
        }
    }
    Ok(spec)
}

fn our_kind() -> Map<String, Value> {
    let mut definition = Map::new();
    definition.insert("type".into(), json!("object"));
    definition.insert(
        "properties".into(),
        json!({
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"$ref": format!("{REFERENCE}{OBJECT_META}")},
            "spec": {"$ref": format!("{REFERENCE}{OUR_SPEC}")},
        }),
    );
    definition.insert(KINDS.into(), json!([{"group": GROUP, "version": VERSION, "kind": KIND}]));
    definition
}
