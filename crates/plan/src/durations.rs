//! Every duration that planner and engine go by, each with a sentence. docs/reference/durations.md is made from
//! this file, and `tests/durations.rs` fails when one stands elsewhere.
//!
//! Those of the engine stand here too: somebody who asks why a Deployment waits need not know which of
//! the two lets it wait.

use std::time::Duration;

macro_rules! durations {
    ($($(#[doc = $sentence:literal])+ $name:ident = $value:expr;)+) => {
        $($(#[doc = $sentence])+ pub const $name: Duration = $value;)+
        /// All of them: name, value, and sentence.
        pub const ALL: &[(&str, Duration, &str)] = &[$((stringify!($name), $value, concat!($($sentence),+))),+];
    };
}

durations! {
    /// A status that changes nothing but counters and texts is written this long after the last one.
    STATUS_REST = Duration::from_secs(1);
    /// The same if the reconcile also resizes a ReplicaSet: the counters are out of date at once, and what the
    /// ReplicaSets report of the new sizes brings the next reconcile.
    STATUS_REST_BESIDE_STEP = Duration::from_secs(2);
    /// A status that changes nothing but counters waits this long for those that follow it: the pods of one step
    /// become ready together.
    STATUS_GATHERS = Duration::from_millis(500);
    /// The same while ReplicaSets have pods to make or to delete: their controller is about to report more.
    STATUS_GATHERS_IN_STEP = Duration::from_secs(3);
    /// The same for counters that nobody waits for, such as that of pods that terminate.
    STATUS_GATHERS_UNHEARD = Duration::from_secs(6);
    /// The Deployment is reconciled this long after its progress deadline; closer to the deadline than this, it
    /// is reconciled again and again (S9.15).
    DEADLINE_MARGIN = Duration::from_secs(1);
    /// The time between two reconciles of a Deployment whose deadline is that close.
    DEADLINE_AGAIN = Duration::from_millis(100);
    /// Rollbacks to the same templates count as repeated when they are closer together than this; the fourth
    /// one is refused.
    ROLLBACK_REPEATED_WITHIN = Duration::from_secs(600);
    /// Once all names for a new ReplicaSet are taken, the last one is tried again after this long: the
    /// ReplicaSet that has it may be gone by then (NS-1).
    NAMES_HELD = Duration::from_secs(300);
    /// Events of a Deployment that follow each other more closely than this are joined in one reconcile: while
    /// the status of a ReplicaSet still changes, a write to it would be refused.
    COALESCE = Duration::from_millis(10);
    /// Joined events are acted upon this long after the first of them, even if more arrive.
    BURST_MAX = Duration::from_millis(50);
    /// The cooldown after a write: the write comes back as events, and the pods that it asked for come
    /// one by one.
    REST = Duration::from_millis(50);
    /// For each other rollout under way the cooldown may be this much longer, if what the rollout waits for is
    /// not there yet: the server is busy, and a rollout that waits for all pods of a step loses nothing.
    REST_FOR_OTHERS = Duration::from_millis(100);
    /// The longest cooldown.
    REST_MAX = Duration::from_secs(1);
    /// The delay after the first failure of a Deployment; doubled with each further one in a row (S14.1).
    BACKOFF_BASE = Duration::from_millis(5);
    /// The longest delay between two attempts.
    BACKOFF_MAX = Duration::from_secs(120);
    /// After eight failures in a row an event does not requeue the Deployment at once but after this long, or at
    /// the end of its delay if that is sooner.
    HEED_AFTER = Duration::from_secs(1);
    /// Once a hundred retries are used up, one more is granted each time this has passed, for all Deployments
    /// together (S14.1).
    BUCKET_INTERVAL = Duration::from_millis(100);
    /// No retry waits longer than this for the others: after an outage that failed thousands of reconciles, all
    /// are tried again within this time.
    BUCKET_DEBT_MAX = Duration::from_secs(30);
    /// A longer `Retry-After` is cut to this: it might be a mistake.
    RETRY_AFTER_MAX = Duration::from_secs(120);
    /// After this long the cache is no longer expected to show a write, and the objects are read live.
    CACHE_PATIENCE = Duration::from_secs(30);
    /// The same while a watch is known to be broken: it will not show anything soon.
    CACHE_PATIENCE_WITHOUT_WATCH = Duration::from_millis(500);
    /// A dry run may fail for this long, for reasons that may pass, until it counts as refused.
    DRY_RUN_PATIENCE = Duration::from_secs(30);
    /// A rollout whose ReplicaSets have had all their pods for this long, ready or not, frees its rollout slot.
    STILL_AFTER = Duration::from_millis(500);
    /// A rollout for which nothing was written for this long frees its slot too, whatever it waits for.
    STUCK_AFTER = Duration::from_secs(10);
    /// A delay of the first pods of a rollout up to this is no sign of a busy server: the cooldown after a
    /// write is part of it.
    SLOTS_TOLERANCE = Duration::from_millis(50);
    /// The quickest rollout is the measure for others for this long.
    SLOTS_REMEMBERED = Duration::from_secs(60);
    /// The number of slots shrinks at most once in this time: one stall refuses many requests.
    SLOTS_BREATH = Duration::from_secs(1);
    /// The time between two checks for free rollout slots.
    TURNS_LOOK = Duration::from_millis(250);
    /// A rollout that waits for a slot asks again after this long, should nothing requeue it.
    ASK_AGAIN = Duration::from_secs(30);
    /// A rollout that has waited for a slot for this long says so in its status (our kind).
    QUEUED_TOLD_AFTER = Duration::from_secs(10);
    /// The shortest time between two such writes, of all Deployments together.
    QUEUED_TELLING_INTERVAL = Duration::from_millis(200);
    /// Another controller that undoes our status three times within this time is left the Deployment.
    RIVAL_WINDOW = Duration::from_secs(60);
    /// The Deployment is left to that controller until it has written nothing for this long.
    RIVAL_SILENCE = Duration::from_secs(60);
    /// A namespace that joins a shard is left alone for this long. The shard that it leaves writes for 5 s after
    /// it last checked the namespace, and waits 5 s longer for an answer; the rest is for what is under
    /// way in the server.
    HANDOVER = Duration::from_secs(15);
}
