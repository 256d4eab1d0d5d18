//! What has to happen in a full run, so that its silence means something.

/// Everything of which at least one is wanted in a full run.
pub const WANTED: [&str; 76] = [
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
];

/// What has to happen in at least one seed of a hundred.
pub const OFTEN: [&str; 5] = ["queued", "slot given back", "rival", "retry after", "takeover while queued"];

/// How rollouts begin and end, as the records in the status name it.
pub const RECORDED: [&str; 8] =
    ["Succeeded", "Failed", "Superseded", "Cancelled", "NewImage", "Restart", "Rollback", "TemplateChanged"];

/// Each of [`RECORDED`] has to happen at least once in this many rollouts: 1,000 times in a full run.
pub const RECORDED_ONCE_IN: u64 = 200;

/// The name under which a condition is counted.
pub(crate) fn condition(kind: &str, reason: &str) -> &'static str {
    let wanted = WANTED.iter().find(|name| {
        let rest = name.strip_prefix(kind);
        rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix(' ') == Some(reason))
    });
    wanted.copied().unwrap_or("another condition")
}
