//! The snapshot of a reconcile: one Deployment, its candidate ReplicaSets, and the answers to questions.

use std::sync::Arc;

use jiff::Timestamp;

use crate::model::blocker::Findings;
use crate::model::checkpoint::{FoundJob, JobSpec};
use crate::model::evidence::Evidence;
use crate::model::flavour::Flavour;
use crate::model::intstr::IntOrPercent;
use crate::model::labels::Map;
use crate::model::options::Options;
use crate::model::record::Authors;
use crate::model::safeguards::{FailureAction, FailurePolicy, Pin};
use crate::model::selector::LabelSelector;
use crate::model::status::Status;
use crate::model::steps::UpdateStep;
use crate::model::summary::TemplateSummary;
use crate::model::template::{Digest, Fingerprint, Template};

/// The snapshot that a plan is made from.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The API that the Deployment belongs to.
    pub flavour: Flavour,
    /// The Deployment.
    pub workload: Workload,
    /// ReplicaSets that the Deployment controls, and orphans it may see, in any order.
    pub sets: Vec<ReplicaSet>,
    /// What the shell found out for this reconcile.
    pub answers: Answers,
    /// Settings that change decisions.
    pub options: Options,
}

/// Answers to [`crate::Ask`]; `None` means not asked yet.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// The Deployment's own template.
    pub template: Option<Template>,
    /// What a dry run returned for the current template.
    pub dry_run: Option<DryRun>,
    /// The stored template of a ReplicaSet, by uid, hash label and all.
    pub set_template: Option<(String, Template)>,
    /// The pods of the owned ReplicaSets.
    pub pods: Option<Vec<Pod>>,
    /// Whether the server refused a cut of old pods in this reconcile: it is not asked for another one.
    pub refuses_cuts: bool,
    /// Whether it refused to create the ReplicaSet of a template that a rollback replaces: nothing needs that anymore.
    pub refuses_creation: bool,
    /// Until when no further name is tried, because ReplicaSets are changed when they are created (apps/v1, S4.15).
    pub names_held: Option<Timestamp>,
    /// Names of ReplicaSets that fit the selector but lack the operator's label; not asked for, they only show in
    /// [`crate::Why`].
    pub orphans: Vec<String>,
    /// What blocks the rollout, as far as somebody has looked. It shows in the status and in [`crate::Why`], and a
    /// failure policy decides by what the status has of it (FP-4).
    pub findings: Option<Findings>,
    /// What the pods of the declared ReplicaSet and of the fallback showed, where a failure policy needs it (FP-4).
    pub evidence: Arc<[Evidence]>,
    /// The Job that was asked for last (GA-2).
    pub job: Option<FoundJob>,
    /// Whether the server accepts all Jobs of the spec, or the words in which it refuses one (GA-5).
    pub jobs_checked: Option<Result<(), String>>,
    /// The words in which it refused to create a Job in this reconcile: none is created.
    pub job_refused: Option<String>,
}

/// What the API server would make of the current template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DryRun {
    /// The server would store a template with this digest, hash label aside.
    Stored(Digest),
    /// The server refused to answer; the reconcile carries on without.
    Refused,
}

/// A Deployment, decoded; numbers are defaulted where the flavour defaults them (S1.17).
#[derive(Clone, Debug)]
pub struct Workload {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`, the precondition of every write to the Deployment.
    pub resource_version: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// `metadata.creationTimestamp`.
    pub created: Timestamp,
    /// Whether a `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// `metadata.annotations`.
    pub annotations: Map,
    /// `spec.replicas`: R of the contract.
    pub replicas: i64,
    /// `spec.selector`; `None` when missing.
    pub selector: Option<LabelSelector>,
    /// `spec.strategy`.
    pub strategy: Strategy,
    /// `spec.strategy.rollingUpdate.steps` (rollwright.dev).
    pub steps: Vec<UpdateStep>,
    /// Whether a revision that is known to be good has none of them (SP-9).
    pub good_skips_steps: bool,
    /// `spec.strategy.hooks.before`: the Job that has to succeed before the first pod of a revision (rollwright.dev).
    pub before_hook: Option<JobSpec>,
    /// `spec.strategy.hooks.after`: the Job that has to succeed once the rollout is complete (rollwright.dev).
    pub after_hook: Option<JobSpec>,
    /// `spec.minReadySeconds`.
    pub min_ready_seconds: i64,
    /// `spec.revisionHistoryLimit`; `None` keeps everything (S11.2).
    pub revision_history_limit: Option<i64>,
    /// `spec.progressDeadlineSeconds`; `None` is no deadline (S9.9).
    pub progress_deadline_seconds: Option<i64>,
    /// `spec.paused`.
    pub paused: bool,
    /// Whether a rollout that a restart of the operator interrupts waits for a word: `spec.resumePolicy: Manual`
    /// (rollwright.dev).
    pub resumes_by_word: bool,
    /// The revision to roll back to; 0 or less than 0 as the user wrote it (S10.2).
    pub rollback_to: Option<i64>,
    /// `spec.pin` (rollwright.dev).
    pub pin: Option<Pin>,
    /// `spec.failurePolicy` (rollwright.dev).
    pub failure_policy: Option<FailurePolicy>,
    /// The path of the first field of `spec`, outside the template, that this program does not know (rollwright.dev).
    pub unknown_field: Option<String>,
    /// Who wrote what of it (rollwright.dev); for people, and no decision reads it.
    pub authors: Authors,
    /// The pod template, in short.
    pub template: TemplateSummary,
    /// `status`.
    pub status: Status,
}

impl Workload {
    /// Whether the rollout was complete when the status was last written (S9.10).
    pub(crate) fn is_stored_complete(&self) -> bool {
        self.status.is_complete(self.replicas, self.generation)
    }

    /// Whether a revision may fail by its policy: not under Continue.
    pub(crate) fn may_fail(&self) -> bool {
        self.failure_policy.as_ref().is_some_and(|policy| policy.action != FailureAction::Continue)
    }

    /// The pin, unless it was made for another template (FP-11).
    #[must_use]
    pub fn pin_in_force(&self) -> Option<&Pin> {
        // There is one canonical form of templates so far. A second one is compared here, too.
        let holds = |template: &String| template == self.template.fingerprint.as_str();
        self.pin.as_ref().filter(|pin| pin.template_fingerprint.as_ref().is_none_or(holds))
    }
}

/// `spec.strategy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// New pods come as old pods go (S6).
    RollingUpdate {
        /// How many pods above `replicas` may exist.
        max_surge: Option<IntOrPercent>,
        /// How many pods below `replicas` may be available.
        max_unavailable: Option<IntOrPercent>,
    },
    /// All old pods go before the first new one comes (S7).
    Recreate,
    /// A type that the operator does not know (S3.10).
    Unknown(String),
}

/// A ReplicaSet, decoded, without its template.
#[derive(Clone, Debug)]
pub struct ReplicaSet {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`, the precondition of every write to the ReplicaSet.
    pub resource_version: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// `metadata.creationTimestamp`.
    pub created: Timestamp,
    /// Whether a `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// `metadata.labels`.
    pub labels: Map,
    /// `metadata.annotations`.
    pub annotations: Map,
    /// uid of the owner reference with `controller: true`.
    pub controller_uid: Option<String>,
    /// `spec.replicas`.
    pub size: i64,
    /// `spec.minReadySeconds`.
    pub min_ready_seconds: i64,
    /// The templates that this ReplicaSet stands for: its annotation, or on apps/v1 its own template.
    pub fingerprints: Vec<Fingerprint>,
    /// Digest of the template as stored, hash label aside.
    pub stored: Digest,
    /// Whether the API server keeps `metadata.managedFields` for it that nobody needs (rollwright.dev).
    pub is_tracked: bool,
    /// `status`.
    pub status: SetStatus,
}

impl ReplicaSet {
    /// Whether its controller has made and deleted all pods that it was asked to, or reports why it cannot. Those that
    /// are there need not be ready.
    #[must_use]
    pub fn is_served(&self) -> bool {
        let SetStatus { replicas, observed_generation, failure, .. } = &self.status;
        let is_refused = failure.as_ref().is_some_and(|failure| failure.status == "True");
        *observed_generation >= self.generation && (*replicas == self.size || is_refused)
    }

    /// Whether its controller has done what it was asked to do, so that its status stays as it is.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.status.is_settled(self.generation, self.size)
    }
}

impl SetStatus {
    /// The same of a ReplicaSet of this generation and size.
    #[must_use]
    pub fn is_settled(&self, generation: i64, size: i64) -> bool {
        self.observed_generation >= generation
            && [self.replicas, self.ready, self.available].iter().all(|pods| *pods == size)
            && self.terminating.unwrap_or(0) == 0
    }

    /// Whether a ReplicaSet of this size has lost pods that it should have: fewer are ready or available than
    /// before, when it reported this.
    #[must_use]
    pub fn has_lost(&self, size: i64, before: &Self) -> bool {
        let has_lost = |before: i64, now: i64| now < before && now < size;
        has_lost(before.ready, self.ready) || has_lost(before.available, self.available)
    }
}

/// `status` of a ReplicaSet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetStatus {
    /// Pods that are neither finished nor terminating (S9.18).
    pub replicas: i64,
    /// Ready ones of them.
    pub ready: i64,
    /// Available ones of them.
    pub available: i64,
    /// Terminating pods; `None` when the ReplicaSet's controller does not report them.
    pub terminating: Option<i64>,
    /// The generation that the numbers belong to.
    pub observed_generation: i64,
    /// The condition `ReplicaFailure`, if there is one (S9.14).
    pub failure: Option<SetFailure>,
}

/// A condition `ReplicaFailure` of a ReplicaSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetFailure {
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// `FailedCreate` or `FailedDelete`.
    pub reason: String,
    /// The server's words.
    pub message: String,
    /// When it became so.
    pub last_transition_time: Option<Timestamp>,
}

/// A pod, as far as Recreate looks at it (S7.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// uid of the owner reference with `controller: true`.
    pub controller_uid: Option<String>,
    /// `status.phase`.
    pub phase: String,
}

impl ReplicaSet {
    /// Whether it should have pods.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.size > 0
    }

    /// Whether it stands for a template.
    #[must_use]
    pub fn carries(&self, fingerprint: &Fingerprint) -> bool {
        self.fingerprints.contains(fingerprint)
    }

    /// Whether this ReplicaSet, which has the name of the next one, is the Deployment's own on apps/v1: something
    /// changed it when it was created, or the templates of two revisions have the same hash.
    #[must_use]
    pub fn is_changed(&self, flavour: Flavour, workload: &Workload) -> bool {
        !flavour.has_safeguards()
            && self.controller_uid.as_ref() == Some(&workload.uid)
            && !self.carries(&workload.template.fingerprint)
    }

    /// Oldest first, then by name (S4.1).
    #[must_use]
    pub fn age_order(&self, other: &Self) -> std::cmp::Ordering {
        self.created.cmp(&other.created).then_with(|| self.name.cmp(&other.name))
    }
}

impl Pod {
    /// Whether it may still do work; a terminating pod may (S7.3).
    #[must_use]
    pub fn is_running(&self) -> bool {
        !matches!(self.phase.as_str(), "Failed" | "Succeeded")
    }
}
