//! The status of a Deployment (S9.1–S9.6); `counters.rs` computes it, `crates/api` reads and writes it.

use std::ops::Deref;

use jiff::Timestamp;

use crate::model::blocker::Blocker;
use crate::model::conditions::Condition;
use crate::model::record::{Author, HistoryHead, Record};
use crate::model::trigger::Outline;

/// `status`. Counts are pods unless noted otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// The generation that the rest belongs to (S9.1).
    pub observed_generation: i64,
    /// Pods of all ReplicaSets that are not terminating (S9.2).
    pub replicas: i64,
    /// Those of the new ReplicaSet.
    pub updated_replicas: i64,
    /// Ready pods of all ReplicaSets.
    pub ready_replicas: i64,
    /// Available pods of all ReplicaSets.
    pub available_replicas: i64,
    /// Pods that the ReplicaSets should have and that are not available (S9.3).
    pub unavailable_replicas: i64,
    /// Terminating pods, if all ReplicaSets report them (S9.4).
    pub terminating_replicas: Option<i64>,
    /// How often a name was taken by somebody else's ReplicaSet (S4.15).
    pub collision_count: Option<i32>,
    /// Conditions, the operator's and foreign ones, in the order of their last change (S9.7).
    pub conditions: Vec<Condition>,
    /// What only rollwright.dev has.
    pub ours: Ours,
}

/// The numbers of a [`Status`] that follow from the ReplicaSets (S9.1–S9.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) observed_generation: i64,
    pub(crate) replicas: i64,
    pub(crate) updated_replicas: i64,
    pub(crate) ready_replicas: i64,
    pub(crate) available_replicas: i64,
    pub(crate) unavailable_replicas: i64,
    pub(crate) terminating_replicas: Option<i64>,
}

/// Status fields of rollwright.dev; all empty on apps/v1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ours {
    /// Revision of the new ReplicaSet.
    pub revision: Option<i64>,
    /// `spec.selector` as text, for the scale subresource.
    pub selector: Option<String>,
    /// min(`replicas`, `spec.replicas`): surge never shows as current size.
    pub scale_replicas: Option<i64>,
    /// `spec.replicas`, by which the next change of it is recognized.
    pub replicas: Option<i64>,
    /// The outline of the template that was rolled out last, by which the next trigger is found.
    pub outline: Option<Outline>,
    /// `ready/desired`, for the printer column.
    pub ready: Option<String>,
    /// Container names, for the printer column.
    pub containers: Option<String>,
    /// Container images, for the printer column.
    pub images: Option<String>,
    /// The last rollback.
    pub rollback: Option<RollbackRecord>,
    /// The names that were taken when the operator wanted to create a ReplicaSet of the current template.
    pub collisions: Option<CollisionRecord>,
    /// What runs instead of the declared revision.
    pub target: Option<TargetRecord>,
    /// Where a revert would go.
    pub fallback: Option<FallbackRecord>,
    /// Since when the declared revision bakes.
    pub bake: Option<BakeRecord>,
    /// How far the declared revision ever was, under a failure policy.
    pub marks: Option<Marks>,
    /// What blocks the rollout, heaviest first.
    pub blockers: Vec<Blocker>,
    /// The rollout that is running.
    pub rollout: Option<Box<Record>>,
    /// What is kept of the history.
    pub history: HistoryHead,
}

/// `status.target`: the ReplicaSet that runs instead of the declared one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetRecord {
    /// Its revision; `None` if it is gone, or has none.
    pub revision: Option<i64>,
    /// Its label `pod-template-hash`.
    pub hash: String,
    /// Why: `Pinned`, `PinTargetMissing`, `Reverted`, or `Aborted`.
    pub reason: String,
    /// The revision of the declared ReplicaSet, if that is there.
    pub declared_revision: Option<i64>,
}

/// `status.fallback`: the revision that a revert runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FallbackRecord {
    /// The revision.
    pub revision: Option<i64>,
    /// Its label `pod-template-hash`.
    pub hash: String,
}

/// `status.memory.bake`: since when a revision that is complete has served without a break (FP-1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BakeRecord {
    /// The revision.
    pub revision: i64,
    /// When it was complete, in whole seconds.
    pub since: Timestamp,
}

/// High-water marks of one revision at one number of replicas; all of them pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The revision.
    pub revision: i64,
    /// `spec.replicas`.
    pub replicas: i64,
    /// Pods.
    pub updated: i64,
    /// Ready ones.
    pub ready: i64,
    /// Available ones.
    pub available: i64,
    /// Whether all its pods were available at some time, at any number of replicas.
    pub complete: bool,
}

/// `status.memory.collisions`: how often the name of a template's ReplicaSet was taken (NS-1).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CollisionRecord {
    /// Fingerprint of the template.
    pub template: String,
    /// How often, since the template came.
    pub count: i64,
    /// When last, in RFC 3339.
    pub time: String,
}

/// `status.rollback`: the outcome of the last `spec.rollbackTo`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RollbackRecord {
    /// The revision asked for; 0 is the previous one.
    pub requested: i64,
    /// The revision rolled back to; 0 when there was none.
    pub revision: i64,
    /// `RolledBack`, `RevisionNotFound`, `TemplateUnchanged`, `Invalid` or `Refused`.
    pub result: String,
    /// Why, if the server refused the template.
    pub message: Option<String>,
    /// When, in RFC 3339.
    pub time: String,
    /// Who asked for it.
    pub author: Option<Author>,
    /// The rollbacks of the last ten minutes, oldest first, at most three.
    pub recent: Vec<RecentRollback>,
}

/// One rollback of the last ten minutes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecentRollback {
    /// When, in RFC 3339.
    pub time: String,
    /// Fingerprint of the template that was replaced.
    pub from: String,
    /// Fingerprint of the template that the rollback restored.
    pub to: String,
}

/// The status that a reconcile works with: the stored one, copied once something of it changes. It is a
/// [`std::borrow::Cow`] that is cheap to move, since each stage hands it to the next one.
#[derive(Clone, Debug)]
pub(crate) struct InHand<'a> {
    stored: &'a Status,
    edited: Option<Box<Status>>,
}

impl<'a> InHand<'a> {
    pub(crate) fn new(stored: &'a Status) -> Self {
        Self { stored, edited: None }
    }

    pub(crate) fn edit(&mut self) -> &mut Status {
        self.edited.get_or_insert_with(|| Box::new(self.stored.clone()))
    }

    /// Whether it equals what is stored; mostly it is not even a copy.
    pub(crate) fn is_stored(&self) -> bool {
        self.edited.as_ref().is_none_or(|edited| **edited == *self.stored)
    }

    pub(crate) fn into_box(self) -> Box<Status> {
        self.edited.unwrap_or_else(|| Box::new(self.stored.clone()))
    }
}

impl Deref for InHand<'_> {
    type Target = Status;

    fn deref(&self) -> &Status {
        self.edited.as_deref().unwrap_or(self.stored)
    }
}

impl Status {
    pub(crate) fn counts(&self) -> Counts {
        Counts {
            observed_generation: self.observed_generation,
            replicas: self.replicas,
            updated_replicas: self.updated_replicas,
            ready_replicas: self.ready_replicas,
            available_replicas: self.available_replicas,
            unavailable_replicas: self.unavailable_replicas,
            terminating_replicas: self.terminating_replicas,
        }
    }

    pub(crate) fn set_counts(&mut self, counts: Counts) {
        self.observed_generation = counts.observed_generation;
        self.replicas = counts.replicas;
        self.updated_replicas = counts.updated_replicas;
        self.ready_replicas = counts.ready_replicas;
        self.available_replicas = counts.available_replicas;
        self.unavailable_replicas = counts.unavailable_replicas;
        self.terminating_replicas = counts.terminating_replicas;
    }

    /// The condition of a type.
    #[must_use]
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// Whether all pods are new and available and the rest is up to date (S9.10).
    #[must_use]
    pub fn is_complete(&self, replicas: i64, generation: i64) -> bool {
        self.updated_replicas == replicas && self.is_filled(replicas, generation)
    }

    /// Whether there are as many pods as asked for, all of them available, of whatever template.
    pub(crate) fn is_filled(&self, replicas: i64, generation: i64) -> bool {
        self.replicas == replicas
            && self.available_replicas == replicas
            && self.observed_generation >= generation
    }
}
