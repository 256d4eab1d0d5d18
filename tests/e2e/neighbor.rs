//! A neighbor: somebody who may create ReplicaSets in another namespace, and read this one.
//!
//! Nobody checks the uid in an owner reference. The garbage collector deletes an object with an owner in another
//! namespace, and a finalizer keeps it.

use k8s_openapi::api::apps::v1::ReplicaSet;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::failure::{Outcome, same};
use crate::manifest::Manifest;
use crate::objects::Deployment;
use crate::ownership::sizes;
use crate::scenario::{Scenario, scenarios};
use crate::trace::Trace;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both forged_owner,
    both forged_fingerprint,
];

/// A ReplicaSet of another namespace that poses as one of `web`.
struct Forgery {
    api: Api<ReplicaSet>,
}

impl Forgery {
    /// Five pods with the labels of `web`, and with a finalizer.
    async fn create(world: &World) -> Outcome<Self> {
        let namespace = world.stage.cluster.create_namespace("neighbor").await?;
        let api = Api::namespaced(world.client(), &namespace);
        let labels = json!({"app": "web", "rollwright.dev/managed": "true"});
        let set = json!({
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": "x", "labels": labels, "finalizers": ["x.io/y"]},
            "spec": {
                "replicas": 5,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "app", "image": "app:v1"}]},
                },
            },
        });
        api.create(&PostParams::default(), &serde_json::from_value(set)?).await?;
        Ok(Self { api })
    }

    async fn pose(&self, victim: &Deployment, annotations: &Value) -> Outcome {
        let owner = json!({
            "apiVersion": victim.text("/apiVersion"), "kind": "Deployment", "name": "web",
            "uid": victim.uid(), "controller": true,
        });
        let patch = json!({"metadata": {"ownerReferences": [owner], "annotations": annotations}});
        self.api.patch("x", &PatchParams::default(), &Patch::Merge(&patch)).await?;
        Ok(())
    }

    /// What the operator did to it, if anything; and lets it go.
    async fn end(self) -> Outcome<ReplicaSet> {
        let set = self.api.get("x").await?;
        let patch = json!({"metadata": {"finalizers": null}});
        self.api.patch("x", &PatchParams::default(), &Patch::Merge(&patch)).await?;
        Ok(set)
    }
}

fn size(set: &ReplicaSet) -> Option<i32> {
    set.spec.as_ref().and_then(|spec| spec.replicas)
}

/// Its pods are not pods of `web`: they neither count as surge nor serve for it (S2.12).
async fn forged_owner(world: World) -> Outcome {
    let web = world.roll_out(&Manifest::new("web", 3).rolling(&json!(1), &json!(0))).await?;
    let forgery = Forgery::create(&world).await?;
    forgery.pose(&web, &json!({})).await?;
    let trace = Trace::start(&world).await?;
    world.set_image("web", "app:v2").await?;
    world.complete("web").await?;
    let recording = trace.stop(&world).await?;
    recording.ensure_available(3)?;
    recording.ensure_at_most(4)?;
    same("the sets", sizes(&world.sets().await?), [("app:v1", 0), ("app:v2", 3)])?;
    same("the size that the neighbor chose", size(&forgery.end().await?), Some(5))
}

/// One that is older than the ReplicaSet of `web`, of the same template by its annotation, and of a higher revision, is
/// not taken for it, although nobody changes `web`.
async fn forged_fingerprint(world: World) -> Outcome {
    let forgery = Forgery::create(&world).await?;
    let web = world.roll_out(&Manifest::new("web", 3).rolling(&json!(1), &json!(0))).await?;
    let real = world.set("app:v1").await?;
    let forged = json!({
        "deployment.kubernetes.io/revision": "99",
        "rollwright.dev/fingerprints": real.annotation("rollwright.dev/fingerprints"),
    });
    let trace = Trace::start(&world).await?;
    forgery.pose(&web, &forged).await?;
    // What follows is planned with the forgery in the cache: it came before.
    world.scale("web", 4).await?;
    world.complete("web").await?;
    let recording = trace.stop(&world).await?;
    recording.ensure_available(3)?;
    let web = world.get("web").await?;
    same("the revision", web.revision(), 1)?;
    same("the sets", sizes(&world.sets().await?), [("app:v1", 4)])?;
    same("the size that the neighbor chose", size(&forgery.end().await?), Some(5))
}
