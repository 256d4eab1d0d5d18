//! The command that shows more of what blocks a rollout.

use diagnosis::{Blocker, Cause};

/// The next command; `None` if going back is all that helps.
pub(crate) fn next(blocker: &Blocker, namespace: &str) -> Option<String> {
    let Blocker { cause, container, pod, .. } = blocker;
    match cause {
        Cause::ImagePull => None,
        Cause::CrashLoop => {
            Some(format!("kubectl logs {pod} -c {container} -n {namespace} --previous --tail=20"))
        }
        _ => Some(described(pod, namespace)),
    }
}

/// The same for a refusal of the server.
pub(crate) fn next_of_refusal(cause: Cause, message: &str, namespace: &str) -> Option<String> {
    match cause {
        Cause::Refused if is_of_limit_range(message) => {
            Some(format!("kubectl describe limitrange -n {namespace}"))
        }
        Cause::Quota => Some(format!("kubectl describe quota -n {namespace}")),
        Cause::AdmissionWebhook => {
            let kinds = "validatingwebhookconfigurations,mutatingwebhookconfigurations";
            Some(format!("kubectl get {kinds}"))
        }
        Cause::AdmissionPolicy => {
            let kinds = "validatingadmissionpolicies,validatingadmissionpolicybindings";
            Some(format!("kubectl get {kinds}"))
        }
        Cause::PodSecurity => Some(format!("kubectl get namespace {namespace} --show-labels")),
        _ => None,
    }
}

/// Whether a LimitRange is the reason, by the words of its admission.
fn is_of_limit_range(message: &str) -> bool {
    [" usage per Container is ", " usage per Pod is ", " limit to request ratio per "]
        .iter()
        .any(|words| message.contains(words))
}

/// All about a pod.
pub(crate) fn described(pod: &str, namespace: &str) -> String {
    format!("kubectl describe pod {pod} -n {namespace}")
}
