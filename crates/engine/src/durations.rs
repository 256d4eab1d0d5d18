//! Every duration of the engine, each with a sentence; see [`plan::durations`].

use std::time::Duration;

plan::durations! {
    /// The time between two reconciles of a Deployment with a deadline that close.
    DEADLINE_AGAIN = Duration::from_millis(100);
    /// One reconcile joins the events of a Deployment that follow each other more closely than this. While the
    /// status of a ReplicaSet still changes, the server would refuse a write to it.
    COALESCE = Duration::from_millis(10);
    /// The operator acts on joined events this long after the first of them, even if more arrive.
    GATHER_MAX = Duration::from_millis(50);
    /// The cooldown after a write. The watch returns the write as events, and the requested pods arrive one by
    /// one.
    COOLDOWN = Duration::from_millis(50);
    /// Each other rollout under way extends the cooldown by up to this much, unless the awaited state is already
    /// there. The server is busy then, and a rollout that waits for all pods of a step loses nothing.
    COOLDOWN_FOR_OTHERS = Duration::from_millis(100);
    /// The longest cooldown.
    COOLDOWN_MAX = Duration::from_secs(1);
    /// The delay after the first failure of a Deployment; doubled with each further one in a row (S14.1).
    BACKOFF_BASE = Duration::from_millis(5);
    /// The longest such delay.
    BACKOFF_MAX = Duration::from_secs(120);
    /// After eight failures in a row, an event requeues the Deployment after this long, or at the end of its
    /// delay if that is sooner. Before, it requeues it at once.
    HEED_AFTER = Duration::from_secs(1);
    /// When all Deployments together have used a hundred retries, they get one more each time this has passed
    /// (S14.1).
    BUCKET_INTERVAL = Duration::from_millis(100);
    /// No retry waits longer than this for the others. After an outage that failed thousands of reconciles, the
    /// operator retries all of them within this time.
    BUCKET_DEBT_MAX = Duration::from_secs(30);
    /// The operator waits this long for the answer to a request.
    ANSWER_LIMIT = Duration::from_secs(10);
    /// After a write that the API server did not answer in time, the operator pauses for half of that time, and waits
    /// twice as long for the next answer of that Deployment, up to this.
    ANSWER_LIMIT_MAX = Duration::from_secs(60);
    /// Only four Deployments at a time may wait longer than usual for an answer. The others try again after this long.
    SLOW_AGAIN = Duration::from_secs(1);
    /// The operator shortens a longer `Retry-After` to this, because it might be a mistake.
    RETRY_AFTER_MAX = Duration::from_secs(120);
    /// After this long the operator no longer expects the cache to show a write, and reads the objects live.
    CACHE_PATIENCE = Duration::from_secs(30);
    /// The same while a watch is known to be broken, because it will not show anything soon.
    CACHE_PATIENCE_WITHOUT_WATCH = Duration::from_millis(500);
    /// On apps/v1, a ReplicaSet that was changed while it was created counts as another revision, and its name as
    /// taken. The operator tries the next name after this long; the pause doubles with each one.
    CHANGED_AGAIN = Duration::from_secs(1);
    /// The longest such pause.
    CHANGED_AGAIN_MAX = Duration::from_secs(60);
    /// The pauses begin with the shortest one again when no such ReplicaSet was found for this long.
    CHANGED_FORGOTTEN = Duration::from_secs(300);
    /// Before the lists of a start have come, no watch shows the pods of an edited Deployment. The
    /// operator reads it again after this long.
    EARLY_AGAIN = Duration::from_secs(2);
    /// A dry run may fail for this long, for reasons that may be temporary, before it counts as refused.
    DRY_RUN_PATIENCE = Duration::from_secs(30);
    /// Failures of a dry run that are further apart than this have nothing to do with each other: the time begins again.
    DRY_RUN_SERIES = Duration::from_secs(300);
    /// A rollout frees its rollout slot when its ReplicaSets have had all their pods for this long, ready or not.
    STILL_AFTER = Duration::from_millis(500);
    /// A rollout also frees its slot when the operator has written none of its ReplicaSets for this long,
    /// whatever it waits for.
    STUCK_AFTER = Duration::from_secs(10);
    /// A rollout may take half as long again as the quickest one to get its first pods, and this much longer,
    /// before the server counts as busy. The cooldown after a write is part of that time.
    SLOTS_TOLERANCE = Duration::from_millis(50);
    /// The operator compares rollouts with the quickest one for this long.
    SLOTS_REMEMBERED = Duration::from_secs(60);
    /// Refused requests reduce the number of slots at most once in this time, because one stall refuses many.
    SLOTS_BREATH = Duration::from_secs(1);
    /// The time between two checks for free rollout slots.
    SLOTS_LOOK = Duration::from_millis(250);
    /// Statuses that are written within this time count together. Many of them mean that the operator is busy.
    LOAD_WINDOW = Duration::from_secs(1);
    /// A rollout that waits for a slot asks again after this long if nothing requeues it.
    ASK_AGAIN = Duration::from_secs(30);
    /// After a rollout has waited for a slot for this long, its status reports it (rollwright.dev only).
    QUEUED_TOLD_AFTER = Duration::from_secs(10);
    /// The shortest time between two such writes, of all Deployments together.
    QUEUED_TELLING_INTERVAL = Duration::from_millis(200);
    /// The pods of a rollout that does not move are listed again after this long.
    LOOK_AGAIN = Duration::from_secs(15);
    /// The events of one of these pods are listed again after this long at the soonest.
    EVENTS_AGAIN = Duration::from_secs(30);
    /// The shortest time between two such requests, of all Deployments together.
    LOOK_INTERVAL = Duration::from_millis(200);
    /// A rollout that has not moved for this long counts as blocked even if the operator may not list its pods.
    UNKNOWN_AFTER = Duration::from_secs(60);
    /// If another controller undoes the operator's status three times within this time, the operator leaves the
    /// Deployment to it.
    RIVAL_WINDOW = Duration::from_secs(60);
    /// The operator leaves the Deployment to that controller until it has written nothing for this long.
    RIVAL_SILENCE = Duration::from_secs(60);
    /// A shard leaves a namespace that joins it alone for this long. The shard that it leaves writes for 5 s after
    /// it last checked the namespace, and waits 5 s longer for an answer. The remaining 5 s are for requests that
    /// the server is still carrying out.
    HANDOVER = Duration::from_secs(15);
}
