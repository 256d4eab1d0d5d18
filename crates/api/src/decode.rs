//! JSON objects, as the API server sends them, into what the planner reads.
//!
//! Read once, here: missing numbers are defaulted, text is parsed, and the pod template is
//! reduced to a fingerprint. Metadata that anybody may write is read leniently; a spec that
//! cannot mean anything is refused by field.

mod fields;
mod strategy;

use std::iter;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use plan::intstr::{IntOrPercent, signed_decimal};
use plan::keys::{LAST_APPLIED, ROLLBACK_TO};
use plan::selector::{LabelSelector, Requirement};
use plan::template::Json;
use plan::{
    Authors, FailureAction, FailurePolicy, Flavour, Map, Pin, Pod, ReplicaSet, SetFailure, SetStatus,
    TemplateSummary, Workload,
};
use serde::de::value::MapDeserializer;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::authors::{self, authors};
use crate::{DeploymentSpec, DeploymentStatus, ResumePolicy};
pub use fields::Rejected;
use fields::{count, integer, string_map, text};
pub use strategy::until;

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

/// Drops from a Deployment what nobody reads and what is large. The key stays, since it shows that there are
/// annotations at all.
pub fn slim(object: &mut Value) {
    let annotations = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
    if let Some(applied) = annotations.and_then(|annotations| annotations.get_mut(LAST_APPLIED)) {
        *applied = Value::from("");
    }
}

/// Where a spec has its pod template.
const TEMPLATE: &str = "template";

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
    /// `spec.template`.
    pub template: Json<'a>,
}

impl<'a> Parts<'a> {
    /// The parts of an object that still has its template in its spec.
    #[must_use]
    pub fn of(metadata: &'a Value, spec: &'a Value, status: &'a Value) -> Self {
        let template = spec.as_object().and_then(|members| members.get(TEMPLATE)).unwrap_or(&Value::Null);
        Self { metadata, spec, status, template: template.into() }
    }
}

impl<'a> From<&'a Value> for Parts<'a> {
    fn from(object: &'a Value) -> Self {
        let part = |name| object.get(name).unwrap_or(&Value::Null);
        Self::of(part("metadata"), part("spec"), part("status"))
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
    let Parts { metadata: raw_metadata, spec, status, template } = object.into();
    let metadata = Metadata::read(raw_metadata)?;
    let status = self::status(status)?;
    let (spec, unknown_field) = known_spec(spec)?;
    let default = |value: i64| (defaults == Defaults::Apply).then_some(value);
    let limited = |number: Option<i32>, or: i64| {
        number.map(i64::from).or(default(or)).filter(|value| *value != UNLIMITED)
    };
    let annotations = metadata.annotations;
    let rollback_to = if flavour.goes_by_annotations() {
        annotations.get(ROLLBACK_TO).and_then(|text| signed_decimal(text))
    } else {
        spec.rollback_to.map(|request| request.revision.unwrap_or(0))
    };
    let read = strategy::read(flavour, spec.strategy, defaults);
    Ok(Workload {
        namespace: metadata.namespace,
        name: metadata.name,
        uid: metadata.uid,
        resource_version: metadata.resource_version,
        generation: metadata.generation,
        created: metadata.created,
        deleting: metadata.deleting,
        annotations,
        replicas: spec.replicas.map_or(1, i64::from),
        selector: spec.selector.map(selector),
        steps: read.steps,
        good_skips_steps: read.good_skips_steps,
        before_hook: read.before_hook,
        after_hook: read.after_hook,
        strategy: read.strategy,
        min_ready_seconds: spec.min_ready_seconds.map_or(0, i64::from),
        revision_history_limit: limited(spec.revision_history_limit, 10),
        progress_deadline_seconds: limited(spec.progress_deadline_seconds, 600),
        paused: spec.paused.unwrap_or(false),
        resumes_by_word: flavour.has_status_extras() && holds(spec.resume_policy.as_ref()),
        rollback_to,
        pin: spec.pin.filter(|_| flavour.has_status_extras()).map(pin),
        failure_policy: spec.failure_policy.filter(|_| flavour.has_status_extras()).map(failure_policy),
        unknown_field: unknown_field.filter(|_| flavour.is_custom_resource()),
        authors: authors_of(flavour, raw_metadata, metadata.generation, &status),
        template: TemplateSummary::of(flavour, template),
        status: status.into(),
    })
}

/// Who wrote what; nobody asks for it on apps/v1, nor for who set the replicas once the status reports them.
fn authors_of(flavour: Flavour, metadata: &Value, generation: i64, status: &DeploymentStatus) -> Authors {
    if !flavour.has_status_extras() {
        return Authors::default();
    }
    let is_reported = status.observed_generation.is_some_and(|observed| observed >= generation);
    let authors = authors(metadata);
    Authors { replicas: authors.replicas.filter(|_| !is_reported), ..authors }
}

/// Reads the `spec` of a Deployment of either API, without a copy of its template.
///
/// # Errors
/// When a field has a value that cannot mean anything.
pub fn spec(spec: &Value) -> Result<DeploymentSpec, Rejected> {
    known_spec(spec).map(|(spec, _)| spec)
}

/// As [`spec`], with the path of the first field that the types do not have.
fn known_spec(spec: &Value) -> Result<(DeploymentSpec, Option<String>), Rejected> {
    let members = spec.as_object().into_iter().flatten().filter(|(name, _)| *name != TEMPLATE);
    let members = members.map(|(name, value)| (name.as_str(), value));
    let members = members.chain(iter::once((TEMPLATE, &Value::Null)));
    let mut unknown = None;
    let noted = |path: serde_ignored::Path<'_>| {
        // An optional field on the way shows as `?`.
        unknown.get_or_insert_with(|| format!("spec.{path}").replace(".?", ""));
    };
    let mut track = serde_path_to_error::Track::new();
    let members = serde_path_to_error::Deserializer::new(MapDeserializer::new(members), &mut track);
    let read = serde_ignored::deserialize(members, noted);
    let read = read.map_err(|error| rejected("spec", &track.path(), &error))?;
    Ok((read, unknown))
}

/// Reads the `status` of a Deployment of either API.
///
/// # Errors
/// When a field has a value of the wrong type.
pub fn status(status: &Value) -> Result<DeploymentStatus, Rejected> {
    if status.is_null() { Ok(DeploymentStatus::default()) } else { read("status", status) }
}

/// Reads a value; an error names the field.
fn read<'de, T: Deserialize<'de>>(
    at: &str,
    value: impl Deserializer<'de, Error = serde_json::Error>,
) -> Result<T, Rejected> {
    serde_path_to_error::deserialize(value).map_err(|error| rejected(at, error.path(), error.inner()))
}

fn rejected(at: &str, path: &serde_path_to_error::Path, problem: &impl ToString) -> Rejected {
    let path = path.to_string();
    let field = if path == "." { at.to_owned() } else { format!("{at}.{path}") };
    Rejected { field, problem: problem.to_string() }
}

/// One that nobody knows yet moves nothing.
fn holds(policy: Option<&ResumePolicy>) -> bool {
    !matches!(policy, None | Some(ResumePolicy::Automatic))
}

fn failure_policy(policy: crate::FailurePolicy) -> FailurePolicy {
    let action = match policy.action {
        None | Some(crate::FailureAction::Continue | crate::FailureAction::Other(_)) => {
            FailureAction::Continue
        }
        Some(crate::FailureAction::Stop) => FailureAction::Stop,
        Some(crate::FailureAction::Revert) => FailureAction::Revert,
    };
    let when = policy.when.unwrap_or_default();
    let min_pods = match when.min_pods {
        None => IntOrPercent::Int(1),
        Some(IntOrString::Int(number)) => IntOrPercent::Int(number.into()),
        Some(IntOrString::String(text)) => IntOrPercent::Text(text),
    };
    FailurePolicy {
        action,
        deadline: when.deadline_exceeded.unwrap_or(true),
        restarts: when.restarts.map(i64::from),
        stuck_seconds: when.stuck_seconds.map(i64::from),
        min_pods,
        bake_seconds: policy.bake_seconds.map_or(0, i64::from),
    }
}

fn pin(pin: crate::Pin) -> Pin {
    let crate::Pin { pod_template_hash, template_fingerprint, reason } = pin;
    Pin { pod_template_hash, template_fingerprint, reason }
}

fn selector(selector: meta::LabelSelector) -> LabelSelector {
    let terms = selector.match_expressions.unwrap_or_default().into_iter();
    let term = |term: meta::LabelSelectorRequirement| Requirement {
        key: term.key,
        operator: term.operator,
        values: term.values.unwrap_or_default(),
    };
    LabelSelector {
        match_labels: selector.match_labels.unwrap_or_default(),
        match_expressions: terms.map(term).collect(),
    }
}

/// Decodes a ReplicaSet.
///
/// # Errors
/// When a number is none.
pub fn replica_set<'a>(flavour: Flavour, object: impl Into<Parts<'a>>) -> Result<ReplicaSet, Rejected> {
    let Parts { metadata, spec, status, template } = object.into();
    let is_tracked = flavour.is_custom_resource() && authors::are_needless(metadata);
    let metadata = Metadata::read(metadata)?;
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
        is_tracked,
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
