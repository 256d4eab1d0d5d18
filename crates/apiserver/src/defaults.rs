//! Defaults of built-in kinds, as far as somebody sees them here: those of workloads and of the
//! pods that they make.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use world::{Object, Resource};

/// Fills in what is not said.
pub(crate) fn fill(object: &mut Object) {
    match object.resource {
        Resource::AppsDeployments | Resource::ReplicaSets => {
            let mut spec = Value::clone(&object.spec);
            workload(object.resource, &mut spec);
            keep(object, spec);
        }
        Resource::Pods => {
            let mut spec = Value::clone(&object.spec);
            pod(&mut spec);
            keep(object, spec);
        }
        Resource::Namespaces => {
            let mut labels = object.metadata.get("labels").cloned().unwrap_or_else(|| json!({}));
            let name = Value::from(object.name());
            if let Some(labels) = labels.as_object_mut() {
                labels.insert("kubernetes.io/metadata.name".to_owned(), name);
            }
            object.set_metadata("labels", labels);
            keep(object, json!({ "finalizers": ["kubernetes"] }));
        }
        _ => {}
    }
}

fn keep(object: &mut Object, spec: Value) {
    if *object.spec != spec {
        object.spec = Arc::new(spec);
    }
}

fn workload(resource: Resource, spec: &mut Value) {
    let Some(spec) = spec.as_object_mut() else { return };
    set(spec, "replicas", json!(1));
    if resource == Resource::AppsDeployments {
        set(spec, "revisionHistoryLimit", json!(10));
        set(spec, "progressDeadlineSeconds", json!(600));
        set(spec, "strategy", json!({}));
        strategy(spec.get_mut("strategy"));
    }
    if let Some(pod_spec) = spec.get_mut("template").and_then(|template| template.get_mut("spec")) {
        pod(pod_spec);
    }
}

fn strategy(strategy: Option<&mut Value>) {
    let Some(strategy) = strategy.and_then(Value::as_object_mut) else { return };
    set(strategy, "type", json!("RollingUpdate"));
    if strategy.get("type") == Some(&json!("RollingUpdate")) {
        set(strategy, "rollingUpdate", json!({}));
        if let Some(rolling) = strategy.get_mut("rollingUpdate").and_then(Value::as_object_mut) {
            set(rolling, "maxSurge", json!("25%"));
            set(rolling, "maxUnavailable", json!("25%"));
        }
    }
}

fn pod(spec: &mut Value) {
    let Some(spec) = spec.as_object_mut() else { return };
    set(spec, "restartPolicy", json!("Always"));
    set(spec, "dnsPolicy", json!("ClusterFirst"));
    set(spec, "schedulerName", json!("default-scheduler"));
    set(spec, "securityContext", json!({}));
    set(spec, "terminationGracePeriodSeconds", json!(30));
    for list in ["initContainers", "containers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        containers.into_iter().flatten().filter_map(Value::as_object_mut).for_each(container);
    }
}

fn container(container: &mut Map<String, Value>) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let name = image.rsplit('/').next().unwrap_or_default();
    let is_latest = !name.contains('@') && name.split_once(':').is_none_or(|(_, tag)| tag == "latest");
    set(container, "imagePullPolicy", json!(if is_latest { "Always" } else { "IfNotPresent" }));
    set(container, "resources", json!({}));
    set(container, "terminationMessagePath", json!("/dev/termination-log"));
    set(container, "terminationMessagePolicy", json!("File"));
    let ports = container.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        set(port, "protocol", json!("TCP"));
    }
}

/// Null is as good as nothing.
fn set(members: &mut Map<String, Value>, name: &str, value: Value) {
    if members.get(name).is_none_or(Value::is_null) {
        members.insert(name.to_owned(), value);
    }
}
