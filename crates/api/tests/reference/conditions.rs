//! The conditions and their reasons, for the reference; names by the planner's own constants.

use plan::Flavour;
use plan::keys::{condition, reason};

/// A condition in one state.
pub(crate) struct Entry {
    pub(crate) kind: &'static str,
    pub(crate) status: &'static str,
    pub(crate) reasons: &'static [&'static str],
    /// Which Deployments have it: both, or only those of rollwright.dev.
    pub(crate) only: Option<Flavour>,
    pub(crate) means: &'static str,
}

/// Reasons that only events have.
pub(crate) const OF_EVENTS: &[&str] = &[
    reason::SCALING_REPLICA_SET,
    reason::ROLLBACK,
    reason::ROLLBACK_REVISION_NOT_FOUND,
    reason::ROLLBACK_TEMPLATE_UNCHANGED,
    reason::ROLLBACK_INVALID,
    reason::ROLLOUT_BLOCKED,
    reason::PINNED,
    reason::PIN_RELEASED,
    reason::REVERTED,
    reason::REVERT_ENDED,
    reason::STEP_REACHED,
    reason::PROMOTED,
    reason::PROMOTION_REFUSED,
];

/// Reasons that only `status.target.because` has.
pub(crate) const OF_TARGETS: &[&str] = &[reason::ABORTED];

const fn both(
    kind: &'static str,
    status: &'static str,
    reasons: &'static [&'static str],
    means: &'static str,
) -> Entry {
    Entry { kind, status, reasons, only: None, means }
}

const fn ours(
    kind: &'static str,
    status: &'static str,
    reasons: &'static [&'static str],
    means: &'static str,
) -> Entry {
    Entry { kind, status, reasons, only: Some(Flavour::Rollwright), means }
}

pub(crate) const ENTRIES: &[Entry] = &[
    ours(
        condition::READY,
        "True",
        &[reason::ROLLOUT_COMPLETE],
        "all pods have the current template and are available",
    ),
    ours(
        condition::READY,
        "False",
        &[],
        "not complete; reason and message are those of Reconciling or Stalled",
    ),
    ours(
        condition::RECONCILING,
        "True",
        &[reason::ROLLOUT_IN_PROGRESS, reason::DEPLOYMENT_PAUSED, reason::QUEUED, reason::RESTING_AT_STEP],
        "the rollout is not complete; the message states what it waits for",
    ),
    ours(
        condition::STALLED,
        "True",
        &[
            reason::PROGRESS_DEADLINE_EXCEEDED,
            reason::REPLICA_SET_CREATE_ERROR,
            reason::HASH_COLLISION,
            reason::ROLLBACK_REPEATED,
            reason::SELECTING_ALL,
            reason::NEWER_SPEC,
            reason::ROLLED_BACK,
            reason::PIN_TARGET_MISSING,
            reason::ROLLOUT_FAILED,
            reason::NO_GOOD_REVISION,
        ],
        "a user has to act; see [ecosystem.md](../how-to/ecosystem.md#wait-for-a-rollout-helm-flux-kpt-kubectl)",
    ),
    both(
        condition::AVAILABLE,
        "True",
        &[reason::MINIMUM_REPLICAS_AVAILABLE],
        "at least `replicas` minus `maxUnavailable` pods are available",
    ),
    both(condition::AVAILABLE, "False", &[reason::MINIMUM_REPLICAS_UNAVAILABLE], "fewer pods are available"),
    both(
        condition::PROGRESSING,
        "True",
        &[reason::NEW_REPLICA_SET_CREATED],
        "the operator created the ReplicaSet of the template",
    ),
    both(
        condition::PROGRESSING,
        "True",
        &[reason::FOUND_NEW_REPLICA_SET],
        "the template already had a ReplicaSet",
    ),
    both(
        condition::PROGRESSING,
        "True",
        &[reason::REPLICA_SET_UPDATED],
        "new pods were added or became ready, or old ones removed; each such change restarts the deadline",
    ),
    both(condition::PROGRESSING, "True", &[reason::NEW_REPLICA_SET_AVAILABLE], "the rollout is complete"),
    both(condition::PROGRESSING, "Unknown", &[reason::DEPLOYMENT_PAUSED], "`spec.paused` is set"),
    both(condition::PROGRESSING, "Unknown", &[reason::DEPLOYMENT_RESUMED], "`spec.paused` was just removed"),
    ours(
        condition::PROGRESSING,
        "Unknown",
        &[reason::QUEUED],
        "the rollout has waited for a rollout slot for more than 10 s; its deadline has not begun",
    ),
    ours(
        condition::PROGRESSING,
        "Unknown",
        &[reason::RESTING_AT_STEP],
        "the rollout waits at a step of `spec.strategy.rollingUpdate.steps`; its deadline stands still",
    ),
    both(
        condition::PROGRESSING,
        "False",
        &[reason::REPLICA_SET_CREATE_ERROR],
        "the API server refused the ReplicaSet; the message is the API server's",
    ),
    both(
        condition::PROGRESSING,
        "False",
        &[reason::PROGRESS_DEADLINE_EXCEEDED],
        "nothing moved for `progressDeadlineSeconds`; the rollout continues all the same, unless a \
         [failure policy](../concepts/failure-policy.md) stops or reverts it",
    ),
    ours(
        condition::PROGRESSING,
        "False",
        &[reason::ROLLOUT_FAILED, reason::NO_GOOD_REVISION],
        "the revision of the template failed, and the operator rolls nothing out before a user \
         [acts](../concepts/failure-policy.md#how-to-end-it)",
    ),
    ours(
        condition::PROGRESSING,
        "False",
        &[reason::ROLLED_BACK],
        "another revision runs than that of the template, by [`spec.pin`](../concepts/pin.md) or because that of the \
         template [failed](../concepts/failure-policy.md)",
    ),
    ours(
        condition::PROGRESSING,
        "False",
        &[reason::REVERT_FAILED],
        "the revision of the template failed, and `progressDeadlineSeconds` after the revert began, not all pods of \
         the revision that runs are available",
    ),
    ours(
        condition::PROGRESSING,
        "False",
        &[reason::PIN_TARGET_MISSING],
        "`spec.pin` names no ReplicaSet of this Deployment, and nothing is started in its place; correct or remove \
         it",
    ),
    both(
        condition::REPLICA_FAILURE,
        "True",
        // Words of the ReplicaSet controller.
        &["FailedCreate", "FailedDelete"],
        "a ReplicaSet cannot create or delete pods; the message is the API server's",
    ),
    ours(
        condition::ROLLBACK_REFUSED,
        "True",
        &[reason::ROLLBACK_REPEATED],
        "`spec.rollbackTo` was carried out three times in ten minutes and returned; remove it from the manifest",
    ),
    ours(
        condition::COLLISION_LIMIT_REACHED,
        "True",
        &[reason::HASH_COLLISION],
        "ReplicaSets that were not created for this template have all four names for the new one; the operator retries \
         the last name every ten seconds. Inspect the ReplicaSet that the message names: delete it, or find the webhook \
         that removes Rollwright's annotation",
    ),
    ours(
        condition::REVISION_LIMIT_REACHED,
        "True",
        &[reason::NO_IDLE_REPLICA_SET],
        "there are more than `revisionHistoryLimit` + 5 ReplicaSets of size 0, and too few can be deleted: they still \
         have pods, or their status lags. The rollout continues; find out why pods don't terminate",
    ),
];
