//! What the engine needs of its environment: one request out, one answer in, and the time.
//!
//! The operator's port is the API server. The simulator's is an in-memory store behind a network that loses
//! answers. The engine decides everything above this line, once.

use std::borrow::Cow;
use std::future::Future;
use std::time::Instant;

use api::decode::Parts;
use jiff::Timestamp;
use plan::selector::LabelSelector;
use plan::template::Json;
use plan::{Action, Blocker, Event, OwnerChange, Pod, ReplicaSet, Workload};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::index::Key;
use crate::reconcile::{Outcome, Owner, Refusal};
use crate::rivalry::Rival;

/// The world, for one attempt at one Deployment.
pub trait Port: Sync {
    /// How a reply shows an object.
    type Object: Object;

    /// The monotonic clock.
    fn now(&self) -> Instant;

    /// The wall clock, for what goes into objects.
    fn timestamp(&self) -> Timestamp;

    /// Whether the Deployment's namespace is this operator's; it may have left its shard.
    fn is_ours(&self) -> bool {
        true
    }

    /// The epoch in which this operator works on the Deployment, as [`plan::Options::epoch`] has it; `None` for who is none.
    fn epoch(&self) -> Option<[u64; 3]> {
        None
    }

    /// Whether a watch is known to be broken, so that the cache will not show anything soon.
    fn is_watch_broken(&self) -> bool {
        false
    }

    /// Sends a request and awaits the reply. `cause` is the decision behind a write.
    fn send(
        &self,
        request: Request,
        cause: Cause<'_>,
    ) -> impl Future<Output = Result<Reply<Self::Object>, Refusal>> + Send;

    /// Something that people, metrics or a check may want to know. Never waits, never fails.
    fn note(&self, note: Note<'_>);
}

/// An object in a reply.
pub trait Object: Send + Sync {
    /// Its parts.
    fn parts(&self) -> Parts<'_>;

    /// `metadata.resourceVersion`.
    fn version(&self) -> Cow<'_, str>;

    /// A text of its metadata; empty if it has none.
    fn metadata(&self, field: &str) -> &str {
        self.parts().metadata.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// `spec.template`; null if it has none.
    fn template(&self) -> Json<'_> {
        self.parts().template
    }
}

/// The kinds of objects that an attempt reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A Deployment of the engine's API.
    Deployment,
    /// `apps/v1` ReplicaSet.
    ReplicaSet,
    /// `batch/v1` Job, of a gate or a hook. The port requeues the Deployment when one changes.
    Job,
}

/// One request. Nothing in it is decided by who sends it.
#[derive(Clone, Debug)]
pub enum Request {
    /// Reads one object past any cache.
    Get {
        /// What it is.
        kind: Kind,
        /// `metadata.namespace`.
        namespace: String,
        /// `metadata.name`.
        name: String,
    },
    /// Reads a page of the ReplicaSets of a namespace past any cache.
    ListReplicaSets {
        /// Where.
        namespace: String,
        /// Which of them.
        labels: Labels,
        /// Only those that it selects, if there is one.
        selector: Option<LabelSelector>,
        /// Where the page before ended; `None` for the first one.
        from: Option<String>,
    },
    /// Reads the pods that a Deployment selects. The port requeues the Deployment when one of them ends, until
    /// [`Note::PodsNoMore`].
    ListPods {
        /// The Deployment.
        key: Key,
        /// `metadata.uid` of the Deployment.
        uid: String,
        /// Its selector, in the form of a query.
        selector: String,
    },
    /// Reads a page of pods, to find out what blocks a rollout.
    PagePods {
        /// Where.
        namespace: String,
        /// Which of them, in the form of a query.
        selector: String,
        /// Where the page before ended; `None` for the first one.
        from: Option<String>,
    },
    /// Reads warnings about a pod, for the same purpose.
    ListWarnings {
        /// Where.
        namespace: String,
        /// `metadata.uid` of the pod.
        uid: String,
    },
    /// Creates an object.
    Create {
        /// What it is.
        kind: Kind,
        /// Where.
        namespace: String,
        /// The whole object.
        object: Box<RawValue>,
        /// Whether the server only returns what it would store.
        is_dry_run: bool,
    },
    /// Changes an object.
    Patch {
        /// What it is.
        kind: Kind,
        /// `metadata.namespace`.
        namespace: String,
        /// `metadata.name`.
        name: String,
        /// With preconditions in it.
        patch: Patch,
        /// Whether its status is changed, and nothing else.
        of_status: bool,
        /// Whether the reply has to be the whole object and not only its version.
        wants_object: bool,
    },
    /// Deletes an object if it is still the one, in the version, that was seen. The pods of a Job go with it.
    Delete {
        /// What it is.
        kind: Kind,
        /// `metadata.namespace`.
        namespace: String,
        /// `metadata.name`.
        name: String,
        /// `metadata.uid`.
        uid: String,
        /// `metadata.resourceVersion`; `None` if any version will do.
        version: Option<String>,
    },
}

impl Request {
    /// Whether the server checks an object for it, as for every write, and for a dry run of one.
    pub(crate) fn is_write(&self) -> bool {
        matches!(self, Self::Create { .. } | Self::Patch { .. } | Self::Delete { .. })
    }
}

/// Which ReplicaSets of a namespace are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    /// All.
    Any,
    /// Those without the label `rollwright.dev/managed=true`.
    Unmanaged,
}

/// A patch of this content type.
#[derive(Clone, Debug)]
pub enum Patch {
    /// RFC 7396.
    Merge(Value),
    /// RFC 6902. It may carry a template.
    Json(Box<RawValue>),
    /// Kubernetes' own, for built-in kinds.
    Strategic(Value),
}

/// What came back.
#[derive(Clone, Debug)]
pub enum Reply<O> {
    /// To a read, a dry run, or a patch that wants it: the object.
    Object(O),
    /// To another write: the version that the object has by it; empty if it is gone.
    Version(String),
    /// To a list: what there is, and where the next page begins.
    Page(Vec<O>, Option<String>),
    /// To [`Request::PagePods`] and [`Request::ListWarnings`]: as they are, and where the next page begins.
    Values(Vec<Value>, Option<String>),
    /// To [`Request::ListPods`].
    Pods(Vec<Pod>),
}

/// The decision behind a request.
#[derive(Clone, Copy, Debug)]
pub enum Cause<'a> {
    /// None: it only reads.
    Look,
    /// An action of the plan.
    Act(&'a Action),
    /// A change of owner.
    OwnerChange(&'a OwnerChange),
    /// The operator's label has to be on a ReplicaSet for the watch to show it.
    Label,
}

/// What happened in an attempt.
#[derive(Debug)]
pub enum Note<'a> {
    /// The cache does not show yet what was written before.
    CacheBehind,
    /// The cache has been behind for too long: the Deployment and its ReplicaSets are read live.
    ReadsLive,
    /// The lists of a start have not come, and the Deployment was edited: it and its ReplicaSets are read live.
    ReadsEarly,
    /// A reconcile begins from this.
    Begins(&'a Workload, &'a [ReplicaSet]),
    /// The Deployment as a live read shows it before an adoption.
    Owner(&'a Workload, Option<&'a Owner>),
    /// What the server would make of the template; `None` when it refuses.
    DryRun(Option<plan::template::Digest>),
    /// A dry run was refused.
    DryRunRefused(&'a Refusal),
    /// A ReplicaSet with the name of the one to be created is there.
    Found(&'a ReplicaSet),
    /// An owned ReplicaSet has another template than the one that it was created from: its name, and the first field of
    /// the template that differs, as a JSON pointer.
    Changed(&'a str, &'a str),
    /// An action was carried out, or refused.
    Acted(&'a Workload, &'a Action, Result<(), &'a Refusal>),
    /// A change of owner was carried out.
    OwnerChanged(&'a OwnerChange),
    /// An event for the Deployment.
    Event(&'a Workload, &'a Event),
    /// An owned ReplicaSet had lost the operator's label, which was restored.
    LabelRestored(&'a str),
    /// A ReplicaSet lost the operator's label and its owner, and is left alone.
    LeftAlone(&'a str),
    /// An orphan gets the operator's label, to be adopted.
    LabelsOrphan(&'a str),
    /// An orphan matches and lacks the operator's label: its name, and the command that hands it over.
    Orphan(&'a str, &'a str),
    /// The Deployment is left to another controller.
    GivesWay(&'a Rival, &'a str),
    /// Why the rollout is where it is, if that is news.
    Why(&'a str),
    /// Other causes block the rollout than before; none does, if there are none.
    Blocked(&'a [Blocker]),
    /// The pods of the Deployment need not be watched any more.
    PodsNoMore,
    /// The reconcile is over.
    Ended(&'a Outcome),
    /// The Deployment is gone, or belongs to this operator no longer.
    Forgotten,
    /// Other keys were requeued.
    Requeued,
}
