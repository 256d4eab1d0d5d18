//! The goal of a reconcile: which ReplicaSet runs, how far it grows, and what holds it up.
//!
//! `decide/policy.rs` chooses it. This module fixes the numbers; `moves.rs` only computes with them.

use jiff::Timestamp;

use crate::course::Course;
use crate::course::stage::Stage;
use crate::course::view::View;
use crate::model::observed::{Strategy, Workload};
use crate::model::selector::LabelSelector;
use crate::moves::sizes::Moves;

/// What a reconcile wants of the sizes. In S6–S8 the *new* ReplicaSet is [`Aim::run`]; in S4, S5, S9–S11 and S13 it is
/// the declared one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Aim {
    /// Index of the ReplicaSet that grows; `None` when it is not there yet.
    pub(crate) run: Option<usize>,
    /// How far it grows.
    pub(crate) ceiling: i64,
    /// Index of the ReplicaSet that keeps what the ceiling leaves of `total` (SP-3); `None` if that one is gone.
    pub(crate) keep: Option<usize>,
    /// Indices of the other ReplicaSets in the order in which they lose pods meanwhile (SP-3).
    pub(crate) order: Vec<usize>,
    /// Whether the sizes are those that a step ends with, at R or at the R of before (SP-7).
    pub(crate) is_at_rest: bool,
    /// How many pods there should be in the end: R.
    pub(crate) total: i64,
    /// Under how many pods in all the running ReplicaSet grows: R + surge.
    pub(crate) cap: i64,
    /// How many pods stay available: R − unavailable (S6.4).
    pub(crate) floor: i64,
    /// What may move.
    pub(crate) scope: Scope,
    /// How it moves.
    pub(crate) manner: Manner,
    /// Why all this.
    pub(crate) because: Because,
    /// Indices of ReplicaSets that do not grow. Their pods that do not serve go first (FP-7, FP-10).
    pub(crate) bad: Vec<usize>,
    /// Indices of ReplicaSets that get nothing of what R gains: a user went back from them (FP-10).
    pub(crate) left: Vec<usize>,
    /// Index of the fallback: it gets pods in the place of a bad ReplicaSet where no other has any (FP-10), and stays
    /// (FP-9).
    pub(crate) spare: Option<usize>,
    /// The rule from which the choice of the situation deviates.
    pub(crate) deviation: Option<&'static str>,
}

/// What may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Everything.
    Open,
    /// Only the running ReplicaSet, upwards: the server refused a cut in this reconcile.
    Growth,
    /// Nothing, but sizes follow R (S8).
    Frozen,
    /// Nothing at all.
    Shut,
}

/// How sizes change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Little by little (S6); a change of R is shared out (S8.5).
    Rolling,
    /// One ReplicaSet at a time (S7). A strategy that nobody knows shares nothing out either.
    Whole,
}

/// The situation that a reconcile found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Because {
    /// The selector is missing; the template's labels become it (S1.2, rollwright.dev).
    LacksSelector(Box<LabelSelector>),
    /// The selector is empty (S2.10).
    SelectsAll,
    /// The Deployment is being deleted (S3.5).
    Deleting,
    /// A newer operator left what this one does not know; the sentence names it (rollwright.dev).
    NewerSpec(String),
    /// The ReplicaSet that is pinned is gone (FP-11, rollwright.dev).
    PinTargetMissing,
    /// The Deployment is paused (S3.7).
    Paused,
    /// An earlier revision is asked for (S3.8); 0 is the previous one.
    RollingBack(i64),
    /// R has changed since the ReplicaSets were scaled (S3.9).
    Scaling,
    /// The spec cannot be carried out (S3.10, S6.7).
    Unfit(String),
    /// Old pods run on (S7.2).
    OldPodsRun,
    /// The names for the declared ReplicaSet are taken; the last one is tried again at this time (NS-1).
    NamesTaken(Timestamp),
    /// A verdict is written before anything moves (FP-2).
    Judged,
    /// The declared revision failed, and somebody has to act (FP-6).
    Failed {
        /// One of [`HELD`](crate::model::keys::reason::HELD).
        reason: &'static str,
    },
    /// The server does not accept a Job of the revision that begins, for this reason (GA-5).
    JobRefused(String),
    /// The hook before the rollout has not passed (GA-1).
    AwaitsHook,
    /// Another operator, or this one before it started again, began the rollout (HO-2).
    Held,
    /// The template is rolled out (S3.10).
    RollingOut,
}

impl Aim {
    /// The aim of a rollout, from which each situation takes something away.
    pub(crate) fn of(view: View<'_>, course: &Course) -> Self {
        let Workload { strategy, replicas, .. } = view.workload();
        let replicas = *replicas;
        let manner = match strategy {
            Strategy::RollingUpdate { .. } => Manner::Rolling,
            Strategy::Recreate | Strategy::Unknown(_) => Manner::Whole,
        };
        let aim = Self {
            run: course.situation.run(view.sets.declared),
            ceiling: replicas,
            keep: None,
            order: Vec::new(),
            is_at_rest: false,
            total: replicas,
            // Where it cannot be read, nothing grows.
            cap: strategy.cap(replicas).unwrap_or(i64::MIN),
            floor: strategy.floor(replicas),
            scope: Scope::Open,
            manner,
            because: Because::RollingOut,
            bad: course.bad.clone(),
            left: course.left.clone(),
            spare: course.fallback,
            deviation: None,
        };
        aim.at(course.situation.stage())
    }

    /// No further than a step, and what it leaves to whom (SP-1, SP-3).
    fn at(self, stage: Option<&Stage>) -> Self {
        let Some(Stage { ceiling, keep, order, is_at_rest, .. }) = stage else { return self };
        let (keep, order) = (*keep, order.clone());
        Self { ceiling: *ceiling, keep, order, is_at_rest: *is_at_rest, ..self }
    }

    /// The ReplicaSets that are never deleted, beside the one that is pinned (FP-9, SP-3).
    pub(crate) fn stays(&self) -> [Option<usize>; 2] {
        [self.spare, self.keep]
    }

    /// Whether the ceiling leaves pods to the ReplicaSet that is kept (SP-3). Otherwise, S6 and S8 are as they are.
    pub(crate) fn is_partial(&self) -> bool {
        self.ceiling < self.total && self.manner == Manner::Rolling
    }

    /// Whether ReplicaSets may lose pods: the server has not refused that in this reconcile.
    pub(crate) fn may_cut(&self) -> bool {
        self.scope != Scope::Growth
    }

    /// Whether sizes follow R where nobody has paused anything.
    pub(crate) fn is_scaling(&self) -> bool {
        use Because::{AwaitsHook, Held, JobRefused, Scaling};
        matches!(self.because, Scaling | Held | AwaitsHook | JobRefused(_))
    }

    /// Whether the running ReplicaSet is due: created, or brought to its ceiling. Under Recreate it has to
    /// wait for old ReplicaSets to go.
    pub(crate) fn is_rolling_out(&self, moves: &Moves) -> bool {
        matches!(self.because, Because::RollingOut) && moves.shares.is_empty()
    }

    /// Whether the declared ReplicaSet is wanted, and so its name (S4.6).
    pub(crate) fn needs_declared(&self, moves: &Moves) -> bool {
        self.is_rolling_out(moves) || matches!(self.because, Because::RollingBack(_) | Because::AwaitsHook)
    }

    /// Whether the declared ReplicaSet is looked up once in a reconcile of upstream's: a ReplicaSet that is written to
    /// then is not read again (S4.3).
    pub(crate) fn looks_once(&self) -> bool {
        matches!(self.because, Because::Paused | Because::RollingBack(_))
    }

    /// Whether a request for a rollback is looked at: not while the Deployment is paused, or goes (S3.8).
    pub(crate) fn heeds_requests(&self) -> bool {
        !matches!(
            self.because,
            Because::LacksSelector(_)
                | Because::SelectsAll
                | Because::Deleting
                | Because::NewerSpec(_)
                | Because::Paused
        )
    }

    /// Whether the Deployment stays, and no newer operator left anything that this one does not know.
    pub(crate) fn is_known(&self) -> bool {
        !matches!(self.because, Because::Deleting | Because::NewerSpec(_))
    }

    pub(crate) fn shut(self, because: Because) -> Self {
        Self { scope: Scope::Shut, because, ..self }
    }

    /// Sizes follow R, or nothing moves.
    pub(crate) fn frozen_if(self, follows: bool, because: Because, workload: &Workload) -> Self {
        if follows { self.frozen(because, workload) } else { self.shut(because) }
    }

    /// Sizes follow R, under the limit of S6.3.
    pub(crate) fn frozen(self, because: Because, workload: &Workload) -> Self {
        let surge = workload.strategy.max_surge(workload.replicas);
        Self { scope: Scope::Frozen, cap: workload.replicas.saturating_add(surge), because, ..self }
    }
}
