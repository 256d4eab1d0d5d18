//! What keeps one pod from being ready.

use serde_json::Value;

use crate::cause::Cause;
use crate::event::{latest, of_probe};
use crate::read::{list, text};
use crate::words::Words;

/// The most that is repeated of a termination message, in characters.
const LAST_WORDS: usize = 200;
/// The kubelet changes between these two while it retries; they are one reason.
const PULLS: [&str; 2] = ["ErrImagePull", "ImagePullBackOff"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Obstacle {
    pub(crate) cause: Cause,
    /// The container that it is about; empty if it is about the whole pod.
    pub(crate) container: String,
    /// The reason that Kubernetes gives.
    pub(crate) reason: String,
    /// What the pods do, in words that follow "2 pods of web-5f9".
    pub(crate) text: String,
}

fn condition<'a>(pod: &'a Value, kind: &str) -> Option<&'a Value> {
    list(pod, "/status/conditions").iter().find(|condition| text(condition, "/type") == kind)
}

/// Whether a pod is ready.
#[must_use]
pub fn is_ready(pod: &Value) -> bool {
    condition(pod, "Ready").is_some_and(|ready| text(ready, "/status") == "True")
}

/// Whether a pod is not ready, and its status does not show why: events may.
#[must_use]
pub fn is_unclear(pod: &Value) -> bool {
    !is_ready(pod) && obstacle(pod, &[], Words::Withheld).is_none()
}

/// Events about one pod as if they were about another one that is as far as it is; none if it is not.
#[must_use]
pub fn like(events: &[Value], pod: &Value, other: &Value) -> Vec<Value> {
    if has_started(pod) != has_started(other) {
        return Vec::new();
    }
    let uid = text(other, "/metadata/uid");
    let about = |event: &Value| {
        let mut event = event.clone();
        if let Some(object) = event.pointer_mut("/involvedObject/uid") {
            *object = Value::from(uid);
        }
        event
    };
    events.iter().map(about).collect()
}

/// All of a pod that this crate reads.
#[must_use]
pub fn brief(pod: &Value) -> Value {
    let part = |parent: &str, names: &[&str]| -> Value {
        let members = pod.get(parent).and_then(Value::as_object).into_iter().flatten();
        let members = members.filter(|(name, _)| names.contains(&name.as_str()));
        Value::Object(members.map(|(name, value)| (name.clone(), value.clone())).collect())
    };
    let metadata = part("metadata", &["name", "uid", "deletionTimestamp"]);
    let status = part("status", &["conditions", "containerStatuses", "initContainerStatuses"]);
    Value::Object([("metadata".to_owned(), metadata), ("status".to_owned(), status)].into_iter().collect())
}

/// Whether a container of it has ever run: then its volumes are there.
fn has_started(pod: &Value) -> bool {
    list(pod, "/status/containerStatuses").iter().any(|status| {
        status.pointer("/state/running").is_some() || status.pointer("/state/terminated").is_some()
    })
}

/// What keeps this pod from being ready; none if it is, or if it is only starting.
pub(crate) fn obstacle(pod: &Value, events: &[Value], words: Words) -> Option<Obstacle> {
    if is_ready(pod) {
        return None;
    }
    if let Some(scheduled) = condition(pod, "PodScheduled").filter(|found| text(found, "/status") == "False")
    {
        return Some(Obstacle {
            cause: Cause::Unschedulable,
            container: String::new(),
            reason: text(scheduled, "/reason").to_owned(),
            text: format!("cannot be scheduled: {}", text(scheduled, "/message").trim_end_matches('.')),
        });
    }
    let containers = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let mut statuses = containers.iter().flat_map(|path| list(pod, path));
    statuses.find_map(|status| of_container(status, words)).or_else(|| of_events(pod, events, words))
}

fn of_container(status: &Value, words: Words) -> Option<Obstacle> {
    let reason = text(status, "/state/waiting/reason");
    let message = text(status, "/state/waiting/message").trim_end_matches('.');
    let (container, image) = (text(status, "/name"), text(status, "/image"));
    let obstacle = |cause, reason: &str, text| Obstacle {
        cause,
        container: container.to_owned(),
        reason: reason.to_owned(),
        text,
    };
    if PULLS.contains(&reason) || matches!(reason, "InvalidImageName" | "ErrImageNeverPull") {
        let of = if image.is_empty() { String::new() } else { format!(" {image}") };
        let text = format!("cannot pull the image{of} of container {container} ({reason}: {message})");
        let reason = if PULLS.contains(&reason) { "ImagePullBackOff" } else { reason };
        return Some(obstacle(Cause::ImagePull, reason, text));
    }
    let last = status.pointer("/lastState/terminated").or_else(|| status.pointer("/state/terminated"));
    let code = last.and_then(|last| last.get("exitCode")?.as_i64());
    if reason == "CrashLoopBackOff" || code.is_some_and(|code| code != 0) {
        let (ended, text) = crash(container, last.unwrap_or(&Value::Null), code, words);
        return Some(obstacle(Cause::CrashLoop, ended, text));
    }
    let is_broken =
        matches!(reason, "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError");
    let text = format!("cannot start container {container} ({reason}: {message})");
    is_broken.then(|| obstacle(Cause::ContainerConfig, reason, text))
}

/// How a container ended, in a word and in a sentence.
fn crash<'a>(container: &str, last: &'a Value, code: Option<i64>, words: Words) -> (&'a str, String) {
    let reason = text(last, "/reason");
    let with = code.map(|code| format!(", last exit code {code}")).unwrap_or_default();
    // "Error" adds nothing to the code.
    let as_it_is_called = match reason {
        "" | "Error" | "Completed" => String::new(),
        other => format!(" ({other})"),
    };
    let message = text(last, "/message").trim();
    let said = if words == Words::All && !message.is_empty() {
        let said: String = message.chars().take(LAST_WORDS).collect();
        format!("; its last words: {said}")
    } else {
        "; its last lines are in the log".to_owned()
    };
    (reason, format!("cannot keep container {container} running{with}{as_it_is_called}{said}"))
}

/// Some things leave no trace in the pod's status; the kubelet reports them by events only.
fn of_events(pod: &Value, events: &[Value], words: Words) -> Option<Obstacle> {
    let obstacle = |cause, event: &Value, text| Obstacle {
        cause,
        container: String::new(),
        reason: text_of(event, "/reason"),
        text,
    };
    if !has_started(pod)
        && let Some(event) = latest(pod, events, &["FailedMount", "FailedAttachVolume"])
    {
        let message = text(event, "/message").trim().trim_end_matches('.');
        return Some(obstacle(Cause::Volume, event, format!("cannot mount a volume: {message}")));
    }
    let event = latest(pod, events, &["Unhealthy"])?;
    let said = of_probe(text(event, "/message"), words);
    Some(obstacle(Cause::ReadinessProbe, event, format!("cannot become ready: {said}")))
}

fn text_of(value: &Value, path: &str) -> String {
    text(value, path).to_owned()
}

/// Whether a pod is still there after the time that it had to terminate. `now` as the API writes times, in
/// RFC 3339 and UTC: then they sort as text.
#[must_use]
pub fn overdue(pod: &Value, now: &str) -> bool {
    // The API server sets it to the end of the grace period.
    let end = text(pod, "/metadata/deletionTimestamp");
    !end.is_empty() && end < now
}
