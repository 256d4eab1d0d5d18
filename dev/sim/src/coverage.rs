//! What has to happen in a full run, so that its silence means something.

/// Everything of which at least one is wanted in a full run.
pub const WANTED: [&str; 96] = [
    "Available MinimumReplicasAvailable",
    "Available MinimumReplicasUnavailable",
    "Progressing NewReplicaSetCreated",
    "Progressing FoundNewReplicaSet",
    "Progressing ReplicaSetUpdated",
    "Progressing NewReplicaSetAvailable",
    "Progressing DeploymentPaused",
    "Progressing DeploymentResumed",
    "Progressing ReplicaSetCreateError",
    "Progressing ProgressDeadlineExceeded",
    "ReplicaFailure FailedCreate",
    "RollbackRefused",
    "accepted create",
    "accepted update",
    "accepted delete",
    "accepted status",
    "accepted rollback",
    "accepted adopt",
    "accepted release",
    "accepted mark",
    "conflict create",
    "conflict update",
    "conflict delete",
    "conflict status",
    "conflict rollback",
    "conflict adopt",
    "conflict release",
    "zombie accepted",
    "zombie rejected",
    "fault crash before",
    "fault crash committed",
    "fault crash after",
    "fault zombie",
    "fault refused",
    "fault lost answer",
    "fault silence",
    "fault slow",
    "fault read refused",
    "trouble workload lag",
    "trouble set lag",
    "trouble disconnect",
    "trouble expired",
    "trouble outage",
    "trouble clock",
    "trouble pod quota",
    "trouble set quota",
    "trouble webhook",
    "trouble node loss",
    "trouble slow sets",
    "trouble twin",
    "trouble down",
    "trouble time travel",
    "trouble rival",
    "trouble overload",
    "trouble takeover",
    "trouble unanswered",
    "bad news",
    "bad news told",
    "granted",
    "parked",
    "read live",
    "retry",
    "dry run",
    "collision",
    "pod refused",
    "recreate waits",
    "scaled in proportion",
    "below the floor by others",
    "act template",
    "act scale",
    "act pause",
    "act rollback",
    "act strategy",
    "act orphan",
    "act foreign size",
    "act garbage",
    "act pin",
    "act pin nothing",
    "act delete pinned",
    "act lack",
    "Stalled PinTargetMissing",
    "act restart",
    "act unpin",
    "Progressing RolledBack",
    "another revision at rest",
    "scaled while pinned",
    "template while pinned",
    "act policy",
    "act retry",
    "act abort",
    "scaled while reverted",
    "template while reverted",
    "Stalled RolloutFailed",
    "Stalled NoGoodRevision",
    "Progressing RevertFailed",
    "a revert at rest",
];

/// What has to happen in at least one seed of a hundred.
pub const OFTEN: [&str; 5] = ["queued", "slot given back", "rival", "retry after", "takeover while queued"];

/// How rollouts begin and end, as the records in the status name it.
pub const RECORDED: [&str; 10] = [
    "Succeeded",
    "Failed",
    "Superseded",
    "Cancelled",
    "NewImage",
    "Restart",
    "Rollback",
    "Pin",
    "Revert",
    "TemplateChanged",
];

/// Each of [`RECORDED`] has to happen at least once in this many rollouts: 1,000 times in a full run.
pub const RECORDED_ONCE_IN: u64 = 200;

/// What the rules of pins and failure policies are about (FP-1 to FP-12), and how often it has to happen in 200,000
/// rollouts. A run of another length has to reach its share.
pub const PREMISES: [(&str, u64); 13] = [
    ("a revert begins", 10_000),
    ("a revert while R changes", 2000),
    ("a failure is withheld, since the fallback does no better", 1000),
    ("a ReplicaSet with a verdict is declared again", 2000),
    ("FP-1: a revision becomes good", 10_000),
    ("FP-2: a write of a reconcile that stores a failure", 10_000),
    ("FP-2: a revision fails by itself", 10_000),
    ("FP-5: a revision fails, and another one may be good", 5000),
    ("FP-9: a request to retry or abort is heard", 1000),
    ("FP-9: a ReplicaSet is deleted, and one is protected", 1000),
    ("FP-10: sizes change while a failure is held", 100),
    ("FP-10: sizes change on the way back", 10_000),
    ("FP-11: a write while the pinned ReplicaSet is missing", 1000),
];

/// As many rollouts as [`PREMISES`] counts.
pub const PREMISES_OF: u64 = 200_000;

/// The name under which a condition is counted.
pub(crate) fn condition(kind: &str, reason: &str) -> &'static str {
    let wanted = WANTED.iter().find(|name| {
        let rest = name.strip_prefix(kind);
        rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix(' ') == Some(reason))
    });
    wanted.copied().unwrap_or("another condition")
}
