//! Deployments and ReplicaSets of apps/v1, and Jobs.

use jiff::Timestamp;
use serde_json::{Value, json};
use world::Object;

use super::cell::{Column, age, list, number, text};
use crate::duration::since;

pub(super) const DEPLOYMENT: [Column; 8] = [
    ("Name", "string", 0),
    ("Ready", "string", 0),
    ("Up-to-date", "integer", 0),
    ("Available", "integer", 0),
    ("Age", "string", 0),
    ("Containers", "string", 1),
    ("Images", "string", 1),
    ("Selector", "string", 1),
];

pub(super) const REPLICA_SET: [Column; 8] = [
    ("Name", "string", 0),
    ("Desired", "integer", 0),
    ("Current", "integer", 0),
    ("Ready", "integer", 0),
    ("Age", "string", 0),
    ("Containers", "string", 1),
    ("Images", "string", 1),
    ("Selector", "string", 1),
];

pub(super) const JOB: [Column; 8] = [
    ("Name", "string", 0),
    ("Status", "string", 0),
    ("Completions", "string", 0),
    ("Duration", "string", 0),
    ("Age", "string", 0),
    ("Containers", "string", 1),
    ("Images", "string", 1),
    ("Selector", "string", 1),
];

pub(super) fn deployment(object: &Object, now: Timestamp) -> Vec<Value> {
    let status = |field: &str| object.status_number(field).unwrap_or(0);
    let wanted = object.spec_number("replicas").unwrap_or(0);
    let cells = vec![
        json!(object.name()),
        json!(format!("{}/{wanted}", status("readyReplicas"))),
        json!(status("updatedReplicas")),
        json!(status("availableReplicas")),
    ];
    with_shared_cells(cells, object, now)
}

pub(super) fn replica_set(object: &Object, now: Timestamp) -> Vec<Value> {
    let cells = vec![
        json!(object.name()),
        json!(number(&object.spec, "/replicas")),
        json!(number(&object.status, "/replicas")),
        json!(number(&object.status, "/readyReplicas")),
    ];
    with_shared_cells(cells, object, now)
}

pub(super) fn job(object: &Object, now: Timestamp) -> Vec<Value> {
    let is = |kind: &str| {
        let mut conditions = list(&object.status, "/conditions").iter();
        conditions.any(|one| (text(one, "/type"), text(one, "/status")) == (kind, "True"))
    };
    let status = match ["Complete", "Failed"].into_iter().find(|kind| is(kind)) {
        Some(end) => end,
        None if object.is_deleting() => "Terminating",
        None => {
            ["FailureTarget", "SuccessCriteriaMet"].into_iter().find(|kind| is(kind)).unwrap_or("Running")
        }
    };
    let succeeded = number(&object.status, "/succeeded");
    let completions = match object.spec_number("completions") {
        Some(completions) => format!("{succeeded}/{completions}"),
        None if number(&object.spec, "/parallelism") > 1 => {
            format!("{succeeded}/1 of {}", number(&object.spec, "/parallelism"))
        }
        None => format!("{succeeded}/1"),
    };
    let start = text(&object.status, "/startTime");
    let end = text(&object.status, "/completionTime").parse().unwrap_or(now);
    let cells = vec![
        json!(object.name()),
        json!(status),
        json!(completions),
        json!(if start.is_empty() { String::new() } else { since(start, end) }),
    ];
    with_shared_cells(cells, object, now)
}

/// The cells that all of them end with.
fn with_shared_cells(mut cells: Vec<Value>, object: &Object, now: Timestamp) -> Vec<Value> {
    cells.push(json!(age(object, now)));
    cells.extend(
        [containers(object, "/name"), containers(object, "/image"), selector(object)].map(Value::from),
    );
    cells
}

fn containers(object: &Object, field: &str) -> String {
    let containers = list(&object.spec, "/template/spec/containers").iter();
    containers.map(|container| text(container, field)).collect::<Vec<_>>().join(",")
}

/// A selector as selectors are written on command lines.
fn selector(object: &Object) -> String {
    let labels = object.spec.pointer("/selector/matchLabels").and_then(Value::as_object);
    let labels = labels.into_iter().flatten();
    let mut terms: Vec<(String, String)> = labels
        .map(|(key, value)| (key.clone(), format!("{key}={}", value.as_str().unwrap_or_default())))
        .collect();
    for expression in list(&object.spec, "/selector/matchExpressions") {
        let key = text(expression, "/key");
        let mut values: Vec<&str> = list(expression, "/values").iter().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        let term = match text(expression, "/operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        };
        terms.push((key.to_owned(), term));
    }
    if terms.is_empty() {
        return "<none>".to_owned();
    }
    terms.sort();
    terms.into_iter().map(|(_, term)| term).collect::<Vec<_>>().join(",")
}
