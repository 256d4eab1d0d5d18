//! Finds pod fields that a cluster knows and its installed CRD lacks.

use serde_json::Value;

use super::VERSION;
use super::template::template_schema;

/// Pod fields that a later release of Kubernetes removed: nobody has to be warned that the CRD lacks them. This one is an
/// alpha field of 1.35 alone.
const REMOVED: [&str; 1] = ["spec.template.spec.workloadRef"];

/// Pod fields that the cluster's OpenAPI document has and the installed CRD lacks, as paths below `spec.template`. The
/// API server drops such fields from Rollwright Deployments, so somebody who uses them wants to know: installing the
/// CRD of `rollwright crd --from-cluster` adds them. A value that an enumeration of the CRD lacks is reported as
/// `path=value`.
///
/// Empty if either document cannot be read: there is nothing to warn of then.
#[must_use]
pub fn missing_pod_fields(installed_crd: &Value, openapi: &Value) -> Vec<String> {
    template_schema(openapi)
        .map(|current| missing_template_fields(installed_crd, &current))
        .unwrap_or_default()
}

/// The same against the schema of a pod template, as [`template_schema`] makes it.
#[must_use]
pub fn missing_template_fields(installed_crd: &Value, template: &Value) -> Vec<String> {
    let mut missing = Vec::new();
    if let Some(installed) = installed_template(installed_crd) {
        compare(installed, template, "spec.template", &mut missing);
    }
    missing.retain(|field| !REMOVED.contains(&field.as_str()));
    missing
}

fn installed_template(crd: &Value) -> Option<&Value> {
    crd.pointer("/spec/versions")?
        .as_array()?
        .iter()
        .find(|version| version.get("name").and_then(Value::as_str) == Some(VERSION))?
        .pointer("/schema/openAPIV3Schema/properties/spec/properties/template")
}

fn compare(installed: &Value, current: &Value, at: &str, missing: &mut Vec<String>) {
    if installed.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true)) {
        return;
    }
    compare_values(installed, current, at, missing);
    if let Some(properties) = current.get("properties").and_then(Value::as_object) {
        for (name, property) in properties {
            let at = format!("{at}.{name}");
            match installed.get("properties").and_then(|known| known.get(name)) {
                Some(known) => compare(known, property, &at, missing),
                None => missing.push(at),
            }
        }
    }
    for (key, suffix) in [("items", "[]"), ("additionalProperties", ".*")] {
        if let (Some(known), Some(child)) = (installed.get(key), current.get(key)) {
            compare(known, child, &format!("{at}{suffix}"), missing);
        }
    }
}

fn compare_values(installed: &Value, current: &Value, at: &str, missing: &mut Vec<String>) {
    let values = |schema: &Value| schema.get("enum").and_then(Value::as_array).cloned();
    if let (Some(known), Some(values)) = (values(installed), values(current)) {
        let unknown = values.iter().filter(|value| !known.contains(value)).filter_map(Value::as_str);
        missing.extend(unknown.map(|value| format!("{at}={value}")));
    }
}
