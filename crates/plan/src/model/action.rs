//! Everything that a plan may do to a cluster, each with its precondition.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::checkpoint::NewJob;
use crate::model::labels::Map;
use crate::model::observed::{ReplicaSet, SetFailure};
use crate::model::record::{LastScale, Record};
use crate::model::selector::LabelSelector;
use crate::model::status::Status;
use crate::model::template::Template;
use crate::model::why::Why;
use jiff::Timestamp;

/// What comes next in a reconcile.
#[derive(Clone, Debug)]
pub enum Step {
    /// Find this out, add it to the snapshot, and plan again.
    Ask(Ask),
    /// Adopt and release these, change the snapshot accordingly, and plan again (S2.11–S2.18).
    ChangeOwners(Vec<OwnerChange>),
    /// Carry this out; then the reconcile ends.
    Act(Box<Plan>),
}

impl From<Ask> for Step {
    fn from(ask: Ask) -> Self {
        Self::Ask(ask)
    }
}

/// What the planner cannot know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// The Deployment's own template, in the version of the snapshot.
    Template,
    /// What the server would make of this ReplicaSet; nothing is stored.
    DryRun(Box<NewReplicaSet>),
    /// The stored template of the ReplicaSet with this name and uid.
    SetTemplate {
        /// Name of the ReplicaSet.
        name: String,
        /// uid of the ReplicaSet.
        uid: String,
    },
    /// The pods of the Deployment.
    Pods,
    /// The Job with this name, for [`crate::Answers::job`].
    Job {
        /// Its name.
        name: String,
    },
    /// Whether the server would accept all Jobs of the spec; nothing is stored.
    CheckJobs,
}

/// A change of ownership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnerChange {
    /// Make the Deployment the controller of an orphan (S2.15–S2.17).
    Adopt(Target),
    /// Stop being the controller of a ReplicaSet with labels that do not match (S2.14).
    Release(Target),
}

/// A ReplicaSet in the version that the decision was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
}

impl Target {
    pub(crate) fn of(set: &ReplicaSet) -> Self {
        let ReplicaSet { name, uid, resource_version, .. } = set;
        Self { name: name.clone(), uid: uid.clone(), resource_version: resource_version.clone() }
    }
}

/// The outcome of planning: at most one status write, every prefix of `actions` legal.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What to do, in order; the first failure ends the reconcile (see [`crate::after_failure`]).
    pub actions: Vec<Planned>,
    /// Events that do not depend on an action.
    pub events: Vec<Event>,
    /// When to look again without an event.
    pub requeue: Requeue,
    /// Why the rollout is where it is, for people.
    pub why: Why,
    /// What the rollout waits for, if it moves only when pods do.
    pub awaited: Option<Box<Awaited>>,
    /// Whether there is news for the status that may wait, and does.
    pub status_waits: bool,
    /// An error that no action caused, such as an unknown strategy (S3.10).
    pub error: Option<String>,
    /// Rules from which a branch deviated on purpose (docs/deviations.md).
    pub deviations: BTreeSet<&'static str>,
    /// The status to write when the creation of the new ReplicaSet fails; `None` when none is created, or another one
    /// runs (FP-11).
    pub(crate) if_create_refused: Option<Box<Status>>,
    /// Of a rolling update that takes steps of upstream's next reconciles too (S6.5): the sum of sizes that
    /// upstream's first status is computed from.
    pub(crate) size_before_step: Option<i64>,
}

/// The pods that a rollout waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Awaited {
    /// The name of the declared ReplicaSet; `None` if there is none yet, because old pods still run.
    pub set: Option<String>,
    /// Its uid; empty if there is none.
    pub uid: String,
    /// Selects the pods, in the form of a query: those of the ReplicaSet, or all of the Deployment while it is judged.
    pub selector: String,
    /// The size of the ReplicaSet.
    pub size: i64,
    /// Its pods.
    pub replicas: i64,
    /// Ready ones of them.
    pub ready: i64,
    /// Available ones of them.
    pub available: i64,
    /// The pods of all other ReplicaSets; those that terminate too, if they are what it waits for.
    pub others: i64,
    /// Whether nothing moves before pods come up, can be created, or are gone.
    pub is_still: bool,
    /// Whether a failure policy judges it by its pods (FP-4).
    pub is_judged: bool,
    /// The uid of the ReplicaSet that a revert would run; empty if there is none.
    pub fallback: String,
    /// Why the server refuses further pods of it.
    pub refusal: Option<SetFailure>,
    /// `spec.progressDeadlineSeconds`, with which the wait ends as a failure.
    pub deadline: Option<i64>,
}

/// An action, and what to report once it is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// What to do.
    pub action: Action,
    /// Recorded only when the action succeeded.
    pub events: Vec<Event>,
}

/// The whole list of the operator's powers, adoption and release aside.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Persist the selector taken from the template's labels (rollwright.dev).
    SetSelector(LabelSelector),
    /// Create a ReplicaSet. Precondition: the name is free.
    CreateReplicaSet(Box<NewReplicaSet>),
    /// Change a ReplicaSet. Precondition: uid and resourceVersion.
    UpdateReplicaSet(UpdateReplicaSet),
    /// Delete an idle ReplicaSet. Precondition: uid and resourceVersion (S11.6).
    DeleteReplicaSet(Target),
    /// Write the Deployment's status. Precondition: uid and resourceVersion.
    WriteStatus(Box<StatusWrite>),
    /// Create the Job of a gate or a hook. Precondition: the name is free, and the spec still has its template.
    CreateJob(Box<NewJob>),
    /// Delete the Job of a gate or a hook that nobody needs any more. Precondition: uid.
    DeleteJob {
        /// Its name.
        name: String,
        /// Its uid.
        uid: String,
    },
    /// Put a template back, or only clear the request. Precondition: uid and resourceVersion.
    RollBack(Box<RollBack>),
}

/// A ReplicaSet to create (S4.9, S4.10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewReplicaSet {
    /// `<deployment>-<hash>` (S4.8).
    pub name: String,
    /// The value of the label `pod-template-hash`.
    pub hash: String,
    /// `metadata.labels`.
    pub labels: Map,
    /// `metadata.annotations`.
    pub annotations: Map,
    /// `spec.replicas`.
    pub size: i64,
    /// `spec.minReadySeconds`.
    pub min_ready_seconds: i64,
    /// `spec.selector`.
    pub selector: LabelSelector,
    /// `spec.template`, hash label included.
    pub template: Template,
}

/// Changes to one ReplicaSet; what is `None` or absent stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateReplicaSet {
    /// Which one.
    pub target: Target,
    /// The size that the decision was made from.
    pub size_from: i64,
    /// The new size; equal to `size_from` when only annotations change.
    pub size_to: i64,
    /// A new `spec.minReadySeconds`, with the old one.
    pub min_ready_seconds: Option<(i64, i64)>,
    /// Annotations to set.
    pub annotations: Map,
    /// Whether to drop `metadata.managedFields`: without them, each later write costs the API server less (S8.9).
    pub ends_tracking: bool,
    /// What a failure of this write means.
    pub purpose: Purpose,
}

/// Why a ReplicaSet is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Annotations and `minReadySeconds` follow the Deployment (S4.3).
    Sync,
    /// A new size.
    Scale,
    /// An old ReplicaSet shrinks in a rolling update (S6.8–S6.13).
    ScaleDownOld,
}

/// A status to write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusWrite {
    /// The whole status.
    pub status: Status,
    /// The annotation that travels with it (apps/v1 only, S5.6).
    pub revision_annotation: Option<String>,
    /// Records that the history gets, oldest first (rollwright.dev).
    pub ended: Vec<Record>,
    /// `status.lastScale`, if it is another one (rollwright.dev).
    pub last_scale: Option<LastScale>,
    /// Whether it is the first to report that a revision failed that no status reported as late (FP-2).
    pub is_failure: bool,
}

/// The outcome of a rollback request, written to the Deployment itself (S10.7, S10.8).
#[derive(Clone, Debug, PartialEq)]
pub struct RollBack {
    /// The template to restore; `None` only clears the request.
    pub template: Option<Template>,
    /// Annotations to set (`Some`) or remove (`None`); the request's own is removed besides.
    pub annotations: BTreeMap<String, Option<String>>,
}

/// An event on the Deployment (S12).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// Normal or warning.
    pub kind: EventKind,
    /// A constant of [`crate::model::keys::reason`].
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// All is well.
    Normal,
    /// Somebody should look.
    Warning,
}

impl EventKind {
    /// The word that the API uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

impl Event {
    /// An event of type Normal.
    #[must_use]
    pub fn normal(reason: &'static str, message: String) -> Self {
        Self { kind: EventKind::Normal, reason, message }
    }

    /// An event of type Warning.
    #[must_use]
    pub fn warning(reason: &'static str, message: String) -> Self {
        Self { kind: EventKind::Warning, reason, message }
    }
}

/// When to look at the Deployment again without an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Requeue {
    /// When something changes.
    #[default]
    OnChange,
    /// Soon, at the queue's own rate: the deadline is less than a second away, or has passed (S9.15).
    Again,
    /// At this time: one second after the progress deadline (S9.15), at the end of a step, a bake, or a time in which
    /// pods are stuck, or when a ReplicaSet is old enough for clean-up.
    Deadline(Timestamp),
    /// At this time, when a status that waits may be written.
    StatusPaced(Timestamp),
    /// At this time, when the last of the names that are taken is tried again (NS-1).
    NamesTaken(Timestamp),
}

impl Requeue {
    /// The time, if there is one.
    #[must_use]
    pub fn time(self) -> Option<Timestamp> {
        match self {
            Self::OnChange | Self::Again => None,
            Self::Deadline(time) | Self::StatusPaced(time) | Self::NamesTaken(time) => Some(time),
        }
    }

    /// The one that comes first: soon, then by time, then when something changes.
    pub(crate) fn earliest(self, other: Self) -> Self {
        let rank = |it: Self| match it {
            Self::Again => (0, None),
            Self::OnChange => (2, None),
            Self::Deadline(_) | Self::StatusPaced(_) | Self::NamesTaken(_) => (1, it.time()),
        };
        if rank(other) < rank(self) { other } else { self }
    }
}
