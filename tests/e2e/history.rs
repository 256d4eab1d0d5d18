//! What `status.history` reports of rollouts, with the authors that `managedFields` names.

use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, same, until};
use crate::manifest::{Manifest, image_patch};
use crate::objects::Deployment;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours each_rollout_has_its_record because "apps/v1 has no field for it",
];

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
    let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    let (deployments, patch) = (world.deployments(), Patch::Merge(patch));
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
    ensure(scale["time"].is_string(), "a time of the scaling", scale)?;
    let history = &web.value["status"]["history"];
    let newest = told(&web).first().cloned().unwrap_or_default();
    same("the newest record", newest.as_str(), "2 2 NewImage alice Succeeded")?;
    same("the cause", &history[1]["cause"], &json!("first"))?;
    same("images", &history[0]["images"], &json!({"app": "app:v2"}))?;
    same("from", &history[0]["from"], &json!(1))?;
    ensure(
        history[0]["completionTime"].is_string() && web.value["status"]["rollout"].is_null(),
        "an end",
        &web.value,
    )?;

    world.wait_event("web", "NewReplicaSetAvailable", "revision 2").await?;
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
