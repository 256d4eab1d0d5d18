//! Every duration of the engine, each with a sentence; see [`plan::durations`].

use std::time::Duration;

/// The time between two reconciles of a Deployment with a deadline that close.
pub const DEADLINE_AGAIN: Duration = Duration::from_millis(100);

/// One reconcile joins the events of a Deployment that follow each other more closely than this. While the
/// status of a ReplicaSet still changes, the server would refuse a write to it.
pub const COALESCE: Duration = Duration::from_millis(10);

/// The operator acts on joined events this long after the first of them, even if more arrive.
pub const GATHER_MAX: Duration = Duration::from_millis(50);

/// The cooldown after a write. The watch returns the write as events, and the requested pods arrive one by
/// one.
pub const COOLDOWN: Duration = Duration::from_millis(50);

/// Each other rollout under way extends the cooldown by up to this much, unless the awaited state is already
/// there. The server is busy then, and a rollout that waits for all pods of a step loses nothing.
pub const COOLDOWN_FOR_OTHERS: Duration = Duration::from_millis(100);

/// The longest cooldown.
pub const COOLDOWN_MAX: Duration = Duration::from_secs(1);

/// The delay after the first failure of a Deployment; doubled with each further one in a row (S14.1).
pub const BACKOFF_BASE: Duration = Duration::from_millis(5);

/// The longest such delay.
pub const BACKOFF_MAX: Duration = Duration::from_secs(120);

/// After eight failures in a row, an event requeues the Deployment after this long, or at the end of its
/// delay if that is sooner. Before, it requeues it at once.
pub const HEED_AFTER: Duration = Duration::from_secs(1);

/// When all Deployments together have used a hundred retries, they get one more each time this has passed
/// (S14.1).
pub const BUCKET_INTERVAL: Duration = Duration::from_millis(100);

/// No retry waits longer than this for the others. After an outage that failed thousands of reconciles, the
/// operator retries all of them within this time.
pub const BUCKET_DEBT_MAX: Duration = Duration::from_secs(30);

/// The operator waits this long for the answer to a request.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// After a write that the API server did not answer in time, the operator pauses for half of that time, and waits
/// twice as long for the next answer of that Deployment, up to this.
pub const ANSWER_LIMIT_MAX: Duration = Duration::from_secs(60);

/// Only four Deployments at a time may wait longer than usual for an answer. The others try again after this long.
pub const SLOW_AGAIN: Duration = Duration::from_secs(1);

/// The operator shortens a longer `Retry-After` to this, because it might be a mistake.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(120);

/// After this long the operator no longer expects the cache to show a write, and reads the objects live.
pub const CACHE_PATIENCE: Duration = Duration::from_secs(30);

/// The same while a watch is known to be broken, because it will not show anything soon.
pub const CACHE_PATIENCE_WITHOUT_WATCH: Duration = Duration::from_millis(500);

/// On apps/v1, a ReplicaSet that was changed while it was created counts as another revision, and its name as
/// taken. The operator tries the next name after this long; the pause doubles with each one.
pub const CHANGED_AGAIN: Duration = Duration::from_secs(1);

/// The longest such pause.
pub const CHANGED_AGAIN_MAX: Duration = Duration::from_secs(60);

/// The pauses begin with the shortest one again when no such ReplicaSet was found for this long.
pub const CHANGED_FORGOTTEN: Duration = Duration::from_secs(300);

/// Before the lists of a start have come, no watch shows the pods of an edited Deployment. The
/// operator reads it again after this long.
pub const EARLY_AGAIN: Duration = Duration::from_secs(2);

/// A dry run may fail for this long, for reasons that may be temporary, before it counts as refused.
pub const DRY_RUN_PATIENCE: Duration = Duration::from_secs(30);

/// Failures of a dry run that are further apart than this have nothing to do with each other: the time begins again.
pub const DRY_RUN_SERIES: Duration = Duration::from_secs(300);

/// A rollout frees its rollout slot when its ReplicaSets have had all their pods for this long, ready or not.
pub const STILL_AFTER: Duration = Duration::from_millis(500);

/// A rollout also frees its slot when the operator has written none of its ReplicaSets for this long,
/// whatever it waits for.
pub const STUCK_AFTER: Duration = Duration::from_secs(10);

/// A rollout may take half as long again as the quickest one to get its first pods, and this much longer,
/// before the server counts as busy. The cooldown after a write is part of that time.
pub const SLOTS_TOLERANCE: Duration = Duration::from_millis(50);

/// The operator compares rollouts with the quickest one for this long.
pub const SLOTS_REMEMBERED: Duration = Duration::from_secs(60);

/// Refused requests reduce the number of slots at most once in this time, because one stall refuses many.
pub const SLOTS_BREATH: Duration = Duration::from_secs(1);

/// The time between two checks for free rollout slots.
pub const SLOTS_LOOK: Duration = Duration::from_millis(250);

/// Statuses that are written within this time count together. Many of them mean that the operator is busy.
pub const LOAD_WINDOW: Duration = Duration::from_secs(1);

/// A rollout that waits for a slot asks again after this long if nothing requeues it.
pub const ASK_AGAIN: Duration = Duration::from_secs(30);

/// After a rollout has waited for a slot for this long, its status reports it (rollwright.dev only).
pub const QUEUED_TOLD_AFTER: Duration = Duration::from_secs(10);

/// The shortest time between two such writes, of all Deployments together.
pub const QUEUED_TELLING_INTERVAL: Duration = Duration::from_millis(200);

/// The pods of a rollout that does not move are listed again after this long.
pub const LOOK_AGAIN: Duration = Duration::from_secs(15);

/// If the progress deadline passes sooner, the pods are listed this long before it, so that the failure has their cause.
pub const LOOK_BEFORE_DEADLINE: Duration = Duration::from_secs(3);

/// The events of one of these pods are listed again after this long at the soonest.
pub const EVENTS_AGAIN: Duration = Duration::from_secs(30);

/// The shortest time between two such requests, of all Deployments together.
pub const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// A rollout that has not moved for this long counts as blocked even if the operator may not list its pods.
pub const UNKNOWN_AFTER: Duration = Duration::from_secs(60);

/// If another controller undoes the operator's status three times within this time, the operator leaves the
/// Deployment to it.
pub const RIVAL_WINDOW: Duration = Duration::from_secs(60);

/// The operator leaves the Deployment to that controller until it has written nothing for this long.
pub const RIVAL_SILENCE: Duration = Duration::from_secs(60);

/// A shard leaves a namespace that joins it alone for this long. The shard that it leaves writes for 5 s after
/// it last checked the namespace, and waits 5 s longer for an answer. The remaining 5 s are for requests that
/// the server is still carrying out.
pub const HANDOVER: Duration = Duration::from_secs(15);
