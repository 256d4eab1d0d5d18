//! JSON objects, as the API server sends them, into what the planner reads.
//!
//! Read once, here: missing numbers are defaulted, text is parsed, and the pod template is
//! reduced to a fingerprint. Metadata that anybody may write is read leniently; a spec that
//! cannot mean anything is refused by field.

use jiff::Timestamp;
use plan::intstr::{IntOrPercent, signed_decimal};
use plan::keys::ROLLBACK_TO;
use plan::selector::LabelSelector;
use plan::{
    Flavour, Map, Pod, ReplicaSet, SetFailure, SetStatus, Status, Strategy, TemplateSummary, Workload,
};
use serde::Deserialize;
use serde_json::Value;

/// An object that cannot be understood. It is set aside; others are not affected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct Rejected {
    /// Path of the field.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
}

/// Whether missing fields of a Deployment's spec get the defaults of apps/v1 (S1.1–S1.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defaults {
    /// Yes: a custom resource comes as the user wrote it.
    Apply,
    /// No: the server did so already; what is missing means something.
    Literal,
}

impl Defaults {
    /// What a flavour needs.
    #[must_use]
    pub fn of(flavour: Flavour) -> Self {
        if flavour.is_custom_resource() { Self::Apply } else { Self::Literal }
    }
}

/// The number that stands for "no limit" (S1.9, S1.10).
const UNLIMITED: i64 = i32::MAX as i64;

/// The parts of an object; null where it has none. A store that keeps them apart need not put them
/// together to have them read.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// `metadata`.
    pub metadata: &'a Value,
    /// `spec`.
    pub spec: &'a Value,
    /// `status`.
    pub status: &'a Value,
}

impl<'a> From<&'a Value> for Parts<'a> {
    fn from(object: &'a Value) -> Self {
        let part = |name| object.get(name).unwrap_or(&Value::Null);
        Self { metadata: part("metadata"), spec: part("spec"), status: part("status") }
    }
}

/// Decodes a Deployment of either API.
///
/// # Errors
/// When a field has a value that cannot mean anything.
pub fn workload<'a>(
    flavour: Flavour,
    object: impl Into<Parts<'a>>,
    defaults: Defaults,
) -> Result<Workload, Rejected> {
    let Parts { metadata, spec, status } = object.into();
    let metadata = Metadata::read(metadata)?;
    let template = spec.get("template").unwrap_or(&Value::Null);
    let default = |value: i64| (defaults == Defaults::Apply).then_some(value);
    let number = |field: &'static str| count(spec, "spec", field);
    let limited = |field, or: i64| -> Result<Option<i64>, Rejected> {
        Ok(number(field)?.or(default(or)).filter(|value| *value != UNLIMITED))
    };
    let annotations = metadata.annotations;
    let rollback_to = if flavour.goes_by_annotations() {
        annotations.get(ROLLBACK_TO).and_then(|text| signed_decimal(text))
    } else {
        rollback_field(spec)?
    };
    let selector = match spec.get("selector") {
        None | Some(Value::Null) => None,
        Some(value) => {
            Some(LabelSelector::deserialize(value).map_err(|error| rejected("spec.selector", error))?)
        }
    };
    Ok(Workload {
        namespace: metadata.namespace,
        name: metadata.name,
        uid: metadata.uid,
        resource_version: metadata.resource_version,
        generation: metadata.generation,
        created: metadata.created,
        deleting: metadata.deleting,
        annotations,
        replicas: number("replicas")?.unwrap_or(1),
        selector,
        strategy: strategy(spec, defaults)?,
        min_ready_seconds: number("minReadySeconds")?.unwrap_or(0),
        revision_history_limit: limited("revisionHistoryLimit", 10)?,
        progress_deadline_seconds: limited("progressDeadlineSeconds", 600)?,
        paused: spec.get("paused").and_then(Value::as_bool).unwrap_or(false),
        rollback_to,
        template: summary(flavour, template),
        status: Status::read(status).map_err(|error| rejected("status", error))?,
    })
}

/// What is kept of a template.
#[must_use]
pub fn summary(flavour: Flavour, template: &Value) -> TemplateSummary {
    let containers = member(template, ["spec", "containers"]).and_then(Value::as_array);
    let column = |field: &str| -> String {
        let entries = containers.into_iter().flatten().filter_map(|container| container.get(field)?.as_str());
        entries.collect::<Vec<_>>().join(",")
    };
    TemplateSummary {
        fingerprint: flavour.fingerprint(template),
        labels: string_map(member(template, ["metadata", "labels"])),
        containers: column("name"),
        images: column("image"),
    }
}

fn rollback_field(spec: &Value) -> Result<Option<i64>, Rejected> {
    match spec.get("rollbackTo") {
        None | Some(Value::Null) => Ok(None),
        Some(request) => Ok(Some(integer(request, "spec.rollbackTo", "revision")?.unwrap_or(0))),
    }
}

fn strategy(spec: &Value, defaults: Defaults) -> Result<Strategy, Rejected> {
    let strategy = spec.get("strategy").unwrap_or(&Value::Null);
    let kind = strategy.get("type").and_then(Value::as_str).unwrap_or("");
    match (kind, defaults) {
        ("RollingUpdate", _) | ("", Defaults::Apply) => {
            let limits = strategy.get("rollingUpdate").unwrap_or(&Value::Null);
            let default = || (defaults == Defaults::Apply).then(|| IntOrPercent::Text("25%".to_owned()));
            Ok(Strategy::RollingUpdate {
                max_surge: int_or_percent(limits, "maxSurge")?.or_else(default),
                max_unavailable: int_or_percent(limits, "maxUnavailable")?.or_else(default),
            })
        }
        ("Recreate", _) => Ok(Strategy::Recreate),
        (other, _) => Ok(Strategy::Unknown(other.to_owned())),
    }
}

fn int_or_percent(limits: &Value, field: &str) -> Result<Option<IntOrPercent>, Rejected> {
    match limits.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => IntOrPercent::deserialize(value).map(Some).map_err(|_| Rejected {
            field: format!("spec.strategy.rollingUpdate.{field}"),
            problem: "must be an integer or a percentage such as \"25%\"".to_owned(),
        }),
    }
}

/// Decodes a ReplicaSet.
///
/// # Errors
/// When a number is none.
pub fn replica_set<'a>(flavour: Flavour, object: impl Into<Parts<'a>>) -> Result<ReplicaSet, Rejected> {
    let Parts { metadata, spec, status } = object.into();
    let metadata = Metadata::read(metadata)?;
    let template = spec.get("template").unwrap_or(&Value::Null);
    Ok(ReplicaSet {
        name: metadata.name,
        uid: metadata.uid,
        resource_version: metadata.resource_version,
        generation: metadata.generation,
        created: metadata.created,
        deleting: metadata.deleting,
        labels: metadata.labels,
        controller_uid: metadata.controller_uid,
        size: count(spec, "spec", "replicas")?.unwrap_or(1),
        min_ready_seconds: count(spec, "spec", "minReadySeconds")?.unwrap_or(0),
        fingerprints: flavour.fingerprints_of_set(&metadata.annotations, template),
        stored: flavour.stored_digest(template),
        annotations: metadata.annotations,
        status: set_status(status)?,
    })
}

/// Decodes the status of a ReplicaSet alone.
///
/// # Errors
/// When a number is none.
pub fn set_status(status: &Value) -> Result<SetStatus, Rejected> {
    let number = |field: &'static str| count(status, "status", field);
    let conditions = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
    let mut failures = conditions.filter(|condition| text(condition, "type") == "ReplicaFailure");
    let failure = failures.next().map(|condition| SetFailure {
        status: text(condition, "status"),
        reason: text(condition, "reason"),
        message: text(condition, "message"),
        last_transition_time: text(condition, "lastTransitionTime").parse().ok(),
    });
    Ok(SetStatus {
        replicas: number("replicas")?.unwrap_or(0),
        ready: number("readyReplicas")?.unwrap_or(0),
        available: number("availableReplicas")?.unwrap_or(0),
        terminating: number("terminatingReplicas")?,
        observed_generation: integer(status, "status", "observedGeneration")?.unwrap_or(0),
        failure,
    })
}

/// Decodes a pod, as far as Recreate looks at it (S7.3).
#[must_use]
pub fn pod<'a>(object: impl Into<Parts<'a>>) -> Pod {
    let Parts { metadata, status, .. } = object.into();
    Pod { controller_uid: controller_uid(metadata), phase: text(status, "phase") }
}

struct Metadata {
    namespace: String,
    name: String,
    uid: String,
    resource_version: String,
    generation: i64,
    created: Timestamp,
    deleting: bool,
    labels: Map,
    annotations: Map,
    controller_uid: Option<String>,
}

impl Metadata {
    fn read(metadata: &Value) -> Result<Self, Rejected> {
        Ok(Self {
            namespace: text(metadata, "namespace"),
            name: text(metadata, "name"),
            uid: text(metadata, "uid"),
            resource_version: text(metadata, "resourceVersion"),
            generation: integer(metadata, "metadata", "generation")?.unwrap_or(0),
            created: text(metadata, "creationTimestamp").parse().unwrap_or(Timestamp::MIN),
            deleting: metadata.get("deletionTimestamp").is_some_and(|value| !value.is_null()),
            labels: string_map(metadata.get("labels")),
            annotations: string_map(metadata.get("annotations")),
            controller_uid: controller_uid(metadata),
        })
    }
}

fn controller_uid(metadata: &Value) -> Option<String> {
    let owners = metadata.get("ownerReferences")?.as_array()?;
    let controller = owners.iter().find(|owner| owner.get("controller") == Some(&Value::Bool(true)))?;
    controller.get("uid")?.as_str().map(str::to_owned)
}

/// A member of a member: unlike [`Value::pointer`], without a copy of each name.
fn member<'a>(value: &'a Value, path: [&str; 2]) -> Option<&'a Value> {
    path.into_iter().try_fold(value, |value, name| value.as_object()?.get(name))
}

fn text(object: &Value, field: &str) -> String {
    object.get(field).and_then(Value::as_str).unwrap_or("").to_owned()
}

fn string_map(value: Option<&Value>) -> Map {
    let members = value.and_then(Value::as_object).into_iter().flatten();
    members.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

fn integer(object: &Value, parent: &str, field: &str) -> Result<Option<i64>, Rejected> {
    match object.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_i64().map(Some).ok_or_else(|| Rejected {
            field: format!("{parent}.{field}"),
            problem: format!("must be an integer, not {value}"),
        }),
    }
}

/// As [`integer`], within the 32 bits that the API's types have: the planner's sums rely on it.
fn count(object: &Value, parent: &str, field: &str) -> Result<Option<i64>, Rejected> {
    match integer(object, parent, field)? {
        Some(number) if i32::try_from(number).is_err() => Err(Rejected {
            field: format!("{parent}.{field}"),
            problem: format!("must fit into 32 bits, not {number}"),
        }),
        number => Ok(number),
    }
}

fn rejected(field: &str, error: impl std::fmt::Display) -> Rejected {
    Rejected { field: field.to_owned(), problem: error.to_string() }
}
