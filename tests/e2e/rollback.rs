//! Rollbacks asked for by `spec.rollbackTo`, or by the old annotation on apps/v1 (S10).

use std::time::Duration;

use cluster::webhook::{Behaviour, Webhook};
use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, same};
use crate::flavour::Flavour;
use crate::manifest::{Manifest, image_patch};
use crate::objects::Deployment;
use crate::quiet::ensure_quiet;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both rollback_to_revision,
    ours rollback_left_in_the_manifest because "upstream repeats it for ever",
    ours rollback_that_the_server_refuses because "apps/v1 takes back what it stores in a set",
];

const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";

/// A Deployment that has gone through these images, one complete rollout each.
async fn history(world: &World, replicas: i64, images: &[&str]) -> Outcome {
    world.create(&Manifest::new("web", replicas).annotation(CHANGE_CAUSE, "app:v1")).await?;
    world.complete("web").await?;
    for image in images {
        let mut patch = image_patch(image);
        patch["metadata"] = json!({"annotations": {CHANGE_CAUSE: image}});
        world.patch("web", &patch).await?;
        world.complete("web").await?;
    }
    Ok(())
}

/// Waits until the request is gone and the rollout that it began is complete.
async fn rolled_back(world: &World, image: &str) -> Outcome<Deployment> {
    let is_there = |web: &Deployment| !web.asks_for_rollback() && web.image() == image;
    world.wait_until("web", &format!("the template of {image} being back"), is_there).await?;
    world.complete("web").await
}

/// The status of a Rollwright Deployment reports the outcome of the request.
#[track_caller]
fn recorded(web: &Deployment, flavour: Flavour, requested: i64, revision: i64, result: &str) -> Outcome {
    if !flavour.is_ours() {
        return same("status.rollback", web.value.pointer("/status/rollback"), None::<&Value>);
    }
    let record = web.value.pointer("/status/rollback").cloned().unwrap_or_default();
    same("status.rollback.requested", &record["requested"], &json!(requested))?;
    same("status.rollback.revision", &record["revision"], &json!(revision))?;
    same("status.rollback.result", &record["result"], &json!(result))
}

/// The operator restores template and change-cause of revision 1; its ReplicaSet is used again and gets the next number
/// (S5.4, S5.5, S10.7–S10.9).
async fn rollback_to_revision(world: World) -> Outcome {
    history(&world, 2, &["app:v2", "app:v3"]).await?;
    world.patch("web", &json!({"metadata": {"annotations": {"team": "a"}}})).await?;
    world.wait_sets("team on the set", |sets| sets.iter().any(|set| set.annotation("team") == "a")).await?;
    let before = world.set("app:v1").await?;
    world.roll_back("web", 1).await?;
    let deployment = rolled_back(&world, "app:v1").await?;
    same("revision", deployment.revision(), 4)?;
    same("change-cause", deployment.annotation(CHANGE_CAUSE), Some("app:v1"))?;
    // The deviation from S10.7: other annotations of rollwright.dev stay.
    same("team", deployment.annotation("team"), world.flavour.is_ours().then_some("a"))?;
    let hash = deployment.value.pointer("/spec/template/metadata/labels/pod-template-hash");
    same("the hash label in the template", hash, None::<&Value>)?;
    same("the number of sets", world.sets().await?.len(), 3)?;
    let set = world.set("app:v1").await?;
    same("the set's uid", &set.uid, &before.uid)?;
    same("its revision", set.revision(), 4)?;
    same("its history", set.annotation("deployment.kubernetes.io/revision-history"), "1")?;
    world.wait_event("web", "DeploymentRollback", "Rolled back deployment \"web\" to revision 1").await?;
    recorded(&deployment, world.flavour, 1, 1, "RolledBack")
}

/// A manifest with `rollbackTo` in it, applied over and over as from a repository: the fourth
/// time within ten minutes it is refused, and the template of the manifest rolls out.
async fn rollback_left_in_the_manifest(world: World) -> Outcome {
    let (first, second) = (Manifest::new("web", 1), Manifest::new("web", 1).image("app:v2"));
    for manifest in [&first, &second] {
        world.apply(manifest).await?;
        world.complete("web").await?;
    }
    let left = second.clone().spec("rollbackTo", &json!({"revision": 0}));
    for _ in 0..3 {
        world.apply(&left).await?;
        rolled_back(&world, "app:v1").await?;
    }
    world.apply(&left).await?;
    let refused = world
        .wait_until("web", "the refusal", |web| web.condition("RollbackRefused").status == "True")
        .await?;
    same("its reason", refused.condition("RollbackRefused").reason.as_str(), "RepeatedRollback")?;
    world.wait_event("web", "RepeatedRollback", "remove spec.rollbackTo").await?;
    let deployment = world.complete("web").await?;
    same("the image", deployment.image(), "app:v2")?;
    same("the request", deployment.asks_for_rollback(), true)?;
    recorded(&deployment, world.flavour, 0, 0, "Refused")?;
    same("the number of sets", world.sets().await?.len(), 2)?;

    world.apply(&second).await?;
    world
        .wait_until("web", "the refusal being over", |web| {
            web.is_observed() && web.condition("RollbackRefused").status.is_empty()
        })
        .await?;
    same("the image", world.get("web").await?.image(), "app:v2")
}

/// A webhook gives each ReplicaSet two variables of one name, which the CRD refuses: the request ends, and the next
/// rollout continues.
async fn rollback_that_the_server_refuses(world: World) -> Outcome {
    let webhook = Webhook::install(&world.client(), Behaviour::AppendEnv, &world.namespace).await?;
    history(&world, 2, &["app:v2"]).await?;
    world.roll_back("web", 1).await?;
    let refused = |web: &Deployment| {
        !web.asks_for_rollback() && web.text("/status/rollback/result") == "Invalid" && web.is_complete()
    };
    let web = world.wait_until("web", "the record of a refused template", refused).await?;
    same("image", web.image(), "app:v2")?;
    let message = web.text("/status/rollback/message");
    ensure(message.contains("Duplicate value"), "the server's words in status.rollback.message", message)?;
    world.wait_event("web", "DeploymentRollbackInvalid", "Duplicate value").await?;
    ensure_quiet(&world, Duration::from_secs(5)).await?;
    same("the number of sets", world.sets().await?.len(), 2)?;
    world.update("web", "app:v3").await?;
    webhook.remove(&world.client()).await?;
    Ok(())
}
