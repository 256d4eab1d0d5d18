//! Every ready-made webhook does to `ReplicaSets` what it promises.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test, in functions that tests share too")]

use cluster::webhook::{Behaviour, Webhook};
use cluster::{Cluster, Options, User};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{Container, PodTemplateSpec};
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;

struct Case {
    sets: Api<ReplicaSet>,
    webhook: Webhook,
}

async fn install(cluster: &Cluster, behaviour: Behaviour) -> Case {
    let namespace = cluster.create_namespace("webhook").await.unwrap();
    let client = cluster.client(User::Admin).await.unwrap();
    let webhook = Webhook::install(&client, behaviour, &namespace).await.unwrap();
    Case { sets: Api::namespaced(client, &namespace), webhook }
}

impl Case {
    async fn create(&self, dry_run: bool) -> Result<PodTemplateSpec, kube::Error> {
        let set: ReplicaSet = serde_json::from_value(json!({
            "metadata": {"generateName": "web-"},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "app", "image": "app:1"}]},
                },
            },
        }))
        .unwrap();
        let params = PostParams { dry_run, ..PostParams::default() };
        self.sets.create(&params, &set).await.map(template)
    }

    async fn containers(&self) -> Vec<Container> {
        self.create(false).await.unwrap().spec.unwrap().containers
    }
}

fn template(set: ReplicaSet) -> PodTemplateSpec {
    set.spec.unwrap().template.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_do_what_they_say() {
    let cluster = Cluster::start(Options::unique("webhooks")).await.unwrap();

    let case = install(&cluster, Behaviour::AddSidecar).await;
    assert_eq!(case.containers().await.last().unwrap().name, "injected-sidecar");
    case.create(true).await.unwrap();
    let calls = case.webhook.calls();
    assert_eq!(calls.iter().map(|call| call.dry_run).collect::<Vec<_>>(), [false, true]);
    assert!(calls.iter().all(|call| call.operation == "CREATE" && call.resource == "replicasets"));

    let case = install(&cluster, Behaviour::RewriteRegistry).await;
    assert_eq!(case.containers().await.first().unwrap().image.as_deref(), Some("mirror.example/app:1"));

    let case = install(&cluster, Behaviour::RandomAnnotation).await;
    let mut values = Vec::new();
    for dry_run in [false, true] {
        let annotations = case.create(dry_run).await.unwrap().metadata.unwrap().annotations.unwrap();
        values.push(annotations.get("webhook.rollwright.dev/random").unwrap().clone());
    }
    assert_ne!(values.first(), values.last());

    append_env(&install(&cluster, Behaviour::AppendEnv).await).await;

    let case = install(&cluster, Behaviour::RefuseDryRun).await;
    assert_eq!(case.containers().await.len(), 2);
    let refused = case.create(true).await.unwrap_err().to_string();
    assert!(refused.contains("does not support dry run"), "{refused}");
    case.webhook.remove(&cluster.client(User::Admin).await.unwrap()).await.unwrap();
}

/// Updates are changed too, so every one adds another variable.
async fn append_env(case: &Case) {
    let containers = case.containers().await;
    assert_eq!(containers.first().unwrap().env.as_ref().unwrap().len(), 1);
    let name = case
        .sets
        .list(&kube::api::ListParams::default())
        .await
        .unwrap()
        .items
        .remove(0)
        .metadata
        .name
        .unwrap();
    for expected in [2, 3] {
        let patch = json!({"metadata": {"annotations": {"touched": expected.to_string()}}});
        let set = case.sets.patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
        let containers = template(set).spec.unwrap().containers;
        assert_eq!(containers.first().unwrap().env.as_ref().unwrap().len(), expected);
    }
}
