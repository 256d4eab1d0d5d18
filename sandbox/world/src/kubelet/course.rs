//! The life of a pod, and who decides it.

use std::time::Duration;

use serde_json::Value;

use super::annotations::{
    ENDS_AFTER_MS, EXIT_CODE, NEVER, NEVER_READY, READY_AFTER_MS, TERMINATE_AFTER_MS, UNREADY_AFTER_MS, WAITS,
};
use super::status::image;
use crate::object::Object;

/// What the containers of a pod do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The containers run.
    Runs,
    /// An image cannot be pulled.
    ImagePull,
    /// The containers wait for what [`WAITS`] names.
    Waits,
    /// A container ends soon after each start.
    Crashes {
        /// Time between two restarts.
        every: Duration,
    },
    /// The containers run, and one of them ends this long after each start, whether the pod was ready by then or not.
    /// One that is never ready waits for its next start in between.
    Restarts {
        /// Time from a start to its end.
        every: Duration,
    },
    /// The containers run and end.
    Ends {
        /// Time from being ready to the end; `None` is never.
        after: Option<Duration>,
        /// Their exit code; 0 is a good end.
        code: u8,
    },
}

/// The fate of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Course {
    /// Its node, counted from 0 and around; `None` when there is no room for it.
    pub node: Option<usize>,
    /// Time from being created to being scheduled.
    pub bound_after: Duration,
    /// What its containers do.
    pub fate: Fate,
    /// Time from the start of its containers to being ready; `None` is never.
    pub ready_after: Option<Duration>,
    /// Time from being ready to being unready again.
    pub unready_after: Option<Duration>,
    /// Time from being deleted to being gone.
    pub gone_after: Duration,
}

/// Decides the fate of pods.
pub trait Policy {
    /// The fate of a pod. A policy is asked at every look; `before` is what it answered last, so that one that draws
    /// can keep to it.
    fn course(&mut self, pod: &Object, before: Option<&Course>) -> Course;
}

/// The conventions of the tests' cluster:
///
/// | in the pod | effect |
/// |---|---|
/// | an image containing `bad` | `ImagePullBackOff`, the pod stays pending |
/// | an image containing `crash` | `CrashLoopBackOff` with a rising restart count |
/// | an image containing `endless`, and `restartPolicy: Never` | runs until an annotation ends it |
/// | `restartPolicy: Never` or `OnFailure` | ends 2 s after it was ready, as `Succeeded`, or with a `crash` image as `Failed` |
/// | [`ENDS_AFTER_MS`] | such a pod ends that long after it was ready, or [`NEVER`] |
/// | [`EXIT_CODE`] | such a pod ends with this code; any but 0 is a failure, which `OnFailure` makes a `CrashLoopBackOff` |
/// | [`READY_AFTER_MS`] | becomes ready that long after it was scheduled |
/// | [`UNREADY_AFTER_MS`] | becomes unready again that long after it was ready |
/// | [`NEVER_READY`]` = "true"` | runs but is not ready, with an event `Unhealthy`; may be set and removed at any time |
/// | [`WAITS`] | the containers wait for this reason, and the pod stays pending; `FailedMount` and `FailedAttachVolume` are events |
/// | [`LAST_WORDS`](crate::LAST_WORDS) | the termination message of a container that has ended |
/// | [`TERMINATE_AFTER_MS`] | lingers that long after it was deleted |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conventions {
    /// Time from being scheduled to being ready.
    pub ready_after: Duration,
    /// Time from being deleted to being gone.
    pub terminate_after: Duration,
    /// Time between two restarts of a crashing container.
    pub restart_every: Duration,
    /// Time from being ready to the end, of a pod that is not restarted.
    pub ends_after: Duration,
    /// No pod is ready while this is set, as if all carried [`NEVER_READY`].
    pub never_ready: bool,
}

impl Default for Conventions {
    fn default() -> Self {
        Self {
            ready_after: Duration::from_millis(100),
            terminate_after: Duration::ZERO,
            restart_every: Duration::from_secs(10),
            ends_after: Duration::from_secs(2),
            never_ready: false,
        }
    }
}

impl Policy for Conventions {
    fn course(&mut self, pod: &Object, _: Option<&Course>) -> Course {
        let policy = pod.spec.get("restartPolicy").and_then(Value::as_str);
        let ends = matches!(policy, Some("Never" | "OnFailure"));
        let crashes = has_image(pod, "crash");
        let code = pod.annotation(EXIT_CODE).and_then(|code| code.parse().ok()).filter(|_| ends);
        let code = code.unwrap_or(u8::from(crashes));
        let fate = match policy {
            _ if has_image(pod, "bad") => Fate::ImagePull,
            _ if pod.annotation(WAITS).is_some() => Fate::Waits,
            Some("Never") => Fate::Ends { after: self.ends_after(pod), code },
            _ if code > 0 => Fate::Crashes { every: self.restart_every },
            _ if ends => Fate::Ends { after: self.ends_after(pod), code },
            _ => Fate::Runs,
        };
        let is_never_ready = self.never_ready || pod.annotation(NEVER_READY) == Some("true");
        let ready_after = milliseconds(pod, READY_AFTER_MS).unwrap_or(self.ready_after);
        Course {
            node: Some(0),
            bound_after: Duration::ZERO,
            fate,
            ready_after: (!is_never_ready || ends).then_some(ready_after),
            unready_after: milliseconds(pod, UNREADY_AFTER_MS),
            gone_after: milliseconds(pod, TERMINATE_AFTER_MS).unwrap_or(self.terminate_after),
        }
    }
}

impl Conventions {
    fn ends_after(&self, pod: &Object) -> Option<Duration> {
        match pod.annotation(ENDS_AFTER_MS) {
            Some(NEVER) => None,
            None if has_image(pod, "endless") => None,
            _ => Some(milliseconds(pod, ENDS_AFTER_MS).unwrap_or(self.ends_after)),
        }
    }
}

fn milliseconds(pod: &Object, annotation: &str) -> Option<Duration> {
    pod.annotation(annotation)?.parse().ok().map(Duration::from_millis)
}

fn has_image(pod: &Object, part: &str) -> bool {
    let mut containers = pod.spec.get("containers").and_then(Value::as_array).into_iter().flatten();
    containers.any(|container| image(container).contains(part))
}
