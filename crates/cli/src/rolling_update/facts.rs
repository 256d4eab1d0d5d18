//! What a rolling update reads of the cluster, and what follows from it directly.

use k8s_openapi::api::core::v1::ReplicationControllerStatus;
use plan::template::digest;
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::migrate::facts::entry;
pub(crate) use crate::migrate::facts::{is_deleting, name, size};
use diagnosis::{controller_of, list, text};

/// How many pods a controller should have in the end: all of them, or none.
pub(crate) const DESIRED: &str = "kubernetes.io/desired-replicas";
/// The other controller of an update.
pub(crate) const PARTNER: &str = "kubernetes.io/update-partner";
/// On a controller that cannot create pods until it has adopted those that there are: the class that
/// its pods have, empty for none.
pub(crate) const HELD: &str = "rollwright.dev/priority-class-after-rename";
/// What a controller cannot create pods with: no class has this name, so the server refuses them.
pub(crate) const NO_CLASS: &str = "rollwright-adopts-before-it-creates";
/// Key of the label that keeps the pods of two controllers apart.
pub(crate) const LABEL_KEY: &str = "kubernetes.io/deployment";

/// All that the next step follows from.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) old_name: String,
    pub(crate) next_name: String,
    /// Whether the next controller takes the old name in the end.
    pub(crate) rename: bool,
    pub(crate) rollback: bool,
    /// Key of the label that keeps pods apart.
    pub(crate) key: String,
    pub(crate) old: Option<Value>,
    pub(crate) next: Option<Value>,
    /// Pods of the namespace that one of the two could have.
    pub(crate) pods: Vec<Value>,
    /// The next one as it would be created; none when the old one is gone or being made again.
    pub(crate) wanted: Option<Wanted>,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// Everything but its name, size and label.
    pub(crate) object: Value,
    /// What it is known by: part of its name, and the value of its label.
    pub(crate) hash: String,
    /// Whether it is the old one with another image.
    pub(crate) is_derived: bool,
}

/// As kubectl prints names.
pub(crate) fn full_name(name: &str) -> String {
    format!("replicationcontroller/{name}")
}

pub(crate) fn number(object: &Value, path: &str) -> i64 {
    object.pointer(path).and_then(Value::as_i64).unwrap_or(0)
}

pub(crate) fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    entry(object, "annotations", key)
}

pub(crate) fn desired(controller: &Value) -> Option<i64> {
    annotation(controller, DESIRED)?.parse().ok()
}

pub(crate) fn is_held(controller: &Value) -> bool {
    annotation(controller, HELD).is_some()
}

/// Whether the controller of controllers has seen the last change.
pub(crate) fn is_observed(controller: &Value) -> bool {
    status(controller).observed_generation.unwrap_or(0) >= number(controller, "/metadata/generation")
}

/// Pods that have been ready for long enough.
pub(crate) fn available(controller: &Value) -> i64 {
    status(controller).available_replicas.map_or(0, i64::from)
}

fn status(controller: &Value) -> ReplicationControllerStatus {
    let status = controller.get("status").map(ReplicationControllerStatus::deserialize);
    status.and_then(Result::ok).unwrap_or_default()
}

/// The label's value in what new pods get.
pub(crate) fn template_label<'a>(controller: &'a Value, key: &str) -> Option<&'a str> {
    controller.pointer("/spec/template/metadata/labels")?.get(key)?.as_str()
}

/// Whether the label distinguishes pods of this controller.
pub(crate) fn is_unique(controller: &Value, key: &str) -> bool {
    let selected = controller.pointer("/spec/selector").and_then(|selector| selector.get(key));
    selected.and_then(Value::as_str) == template_label(controller, key) && selected.is_some()
}

/// Ten letters that follow from a controller's whole JSON.
pub(crate) fn hash(object: &Value) -> String {
    digest(object).iter().take(5).map(|byte| format!("{byte:02x}")).collect()
}

/// Images of the containers, by container.
pub(crate) fn images(object: &Value) -> Vec<(&str, &str)> {
    let containers = list(object, "/spec/template/spec/containers").iter();
    containers.map(|container| (text(container, "/name"), text(container, "/image"))).collect()
}

impl Facts {
    /// Whether the next step depends on single pods.
    pub(crate) fn looks_at_pods(&self) -> bool {
        let is_mixed = |controller: &Value| is_held(controller) || !is_unique(controller, &self.key);
        [&self.old, &self.next].into_iter().flatten().any(is_mixed)
    }

    /// Pods that this controller has, and that are not ending.
    pub(crate) fn pods_of<'a>(&'a self, controller: &'a Value) -> impl Iterator<Item = &'a Value> {
        let uid = text(controller, "/metadata/uid");
        self.pods.iter().filter(move |pod| !is_deleting(pod) && controller_of(pod) == Some(uid))
    }

    /// Pods that this controller has to adopt.
    pub(crate) fn loose<'a>(&'a self, controller: &'a Value) -> impl Iterator<Item = &'a Value> {
        let selector = controller.pointer("/spec/selector").and_then(Value::as_object);
        self.pods.iter().filter(move |pod| {
            let label = |key: &str| pod.pointer("/metadata/labels").and_then(|labels| labels.get(key));
            let fits = selector
                .is_some_and(|selector| selector.iter().all(|(key, value)| label(key) == Some(value)));
            fits && !is_deleting(pod) && controller_of(pod).is_none()
        })
    }
}

fn without(map: Option<&Value>, dropped: impl Fn(&str) -> bool) -> Map<String, Value> {
    let entries = map.and_then(Value::as_object).into_iter().flatten();
    entries.filter(|(key, _)| !dropped(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Annotations that belong to one object, or to one update.
fn is_bookkeeping(key: &str) -> bool {
    matches!(key, DESIRED | PARTNER | HELD | plan::keys::LAST_APPLIED)
}

/// A controller as a manifest: without name, size, label and what the server added.
pub(crate) fn stripped(controller: &Value, key: &str) -> Value {
    let mut spec = without(controller.get("spec"), |field| field == "replicas");
    let own_key = |other: &str| other == key;
    let labels = controller.pointer("/spec/template/metadata/labels");
    // The server's default: what the template's labels are.
    let selector =
        controller.pointer("/spec/selector").filter(|it| it.as_object().is_some_and(|it| !it.is_empty()));
    spec.insert("selector".to_owned(), Value::from(without(selector.or(labels), own_key)));
    if let Some(metadata) = spec
        .get_mut("template")
        .and_then(|template| template.get_mut("metadata"))
        .and_then(Value::as_object_mut)
    {
        metadata.insert("labels".to_owned(), Value::from(without(labels, own_key)));
    }
    json!({
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "metadata": {
            "labels": without(controller.pointer("/metadata/labels"), own_key),
            "annotations": without(controller.pointer("/metadata/annotations"), is_bookkeeping),
        },
        "spec": spec,
    })
}

impl Wanted {
    /// The old one with another image.
    ///
    /// # Errors
    /// When it is not clear which container is meant.
    pub(crate) fn with_image(
        old: &Value,
        key: &str,
        image: &str,
        container: Option<&str>,
    ) -> Result<Self, Failure> {
        let mut object = stripped(old, key);
        let names: Vec<String> = images(old).into_iter().map(|(name, _)| name.to_owned()).collect();
        let position = match container {
            Some(wanted) => names.iter().position(|name| name == wanted).ok_or_else(|| {
                Failure::Usage(format!(
                    "--container: there is no container \"{wanted}\" in {}; there are: {}",
                    full_name(name(old)),
                    names.join(", ")
                ))
            })?,
            None if names.len() == 1 => 0,
            None => {
                return Err(Failure::Usage(format!(
                    "{} has the containers {}; name the one that gets the image with --container",
                    full_name(name(old)),
                    names.join(", ")
                )));
            }
        };
        let path = format!("/spec/template/spec/containers/{position}");
        if let Some(container) = object.pointer_mut(&path).and_then(Value::as_object_mut) {
            container.insert("image".to_owned(), Value::from(image));
        }
        Ok(Self { hash: hash(&object), object, is_derived: true })
    }

    /// A manifest.
    pub(crate) fn of(manifest: &Value, key: &str) -> Self {
        let object = stripped(manifest, key);
        Self { hash: hash(&object), object, is_derived: false }
    }

    /// Whether a controller is what is asked for.
    pub(crate) fn is(&self, controller: &Value, key: &str) -> bool {
        template_label(controller, key) == Some(&self.hash)
            || (self.is_derived && images(controller) == images(&self.object))
    }
}
