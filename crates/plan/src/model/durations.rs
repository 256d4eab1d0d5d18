//! Every duration of the planner, each with a sentence. The engine's are in its own `durations.rs`; one of its tests
//! fails when another file defines a duration.

use std::time::Duration;

/// A status that changes nothing but counters and texts waits this long for the changes that follow it. The pods of
/// one step become ready together.
pub const STATUS_WAITS: Duration = Duration::from_millis(500);

/// While the operator is busy, such a status waits this long. The server then spends its time on pods.
pub const STATUS_WAITS_BUSY: Duration = Duration::from_secs(1);

/// Rollbacks to the same templates count as repeated when they are closer together than this; the fourth
/// one is refused.
pub const ROLLBACK_REPEATED_WITHIN: Duration = Duration::from_secs(600);

/// When all names for a new ReplicaSet are taken, the operator tries the last one again after this long. The
/// ReplicaSet with that name may be gone by then (NS-1).
pub const NAMES_HELD: Duration = Duration::from_secs(10);

/// On rollwright.dev, clean-up does not delete a ReplicaSet that is younger than this. What creates older ReplicaSets of a
/// Deployment, such as a restore of a backup, writes to them again shortly afterwards.
pub const CLEAN_UP_AGE: Duration = Duration::from_secs(10);

/// The operator reconciles a Deployment this long after its progress deadline. Closer to the deadline than
/// this, it reconciles the Deployment repeatedly (S9.15).
pub const DEADLINE_MARGIN: Duration = Duration::from_secs(1);

/// The operator reads a Job again after this long while its pod does not run: nothing reports that the cause has
/// changed (GA-3).
pub const JOB_AGAIN: Duration = Duration::from_secs(10);
