//! What keeps a pod from being ready, and what a refusal is about.

use serde_json::Value;

use crate::pods::{list, text};

/// An obstacle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Obstacle {
    /// One word for programs.
    pub(crate) cause: &'static str,
    /// What the pods do, to go on after "2 pods of web-5f9".
    pub(crate) text: String,
    /// The next command, unless going back is all that helps.
    pub(crate) next: Option<String>,
}

fn described(pod: &Value) -> String {
    format!("kubectl describe pod {} -n {}", text(pod, "/metadata/name"), text(pod, "/metadata/namespace"))
}

/// What keeps this pod from being ready; none if it is, or if it is only starting.
pub(crate) fn of_pod(pod: &Value, events: &[Value]) -> Option<Obstacle> {
    let condition = |kind: &str| {
        list(pod, "/status/conditions").iter().find(|condition| text(condition, "/type") == kind)
    };
    if condition("Ready").is_some_and(|ready| text(ready, "/status") == "True") {
        return None;
    }
    if let Some(scheduled) = condition("PodScheduled").filter(|found| text(found, "/status") == "False") {
        return Some(Obstacle {
            cause: "Unschedulable",
            text: format!("cannot be scheduled: {}", text(scheduled, "/message").trim_end_matches('.')),
            next: Some(described(pod)),
        });
    }
    let containers = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let statuses = containers.iter().flat_map(|path| list(pod, path));
    statuses.filter_map(|status| of_container(pod, status)).next().or_else(|| failing_probe(pod, events))
}

fn of_container(pod: &Value, status: &Value) -> Option<Obstacle> {
    let reason = text(status, "/state/waiting/reason");
    let message = text(status, "/state/waiting/message").trim_end_matches('.');
    let (container, image) = (text(status, "/name"), text(status, "/image"));
    let last = status.pointer("/lastState/terminated").or_else(|| status.pointer("/state/terminated"));
    let code = last.and_then(|last| last.get("exitCode")?.as_i64());
    if matches!(reason, "ImagePullBackOff" | "ErrImagePull" | "InvalidImageName" | "ErrImageNeverPull") {
        let of = if image.is_empty() { String::new() } else { format!(" {image}") };
        return Some(Obstacle {
            cause: "ImagePull",
            text: format!("cannot pull the image{of} of container {container} ({reason}: {message})"),
            next: None,
        });
    }
    let is_crash = reason == "CrashLoopBackOff" || code.is_some_and(|code| code != 0);
    if is_crash {
        let with = code.map(|code| format!(", last with exit code {code}")).unwrap_or_default();
        let (pod_name, namespace) = (text(pod, "/metadata/name"), text(pod, "/metadata/namespace"));
        return Some(Obstacle {
            cause: "CrashLoop",
            text: format!("crash in container {container}{with}; its last lines are in the log"),
            next: Some(format!("kubectl logs {pod_name} -c {container} -n {namespace} --previous --tail=20")),
        });
    }
    let is_broken =
        matches!(reason, "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError");
    is_broken.then(|| Obstacle {
        cause: "ContainerConfig",
        text: format!("cannot start container {container} ({reason}: {message})"),
        next: Some(described(pod)),
    })
}

/// A probe fails without a trace in the pod's status: the kubelet tells by events only.
fn failing_probe(pod: &Value, events: &[Value]) -> Option<Obstacle> {
    let is_about = |event: &&Value| {
        text(event, "/involvedObject/uid") == text(pod, "/metadata/uid")
            && text(event, "/reason") == "Unhealthy"
    };
    let event = events.iter().rev().find(is_about)?;
    Some(Obstacle {
        cause: "ReadinessProbe",
        text: format!("run and are not ready: {}", text(event, "/message").trim().trim_end_matches('.')),
        next: Some(described(pod)),
    })
}

/// What a refusal of the server is about, and the command that shows more.
pub(crate) fn of_refusal(message: &str, namespace: &str) -> (&'static str, Option<String>) {
    if message.contains("exceeded quota") {
        return ("Quota", Some(format!("kubectl describe quota -n {namespace}")));
    }
    if message.contains("admission webhook") || message.contains("failed calling webhook") {
        let kinds = "validatingwebhookconfigurations,mutatingwebhookconfigurations";
        return ("AdmissionWebhook", Some(format!("kubectl get {kinds}")));
    }
    if message.contains("violates PodSecurity") {
        return ("PodSecurity", Some(format!("kubectl get namespace {namespace} --show-labels")));
    }
    ("Refused", None)
}
