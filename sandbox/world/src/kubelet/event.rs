//! What a kubelet reports of a pod by an event only: a volume that is not there, a probe that fails.

use serde_json::{Value, json};

use super::annotations::{NEVER_READY, OF_VOLUMES, waits};
use super::status::{Shape, node_in};
use crate::object::Object;
use crate::resource::Resource;
use crate::stamp::stamp;
use crate::store::Store;
use crate::write::Mode;

const PROBE: &str = "Readiness probe failed: HTTP probe failed with statuscode: 503";

/// Writes the event that comes with a shape, if one does.
pub(super) fn write(store: &mut Store, pod: &Object, shape: Shape) {
    if let Some((reason, message)) = of(pod, shape) {
        warn(store, pod, reason, message, ("kubelet", node_in(&pod.spec)));
    }
}

/// Writes a warning about an object, from a component on a host.
pub(crate) fn warn(store: &mut Store, about: &Object, reason: &str, message: &str, by: (&str, &str)) {
    let now = stamp(store.now());
    let (namespace, name, (component, host)) = (about.namespace(), about.name(), by);
    let event = json!({
        "metadata": {"namespace": namespace, "name": format!("{name}.{}", reason.to_lowercase())},
        "involvedObject": {"apiVersion": about.resource.api_version(), "kind": about.resource.kind(),
                           "namespace": namespace, "name": name, "uid": about.uid()},
        "type": "Warning", "reason": reason, "message": message, "count": 1,
        "firstTimestamp": now, "lastTimestamp": now, "eventTime": Value::Null,
        "source": {"component": component, "host": host},
        "reportingComponent": component, "reportingInstance": host,
    });
    // The event may be there already, of an earlier time, with the same content.
    _ = store.create(Object::from_value(Resource::Events, event), Mode::Store);
}

fn of(pod: &Object, shape: Shape) -> Option<(&str, &str)> {
    match shape {
        Shape::Waiting => waits(&pod.metadata).filter(|(reason, _)| OF_VOLUMES.contains(reason)),
        Shape::NotReady if pod.annotation(NEVER_READY) == Some("true") => Some(("Unhealthy", PROBE)),
        _ => None,
    }
}
