//! Pods: how they are, in the words of `kubectl get pods`.

use diagnosis::{list, text};
use serde::Serialize;
use serde_json::Value;

use crate::table::counted;

/// A pod in a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Pod {
    pub(crate) name: String,
    /// `Running`, `ImagePullBackOff`, `Terminating`, `Init:0/1`, ...
    pub(crate) status: String,
    /// Containers that are ready.
    pub(crate) ready: usize,
    pub(crate) containers: usize,
    pub(crate) restarts: i64,
    pub(crate) created: String,
    #[serde(skip)]
    pub(crate) ip: Option<String>,
    #[serde(skip)]
    pub(crate) node: Option<String>,
    /// Why it is not ready, if the pod itself shows it.
    pub(crate) why: Option<String>,
}

impl Pod {
    /// How often containers restarted, before why it is not ready; empty if never.
    pub(crate) fn restarted(&self) -> String {
        if self.restarts > 0 { format!("{}; ", counted(self.restarts, "restart")) } else { String::new() }
    }
}

/// Reads a pod. As for kubectl, a sidecar counts as one of its containers.
pub(crate) fn read(pod: &Value) -> Pod {
    let sidecars = list(pod, "/status/initContainerStatuses").iter().filter(|it| is_sidecar(pod, it));
    let statuses: Vec<_> = list(pod, "/status/containerStatuses").iter().chain(sidecars).collect();
    let is_ready = |status: &&&Value| is_true(status, "ready");
    let restarts = statuses.iter().filter_map(|status| status.get("restartCount")?.as_i64()).sum();
    let sidecars = list(pod, "/spec/initContainers").iter().filter(|it| restarts_always(it)).count();
    Pod {
        name: text(pod, "/metadata/name").to_owned(),
        status: status(pod),
        ready: statuses.iter().filter(is_ready).count(),
        containers: list(pod, "/spec/containers").len() + sidecars,
        restarts,
        created: text(pod, "/metadata/creationTimestamp").to_owned(),
        ip: known(text(pod, "/status/podIP")),
        node: known(text(pod, "/spec/nodeName")),
        why: why(pod),
    }
}

fn is_true(status: &Value, field: &str) -> bool {
    status.get(field).and_then(Value::as_bool) == Some(true)
}

fn restarts_always(container: &Value) -> bool {
    text(container, "/restartPolicy") == "Always"
}

/// Whether this is the status of an init container that runs as long as the others.
fn is_sidecar(pod: &Value, status: &Value) -> bool {
    let mut all = list(pod, "/spec/initContainers").iter();
    all.any(|it| restarts_always(it) && text(it, "/name") == text(status, "/name"))
}

fn known(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// The column STATUS of kubectl.
fn status(pod: &Value) -> String {
    if pod.pointer("/metadata/deletionTimestamp").is_some_and(Value::is_string) {
        return "Terminating".to_owned();
    }
    let init = list(pod, "/status/initContainerStatuses");
    let is_done = |status: &&Value| {
        status.pointer("/state/terminated/exitCode").and_then(Value::as_i64) == Some(0)
            || is_sidecar(pod, status) && is_true(status, "started")
    };
    let done = init.iter().take_while(is_done).count();
    if let Some(current) = init.get(done) {
        let reason = trouble(current).map(|(reason, _)| reason).filter(|reason| *reason != "PodInitializing");
        return match reason {
            Some(reason) => format!("Init:{reason}"),
            None => format!("Init:{done}/{}", list(pod, "/spec/initContainers").len()),
        };
    }
    let reason =
        list(pod, "/status/containerStatuses").iter().rev().find_map(|status| Some(trouble(status)?.0));
    let own = [text(pod, "/status/reason"), text(pod, "/status/phase")];
    let own = own.into_iter().find(|text| !text.is_empty()).unwrap_or("Unknown");
    reason.unwrap_or(own).to_owned()
}

/// Why a container does not run: reason and message.
fn trouble(status: &Value) -> Option<(&str, &str)> {
    ["/state/waiting", "/state/terminated"].iter().find_map(|path| {
        let state = status.pointer(path)?;
        let reason = state.get("reason").and_then(Value::as_str).unwrap_or("Error");
        Some((reason, state.get("message").and_then(Value::as_str).unwrap_or_default()))
    })
}

/// Why a pod is not ready.
fn why(pod: &Value) -> Option<String> {
    let conditions = list(pod, "/status/conditions");
    let condition = |kind: &str| conditions.iter().find(|condition| text(condition, "/type") == kind);
    if condition("Ready").is_some_and(|ready| text(ready, "/status") == "True") {
        return None;
    }
    if let Some(scheduled) = condition("PodScheduled").filter(|found| text(found, "/status") == "False") {
        return Some(joined(text(scheduled, "/reason"), text(scheduled, "/message")));
    }
    let of_containers = ["/status/initContainerStatuses", "/status/containerStatuses"];
    for status in of_containers.iter().flat_map(|path| list(pod, path)) {
        let Some((reason, message)) = trouble(status) else { continue };
        if matches!(reason, "Completed" | "ContainerCreating" | "PodInitializing") {
            continue;
        }
        let last = status.pointer("/lastState/terminated/exitCode").and_then(Value::as_i64);
        let last = last.map(|code| format!(" (last exit code {code})")).unwrap_or_default();
        return Some(format!("{}: {}{last}", text(status, "/name"), joined(reason, message)));
    }
    condition("Ready").map(|ready| joined(text(ready, "/reason"), text(ready, "/message")))
}

fn joined(reason: &str, message: &str) -> String {
    if message.is_empty() { reason.to_owned() } else { format!("{reason}: {message}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_running_pod_needs_no_explanation() {
        let pod = json!({
            "metadata": {"name": "web-1"},
            "spec": {"containers": [{"name": "app"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
                       "containerStatuses": [{"name": "app", "ready": true, "restartCount": 2,
                                              "state": {"running": {}}}]},
        });
        let read = read(&pod);
        assert_eq!((read.status.as_str(), read.ready, read.containers, read.restarts), ("Running", 1, 1, 2));
        assert_eq!(read.why, None);
    }

    #[test]
    fn a_sidecar_is_no_initialisation_once_it_has_started() {
        let mut pod = json!({
            "spec": {"initContainers": [{"name": "proxy", "restartPolicy": "Always"}], "containers": [{"name": "app"}]},
            "status": {"phase": "Running",
                       "initContainerStatuses": [{"name": "proxy", "started": true, "ready": true, "restartCount": 1,
                                                  "state": {"running": {}}}],
                       "containerStatuses": [{"name": "app", "ready": true, "state": {"running": {}}}]},
        });
        let found = read(&pod);
        assert_eq!((found.status.as_str(), found.ready, found.containers), ("Running", 2, 2));
        assert_eq!(found.restarted(), "1 restart; ");
        pod["status"]["initContainerStatuses"][0]["started"] = json!(false);
        assert_eq!(read(&pod).status, "Init:0/1");
    }

    #[test]
    fn a_crash_loop_tells_its_exit_code() {
        let pod = json!({
            "spec": {"containers": [{"name": "app"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}],
                       "containerStatuses": [{"name": "app", "ready": false,
                           "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}},
                           "lastState": {"terminated": {"exitCode": 137}}}]},
        });
        let read = read(&pod);
        assert_eq!(read.status, "CrashLoopBackOff");
        assert_eq!(read.why.as_deref(), Some("app: CrashLoopBackOff: back-off 10s (last exit code 137)"));
    }

    #[test]
    fn the_scheduler_is_quoted() {
        let pod = json!({"status": {"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}]}});
        assert_eq!(read(&pod).why.as_deref(), Some("Unschedulable: 0/3 nodes"));
        assert_eq!(read(&pod).status, "Pending");
    }

    #[test]
    fn initialisation_is_counted() {
        let pod = json!({
            "spec": {"initContainers": [{"name": "a"}, {"name": "b"}], "containers": [{"name": "app"}]},
            "status": {"phase": "Pending", "initContainerStatuses": [
                {"name": "a", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}},
                {"name": "b", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]},
        });
        assert_eq!(read(&pod).status, "Init:ImagePullBackOff");
    }
}
