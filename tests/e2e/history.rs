//! How many old ReplicaSets are kept (S11), and what `status.history` reports of rollouts.

use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, same, until};
use crate::manifest::{Manifest, image_patch};
use crate::objects::Deployment;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both no_history,
    both short_history,
    ours each_rollout_has_its_record because "apps/v1 has no field for it",
    ours a_rollout_that_fails_says_why because "apps/v1 has no field for it",
];

/// Limit 0 leaves nothing to roll back to (S11.7).
async fn no_history(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 2).spec("revisionHistoryLimit", &json!(0))).await?;
    world.set_image("web", "app:v2").await?;
    world.complete("web").await?;
    wait_images(&world, &["app:v2"]).await?;
    world.roll_back("web", 0).await?;
    let reason = "DeploymentRollbackRevisionNotFound";
    world.wait_event("web", reason, "Unable to find last revision.").await?;
    world.wait_until("web", "the request being gone", |web| !web.asks_for_rollback()).await?;
    let deployment = world.complete("web").await?;
    same("the image", deployment.image(), "app:v2")?;
    same("revision", deployment.revision(), 2)
}

/// Limit 2 keeps the two latest; a smaller limit takes effect immediately (S11.3–S11.5).
async fn short_history(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 1).spec("revisionHistoryLimit", &json!(2))).await?;
    for image in ["app:v2", "app:v3", "app:v4", "app:v5"] {
        world.set_image("web", image).await?;
        world.complete("web").await?;
    }
    wait_images(&world, &["app:v3", "app:v4", "app:v5"]).await?;
    same("revision of v3", world.set("app:v3").await?.revision(), 3)?;
    world.patch("web", &json!({"spec": {"revisionHistoryLimit": 1}})).await?;
    wait_images(&world, &["app:v4", "app:v5"]).await?;
    // An old revision that returns counts as the newest (S11.4, S5.4).
    world.set_image("web", "app:v4").await?;
    world.complete("web").await?;
    world.set_image("web", "app:v6").await?;
    world.complete("web").await?;
    wait_images(&world, &["app:v4", "app:v6"]).await?;
    same("revisions", (world.set("app:v4").await?.revision(), world.set("app:v6").await?.revision()), (6, 7))
}

async fn wait_images(world: &World, images: &[&str]) -> Outcome {
    world
        .wait_sets(&format!("sets of {images:?} only"), |sets| {
            let mut left: Vec<&str> = sets.iter().map(|set| set.image.as_str()).collect();
            left.sort_unstable();
            left == images
        })
        .await?;
    Ok(())
}

/// `managedFields` has times in whole seconds, so two changes need two of them for two authors.
pub(crate) async fn another_second(world: &World) -> Outcome {
    let second = || Timestamp::now().as_second();
    let begun = second();
    world.wait("another second", async || until(second() > begun, begun)).await
}

/// A change by a field manager.
pub(crate) async fn patch_as(
    world: &World,
    manager: &str,
    subresource: Option<&str>,
    patch: &Value,
) -> Outcome {
    another_second(world).await?;
    let (params, patch) = (
        PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() },
        Patch::Merge(patch),
    );
    let deployments = world.deployments();
    match subresource {
        Some(subresource) => drop(deployments.patch_subresource(subresource, "web", &params, &patch).await?),
        None => drop(deployments.patch("web", &params, &patch).await?),
    }
    Ok(())
}

/// Of each ended rollout, newest first: id, revision, trigger, manager, outcome.
fn told(web: &Deployment) -> Vec<String> {
    let history = web.value["status"]["history"].as_array().cloned().unwrap_or_default();
    let line = |record: &Value| {
        let texts = ["/trigger", "/author/manager", "/outcome"]
            .map(|path| record.pointer(path).and_then(Value::as_str).unwrap_or("-").to_owned());
        format!("{} {} {}", record["id"], record["revision"], texts.join(" "))
    };
    history.iter().map(line).collect()
}

/// One edits, another one scales, a third one asks for a rollback while a rollout hangs.
async fn each_rollout_has_its_record(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 2).annotation("kubernetes.io/change-cause", "first")).await?;
    patch_as(&world, "alice", None, &image_patch("app:v2")).await?;
    world.complete("web").await?;
    patch_as(&world, "bob", Some("scale"), &json!({"spec": {"replicas": 3}})).await?;
    let web = world.complete("web").await?;
    let scale = &web.value["status"]["lastScale"];
    let who = (&scale["from"], &scale["to"], &scale["manager"], &scale["subresource"]);
    same("lastScale", who, (&json!(2), &json!(3), &json!("bob"), &json!("scale")))?;
    ensure(scale["at"].is_string(), "a time of the scaling", scale)?;
    let history = &web.value["status"]["history"];
    let newest = told(&web).first().cloned().unwrap_or_default();
    same("the newest record", newest.as_str(), "2 2 NewImage alice Succeeded")?;
    same("the cause", &history[1]["cause"], &json!("first"))?;
    same("images", &history[0]["images"], &json!({"app": "app:v2"}))?;
    same("from", &history[0]["from"], &json!(1))?;
    ensure(
        history[0]["ended"].is_string() && web.value["status"]["rollout"].is_null(),
        "an end",
        &web.value,
    )?;

    // None of these becomes ready.
    patch_as(&world, "alice", None, &image_patch("bad:v3")).await?;
    let running = |web: &Deployment| web.value["status"]["rollout"]["id"] == 3;
    world.wait_until("web", "the third rollout running", running).await?;
    patch_as(&world, "carol", None, &image_patch("bad:v4")).await?;
    let running = |web: &Deployment| web.value["status"]["rollout"]["id"] == 4;
    world.wait_until("web", "the fourth rollout running", running).await?;
    patch_as(&world, "dave", None, &world.flavour.rollback_request(2)).await?;
    let ended = |web: &Deployment| web.is_complete() && told(web).len() == 5;
    let web = world.wait_until("web", "five records", ended).await?;
    let expected =
        ["5 5 Rollback dave Succeeded", "4 4 NewImage carol Cancelled", "3 3 NewImage alice Superseded"];
    same("the newest records", &told(&web)[..3], &expected.map(str::to_owned)[..])
}

async fn a_rollout_that_fails_says_why(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 2).spec("progressDeadlineSeconds", &json!(3))).await?;
    world.set_image("web", "bad:v2").await?;
    let web = world.wait_until("web", "a second record", |web| told(web).len() == 2).await?;
    let record = &web.value["status"]["history"][0];
    let end = (&record["outcome"], &record["reason"]);
    same("outcome and reason", end, (&json!("Failed"), &json!("ProgressDeadlineExceeded")))?;
    let message = record["message"].as_str().unwrap_or_default();
    ensure(message.contains("available"), "why it failed", message)?;
    ensure(web.value["status"]["rollout"].is_null(), "no rollout running", &web.value)
}
