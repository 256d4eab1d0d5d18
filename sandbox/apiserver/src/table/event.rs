//! Events.

use jiff::Timestamp;
use serde_json::{Value, json};
use world::Object;

use super::cell::{Column, text};
use crate::duration::since;

pub(super) const COLUMNS: [Column; 10] = [
    ("Last Seen", "string", 0),
    ("Type", "string", 0),
    ("Reason", "string", 0),
    ("Object", "string", 0),
    ("Subobject", "string", 1),
    ("Source", "string", 1),
    ("Message", "string", 0),
    ("First Seen", "string", 1),
    ("Count", "string", 1),
    ("Name", "string", 1),
];

pub(super) fn cells(object: &Object, now: Timestamp) -> Vec<Value> {
    let event = Value::Object(object.rest.as_ref().clone());
    let first_of = |fields: &[&str]| {
        let texts = fields.iter().map(|field| text(&event, field));
        texts.filter(|text| !text.is_empty()).map(str::to_owned).next().unwrap_or_default()
    };
    let first = first_of(&["/firstTimestamp", "/eventTime"]);
    let last = first_of(&["/series/lastObservedTime", "/lastTimestamp"]);
    let last = if last.is_empty() { first.clone() } else { last };
    let count = event.pointer("/series/count").or_else(|| event.pointer("/count")).and_then(Value::as_i64);
    let kind = text(&event, "/involvedObject/kind").to_lowercase();
    let target = match text(&event, "/involvedObject/name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let component = first_of(&["/source/component", "/reportingComponent"]);
    let instance = first_of(&["/source/host", "/reportingInstance"]);
    let source = if instance.is_empty() { component } else { format!("{component}, {instance}") };
    vec![
        json!(since(&last, now)),
        json!(text(&event, "/type")),
        json!(text(&event, "/reason")),
        json!(target),
        json!(text(&event, "/involvedObject/fieldPath")),
        json!(source),
        json!(text(&event, "/message").trim()),
        json!(since(&first, now)),
        // One that was never counted happened once.
        json!(count.filter(|count| *count != 0).unwrap_or(1)),
        json!(object.name()),
    ]
}
