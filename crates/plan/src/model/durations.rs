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
    /// A status that changes nothing but counters and texts waits this long for the changes that follow it. The pods of
    /// one step become ready together.
    STATUS_GATHERS = Duration::from_millis(500);
    /// While the operator is busy, such a status waits this long. The server then spends its time on pods.
    STATUS_GATHERS_BUSY = Duration::from_secs(2);
    /// Rollbacks to the same templates count as repeated when they are closer together than this; the fourth
    /// one is refused.
    ROLLBACK_REPEATED_WITHIN = Duration::from_secs(600);
    /// When all names for a new ReplicaSet are taken, the operator tries the last one again after this long. The
    /// ReplicaSet with that name may be gone by then (NS-1).
    NAMES_HELD = Duration::from_secs(10);
    /// The operator reconciles a Deployment this long after its progress deadline. Closer to the deadline than
    /// this, it reconciles the Deployment repeatedly (S9.15).
    DEADLINE_MARGIN = Duration::from_secs(1);
}
