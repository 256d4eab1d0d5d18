//! Built-in kinds that an in-memory cluster serves: `ReplicaSet` and Pod, with the checks that an operator of
//! Deployments can run into.
//!
//! Of a pod spec, they check what `pod_spec.rs` names, and of its metadata the labels.

use serde_json::{Map, Value, json};

use crate::cause::Cause;
use crate::pod_spec::pod_spec;
use crate::template::default_pod_template;
use crate::{metadata, names};

/// Fills in what the server would store for a `ReplicaSet`.
pub fn default_replica_set(set: &mut Value) {
    let Some(set) = set.as_object_mut() else { return };
    let spec = set.entry("spec").or_insert_with(|| json!({}));
    let Some(spec) = spec.as_object_mut() else { return };
    if spec.get("replicas").is_none_or(Value::is_null) {
        spec.insert("replicas".to_owned(), json!(1));
    }
    default_pod_template(spec.entry("template").or_insert_with(|| json!({})));
}

/// What is wrong with a `ReplicaSet` to create; it has its defaults.
#[must_use]
pub fn replica_set_on_create(set: &Value) -> Vec<Cause> {
    let mut found = metadata::on_create(set);
    replica_set_spec(set, &mut found);
    found
}

/// What is wrong with a `ReplicaSet` that replaces another.
#[must_use]
pub fn replica_set_on_update(new: &Value, old: &Value) -> Vec<Cause> {
    let mut found = metadata::on_update(new, old);
    replica_set_spec(new, &mut found);
    let selector = |set| selector_form(at(set, "/spec/selector"));
    if selector(new) != selector(old) {
        found.push(Cause::invalid("spec.selector", &selector(new), "field is immutable"));
    }
    found
}

/// What is wrong with the status of a `ReplicaSet` that replaces another's.
#[must_use]
pub fn replica_set_on_status_update(new: &Value, old: &Value) -> Vec<Cause> {
    let mut found = metadata::on_update(new, old);
    let count = |name: &str| at(new, "/status").get(name).and_then(Value::as_i64).unwrap_or_default();
    let counters = [
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ];
    for name in counters {
        not_negative(count(name), &format!("status.{name}"), &mut found);
    }
    let bounds = [
        ("fullyLabeledReplicas", "replicas", "status.replicas"),
        ("readyReplicas", "replicas", "status.replicas"),
        ("availableReplicas", "replicas", "status.replicas"),
        ("availableReplicas", "readyReplicas", "readyReplicas"),
    ];
    for (name, bound, shown) in bounds {
        if count(name) > count(bound) {
            let why = format!("cannot be greater than {shown}");
            found.push(Cause::invalid(format!("status.{name}"), &json!(count(name)), &why));
        }
    }
    found
}

/// What is wrong with a Pod to create; its spec has its defaults.
#[must_use]
pub fn pod_on_create(pod: &Value) -> Vec<Cause> {
    let mut found = metadata::on_create(pod);
    pod_spec(at(pod, "/spec"), "spec", &mut found);
    found
}

fn replica_set_spec(set: &Value, found: &mut Vec<Cause>) {
    for name in ["replicas", "minReadySeconds"] {
        let count = at(set, "/spec").get(name).and_then(Value::as_i64).unwrap_or_default();
        not_negative(count, &format!("spec.{name}"), found);
    }
    let selector = at(set, "/spec/selector");
    if selector.is_null() {
        found.push(Cause::required("spec.selector", ""));
    } else {
        label_selector(selector, found);
    }
    let template = at(set, "/spec/template");
    let labels = at(template, "/metadata/labels");
    match selects(selector, labels) {
        None => {
            found.push(Cause::invalid("spec.selector", &selector_form(selector), "invalid label selector"));
            return;
        }
        Some(false) => {
            let why = "`selector` does not match template `labels`";
            found.push(Cause::invalid("spec.template.metadata.labels", labels, why));
        }
        Some(true) => {}
    }
    pod_template_of_set(template, found);
}

pub(crate) fn pod_template(template: &Value, found: &mut Vec<Cause>) {
    let metadata = at(template, "/metadata");
    metadata::labels(metadata.get("labels"), "spec.template.labels", found);
    metadata::annotations(metadata.get("annotations"), "spec.template.annotations", found);
    let spec = at(template, "/spec");
    pod_spec(spec, "spec.template.spec", found);
    if spec.get("ephemeralContainers").and_then(Value::as_array).is_some_and(|list| !list.is_empty()) {
        let why = "ephemeral containers not allowed in pod template";
        found.push(Cause::forbidden("spec.template.spec.ephemeralContainers", why));
    }
}

fn pod_template_of_set(template: &Value, found: &mut Vec<Cause>) {
    pod_template(template, found);
    let spec = at(template, "/spec");
    let policy = at(spec, "/restartPolicy");
    if policy.as_str() != Some("Always") {
        let supported = ["Always".to_owned()];
        found.push(Cause::not_supported("spec.template.spec.restartPolicy", policy, &supported));
    }
    if spec.get("activeDeadlineSeconds").is_some() {
        let why = "activeDeadlineSeconds in ReplicaSet is not Supported";
        found.push(Cause::forbidden("spec.template.spec.activeDeadlineSeconds", why));
    }
}

pub(crate) fn not_negative(value: i64, field: &str, found: &mut Vec<Cause>) {
    if value < 0 {
        found.push(Cause::invalid(field, &json!(value), "must be greater than or equal to 0"));
    }
}

fn label_selector(selector: &Value, found: &mut Vec<Cause>) {
    metadata::labels(selector.get("matchLabels"), "spec.selector.matchLabels", found);
    for (i, term) in terms(selector).iter().enumerate() {
        let path = format!("spec.selector.matchExpressions[{i}]");
        let values = values_of(term);
        match at(term, "/operator").as_str().unwrap_or_default() {
            "In" | "NotIn" if values.is_empty() => {
                let why = "must be specified when `operator` is 'In' or 'NotIn'";
                found.push(Cause::required(format!("{path}.values"), why));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                found.push(Cause::forbidden(format!("{path}.values"), why));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => {
                let why = "not a valid selector operator";
                found.push(Cause::invalid(format!("{path}.operator"), &json!(other), why));
            }
        }
        let key = at(term, "/key").as_str().unwrap_or_default();
        let wrong = names::label_key(key);
        found.extend(wrong.iter().map(|why| Cause::invalid(format!("{path}.key"), &json!(key), why)));
        for (j, value) in values.iter().enumerate() {
            let wrong = names::label_value(value.as_str().unwrap_or_default());
            let field = format!("{path}.values[{j}]");
            found.extend(wrong.iter().map(|why| Cause::invalid(field.clone(), value, why)));
        }
    }
    if is_empty(selector) {
        let why = "empty selector is invalid for deployment";
        found.push(Cause::invalid("spec.selector", &selector_form(selector), why));
    }
}

/// Whether a selector takes these labels; `None` if it is not a valid one. No selector takes
/// nothing, which here counts as no complaint, as on the server.
fn selects(selector: &Value, labels: &Value) -> Option<bool> {
    let pairs = selector.get("matchLabels").and_then(Value::as_object);
    let wrong = |(key, value): (&String, &Value)| {
        !names::label_key(key).is_empty()
            || !names::label_value(value.as_str().unwrap_or_default()).is_empty()
    };
    if pairs.into_iter().flatten().any(wrong) {
        return None;
    }
    let mut all = pairs.into_iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    for term in terms(selector) {
        all &= term_selects(term, labels)?;
    }
    // The server has a selector that takes nothing for one that is absent, and calls it not empty.
    Some(all && !selector.is_null() || is_empty(selector) && !selector.is_null())
}

fn term_selects(term: &Value, labels: &Value) -> Option<bool> {
    let key = at(term, "/key").as_str().unwrap_or_default();
    let values = values_of(term);
    let valid = |value: &Value| names::label_value(value.as_str().unwrap_or_default()).is_empty();
    if !names::label_key(key).is_empty() || !values.iter().all(valid) {
        return None;
    }
    let label = labels.get(key);
    match (at(term, "/operator").as_str()?, values) {
        ("In" | "NotIn", []) => None,
        ("In", values) => Some(label.is_some_and(|label| values.contains(label))),
        ("NotIn", values) => Some(!label.is_some_and(|label| values.contains(label))),
        ("Exists", []) => Some(label.is_some()),
        ("DoesNotExist", []) => Some(label.is_none()),
        _ => None,
    }
}

fn is_empty(selector: &Value) -> bool {
    terms(selector).is_empty()
        && selector.get("matchLabels").and_then(Value::as_object).is_none_or(Map::is_empty)
}

/// A selector as the server's types write it.
fn selector_form(selector: &Value) -> Value {
    let mut form = selector.clone();
    if let Some(form) = form.as_object_mut() {
        form.retain(|_, value| match value {
            Value::Null => false,
            Value::Object(entries) => !entries.is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => true,
        });
    }
    form
}

fn terms(selector: &Value) -> &[Value] {
    selector.get("matchExpressions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn values_of(term: &Value) -> &[Value] {
    term.get("values").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

pub(crate) fn at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}
