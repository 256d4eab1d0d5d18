//! What the fake kubelet reads of a pod, and nothing more: with thousands of
//! pods, whole ones would cost most of its time and memory.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use world::{Object, Resource};

/// The parts of a pod that matter here.
#[derive(kube::Resource, Clone, Debug, Default, Deserialize, Serialize)]
#[resource(inherit = "k8s_openapi::api::core::v1::Pod")]
pub(super) struct SlimPod {
    pub(super) metadata: ObjectMeta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    node_name: Option<String>,
    restart_policy: Option<String>,
    containers: Vec<Container>,
    init_containers: Vec<Container>,
    readiness_gates: Vec<ReadinessGate>,
    scheduling_gates: Vec<Value>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct Container {
    name: String,
    image: String,
    restart_policy: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct ReadinessGate {
    condition_type: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    phase: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_time: Option<String>,
    conditions: Vec<Map<String, Value>>,
}

impl SlimPod {
    pub(super) fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    /// The pod as the rules of [`world::Life`] read it.
    pub(super) fn into_object(mut self) -> Object {
        self.metadata.managed_fields = None;
        self.metadata.labels = None;
        self.metadata.owner_references = None;
        // What was read from JSON can be written as JSON.
        Object::from_value(Resource::Pods, serde_json::to_value(self).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use serde_json::json;
    use world::{Conventions, LAST_WORDS, Life, Next, Policy as _};

    use super::*;

    fn status(pod: &Object) -> Value {
        let seen: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        let now = seen + SignedDuration::from_secs(1);
        let course = Conventions::default().course(pod, None);
        let mut life = Life::new(1);
        _ = life.look(pod, &course, seen);
        let Next::Show(shown) = life.look(pod, &course, now) else { panic!("nothing to show of {pod:?}") };
        Value::clone(&life.report(pod, shown, 1, now))
    }

    /// Nothing is left out that a status is made from.
    #[test]
    fn a_slim_pod_gets_the_status_of_the_whole_one() {
        for image in ["app:1", "bad:1", "crash:1"] {
            for start in [json!({}), json!({"startTime": "2026-01-01T00:00:00Z"})] {
                let mut whole = json!({
                    "metadata": {
                        "name": "web-1", "namespace": "shop", "uid": "u", "generation": 2,
                        "annotations": {LAST_WORDS: "no database"}, "labels": {"app": "web"},
                    },
                    "spec": {
                        "nodeName": "fake-node", "restartPolicy": "Always", "dnsPolicy": "ClusterFirst",
                        "containers": [{"name": "app", "image": image, "ports": [{"containerPort": 80}]}],
                        "initContainers": [{"name": "proxy", "image": "proxy:1", "restartPolicy": "Always"}],
                        "readinessGates": [{"conditionType": "example/live"}],
                    },
                    "status": start,
                });
                whole["status"]["conditions"] = json!([{"type": "example/live", "status": "True"}]);
                let slim: SlimPod = serde_json::from_value(whole.clone()).unwrap();
                assert_eq!(status(&slim.into_object()), status(&Object::from_value(Resource::Pods, whole)));
            }
        }
    }
}
