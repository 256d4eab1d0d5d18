//! What a reconcile needs of a cluster.

use std::future::Future;
use std::time::Duration;

use plan::template::Template;
use plan::{Action, Ask, DryRun, Event, FoundJob, OwnerChange, Pod, ReplicaSet, Workload};

/// A cluster that a reconcile acts on: the API server, or a store in memory.
///
/// Every write carries its preconditions: those of the action, and for the Deployment itself
/// `uid` and `resource_version` of the workload that is passed along.
pub trait Cluster {
    /// The Deployment as it is now, past any cache (S2.16). `None` when it is gone.
    fn owner(&self, workload: &Workload) -> impl Future<Output = Result<Option<Owner>, Refusal>> + Send;

    /// Adopts or releases. Returns the ReplicaSet's new resourceVersion.
    fn change_owner(
        &self,
        workload: &Workload,
        change: &OwnerChange,
    ) -> impl Future<Output = Result<String, Refusal>> + Send;

    /// Finds something out. A dry run that is refused is an answer, not an error.
    fn ask(&self, workload: &Workload, ask: &Ask) -> impl Future<Output = Result<Answer, Refusal>> + Send;

    /// A ReplicaSet by name as it is now, past any cache. `None` when there is none.
    fn replica_set(
        &self,
        workload: &Workload,
        name: &str,
    ) -> impl Future<Output = Result<Option<ReplicaSet>, Refusal>> + Send;

    /// Carries an action out. Returns the Deployment's new resourceVersion if it was written.
    fn act(
        &self,
        workload: &Workload,
        action: &Action,
    ) -> impl Future<Output = Result<Option<String>, Refusal>> + Send;

    /// Records an event on the Deployment; never waits, never fails.
    fn record(&self, workload: &Workload, event: &Event);
}

/// A Deployment as a live read shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// `metadata.uid`.
    pub uid: String,
    /// Whether a `metadata.deletionTimestamp` is set.
    pub deleting: bool,
}

/// The answer to a [`Ask`].
#[derive(Clone, Debug)]
pub enum Answer {
    /// To [`Ask::Template`].
    Template(Template),
    /// To [`Ask::DryRun`].
    DryRun(DryRun),
    /// To [`Ask::SetTemplate`]: uid and template.
    SetTemplate(String, Template),
    /// To [`Ask::Pods`].
    Pods(Vec<Pod>),
    /// To [`Ask::Job`].
    Job(FoundJob),
    /// To [`Ask::CheckJobs`]: why the server does not accept one.
    JobsChecked(Result<(), String>),
}

/// A request that was not carried out, or has an unknown outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// HTTP status; 0 when there was no answer.
    pub code: u16,
    /// The reason of the API's Status, such as `Conflict` or `AlreadyExists`.
    pub reason: String,
    /// In the server's words.
    pub message: String,
    /// Whether a cause shows that the namespace is going away (S14.3).
    pub namespace_terminating: bool,
    /// How long the server asked to be spared of more requests (`Retry-After`).
    pub retry_after: Option<Duration>,
}

/// [`Refusal::reason`] of a write that the operator did not send.
const NOT_SENT: &str = "NotSent";
/// [`Refusal::reason`] of a request that was not answered in time.
const NO_ANSWER: &str = "NoAnswer";

impl Refusal {
    /// A refusal with a status code, a reason, and words.
    #[must_use]
    pub fn new(code: u16, reason: &str, message: String) -> Self {
        Self { code, reason: reason.to_owned(), message, namespace_terminating: false, retry_after: None }
    }

    /// The object is not as it was seen.
    #[must_use]
    pub fn conflict(message: String) -> Self {
        Self::new(409, "Conflict", message)
    }

    /// The request was not sent: another replica of the operator may be in charge.
    #[must_use]
    pub fn not_leader() -> Self {
        Self::not_sent("this replica does not lead")
    }

    /// The request was not sent, since another operator may be in charge.
    #[must_use]
    pub fn not_sent(why: &str) -> Self {
        Self::new(0, NOT_SENT, format!("not sent: {why}"))
    }

    /// The server did not answer within this limit.
    #[must_use]
    pub fn no_answer(limit: Duration) -> Self {
        Self::new(0, NO_ANSWER, format!("the API server did not answer within {} s", limit.as_secs()))
    }

    /// The request was not answered in time, see [`Self::no_answer`].
    #[must_use]
    pub fn is_unanswered(&self) -> bool {
        self.reason == NO_ANSWER
    }

    /// The request was not sent, see [`Self::not_sent`].
    #[must_use]
    pub fn is_not_sent(&self) -> bool {
        self.reason == NOT_SENT
    }

    /// The object is not in the version that the decision was made from.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.reason == "Conflict"
    }

    /// The name is taken.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.reason == "AlreadyExists"
    }

    /// Of a write: it may have been carried out all the same.
    #[must_use]
    pub fn leaves_doubt(&self) -> bool {
        (self.code == 0 || self.code >= 500) && !self.is_not_sent()
    }

    /// The object is gone.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code == 404
    }

    /// The server does not accept the object as it would become.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.code == 422
    }
}
