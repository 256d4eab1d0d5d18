//! An in-memory cluster with the operator on it, as `src/operator.rs` starts it, under a clock that moves only
//! when every task waits.

use std::sync::Arc;
use std::time::Duration;

use apiserver::{ApiServer, Shared};
use k8s_openapi::api::apps::v1::ReplicaSet;
use kube::Api;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
};
use plan::Flavour;
use plan::keys::MANAGED_LABEL;
use rollwright::Operator;
use serde_json::{Value, json};
use tokio::time::Instant;
use world::{Cluster, Conventions, Object, Resource};

use super::clock;
use super::faults::Faulty;
use super::law::Law;

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
    pub(super) law: Arc<Law>,
    /// Those of the operator, if there is one only.
    pub(super) faults: Faulty,
    pub(super) flavour: Flavour,
    server: ApiServer,
    client: kube::Client,
    operator: Option<Operator>,
}

/// Starts an operator that needs no election, as `rollwright run` does.
fn start(flavour: Flavour, faults: &Faulty) -> Operator {
    start_with(flavour, faults, &["--leader-elect=false"])
}

fn start_with(flavour: Flavour, faults: &Faulty, flags: &[&str]) -> Operator {
    let line = ["rollwright", "run", "--bind-address=0", "--workers=4", "--api", flavour.api_version()];
    let operator = Operator::over(faults, &[&line, flags].concat()).unwrap();
    if let Some(identity) = operator.identity() {
        faults.is_of(identity);
    }
    operator
}

impl Rig {
    /// With an operator that needs no election.
    pub(super) fn new(flavour: Flavour) -> Self {
        let mut rig = Self::without_operator(flavour);
        rig.operator = Some(start(flavour, &rig.faults));
        rig
    }

    /// The same, with pods that take so long to become ready and to end.
    pub(super) fn with_pods(flavour: Flavour, ready_after: Duration, terminate_after: Duration) -> Self {
        let mut rig = Self::without_operator_and_with_pods(flavour, ready_after, terminate_after);
        rig.operator = Some(start(flavour, &rig.faults));
        rig
    }

    /// With nobody who would do anything.
    pub(super) fn without_operator(flavour: Flavour) -> Self {
        Self::without_operator_and_with_pods(flavour, READY_AFTER, TERMINATE_AFTER)
    }

    fn without_operator_and_with_pods(
        flavour: Flavour,
        ready_after: Duration,
        terminate_after: Duration,
    ) -> Self {
        rollwright::set_wall(clock::timestamp);
        let policy = Conventions { ready_after, terminate_after, ..Conventions::default() };
        let cluster =
            apiserver::embed_at(clock::timestamp(), api::crd::crd(None).unwrap(), Box::new(policy)).unwrap();
        tokio::spawn(apiserver::live(cluster.clone()));
        let server = ApiServer::new(&cluster);
        let client = kube::Client::new(server.clone(), "default");
        let law = Law::new(&cluster, flavour);
        let faults = Faulty::new(server.clone(), law.clone());
        Self { cluster, law, faults, flavour, server, client, operator: None }
    }

    /// Another operator, which runs for leader, with a way to the server of its own.
    pub(super) fn candidate(&self, flags: &[&str]) -> (Operator, Faulty) {
        let faults = Faulty::new(self.server.clone(), self.law.clone());
        (start_with(self.flavour, &faults, &[&["--leader-elect=true"], flags].concat()), faults)
    }

    /// The operator of a shard, with a way to the server of its own.
    pub(super) fn shard(&self, selector: &str) -> (Operator, Faulty) {
        let faults = Faulty::new(self.server.clone(), self.law.clone());
        (start_with(self.flavour, &faults, &["--leader-elect=false", "--selector", selector]), faults)
    }

    /// Puts the label `shard` on a namespace, which is created if need be, or takes it off.
    pub(super) async fn put_into_shard(&self, namespace: &str, shard: Option<&str>) {
        let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(self.client.clone());
        let labels = json!({ "metadata": { "name": namespace, "labels": { "shard": shard } } });
        if namespaces.get_opt(namespace).await.unwrap().is_some() {
            namespaces.patch(namespace, &PatchParams::default(), &Patch::Merge(&labels)).await.unwrap();
        } else {
            let object = serde_json::from_value(labels).unwrap();
            namespaces.create(&PostParams::default(), &object).await.unwrap();
        }
    }

    /// The operator ends as it does when its process gets a signal, and another starts.
    pub(super) async fn restart(&mut self) {
        let next = start(self.flavour, &self.faults);
        if let Some(ended) = self.operator.replace(next) {
            ended.end().await;
        }
    }

    fn deployments(&self) -> Api<DynamicObject> {
        self.deployments_in("default")
    }

    fn deployments_in(&self, namespace: &str) -> Api<DynamicObject> {
        let (group, version) = self.flavour.api_version().split_once('/').unwrap();
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, "Deployment"));
        Api::namespaced_with(self.client.clone(), namespace, &kind)
    }

    pub(super) async fn create(&self, name: &str, replicas: i64, image: &str) {
        self.create_in("default", name, replicas, image).await;
    }

    pub(super) async fn create_in(&self, namespace: &str, name: &str, replicas: i64, image: &str) {
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
        self.deployments_in(namespace).create(&PostParams::default(), &object).await.unwrap();
    }

    pub(super) async fn delete(&self, name: &str) {
        let _ = self.deployments().delete(name, &DeleteParams::background()).await.unwrap();
    }

    pub(super) async fn patch(&self, name: &str, patch: Value) {
        self.deployments().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub(super) async fn patch_status(&self, name: &str, patch: Value) {
        let patch = Patch::Merge(patch);
        self.deployments().patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(super) async fn set_image(&self, name: &str, image: &str) {
        let containers = json!([{ "name": "main", "image": image }]);
        self.patch(name, json!({ "spec": { "template": { "spec": { "containers": containers } } } })).await;
    }

    pub(super) async fn object(&self, name: &str) -> Value {
        serde_json::to_value(self.deployments().get(name).await.unwrap()).unwrap()
    }

    /// The condition of a kind; null if there is none.
    pub(super) async fn condition(&self, name: &str, kind: &str) -> Value {
        let object = self.object(name).await;
        let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        conditions.find(|condition| condition["type"] == kind).cloned().unwrap_or_default()
    }

    /// What the operator has at `/metrics`.
    pub(super) fn metrics(&self) -> String {
        self.operator.as_ref().unwrap().metrics()
    }

    /// What the operator's `/livez` complains of when a watch has been silent for so long.
    pub(super) fn complaints(&self, stalled_after: Duration) -> String {
        self.operator.as_ref().unwrap().complaints(stalled_after)
    }

    /// How many reconciles there have been, of any outcome.
    pub(super) fn reconciles(&self) -> u64 {
        let text = self.metrics();
        let series = text.lines().filter(|line| line.starts_with("rollwright_passes_total{"));
        series.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum()
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

    /// Waits until a Deployment is as asked, at most for this long, and returns how long it took.
    pub(super) async fn settle(&self, name: &str, at_most: Duration) -> Duration {
        let begin = Instant::now();
        while let Some(missing) = self.missing(name).await {
            assert_eq!(self.law.broken(), [""; 0]);
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
            let wanted = object.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(0);
            let image = object.pointer("/spec/template/spec/containers/0/image").cloned();
            // As the ReplicaSets report: the status may come later.
            if (1..wanted).contains(&self.size_of(name, image.as_ref())) {
                return;
            }
            tokio::time::sleep(GLANCE).await;
        }
        panic!("{name} is never half way");
    }

    /// Another image is rolled out, within this time at most. Returns how long it took.
    pub(super) async fn roll_out(&self, name: &str, image: &str, at_most: Duration) -> Duration {
        self.set_image(name, image).await;
        self.settle(name, at_most).await
    }

    /// The same until it is half done.
    pub(super) async fn begin(&self, name: &str, image: &str) {
        self.set_image(name, image).await;
        self.half_way(name).await;
    }

    /// Puts the operator's label on the ReplicaSets of a Deployment, or takes it off.
    pub(super) async fn label_sets(&self, name: &str, value: Option<&str>) {
        self.patch_sets(name, json!({ "metadata": { "labels": { MANAGED_LABEL: value } } })).await;
    }

    /// The ReplicaSets of a Deployment are left without owner and label, as by a deletion that orphans them.
    pub(super) async fn orphan_sets(&self, name: &str) {
        let metadata = json!({ "labels": { MANAGED_LABEL: null }, "ownerReferences": null });
        self.patch_sets(name, json!({ "metadata": metadata })).await;
    }

    /// Another Deployment becomes an owner of the ReplicaSets too, one that does not control them.
    pub(super) async fn share_sets(&self, name: &str, other: &str) {
        let uid = self.object(other).await["metadata"]["uid"].as_str().unwrap().to_owned();
        for mut set in self.sets(name).await {
            let owners = set.metadata.owner_references.as_mut().unwrap();
            let mut owner = owners[0].clone();
            (owner.name, owner.uid, owner.controller) = (other.to_owned(), uid.clone(), None);
            owners.push(owner);
            let name = set.metadata.name.clone().unwrap();
            self.set_api().replace(&name, &PostParams::default(), &set).await.unwrap();
        }
    }

    /// How many owners each ReplicaSet of a Deployment has.
    pub(super) async fn owners_of_sets(&self, name: &str) -> Vec<usize> {
        let sets = self.sets(name).await;
        sets.into_iter().map(|set| set.metadata.owner_references.unwrap_or_default().len()).collect()
    }

    /// Somebody else changes the ReplicaSets of a Deployment.
    pub(super) async fn patch_sets(&self, name: &str, patch: Value) {
        for set in self.sets(name).await {
            let name = set.metadata.name.unwrap();
            self.set_api().patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
        }
    }

    fn set_api(&self) -> Api<ReplicaSet> {
        Api::default_namespaced(self.client.clone())
    }

    async fn sets(&self, name: &str) -> Vec<ReplicaSet> {
        self.set_api().list(&ListParams::default().labels(&format!("app={name}"))).await.unwrap().items
    }

    /// This many pods of a Deployment go together.
    pub(super) async fn delete_pods(&self, name: &str, count: usize) {
        let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::default_namespaced(self.client.clone());
        let all = pods.list(&ListParams::default().labels(&format!("app={name}"))).await.unwrap();
        let living = all.items.into_iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
        for pod in living.take(count) {
            pods.delete(&pod.metadata.name.unwrap(), &DeleteParams::default()).await.unwrap();
        }
    }

    /// Adds pods that have failed, and that nobody has deleted, to the only ReplicaSet with pods.
    pub(super) async fn add_failed_pods(&self, name: &str, count: usize) {
        let pods: Api<DynamicObject> = Api::default_namespaced_with(
            self.client.clone(),
            &ApiResource::erase::<k8s_openapi::api::core::v1::Pod>(&()),
        );
        let selected = ListParams::default().labels(&format!("app={name}"));
        let mut pod = pods.list(&selected).await.unwrap().items.remove(0);
        (pod.metadata.uid, pod.metadata.resource_version, pod.metadata.managed_fields) = (None, None, None);
        for number in 0..count {
            let name = format!("{name}-failed-{number}");
            pod.metadata.name = Some(name.clone());
            pods.create(&PostParams::default(), &pod).await.unwrap();
            let failed = json!({ "status": { "phase": "Failed", "conditions": [] } });
            pods.patch_status(&name, &PatchParams::default(), &Patch::Merge(failed)).await.unwrap();
        }
    }

    /// Something of each ReplicaSet of a Deployment.
    fn of_sets<T>(&self, name: &str, of: impl Fn(&Object) -> T) -> Vec<T> {
        self.cluster.act(|cluster| {
            let sets = cluster.store.list(Resource::ReplicaSets, None);
            sets.filter(|set| set.metadata["labels"]["app"] == name).map(of).collect()
        })
    }

    /// How many pods are ready, as the ReplicaSets of a Deployment report.
    pub(super) fn ready_in_sets(&self, name: &str) -> i64 {
        self.of_sets(name, |set| set.status_number("readyReplicas").unwrap_or(0)).iter().sum()
    }

    /// The value of an annotation on each ReplicaSet of a Deployment.
    pub(super) fn annotation_of_sets(&self, name: &str, annotation: &str) -> Vec<Option<String>> {
        self.of_sets(name, |set| set.metadata["annotations"][annotation].as_str().map(str::to_owned))
    }

    /// The value of the operator's label on each ReplicaSet of a Deployment.
    pub(super) fn labels_of_sets(&self, name: &str) -> Vec<Option<String>> {
        self.of_sets(name, |set| set.label(MANAGED_LABEL).map(str::to_owned))
    }

    /// The size of the ReplicaSet with pods that run this image.
    fn size_of(&self, name: &str, image: Option<&Value>) -> i64 {
        let is_it = |spec: &Value| spec.pointer("/template/spec/containers/0/image") == image;
        let sizes = self.of_sets(name, |set| set.spec["replicas"].as_i64().filter(|_| is_it(&set.spec)));
        sizes.into_iter().flatten().next().unwrap_or(0)
    }

    /// The sizes of the ReplicaSets of a Deployment, the largest first.
    pub(super) fn sizes(&self, name: &str) -> Vec<i64> {
        self.sizes_in("default", name)
    }

    pub(super) fn sizes_in(&self, namespace: &str, name: &str) -> Vec<i64> {
        self.cluster.act(|cluster| {
            let sets = cluster.store.list(Resource::ReplicaSets, Some(namespace));
            let ours = sets.filter(|set| set.metadata["labels"]["app"] == name);
            let mut sizes: Vec<i64> = ours.map(|set| set.spec["replicas"].as_i64().unwrap_or(1)).collect();
            sizes.sort_unstable_by_key(|size| std::cmp::Reverse(*size));
            sizes
        })
    }
}

impl Drop for Rig {
    /// No test ends well in which the law was broken.
    fn drop(&mut self) {
        let broken = self.law.broken();
        assert!(std::thread::panicking() || broken.is_empty(), "{broken:#?}");
    }
}
