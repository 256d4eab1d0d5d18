//! Labels, annotations, condition types, and reasons: every name that Rollwright reads or writes.

/// Label that keeps the pods of two ReplicaSets of one Deployment apart (S4.10).
pub const HASH_LABEL: &str = "pod-template-hash";
/// Label in the metadata of every ReplicaSet that rollwright.dev may see; kept when orphaned.
pub const MANAGED_LABEL: &str = "rollwright.dev/managed";
/// Value of [`MANAGED_LABEL`].
pub const MANAGED_VALUE: &str = "true";
/// Fingerprints of the templates that a ReplicaSet stands for, comma-separated (rollwright.dev only).
pub const FINGERPRINTS: &str = "rollwright.dev/fingerprints";
/// The person who last changed the template or asked for a rollback, as a policy of the cluster notes it;
/// copied to ReplicaSets, and not restored by a rollback.
pub const CHANGED_BY: &str = "rollwright.dev/changed-by";
/// What the operator remembers of a ReplicaSet's rollouts, as versioned JSON (rollwright.dev only).
pub const ROLLOUT: &str = "rollwright.dev/rollout";
/// The revision that somebody asks to retry after it failed (rollwright.dev, FP-9).
pub const RETRY: &str = "rollwright.dev/retry";
/// The revision that somebody asks to give up (rollwright.dev, FP-9).
pub const ABORT: &str = "rollwright.dev/abort";
/// The step that somebody promotes a revision to, as `5/30%`, or past a gate that has not passed, as `5/30%/force`
/// (rollwright.dev, SP-6, GA-8).
pub const PROMOTE: &str = "rollwright.dev/promote";
/// The word that continues a rollout after a restart of the operator, as `5/` and its epoch (rollwright.dev, HO-5).
pub const RESUME: &str = "rollwright.dev/resume";
/// Prefix of all annotations of Rollwright; only [`CHANGED_BY`] is ever copied to a ReplicaSet (S4.13).
pub const OUR_PREFIX: &str = "rollwright.dev/";
/// Revision of a ReplicaSet, and on apps/v1 of the Deployment (S5.1).
pub const REVISION: &str = "deployment.kubernetes.io/revision";
/// Earlier revisions of a ReplicaSet, comma-separated, oldest first (S5.5).
pub const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// `spec.replicas` of the Deployment when the ReplicaSet was last scaled (S4.14).
pub const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
/// `spec.replicas` plus surge of the Deployment when the ReplicaSet was last scaled (S4.14).
pub const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";
/// The rollback request on an apps/v1 Deployment (S10.1).
pub const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";
/// What `kubectl apply` stored; never copied (S4.13).
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// In the pod template: when `kubectl rollout restart` last asked for new pods.
pub const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";
/// Why a revision was made, in the words of its author (S13.7).
pub const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";

/// Annotations of a Deployment that are not copied to its ReplicaSets (S4.13).
#[must_use]
pub fn is_never_copied(key: &str) -> bool {
    key.starts_with(OUR_PREFIX) && key != CHANGED_BY
        || matches!(
            key,
            LAST_APPLIED | REVISION | REVISION_HISTORY | DESIRED_REPLICAS | MAX_REPLICAS | ROLLBACK_TO
        )
}

/// Condition types.
pub mod condition {
    /// At least the minimum of pods is available (S9.8).
    pub const AVAILABLE: &str = "Available";
    /// How the rollout goes (S9.9–S9.13).
    pub const PROGRESSING: &str = "Progressing";
    /// A ReplicaSet cannot create or delete pods (S9.14).
    pub const REPLICA_FAILURE: &str = "ReplicaFailure";
    /// A `spec.rollbackTo` was not carried out (rollwright.dev).
    pub const ROLLBACK_REFUSED: &str = "RollbackRefused";
    /// Every name that was tried for the new ReplicaSet is taken (rollwright.dev, NS-1).
    pub const COLLISION_LIMIT_REACHED: &str = "CollisionLimitReached";
    /// There are more ReplicaSets than there may be, and none that could be deleted (rollwright.dev,
    /// NS-2).
    pub const REVISION_LIMIT_REACHED: &str = "RevisionLimitReached";
    /// All pods are of the current template, and available (rollwright.dev).
    pub const READY: &str = "Ready";
    /// The rollout is not complete; there only while that is so (rollwright.dev).
    pub const RECONCILING: &str = "Reconciling";
    /// Somebody has to do something; there only while that is so (rollwright.dev).
    pub const STALLED: &str = "Stalled";
}

/// Reasons of conditions and events; equal where upstream has them.
pub mod reason {
    /// Availability is at least the minimum.
    pub const MINIMUM_REPLICAS_AVAILABLE: &str = "MinimumReplicasAvailable";
    /// Availability is below the minimum.
    pub const MINIMUM_REPLICAS_UNAVAILABLE: &str = "MinimumReplicasUnavailable";
    /// The current template got its ReplicaSet.
    pub const NEW_REPLICA_SET_CREATED: &str = "NewReplicaSetCreated";
    /// A ReplicaSet with the current template was there already.
    pub const FOUND_NEW_REPLICA_SET: &str = "FoundNewReplicaSet";
    /// Pods of the new ReplicaSet came up, or old ones went away.
    pub const REPLICA_SET_UPDATED: &str = "ReplicaSetUpdated";
    /// The rollout is complete.
    pub const NEW_REPLICA_SET_AVAILABLE: &str = "NewReplicaSetAvailable";
    /// The rollout is paused.
    pub const DEPLOYMENT_PAUSED: &str = "DeploymentPaused";
    /// The rollout was resumed.
    pub const DEPLOYMENT_RESUMED: &str = "DeploymentResumed";
    /// The server refused the new ReplicaSet.
    pub const REPLICA_SET_CREATE_ERROR: &str = "ReplicaSetCreateError";
    /// No progress within the deadline.
    pub const PROGRESS_DEADLINE_EXCEEDED: &str = "ProgressDeadlineExceeded";
    /// A ReplicaSet changed its size.
    pub const SCALING_REPLICA_SET: &str = "ScalingReplicaSet";
    /// The selector is empty (S2.10).
    pub const SELECTING_ALL: &str = "SelectingAll";
    /// A rollback was carried out.
    pub const ROLLBACK: &str = "DeploymentRollback";
    /// The revision asked for is not there.
    pub const ROLLBACK_REVISION_NOT_FOUND: &str = "DeploymentRollbackRevisionNotFound";
    /// The revision asked for is the current one.
    pub const ROLLBACK_TEMPLATE_UNCHANGED: &str = "DeploymentRollbackTemplateUnchanged";
    /// The server does not accept the template of the revision asked for (rollwright.dev).
    pub const ROLLBACK_INVALID: &str = "DeploymentRollbackInvalid";
    /// Three rollbacks within ten minutes without a new template in between (rollwright.dev).
    pub const ROLLBACK_REPEATED: &str = "RepeatedRollback";
    /// The name of the new ReplicaSet is taken, and so were all that were tried before (rollwright.dev).
    pub const HASH_COLLISION: &str = "HashCollision";
    /// All is rolled out (rollwright.dev).
    pub const ROLLOUT_COMPLETE: &str = "RolloutComplete";
    /// Something is still to come (rollwright.dev).
    pub const ROLLOUT_IN_PROGRESS: &str = "RolloutInProgress";
    /// The rollout waits for a rollout slot (rollwright.dev only).
    pub const QUEUED: &str = "Queued";
    /// Pods of the rollout do not become available, for a cause that is known (rollwright.dev only).
    pub const ROLLOUT_BLOCKED: &str = "RolloutBlocked";
    /// A field of the spec, or an annotation of a ReplicaSet, is newer than this operator (rollwright.dev).
    pub const NEWER_SPEC: &str = "NewerSpec";
    /// An earlier revision runs instead of the declared one (rollwright.dev, FP-12).
    pub const ROLLED_BACK: &str = "RolledBack";
    /// A revision failed, and there is no good one to go back to (rollwright.dev, FP-6).
    pub const NO_GOOD_REVISION: &str = "NoGoodRevision";
    /// A revision failed, and nothing is rolled out before somebody acts (rollwright.dev, FP-6).
    pub const ROLLOUT_FAILED: &str = "RolloutFailed";
    /// The declared revision failed (rollwright.dev, FP-6).
    pub const REVERTED: &str = "Reverted";
    /// Why the declared revision does not run: somebody aborted it.
    pub const ABORTED: &str = "Aborted";
    /// The way back is not complete within the deadline, and continues (rollwright.dev, FP-8).
    pub const REVERT_FAILED: &str = "RevertFailed";
    /// `spec.pin` is why (rollwright.dev, FP-11).
    pub const PINNED: &str = "Pinned";
    /// The declared revision runs again (rollwright.dev, FP-9).
    pub const REVERT_ENDED: &str = "RevertEnded";
    /// The declared revision runs again (rollwright.dev, FP-11).
    pub const PIN_RELEASED: &str = "PinReleased";
    /// `spec.pin` names no ReplicaSet of the Deployment (rollwright.dev, FP-11).
    pub const PIN_TARGET_MISSING: &str = "PinTargetMissing";
    /// The rollout waits at a step (rollwright.dev, SP-8).
    pub const RESTING_AT_STEP: &str = "RestingAtStep";
    /// As many pods are updated and available as a step asks for (rollwright.dev, SP-5).
    pub const STEP_REACHED: &str = "StepReached";
    /// Somebody promoted the revision (rollwright.dev, SP-6).
    pub const PROMOTED: &str = "Promoted";
    /// The promotion names a step behind, or none (rollwright.dev, SP-6).
    pub const PROMOTION_REFUSED: &str = "PromotionRefused";
    /// A Job has to succeed before the rollout begins, or is complete (rollwright.dev, GA-1).
    pub const AWAITING_HOOK: &str = "AwaitingHook";
    /// The Job of a gate or a hook succeeded (rollwright.dev).
    pub const JOB_PASSED: &str = "JobPassed";
    /// The Job of a gate or a hook failed (rollwright.dev).
    pub const JOB_FAILED: &str = "JobFailed";
    /// The server does not accept a Job of the spec, or the operator runs none (rollwright.dev, GA-5).
    pub const JOB_REFUSED: &str = "JobRefused";
    /// The gate of a step failed, and somebody has to act (rollwright.dev, GA-7).
    pub const GATE_FAILED: &str = "GateFailed";
    /// The operator that began the rollout leads no more, and nothing moves without a word (rollwright.dev, HO-2).
    pub const HELD_AFTER_RESTART: &str = "HeldAfterRestart";
    /// Somebody continues what was held (rollwright.dev, HO-5).
    pub const HOLD_RELEASED: &str = "HoldReleased";
    /// No old ReplicaSet is without pods (rollwright.dev).
    pub const NO_IDLE_REPLICA_SET: &str = "NoIdleReplicaSet";

    /// Why an earlier revision runs although no pin names it (FP-6).
    pub const REVERTS: [&str; 2] = [REVERTED, ABORTED];
    /// Why Stalled is True, and Progressing False, while the declared revision failed and somebody has to act (FP-6).
    pub const HELD: [&str; 2] = [ROLLOUT_FAILED, NO_GOOD_REVISION];
    /// Why Progressing is False while nothing of the declared revision is rolled out, so that its deadline stands
    /// still (FP-12).
    pub const NOT_ROLLED_OUT: [&str; 6] =
        [ROLLED_BACK, REVERT_FAILED, PIN_TARGET_MISSING, ROLLOUT_FAILED, NO_GOOD_REVISION, JOB_REFUSED];
    /// Why Progressing is Unknown while the rollout waits for somebody, a time, or a Job: its deadline stands still, and
    /// starts again after that (SP-8, GA-4).
    pub const RESTING: [&str; 3] = [RESTING_AT_STEP, AWAITING_HOOK, HELD_AFTER_RESTART];
}
