//! A cluster in memory with the operator on it, wired as `wire.rs` wires it, under a clock that moves
//! only when everybody waits.

use std::sync::Arc;
use std::time::Duration;

use apiserver::{ApiServer, Shared};
use clap::Parser as _;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams};
use kube::client::ClientBuilder;
use plan::Flavour;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use world::{Cluster, Conventions, Resource};

use super::faults::Faulty;
use crate::args::{Arguments, Command};
use crate::controller::Controller;
use crate::leadership::Leadership;
use crate::lifeline::Lifeline;
use crate::metrics::Metrics;
use crate::{clock, wire};

/// How often the rig looks.
const LOOK: Duration = Duration::from_millis(50);
/// The same where the moment matters.
const GLANCE: Duration = Duration::from_millis(5);
const HALF_WAY_MAX: Duration = Duration::from_secs(35);
/// How long pods take to become ready, and to end.
const READY_AFTER: Duration = Duration::from_millis(300);
const TERMINATE_AFTER: Duration = Duration::from_millis(100);

/// Everything that runs.
pub(super) struct Rig {
    pub(super) cluster: Arc<Shared<Cluster>>,
    pub(super) faults: Faulty,
    flavour: Flavour,
    client: kube::Client,
    operator: Operator,
}

struct Operator {
    controllers: Vec<Arc<Controller>>,
    workers: Vec<wire::Workers>,
    tasks: JoinSet<()>,
}

fn start(flavour: Flavour, faults: &Faulty) -> Operator {
    let api = flavour.api_version();
    let line = ["rollwright", "run", "--bind-address=0", "--leader-elect=false", "--workers=4", "--api", api];
    let Command::Run(arguments) = Arguments::parse_from(line).command else { panic!("it is to run") };
    let dial =
        |lifeline: &Lifeline| Ok(ClientBuilder::new(faults.clone(), "default").with_layer(lifeline).build());
    let mut tasks = JoinSet::new();
    let controllers =
        wire::controllers(&arguments, &dial, &Metrics::new().unwrap(), &Leadership::unneeded(), &mut tasks)
            .unwrap();
    let (ready, _) = watch::channel(false);
    let workers = wire::start(&controllers, &arguments, ready, &mut tasks);
    Operator { controllers, workers, tasks }
}

impl Rig {
    pub(super) fn new(flavour: Flavour) -> Self {
        let policy = Conventions {
            ready_after: READY_AFTER,
            terminate_after: TERMINATE_AFTER,
            ..Conventions::default()
        };
        let cluster =
            apiserver::embed_at(clock::timestamp(), api::crd::crd(None).unwrap(), Box::new(policy)).unwrap();
        tokio::spawn(apiserver::live(cluster.clone()));
        let server = ApiServer::new(&cluster);
        let client = kube::Client::new(server.clone(), "default");
        let faults = Faulty::new(server);
        let operator = start(flavour, &faults);
        Self { cluster, faults, flavour, client, operator }
    }

    /// The operator ends as it does when its process is told to, and another starts.
    pub(super) async fn restart(&mut self) {
        let next = start(self.flavour, &self.faults);
        let mut ended = std::mem::replace(&mut self.operator, next);
        wire::stop(&ended.controllers, ended.workers).await;
        ended.tasks.shutdown().await;
    }

    fn deployments(&self) -> Api<DynamicObject> {
        let (group, version) = self.flavour.api_version().split_once('/').unwrap();
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, "Deployment"));
        Api::default_namespaced_with(self.client.clone(), &kind)
    }

    pub(super) async fn create(&self, name: &str, replicas: i64, image: &str) {
        let object = json!({
            "apiVersion": self.flavour.api_version(), "kind": "Deployment", "metadata": { "name": name },
            "spec": {
                "replicas": replicas,
                "selector": { "matchLabels": { "app": name } },
                "template": {
                    "metadata": { "labels": { "app": name } },
                    "spec": { "containers": [{ "name": "main", "image": image }] },
                },
            },
        });
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        self.deployments().create(&PostParams::default(), &object).await.unwrap();
    }

    pub(super) async fn patch(&self, name: &str, patch: Value) {
        self.deployments().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub(super) async fn set_image(&self, name: &str, image: &str) {
        let containers = json!([{ "name": "main", "image": image }]);
        self.patch(name, json!({ "spec": { "template": { "spec": { "containers": containers } } } })).await;
    }

    pub(super) async fn object(&self, name: &str) -> Value {
        serde_json::to_value(self.deployments().get(name).await.unwrap()).unwrap()
    }

    /// Whether the condition Progressing says that the deadline has passed.
    pub(super) async fn has_given_up(&self, name: &str) -> bool {
        let object = self.object(name).await;
        let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|condition| condition["reason"] == "ProgressDeadlineExceeded")
    }

    /// How many passes there have been, of any outcome.
    pub(super) fn passes(&self) -> u64 {
        let controller = &self.operator.controllers[0];
        let count = |result: &str| {
            controller.metrics.passes.with_label_values(&[self.flavour.api_version(), result]).get()
        };
        ["ok", "parked", "yielded", "given_up", "conflict", "error"].map(count).iter().sum()
    }

    /// What is missing until a Deployment is as asked: status, ReplicaSets and pods.
    async fn missing(&self, name: &str) -> Option<String> {
        let object = self.object(name).await;
        let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64).unwrap_or(0);
        let replicas = number("/spec/replicas");
        if number("/status/observedGeneration") != number("/metadata/generation") {
            return Some("the generation has not been seen".to_owned());
        }
        for field in ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"] {
            let there = number(&format!("/status/{field}"));
            if there != replicas {
                return Some(format!("status.{field} is {there} of {replicas}"));
            }
        }
        let image = object.pointer("/spec/template/spec/containers/0/image");
        let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::default_namespaced(self.client.clone());
        let pods = pods.list(&ListParams::default().labels(&format!("app={name}"))).await.unwrap();
        let of_image = |pod: &&k8s_openapi::api::core::v1::Pod| {
            let spec = pod.spec.as_ref();
            spec.and_then(|spec| spec.containers.first()?.image.as_deref()) == image.and_then(Value::as_str)
        };
        let right = pods.items.iter().filter(of_image).count();
        if (right, pods.items.len()) != (usize::try_from(replicas).unwrap(), right) {
            return Some(format!("{right} of {} pods have the image", pods.items.len()));
        }
        None
    }

    /// Waits until a Deployment is as asked, at most for so long, and says how long it took.
    pub(super) async fn settle(&self, name: &str, at_most: Duration) -> Duration {
        let begin = Instant::now();
        while let Some(missing) = self.missing(name).await {
            assert!(begin.elapsed() <= at_most, "{name} after {:?}: {missing}", begin.elapsed());
            tokio::time::sleep(LOOK).await;
        }
        begin.elapsed()
    }

    /// Waits until a rollout is half done: some pods are new, and not all.
    pub(super) async fn half_way(&self, name: &str) {
        let begin = Instant::now();
        // A watch may be in its backoff.
        while begin.elapsed() < HALF_WAY_MAX {
            let object = self.object(name).await;
            let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64).unwrap_or(0);
            let updated = number("/status/updatedReplicas");
            if number("/status/observedGeneration") == number("/metadata/generation")
                && updated > 0
                && updated < number("/spec/replicas")
            {
                return;
            }
            tokio::time::sleep(GLANCE).await;
        }
        panic!("{name} is never half way");
    }

    /// The sizes of the sets of a Deployment, the largest first.
    pub(super) fn sizes(&self, name: &str) -> Vec<i64> {
        self.cluster.act(|cluster| {
            let sets = cluster.store.list(Resource::ReplicaSets, None);
            let ours = sets.filter(|set| set.metadata["labels"]["app"] == name);
            let mut sizes: Vec<i64> = ours.map(|set| set.spec["replicas"].as_i64().unwrap_or(1)).collect();
            sizes.sort_unstable_by_key(|size| std::cmp::Reverse(*size));
            sizes
        })
    }
}
