//! Why a rollout is where it is: the one source of text for log, metric, condition and CLI.

use std::borrow::Cow;
use std::fmt;

use crate::model::keys::{MANAGED_LABEL, MANAGED_VALUE};

/// What the controller is doing or waiting for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Why {
    /// Everything is as the Deployment wants it.
    #[default]
    Converged,
    /// The Deployment is being deleted; the garbage collector does the rest.
    Deleting,
    /// `spec.paused` is set.
    Paused,
    /// This plan restores an earlier template.
    RollingBack,
    /// A ReplicaSet was created or resized, or will be by this plan.
    Stepping,
    /// Pods of a ReplicaSet are not available yet.
    WaitingForAvailable {
        /// The new ReplicaSet, or the one that keeps pods at a step.
        set: String,
        /// Its available pods.
        available: i64,
        /// The pods wanted.
        desired: i64,
    },
    /// Old pods must go before new ones come, and some still run (Recreate).
    WaitingForTermination,
    /// Pods of old ReplicaSets are still there.
    WaitingForOldPods {
        /// How many.
        old: i64,
    },
    /// The rollout waits at a step, as the sentence reports (rollwright.dev only, SP-8).
    Resting(String),
    /// Nothing moves before somebody changes something.
    Blocked(String),
    /// A wait for pods, and what blocks them.
    BlockedBy {
        /// The wait.
        why: Box<Why>,
        /// What the pods do.
        words: String,
    },
    /// Any of these, and what runs instead of the declared revision (FP-12).
    Instead {
        /// The reason itself.
        why: Box<Why>,
        /// What runs, and why.
        words: String,
    },
    /// Any of the others, with ReplicaSets near by that nobody handed over.
    Beside {
        /// The reason itself.
        why: Box<Why>,
        /// The namespace of the Deployment.
        namespace: String,
        /// ReplicaSets that fit the selector but lack the operator's label.
        orphans: Vec<String>,
    },
}

impl Why {
    /// The reason itself, without what stands beside it.
    #[must_use]
    pub fn itself(&self) -> &Self {
        match self {
            Self::Beside { why, .. } | Self::BlockedBy { why, .. } | Self::Instead { why, .. } => {
                why.itself()
            }
            other => other,
        }
    }

    /// The same without what blocks it.
    #[must_use]
    pub fn unblocked(&self) -> Cow<'_, Self> {
        match self {
            Self::BlockedBy { why, .. } => Cow::Borrowed(why),
            Self::Beside { why, namespace, orphans } => {
                Cow::Owned(why.unblocked().into_owned().with_orphans(namespace, orphans))
            }
            Self::Instead { why, words } => {
                Cow::Owned(why.unblocked().into_owned().instead(Some(words.clone())))
            }
            other => Cow::Borrowed(other),
        }
    }

    /// Adds what blocks the pods that are awaited, if anything does. A refusal names its cause itself.
    pub(crate) fn blocked_by(self, words: Option<String>) -> Self {
        match words.filter(|_| !matches!(self, Self::Blocked(_))) {
            Some(words) => Self::BlockedBy { why: Box::new(self), words },
            None => self,
        }
    }

    /// Adds what runs instead of the declared revision, if anything does.
    pub(crate) fn instead(self, words: Option<String>) -> Self {
        match words {
            Some(words) => Self::Instead { why: Box::new(self), words },
            None => self,
        }
    }

    /// Names orphans beside the reason, if there are any.
    pub(crate) fn with_orphans(self, namespace: &str, orphans: &[String]) -> Self {
        if orphans.is_empty() {
            return self;
        }
        Self::Beside { why: Box::new(self), namespace: namespace.to_owned(), orphans: orphans.to_vec() }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Converged => f.write_str("converged"),
            Self::Deleting => f.write_str("being deleted"),
            Self::Paused => f.write_str("paused"),
            Self::RollingBack => f.write_str("carrying out spec.rollbackTo"),
            Self::Stepping => f.write_str("creating or resizing ReplicaSets"),
            // Pods that a smaller size has made superfluous may still be there.
            Self::WaitingForAvailable { set, available, desired } if available > desired => {
                write!(f, "waiting for pods of {set} to go: {} too many", available - desired)
            }
            Self::WaitingForAvailable { set, available, desired } => {
                write!(f, "waiting for pods of {set}: {available} of {desired} available")
            }
            Self::WaitingForTermination => f.write_str("waiting for old pods to terminate"),
            Self::WaitingForOldPods { old } => write!(f, "waiting for old pods to go: {old} left"),
            Self::Resting(words) => f.write_str(words),
            Self::BlockedBy { why, words } => write!(f, "{why}; {words}"),
            Self::Instead { why, words } if **why == Self::Converged => f.write_str(words),
            Self::Instead { why, words } => write!(f, "{words}; {why}"),
            Self::Blocked(reason) => write!(f, "blocked: {reason}"),
            Self::Beside { why, namespace, orphans } => {
                let orphans = orphans.join(" ");
                write!(
                    f,
                    "{why}; ReplicaSets that fit the selector belong to nobody, hand them over with: \
                     kubectl label replicaset {orphans} -n {namespace} {MANAGED_LABEL}={MANAGED_VALUE}"
                )
            }
        }
    }
}
