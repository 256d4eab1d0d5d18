//! Manifests of Deployments, the same text for both APIs.

use serde_json::{Map, Value, json};

use crate::flavour::Flavour;

/// A Deployment to be created: one container `app`, labels `app: NAME`.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    name: String,
    annotations: Map<String, Value>,
    spec: Map<String, Value>,
}

impl Manifest {
    /// One with `replicas` pods of the image `app:v1`.
    pub(crate) fn new(name: &str, replicas: i64) -> Self {
        let labels = json!({"app": name});
        let spec = json!({
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": template(name, "app:v1"),
        });
        let spec = spec.as_object().cloned().unwrap_or_default();
        Self { name: name.to_owned(), annotations: Map::new(), spec }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The same with another image.
    pub(crate) fn image(self, image: &str) -> Self {
        let template = template(&self.name, image);
        self.spec("template", &template)
    }

    /// The same with this field of the spec; null removes it.
    pub(crate) fn spec(mut self, field: &str, value: &Value) -> Self {
        if value.is_null() {
            self.spec.remove(field);
        } else {
            self.spec.insert(field.to_owned(), value.clone());
        }
        self
    }

    /// The same with these bounds of a rolling update.
    pub(crate) fn rolling(self, max_surge: &Value, max_unavailable: &Value) -> Self {
        let bounds = json!({"maxSurge": max_surge, "maxUnavailable": max_unavailable});
        self.spec("strategy", &json!({"type": "RollingUpdate", "rollingUpdate": bounds}))
    }

    /// The same with an annotation on its pods; how a test makes the fake kubelet misbehave.
    pub(crate) fn pods(mut self, annotation: &str, value: &str) -> Self {
        if let Some(template) = self.spec.get_mut("template") {
            template["metadata"]["annotations"][annotation] = json!(value);
        }
        self
    }

    /// The same with an annotation of its own.
    pub(crate) fn annotation(mut self, key: &str, value: &str) -> Self {
        self.annotations.insert(key.to_owned(), json!(value));
        self
    }

    /// As JSON, which is YAML to kubectl.
    pub(crate) fn json(&self, flavour: Flavour) -> Value {
        json!({
            "apiVersion": flavour.api_version(),
            "kind": "Deployment",
            "metadata": {"name": self.name, "annotations": self.annotations},
            "spec": self.spec,
        })
    }
}

fn template(name: &str, image: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "app", "image": image}]},
    })
}

/// A merge patch that replaces the image, and with it all containers.
pub(crate) fn image_patch(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": image}]}}}})
}

/// The same, and an annotation of the pods; null takes it away.
pub(crate) fn pods_patch(image: &str, annotation: &str, value: &Value) -> Value {
    let mut patch = image_patch(image);
    patch["spec"]["template"]["metadata"] = json!({"annotations": {annotation: value}});
    patch
}
