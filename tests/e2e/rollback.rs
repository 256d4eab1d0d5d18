//! Rollbacks asked for by `spec.rollbackTo`, or by the old annotation on apps/v1 (S10).

use cluster::kubelet::READY_AFTER_MS;
use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, same};
use crate::flavour::Flavour;
use crate::manifest::{Manifest, image_patch, pods_patch};
use crate::objects::Deployment;
use crate::scenario::{Scenario, scenarios};
use crate::trace::Trace;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both rollback_to_revision,
    both rollback_to_previous_and_back,
    both rollback_to_missing_revision,
    both rollback_to_current_revision,
    both rollback_mid_rollout,
    both rollback_during_a_rollback,
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

/// Revision 0 is the previous one; the undo of an undo is where it began (S5.7, S10.2).
async fn rollback_to_previous_and_back(world: World) -> Outcome {
    history(&world, 2, &["app:v2"]).await?;
    for (image, revision) in [("app:v1", 3), ("app:v2", 4)] {
        world.roll_back("web", 0).await?;
        let deployment = rolled_back(&world, image).await?;
        same("revision", deployment.revision(), revision)?;
        same("change-cause", deployment.annotation(CHANGE_CAUSE), Some(image))?;
        let text = format!("Rolled back deployment \"web\" to revision {}", revision - 2);
        world.wait_event("web", "DeploymentRollback", &text).await?;
        recorded(&deployment, world.flavour, 0, revision - 2, "RolledBack")?;
    }
    same("the number of sets", world.sets().await?.len(), 2)
}

/// A warning, and the request is taken away; nothing else happens (S10.4, S10.5).
async fn rollback_to_missing_revision(world: World) -> Outcome {
    history(&world, 1, &[]).await?;
    let requests = [
        (99, "Unable to find the revision to rollback to."),
        // There is no previous one.
        (0, "Unable to find last revision."),
    ];
    for (revision, text) in requests {
        world.roll_back("web", revision).await?;
        world.wait_event("web", "DeploymentRollbackRevisionNotFound", text).await?;
        let deployment = rolled_back(&world, "app:v1").await?;
        same("revision", deployment.revision(), 1)?;
        recorded(&deployment, world.flavour, revision, 0, "RevisionNotFound")?;
    }
    same("the number of sets", world.sets().await?.len(), 1)
}

/// The same for the revision that is there already (S10.6).
async fn rollback_to_current_revision(world: World) -> Outcome {
    history(&world, 1, &["app:v2"]).await?;
    world.roll_back("web", 2).await?;
    let text = "The rollback revision contains the same template as current deployment \"web\"";
    world.wait_event("web", "DeploymentRollbackTemplateUnchanged", text).await?;
    let deployment = rolled_back(&world, "app:v2").await?;
    same("revision", deployment.revision(), 2)?;
    recorded(&deployment, world.flavour, 2, 2, "TemplateUnchanged")?;
    same("the number of sets", world.sets().await?.len(), 2)
}

/// Back from a rollout with an image that cannot be pulled: what still runs stays.
async fn rollback_mid_rollout(world: World) -> Outcome {
    history(&world, 4, &[]).await?;
    let trace = Trace::start(&world).await?;
    world.set_image("web", "bad:v2").await?;
    world.wait_sizes(&[("app:v1", 3), ("bad:v2", 2)]).await?;
    world.roll_back("web", 0).await?;
    let deployment = rolled_back(&world, "app:v1").await?;
    same("revision", deployment.revision(), 3)?;
    world.wait_sizes(&[("app:v1", 4), ("bad:v2", 0)]).await?;
    let seen = trace.stop(&world).await?;
    seen.ensure_available(3)?;
    seen.ensure_at_most(5)?;
    same("the number of sets", world.sets().await?.len(), 2)
}

/// A second request while the first is still rolling out.
async fn rollback_during_a_rollback(world: World) -> Outcome {
    history(&world, 2, &[]).await?;
    world.patch("web", &pods_patch("app:v2", READY_AFTER_MS, &json!("3000"))).await?;
    world.complete("web").await?;
    world.patch("web", &pods_patch("app:v3", READY_AFTER_MS, &Value::Null)).await?;
    world.complete("web").await?;
    world.roll_back("web", 2).await?;
    world
        .wait_sets("the set of v2 growing", |sets| {
            sets.iter().any(|set| set.image == "app:v2" && set.size > 0)
        })
        .await?;
    world.roll_back("web", 1).await?;
    let deployment = rolled_back(&world, "app:v1").await?;
    same("revision", deployment.revision(), 5)?;
    world.wait_sizes(&[("app:v1", 2), ("app:v2", 0), ("app:v3", 0)]).await?;
    same("the number of sets", world.sets().await?.len(), 3)
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

/// A ReplicaSet that apps/v1 stores may have a template that the CRD refuses, here a variable that is set twice: the
/// request ends, and the next rollout continues.
async fn rollback_that_the_server_refuses(world: World) -> Outcome {
    let labels = json!({"app": "web", "pod-template-hash": "handmade"});
    let old = json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": "web-handmade",
            "labels": {"app": "web", "rollwright.dev/managed": "true"},
            "annotations": {"deployment.kubernetes.io/revision": "1"},
        },
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{
                    "name": "app",
                    "image": "app:v0",
                    "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}],
                }]},
            },
        },
    });
    world.kubectl.apply(&old.to_string()).await?;
    world.create(&Manifest::new("web", 2)).await?;
    world.complete("web").await?;
    world.roll_back("web", 1).await?;
    let ended = |web: &Deployment| !web.asks_for_rollback();
    let web = world.wait_until("web", "the request having ended", ended).await?;
    same("image", web.image(), "app:v1")?;
    let refused = |web: &Deployment| web.text("/status/rollback/result") == "Invalid";
    let web = world.wait_until("web", "the record of a refused template", refused).await?;
    let message = web.text("/status/rollback/message");
    ensure(message.contains("Duplicate value"), "the server's words in status.rollback.message", message)?;
    world.wait_event("web", "DeploymentRollbackInvalid", "Duplicate value").await?;
    world.patch("web", &image_patch("app:v2")).await?;
    let web = world.complete("web").await?;
    same("image", web.image(), "app:v2")
}
