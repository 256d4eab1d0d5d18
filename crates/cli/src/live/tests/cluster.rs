//! Clusters for the screens: rollouts at one moment, as a server would show them.

use plan::Flavour;
use plan::keys::{FINGERPRINTS, REVISION};
use serde_json::{Value, json};

use super::*;
use crate::cluster::Deployment;
use crate::live::seen::Seen;
use crate::tree::Tree;
use crate::unobserved::Unobserved;
use crate::verbs::why::Read;

/// A rollout of revision 7 over revision 6, which has run for a day.
pub(super) struct Rollout {
    pub(super) deployment: Value,
    pub(super) sets: [Value; 2],
    pub(super) pods: Vec<Value>,
    pub(super) events: Vec<Value>,
}

const IMAGES: [&str; 2] = [
    "registry.example.com/platform/storefront/web-frontend:v1.41.7",
    "registry.example.com/platform/storefront/web-frontend:v1.42.0",
];

fn hash(number: i64) -> &'static str {
    if number == 6 { "6d4cf56db6" } else { "7b9f8c5d4" }
}

fn template(number: i64) -> Value {
    json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "image": IMAGES[usize::from(number == 7)]}]},
    })
}

fn set(number: i64, created: i64) -> Value {
    let mut stored = template(number);
    stored["metadata"]["labels"]["pod-template-hash"] = json!(hash(number));
    let fingerprint = Flavour::Rollwright.fingerprint(&template(number));
    json!({
        "metadata": {
            "name": format!("web-{}", hash(number)), "namespace": "shop", "uid": format!("s{number}"),
            "creationTimestamp": at(created).to_string(),
            "labels": {"app": "web", "pod-template-hash": hash(number), "rollwright.dev/managed": "true"},
            "annotations": {REVISION: number.to_string(), FINGERPRINTS: fingerprint.as_str()},
            "ownerReferences": [{"uid": "d", "controller": true, "kind": "Deployment"}],
        },
        "spec": {"replicas": 0, "template": stored},
        "status": {"replicas": 0, "readyReplicas": 0, "availableReplicas": 0},
    })
}

/// A pod that is ready since then, or why it is not.
pub(super) fn pod(number: i64, index: i64, created: i64, state: Result<i64, (&str, &str)>) -> Value {
    let letters = b"bcdfghjklmnpqrstvwxz";
    let letter =
        |nth: i64| char::from(letters[usize::try_from((index * 7 + nth * 3 + nth * index) % 20).unwrap()]);
    let suffix: String = (0..5).map(letter).collect();
    let (ready, container) = match state {
        Ok(since) => (
            json!({"type": "Ready", "status": "True", "lastTransitionTime": at(since).to_string()}),
            json!({"name": "app", "ready": true, "restartCount": 0, "started": true, "state": {"running": {}}}),
        ),
        Err((reason, message)) => (
            json!({"type": "Ready", "status": "False", "lastTransitionTime": at(created).to_string(),
                   "reason": "ContainersNotReady", "message": "containers with unready status: [app]"}),
            json!({"name": "app", "ready": false, "restartCount": 0,
                   "state": {"waiting": {"reason": reason, "message": message}}}),
        ),
    };
    let phase = if state.is_ok() { "Running" } else { "Pending" };
    json!({
        "metadata": {
            "name": format!("web-{}-{suffix}", hash(number)), "namespace": "shop", "uid": format!("{number}-{index}"),
            "creationTimestamp": at(created).to_string(),
            "labels": {"app": "web", "pod-template-hash": hash(number)},
            "ownerReferences": [{"uid": format!("s{number}"), "controller": true, "kind": "ReplicaSet"}],
        },
        "spec": {"containers": [{"name": "app"}]},
        "status": {"phase": phase, "conditions": [{"type": "PodScheduled", "status": "True"}, ready],
                   "containerStatuses": [container]},
    })
}

/// A pod that somebody deleted then.
pub(super) fn deleted(mut pod: Value, second: i64) -> Value {
    pod["metadata"]["deletionTimestamp"] = json!(at(second + 30).to_string());
    pod["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    pod
}

fn is(pod: &Value, number: i64) -> bool {
    pod["metadata"]["ownerReferences"][0]["uid"] == format!("s{number}").as_str()
        && pod["metadata"]["deletionTimestamp"].is_null()
}

impl Rollout {
    /// With this number of pods.
    pub(super) fn of(replicas: i64, pods: Vec<Value>) -> Self {
        let mut sets = [set(6, -86_400), set(7, 0)];
        let mut counts = [[0, 0], [0, 0]];
        let most = replicas + (replicas + 9) / 10;
        for (set, (number, count)) in sets.iter_mut().zip([(6, 0), (7, 1)]) {
            let own = || pods.iter().filter(|pod| is(pod, number));
            let ready = own().filter(|pod| pod["status"]["phase"] == "Running").count();
            counts[count] = [own().count(), ready];
            set["metadata"]["annotations"]["deployment.kubernetes.io/desired-replicas"] =
                json!(replicas.to_string());
            set["metadata"]["annotations"]["deployment.kubernetes.io/max-replicas"] = json!(most.to_string());
            set["spec"]["replicas"] = json!(own().count());
            set["status"] =
                json!({"replicas": own().count(), "readyReplicas": ready, "availableReplicas": ready});
        }
        let [[old, old_ready], [new, new_ready]] = counts;
        let deployment = json!({
            "metadata": {"name": "web", "namespace": "shop", "uid": "d", "resourceVersion": "1", "generation": 9,
                         "creationTimestamp": at(-90_000).to_string()},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template(7),
                     "progressDeadlineSeconds": 600,
                     "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "10%", "maxUnavailable": "5%"}}},
            "status": {
                "observedGeneration": 9, "replicas": old + new, "updatedReplicas": new,
                "readyReplicas": old_ready + new_ready, "availableReplicas": old_ready + new_ready, "revision": 7,
                "rollout": {"id": 7, "revision": 7, "podTemplateHash": hash(7), "from": 6, "trigger": "NewImage",
                            "author": {"manager": "helm", "user": "dev-1"}, "startTime": at(0).to_string()},
                "history": [{"id": 6, "revision": 6, "trigger": "NewImage", "outcome": "Succeeded",
                             "startTime": at(-86_400).to_string(), "completionTime": at(-86_340).to_string()}],
                "conditions": [{"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated"},
                               {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"}],
            },
        });
        Self { deployment, sets, pods, events: Vec::new() }
    }

    /// An event, some seconds after the beginning.
    pub(super) fn event(&mut self, second: i64, kind: &str, reason: &str, message: &str) {
        self.events.push(json!({
            "type": kind, "reason": reason, "message": message, "lastTimestamp": at(second).to_string(),
            "involvedObject": {"kind": "Deployment", "name": "web"},
        }));
    }

    pub(super) fn seen(&self, second: i64) -> Seen {
        let deployment = Deployment { flavour: Flavour::Rollwright, body: self.deployment.clone() };
        let read = Read {
            sets: self.sets.to_vec(),
            pods: Some(self.pods.clone()),
            events: Some(Vec::new()),
            budgets: Vec::new(),
            unobserved: crate::rollout::is_queued(&deployment.body).then_some(Unobserved::Waiting),
        };
        let tree = Tree::new(deployment, read.sets.clone(), &self.pods, 3);
        Seen::of(tree, read, &self.events, at(second))
    }
}

/// A rolling update of 40 pods in waves of six, as it is after some seconds.
pub(super) fn forty(second: i64) -> Rollout {
    let (mut pods, surge) = (Vec::new(), 6);
    for index in 0..40 {
        let (created, ready) = (index / surge * 12, index / surge * 12 + 9 + index % 3);
        if created > second {
            continue;
        }
        let state = if ready <= second { Ok(ready) } else { Err(("ContainerCreating", "")) };
        pods.push(pod(7, index, created, state));
    }
    for index in 0..40 {
        let gone = if index < 2 { 0 } else { (index - 2) / surge * 12 + 11 };
        if gone > second {
            pods.push(pod(6, index, -86_400, Ok(-86_390)));
        } else if gone > second - 14 {
            pods.push(deleted(pod(6, index, -86_400, Ok(-86_390)), gone));
        }
    }
    Rollout::of(40, pods)
}

/// A view that was open from the first second on, and sees the rollout as it is after `last`.
pub(super) fn watched(of: &dyn Fn(i64) -> Rollout, last: i64) -> Model {
    let mut model = Model::new("web".to_owned(), at(0), Ink { has_color: true });
    for second in 0..=last {
        model.now = at(second);
        model.see(Ok(of(second).seen(second)));
    }
    model
}
