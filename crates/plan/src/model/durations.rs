//! Every duration of the planner, each with a sentence. The engine's are in its own `durations.rs`; one of its tests
//! generates docs/reference/durations.md from both files, and fails when another file defines a duration.

use std::time::Duration;

/// Constants that are durations, and the list `ALL` of them with their names and sentences.
#[macro_export]
macro_rules! durations {
    ($($(#[doc = $sentence:literal])+ $name:ident = $value:expr;)+) => {
        $($(#[doc = $sentence])+ pub const $name: ::std::time::Duration = $value;)+
        /// All of them: name, value, and sentence.
        pub const ALL: &[(&str, ::std::time::Duration, &str)] = &[$((stringify!($name), $value, concat!($($sentence),+))),+];
    };
}

durations! {
    /// Unless the operator is busy, a status that changes nothing but counters and texts is written this long after the
    /// change, and this long after the last status.
    STATUS_GATHERS_UNHURRIED = Duration::from_millis(500);
    /// While the operator is busy, such a status is written this long after the last one, or later.
    STATUS_COOLDOWN = Duration::from_secs(1);
    /// The same if the reconcile also resizes a ReplicaSet. The counters are then out of date at once, and the
    /// reports of the ReplicaSets start the next reconcile.
    STATUS_COOLDOWN_BESIDE_STEP = Duration::from_secs(2);
    /// While the operator is busy, a status that changes nothing but counters waits this long for the changes that
    /// follow it. The pods of one step become ready together.
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
    /// Rollbacks to the same templates count as repeated when they are closer together than this; the fourth
    /// one is refused.
    ROLLBACK_REPEATED_WITHIN = Duration::from_secs(600);
    /// When all names for a new ReplicaSet are taken, the operator tries the last one again after this long. The
    /// ReplicaSet with that name may be gone by then (NS-1).
    NAMES_HELD = Duration::from_secs(300);
    /// The operator reconciles a Deployment this long after its progress deadline. Closer to the deadline than
    /// this, it reconciles the Deployment repeatedly (S9.15).
    DEADLINE_MARGIN = Duration::from_secs(1);
}
