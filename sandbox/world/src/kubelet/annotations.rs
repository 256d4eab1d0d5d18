//! Annotations of pods that decide their fate.

use crate::metadata::Metadata;

/// Annotation: milliseconds from being scheduled to being ready.
pub const READY_AFTER_MS: &str = "fake.rollwright.dev/ready-after-ms";
/// Annotation: milliseconds from being ready to being unready again.
pub const UNREADY_AFTER_MS: &str = "fake.rollwright.dev/unready-after-ms";
/// Annotation: milliseconds from being deleted to being gone.
pub const TERMINATE_AFTER_MS: &str = "fake.rollwright.dev/terminate-after-ms";
/// Annotation: milliseconds from being ready to the end, or [`NEVER`], of a pod that is not restarted.
pub const ENDS_AFTER_MS: &str = "fake.rollwright.dev/ends-after-ms";
/// The value of [`ENDS_AFTER_MS`] of a pod that runs until it is deleted.
pub const NEVER: &str = "never";
/// Annotation: the exit code of the containers of a pod that ends.
pub const EXIT_CODE: &str = "fake.rollwright.dev/exit-code";
/// Annotation: what a container writes as its termination message.
pub const LAST_WORDS: &str = "fake.rollwright.dev/last-words";
/// Annotation: why containers wait instead of starting, as `Reason: message`.
pub const WAITS: &str = "fake.rollwright.dev/waits";
/// Annotation: `"true"` keeps a pod from being ready.
pub const NEVER_READY: &str = "fake.rollwright.dev/never-ready";

/// Reasons to wait that no status shows, but an event does.
pub(super) const OF_VOLUMES: [&str; 2] = ["FailedMount", "FailedAttachVolume"];

/// Reason and message of containers that wait.
pub(super) fn waits(metadata: &Metadata) -> Option<(&str, &str)> {
    let text = metadata.annotation(WAITS)?;
    Some(text.split_once(": ").unwrap_or((text, "")))
}
