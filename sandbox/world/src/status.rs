//! The status of one version of an object.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock, OnceLock};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::kubelet::status::Report;
use crate::stamp::stamp;

/// The status of a pod that nobody has looked at yet.
static PENDING: LazyLock<Arc<Status>> = LazyLock::new(|| Arc::new(json!({ "phase": "Pending" }).into()));

/// The status of one version of an object: JSON. That of a pod is kept as its kubelet knows it, and
/// becomes JSON when somebody reads it: in a simulation hardly anybody does.
pub struct Status {
    source: Source,
    json: OnceLock<Value>,
    pod: OnceLock<PodState>,
}

/// What a status is made from.
enum Source {
    /// The status was written as JSON.
    Json,
    /// The status before, and since then a node.
    Bound { before: Arc<Status>, at: Timestamp },
    /// What a kubelet reported.
    Reported(Box<Report>),
}

/// Where a pod is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Nothing runs yet.
    #[default]
    Pending,
    /// Its node is lost.
    Unknown,
    /// Its containers run.
    Running,
    /// The pod has ended well.
    Succeeded,
    /// The pod has ended with an error.
    Failed,
}

impl Phase {
    /// Whether nothing runs any more.
    #[must_use]
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// What controllers read of the status of a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PodState {
    /// `phase`.
    pub phase: Phase,
    /// Whether the condition `Ready` is true.
    pub is_ready: bool,
    /// Since when it is, as far as that can be read.
    pub ready_since: Option<Timestamp>,
}

impl PodState {
    fn read(status: &Value) -> Self {
        let phase = match status.get("phase").and_then(Value::as_str) {
            Some("Unknown") => Phase::Unknown,
            Some("Running") => Phase::Running,
            Some("Succeeded") => Phase::Succeeded,
            Some("Failed") => Phase::Failed,
            _ => Phase::Pending,
        };
        let conditions = status.get("conditions").and_then(Value::as_array);
        let is = |condition: &Value, field: &str, value: &str| {
            condition.get(field).and_then(Value::as_str) == Some(value)
        };
        let mut conditions = conditions.into_iter().flatten();
        let ready = conditions.find(|one| is(one, "type", "Ready") && is(one, "status", "True"));
        let ready_since = ready.and_then(|ready| ready.get("lastTransitionTime")?.as_str()?.parse().ok());
        Self { phase, is_ready: ready.is_some(), ready_since }
    }
}

impl Status {
    /// The status of a new pod.
    pub(crate) fn pending() -> Arc<Self> {
        Arc::clone(&PENDING)
    }

    fn made_from(source: Source) -> Self {
        Self { source, json: OnceLock::new(), pod: OnceLock::new() }
    }

    /// The status of a pod that gets its node.
    pub(crate) fn bound(before: &Arc<Self>, at: Timestamp) -> Self {
        Self::made_from(Source::Bound { before: Arc::clone(before), at })
    }

    /// The status of a pod as its kubelet reports it.
    pub(crate) fn reported(report: Report) -> Self {
        Self::made_from(Source::Reported(Box::new(report)))
    }

    /// What controllers read of it, if it is that of a pod.
    #[must_use]
    pub fn pod(&self) -> PodState {
        match &self.source {
            Source::Json => *self.pod.get_or_init(|| PodState::read(self)),
            Source::Bound { before, .. } => before.pod(),
            Source::Reported(report) => report.state(),
        }
    }

    /// What its kubelet reported, if nobody else has written since.
    pub(crate) fn report(&self) -> Option<&Report> {
        match &self.source {
            Source::Reported(report) => Some(report),
            _ => None,
        }
    }

    /// The last status before this one that no kubelet wrote.
    pub(crate) fn of_others(self: &Arc<Self>) -> Arc<Self> {
        match &self.source {
            Source::Json => Arc::clone(self),
            Source::Bound { before, .. } => before.of_others(),
            Source::Reported(report) => Arc::clone(&report.before),
        }
    }

    fn make(&self) -> Value {
        match &self.source {
            Source::Json => Value::Null,
            Source::Bound { before, at } => with_node(before, *at),
            Source::Reported(report) => report.to_json(),
        }
    }
}

/// A status with the condition that its pod has a node.
fn with_node(before: &Value, at: Timestamp) -> Value {
    let mut status = before.clone();
    let scheduled = json!({ "type": "PodScheduled", "status": "True", "lastTransitionTime": stamp(at) });
    if let Some(members) = status.as_object_mut() {
        let conditions = members.entry("conditions").or_insert_with(|| json!([]));
        if let Some(conditions) = conditions.as_array_mut() {
            conditions.retain(|condition| condition.get("type") != scheduled.get("type"));
            conditions.push(scheduled);
        }
    }
    status
}

impl Deref for Status {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.json.get_or_init(|| self.make())
    }
}

impl From<Value> for Status {
    fn from(json: Value) -> Self {
        Self { source: Source::Json, json: OnceLock::from(json), pod: OnceLock::new() }
    }
}

impl PartialEq for Status {
    fn eq(&self, other: &Self) -> bool {
        let is_plain = |status: &Self| matches!(status.source, Source::Json);
        // States are read off the JSON: where they differ, it does.
        (is_plain(self) && is_plain(other) || self.pod() == other.pod()) && **self == **other
    }
}

impl Eq for Status {}

impl PartialEq<Value> for Status {
    fn eq(&self, other: &Value) -> bool {
        **self == *other
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
