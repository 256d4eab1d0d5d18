//! What happened, for people.

use world::{Change, Resource};

use super::{Engine, MILLISECOND};
use crate::actor::Actor;

impl Engine<'_> {
    /// A change of an object.
    pub(super) fn say(&mut self, change: &Change, actor: Actor) {
        let (now, object) = (self.now / MILLISECOND, &change.object);
        self.trace.say(|| {
            let number = |value: Option<i64>| value.map_or("-".to_owned(), |value| value.to_string());
            let what = match object.resource {
                Resource::Pods => {
                    let phase = object.status.get("phase").and_then(serde_json::Value::as_str);
                    format!("deleting={} phase={}", object.is_deleting(), phase.unwrap_or("-"))
                }
                _ => format!(
                    "size={} pods={} ready={} available={} generation={}/{} paused={:?} image={:?}",
                    number(object.spec_number("replicas")),
                    number(object.status_number("replicas")),
                    number(object.status_number("readyReplicas")),
                    number(object.status_number("availableReplicas")),
                    number(object.status_number("observedGeneration")),
                    object.generation(),
                    object.spec.get("paused"),
                    object.spec.pointer("/template/spec/containers/0/image"),
                ),
            };
            let kind = object.resource.kind();
            format!(
                "{now:>8} ms v{} {actor:?}: {:?} {kind} {} {what}",
                change.version,
                change.kind,
                object.name()
            )
        });
    }
}
