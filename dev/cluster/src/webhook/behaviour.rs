//! Ready-made webhooks for `ReplicaSets`, each of a kind that trips
//! controllers which compare what they wrote with what is stored.

use serde_json::{Value, json};

use crate::credentials::random_suffix;
use crate::webhook::{Registration, SideEffects, Verdict};

/// Name of the container [`Behaviour::AddSidecar`] adds.
pub const SIDECAR_NAME: &str = "injected-sidecar";
/// Registry [`Behaviour::RewriteRegistry`] moves images to.
pub const REGISTRY: &str = "mirror.example";
/// Template annotation [`Behaviour::RandomAnnotation`] sets.
pub const RANDOM_ANNOTATION: &str = "webhook.rollwright.dev/random";
/// Environment variable [`Behaviour::AppendEnv`] appends.
pub const APPENDED_ENV: &str = "APPENDED";

const TEMPLATE: &str = "/spec/template";
const CONTAINERS: &str = "/spec/template/spec/containers";

/// How a webhook treats the pod template of a `ReplicaSet`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Adds a container, once.
    AddSidecar,
    /// Prefixes all images with [`REGISTRY`], once.
    RewriteRegistry,
    /// Sets an annotation of the template to another value at every call, so
    /// that equal requests lead to different objects.
    RandomAnnotation,
    /// Appends an environment variable at every call, updates included: not
    /// idempotent, as webhooks should be and some are not.
    AppendEnv,
    /// Adds a container and declares side effects except on dry runs.
    NoneOnDryRun,
    /// Refuses dry runs with the words the API server itself has for webhooks
    /// that do not support them. Real requests get a sidecar.
    RefuseDryRun,
}

impl Behaviour {
    /// All behaviours.
    pub const ALL: [Self; 6] = [
        Self::AddSidecar,
        Self::RewriteRegistry,
        Self::RandomAnnotation,
        Self::AppendEnv,
        Self::NoneOnDryRun,
        Self::RefuseDryRun,
    ];

    /// Registration for the `ReplicaSets` of one namespace.
    pub fn registration(self, namespace: &str) -> Registration {
        let operations: &[&str] = if self == Self::AppendEnv { &["CREATE", "UPDATE"] } else { &["CREATE"] };
        let mut registration = Registration::replica_sets(namespace, operations);
        if self == Self::NoneOnDryRun {
            registration.side_effects = SideEffects::NoneOnDryRun;
        }
        registration
    }

    /// The answer to one admission request.
    pub fn judge(self, request: &Value) -> Verdict {
        let Some(object) = request.get("object").filter(|object| object.is_object()) else {
            return Verdict::Allow;
        };
        match self {
            Self::RefuseDryRun if request.get("dryRun") == Some(&Value::Bool(true)) => Verdict::Deny {
                code: 400,
                message: "admission webhook \"test.rollwright.dev\" does not support dry run".to_owned(),
            },
            Self::AddSidecar | Self::NoneOnDryRun | Self::RefuseDryRun => add_sidecar(object),
            Self::RewriteRegistry => rewrite_registry(object),
            Self::RandomAnnotation => random_annotation(object),
            Self::AppendEnv => append_env(object),
        }
    }
}

fn containers(object: &Value) -> &[Value] {
    object.pointer(CONTAINERS).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn add_sidecar(object: &Value) -> Verdict {
    if containers(object).iter().any(|container| container.get("name") == Some(&SIDECAR_NAME.into())) {
        return Verdict::Allow;
    }
    let sidecar = json!({"name": SIDECAR_NAME, "image": "sidecar:1"});
    Verdict::Patch(vec![json!({"op": "add", "path": format!("{CONTAINERS}/-"), "value": sidecar})])
}

fn rewrite_registry(object: &Value) -> Verdict {
    let images = containers(object).iter().map(|container| container.get("image").and_then(Value::as_str));
    let moved = images.enumerate().filter_map(|(index, image)| {
        let image = image.filter(|image| !image.starts_with(REGISTRY))?;
        let path = format!("{CONTAINERS}/{index}/image");
        Some(json!({"op": "replace", "path": path, "value": format!("{REGISTRY}/{image}")}))
    });
    Verdict::Patch(moved.collect())
}

fn random_annotation(object: &Value) -> Verdict {
    let path = format!("{TEMPLATE}/metadata/annotations");
    let value = random_suffix();
    let operation = if object.pointer(&path).is_some_and(Value::is_object) {
        let key = RANDOM_ANNOTATION.replace('/', "~1");
        json!({"op": "add", "path": format!("{path}/{key}"), "value": value})
    } else {
        json!({"op": "add", "path": path, "value": {RANDOM_ANNOTATION: value}})
    };
    Verdict::Patch(vec![operation])
}

fn append_env(object: &Value) -> Verdict {
    let path = format!("{CONTAINERS}/0/env");
    let entry = json!({"name": APPENDED_ENV, "value": random_suffix()});
    let operation = if object.pointer(&path).is_some_and(Value::is_array) {
        json!({"op": "add", "path": format!("{path}/-"), "value": entry})
    } else {
        json!({"op": "add", "path": path, "value": [entry]})
    };
    Verdict::Patch(vec![operation])
}
