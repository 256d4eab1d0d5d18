//! Thousands of Deployments without pods, with their old revisions, written through the API as the
//! controllers would have left them.

use std::collections::BTreeMap as Map;
use std::time::{Duration, Instant};

use cluster::{Cluster, User};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams};
use plan::keys::{
    DESIRED_REPLICAS, FINGERPRINTS, HASH_LABEL, MANAGED_LABEL, MANAGED_VALUE, MAX_REPLICAS, REVISION,
};
use plan::template::{Template, pod_template_hash};
use plan::{Flavour, set_name};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::side::Side;

/// Requests under way at a time.
const PARALLEL: usize = 32;
/// How often the bench looks for a new ReplicaSet, and for how long.
const LOOK: Duration = Duration::from_millis(100);
const LATEST: Duration = Duration::from_secs(900);
/// Environment variables of the template, which bring it to 5 KiB.
const VARIABLES: usize = 44;

/// Deployments of one namespace.
pub(crate) struct Fleet {
    flavour: Flavour,
    api: Api<DynamicObject>,
    sets: Api<DynamicObject>,
    pub(crate) deployments: usize,
}

fn name(index: usize) -> String {
    format!("idle-{index:05}")
}

/// A pod template of 5 KiB; another one for each revision.
fn template(name: &str, revision: usize) -> Value {
    let variable = |index: usize| {
        json!({
            "name": format!("SETTING_NUMBER_{index:03}"),
            "value": format!("value of setting {index:03}, as long as such values are: {:040}", index * 7919),
        })
    };
    let revision = json!({ "name": "REVISION", "value": revision.to_string() });
    let env: Vec<Value> = (0..VARIABLES).map(variable).chain([revision]).collect();
    json!({
        "metadata": { "labels": { "app": name } },
        "spec": { "containers": [{ "name": "main", "image": "registry.example/shop/main:1.4.2", "env": env }] },
    })
}

impl Fleet {
    /// In a new namespace, none of them there yet.
    pub(crate) async fn new(cluster: &Cluster, side: Side, deployments: usize) -> Result<Self, Failure> {
        let flavour = if side == Side::OurKind { Flavour::Rollwright } else { Flavour::AppsV1 };
        let namespace = cluster.create_namespace(side.short()).await?;
        let client = cluster.client(User::Admin).await?;
        let api = |resource| Api::namespaced_with(client.clone(), &namespace, resource);
        let sets = ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", "ReplicaSet"));
        Ok(Self { flavour, api: api(&side.resource()), sets: api(&sets), deployments })
    }

    /// Creates all of them with this many old revisions, complete with the ReplicaSets of all revisions. Statuses are
    /// left to the controllers.
    pub(crate) async fn create(&self, old_revisions: usize) -> Result<(), Failure> {
        let all = stream::iter(0..self.deployments).map(async |index| {
            let uid = self.create_one(index, old_revisions + 1).await?;
            for revision in 1..=old_revisions + 1 {
                let set = serde_json::from_value(self.set(&name(index), &uid, revision))?;
                self.sets.create(&PostParams::default(), &set).await?;
            }
            Ok(())
        });
        all.buffer_unordered(PARALLEL).try_collect().await
    }

    /// Creates all of them with their first template, for a controller to see to.
    pub(crate) async fn create_new(&self) -> Result<(), Failure> {
        let all =
            stream::iter(0..self.deployments).map(async |index| self.create_one(index, 1).await.map(drop));
        all.buffer_unordered(PARALLEL).try_collect().await
    }

    /// Gives the template of a revision to the first of them, this many.
    pub(crate) async fn edit(&self, count: usize, revision: usize) -> Result<(), Failure> {
        let all = stream::iter(0..count).map(async |index| self.edit_one(&name(index), revision).await);
        all.buffer_unordered(PARALLEL).try_collect().await
    }

    /// Gives the last one the template of a revision, and returns how long it takes until its ReplicaSet is there.
    pub(crate) async fn edit_last(&self, revision: usize) -> Result<Duration, Failure> {
        let name = name(self.deployments.saturating_sub(1));
        let params = ListParams::default().labels(&format!("app={name}"));
        let count = async || Ok::<_, Failure>(self.sets.list_metadata(&params).await?.items.len());
        let before = count().await?;
        self.edit_one(&name, revision).await?;
        let sent = Instant::now();
        while count().await? <= before {
            if sent.elapsed() > LATEST {
                return Err(Failure::Other(format!("no ReplicaSet for {name} after {} s", LATEST.as_secs())));
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(sent.elapsed())
    }

    async fn edit_one(&self, name: &str, revision: usize) -> Result<(), Failure> {
        let patch = Patch::Merge(json!({ "spec": { "template": template(name, revision) } }));
        self.api.patch(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Returns the uid.
    async fn create_one(&self, index: usize, revision: usize) -> Result<String, Failure> {
        let name = name(index);
        let annotations = match self.flavour {
            Flavour::AppsV1 => json!({ REVISION: revision.to_string() }),
            Flavour::Rollwright => json!({}),
        };
        let body = json!({
            "apiVersion": self.flavour.api_version(),
            "kind": "Deployment",
            "metadata": { "name": name, "labels": { "app": name }, "annotations": annotations },
            "spec": {
                "replicas": 0,
                "selector": { "matchLabels": { "app": name } },
                "template": template(&name, revision),
            },
        });
        let created = self.api.create(&PostParams::default(), &serde_json::from_value(body)?).await?;
        Ok(created.metadata.uid.unwrap_or_default())
    }

    /// As the controller of this API writes it.
    fn set(&self, deployment: &str, uid: &str, revision: usize) -> Value {
        let template = template(deployment, revision);
        let hash = pod_template_hash(&template, None);
        let mut labels = Map::from([("app", deployment), (HASH_LABEL, &hash)]);
        let (number, fingerprint) = (revision.to_string(), self.flavour.fingerprint(&template));
        let mut annotations =
            Map::from([(REVISION, number.as_str()), (DESIRED_REPLICAS, "0"), (MAX_REPLICAS, "0")]);
        if self.flavour == Flavour::Rollwright {
            labels.insert(MANAGED_LABEL, MANAGED_VALUE);
            annotations.insert(FINGERPRINTS, fingerprint.as_str());
        }
        json!({
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": set_name(deployment, &hash),
                "labels": labels,
                "annotations": annotations,
                "ownerReferences": [{
                    "apiVersion": self.flavour.api_version(),
                    "kind": "Deployment",
                    "name": deployment,
                    "uid": uid,
                    "controller": true,
                    "blockOwnerDeletion": true,
                }],
            },
            "spec": {
                "replicas": 0,
                "selector": { "matchLabels": { "app": deployment, HASH_LABEL: hash } },
                "template": Template::of(&template).with_hash_label(&hash),
            },
        })
    }
}
