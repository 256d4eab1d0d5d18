//! What the fake kubelet reads of a pod, and nothing more: with thousands of
//! pods, whole ones would cost most of its time and memory.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::kubelet::{
    KubeletOptions, LAST_WORDS, NEVER_READY, READY_AFTER_MS, TERMINATE_AFTER_MS, UNREADY_AFTER_MS, WAITS,
};

/// The parts of a pod that matter here.
#[derive(kube::Resource, Clone, Debug, Default, Deserialize)]
#[resource(inherit = "k8s_openapi::api::core::v1::Pod")]
pub(super) struct SlimPod {
    pub(super) metadata: ObjectMeta,
    #[serde(default)]
    pub(super) spec: Spec,
    #[serde(default)]
    pub(super) status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Spec {
    pub(super) node_name: Option<String>,
    pub(super) restart_policy: Option<String>,
    pub(super) containers: Vec<Container>,
    pub(super) init_containers: Vec<Container>,
    pub(super) readiness_gates: Vec<ReadinessGate>,
    pub(super) scheduling_gates: Vec<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Container {
    pub(super) name: String,
    pub(super) image: String,
    pub(super) restart_policy: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ReadinessGate {
    pub(super) condition_type: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Status {
    pub(super) phase: Option<String>,
    pub(super) start_time: Option<jiff::Timestamp>,
    pub(super) conditions: Vec<Map<String, Value>>,
}

impl Container {
    pub(super) fn is_bad(&self) -> bool {
        self.image.contains("bad")
    }

    pub(super) fn is_crashing(&self) -> bool {
        self.image.contains("crash")
    }
}

impl SlimPod {
    pub(super) fn last_words(&self) -> &str {
        self.annotation(LAST_WORDS).unwrap_or_default()
    }

    /// Reason and message of containers that wait.
    pub(super) fn waits(&self) -> Option<(&str, &str)> {
        let text = self.annotation(WAITS)?;
        Some(text.split_once(": ").unwrap_or((text, "")))
    }

    pub(super) fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    pub(super) fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    pub(super) fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    pub(super) fn is_finished(&self) -> bool {
        matches!(self.status.phase.as_deref(), Some("Succeeded" | "Failed"))
    }

    pub(super) fn runs_to_completion(&self) -> bool {
        matches!(self.spec.restart_policy.as_deref(), Some("Never" | "OnFailure"))
    }

    /// Whether somebody else has set every condition the pod's readiness
    /// depends on.
    pub(super) fn gates_are_met(&self) -> bool {
        self.spec.readiness_gates.iter().all(|gate| {
            self.status.conditions.iter().any(|condition| {
                condition.get("type").and_then(Value::as_str) == Some(gate.condition_type.as_str())
                    && condition.get("status").and_then(Value::as_str) == Some("True")
            })
        })
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    fn milliseconds(&self, key: &str) -> Option<Duration> {
        self.annotation(key)?.parse().ok().map(Duration::from_millis)
    }

    pub(super) fn ready_after(&self, options: &KubeletOptions) -> Duration {
        self.milliseconds(READY_AFTER_MS).unwrap_or(options.ready_after)
    }

    pub(super) fn unready_after(&self) -> Option<Duration> {
        self.milliseconds(UNREADY_AFTER_MS)
    }

    pub(super) fn terminate_after(&self, options: &KubeletOptions) -> Duration {
        self.milliseconds(TERMINATE_AFTER_MS).unwrap_or(options.terminate_after)
    }

    pub(super) fn is_never_ready(&self, options: &KubeletOptions) -> bool {
        options.never_ready || self.annotation(NEVER_READY) == Some("true")
    }
}
