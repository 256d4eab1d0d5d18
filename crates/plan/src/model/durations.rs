//! Every duration of the planner and the engine, each with a sentence. A test generates docs/reference/durations.md
//! from this file, and `tests/durations.rs` fails when another file defines a duration.
//!
//! The engine's durations are here too, so that a reader who asks why a Deployment waits need not know which
//! part makes it wait.

use std::time::Duration;

macro_rules! durations {
    ($($(#[doc = $sentence:literal])+ $name:ident = $value:expr;)+) => {
        $($(#[doc = $sentence])+ pub const $name: Duration = $value;)+
        /// All of them: name, value, and sentence.
        pub const ALL: &[(&str, Duration, &str)] = &[$((stringify!($name), $value, concat!($($sentence),+))),+];
    };
}

durations! {
    /// A status that changes nothing but counters and texts is written this long after the last one, or later.
    STATUS_COOLDOWN = Duration::from_secs(1);
    /// The same if the reconcile also resizes a ReplicaSet. The counters are then out of date at once, and the
    /// reports of the ReplicaSets start the next reconcile.
    STATUS_COOLDOWN_BESIDE_STEP = Duration::from_secs(2);
    /// A status that changes nothing but counters waits this long for the changes that follow it, because the
    /// pods of one step become ready together.
    STATUS_GATHERS = Duration::from_secs(2);
    /// The same while ReplicaSets have pods to create or to delete: their controller is about to report more. Texts
    /// without new counters wait as long.
    STATUS_GATHERS_IN_STEP = Duration::from_secs(6);
    /// The same for a status that nobody waits for: it counts pods that terminate.
    STATUS_GATHERS_UNHEARD = Duration::from_secs(10);
    /// The first status of a new generation waits this long while ReplicaSets have pods to create or to delete. That
    /// takes so long only if the server is busy, and then the status would delay the pods.
    STATUS_GATHERS_FIRST = Duration::from_secs(20);
    /// The same once more pods are ready than the last status shows.
    STATUS_GATHERS_FIRST_READY = Duration::from_secs(10);
    /// The operator reconciles a Deployment this long after its progress deadline. Closer to the deadline than
    /// this, it reconciles the Deployment repeatedly (S9.15).
    DEADLINE_MARGIN = Duration::from_secs(1);
    /// The time between two reconciles of a Deployment with a deadline that close.
    DEADLINE_AGAIN = Duration::from_millis(100);
    /// Rollbacks to the same templates count as repeated when they are closer together than this; the fourth
    /// one is refused.
    ROLLBACK_REPEATED_WITHIN = Duration::from_secs(600);
    /// When all names for a new ReplicaSet are taken, the operator tries the last one again after this long. The
    /// ReplicaSet with that name may be gone by then (NS-1).
    NAMES_HELD = Duration::from_secs(300);
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
