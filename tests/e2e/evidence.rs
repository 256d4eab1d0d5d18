//! A revision that fails by what its pods show, not by its deadline (FP-2, FP-4).

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, same};
use crate::manifest::{Manifest, image_patch};
use crate::objects::Deployment;
use crate::pinning::hash;
use crate::reverting::{judged, manifest, target, told};
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours stuck_pods_are_reverted because "apps/v1 has no failure policy",
    ours restarting_pods_are_reverted because "apps/v1 has no failure policy",
    ours restarts_count_while_a_revision_bakes because "apps/v1 has no failure policy",
];

/// A Deployment that reverts by this criterion alone.
fn judged_by(name: &str, criterion: &Value, bake_seconds: i64) -> Manifest {
    let policy = json!({"action": "Revert", "when": criterion, "bakeSeconds": bake_seconds});
    manifest(name, 3).spec("failurePolicy", &policy)
}

/// Waits until the first revision runs again, and checks what is reported of the second one.
async fn goes_back(world: &World, image: &str, words: &str) -> Outcome<Deployment> {
    let memory = judged(world, image, "Failed").await?;
    ensure(memory["cause"].as_str().is_some_and(|cause| cause.contains(words)), words, &memory)?;
    let hash = hash(world, "web", "app:v1").await?;
    let is_back = |web: &Deployment| {
        target(web).is_some_and(|target| target["hash"] == hash && target["because"] == "Reverted")
            && web.status("availableReplicas") == 3
            && web.status("replicas") == 3
            && told(web).first().is_some_and(|newest| newest == "1 Revert Succeeded")
    };
    let web = world.wait_until("web", "the first revision, and nothing else", is_back).await?;
    world.wait_event("web", "Reverted", words).await?;
    same("Progressing", web.progressing(), ("False".to_owned(), "RolledBack".to_owned()))?;
    Ok(web)
}

/// An image that cannot be pulled, long before the deadline of ten minutes.
async fn stuck_pods_are_reverted(world: World) -> Outcome {
    world.roll_out(&judged_by("web", &json!({"stuckSeconds": 10}), 0)).await?;
    judged(&world, "app:v1", "Good").await?;
    world.set_image("web", "bad:v2").await?;
    let web = goes_back(&world, "bad:v2", "1 of 1 pods cannot pull").await?;
    let failed = web.value.pointer("/status/history/1").cloned().unwrap_or_default();
    same("how the rollout ended", failed["outcome"].as_str(), Some("Failed"))?;
    ensure(failed["message"].to_string().contains("cannot pull"), "why, in the history", failed)
}

async fn restarting_pods_are_reverted(world: World) -> Outcome {
    world.roll_out(&judged_by("web", &json!({"restarts": 2}), 0)).await?;
    judged(&world, "app:v1", "Good").await?;
    world.set_image("web", "crash:v2").await?;
    goes_back(&world, "crash:v2", "1 of 1 pods have a container that restarted 2 times or more").await?;
    Ok(())
}

/// All pods were available; then one of them restarts.
async fn restarts_count_while_a_revision_bakes(world: World) -> Outcome {
    world.roll_out(&judged_by("web", &json!({"restarts": 3}), 0)).await?;
    judged(&world, "app:v1", "Good").await?;
    let mut patch = image_patch("app:v2");
    patch["spec"]["failurePolicy"] = json!({"bakeSeconds": 3600});
    world.patch("web", &patch).await?;
    world.complete("web").await?;
    let pods = world.pods().await?;
    let name = pods.first().and_then(|pod| pod.metadata.name.clone()).unwrap_or_default();
    let status = json!([{"name": "app", "image": "app:v2", "imageID": "", "ready": true, "restartCount": 3,
        "state": {"running": {"startedAt": "2026-04-01T12:00:00Z"}}}]);
    let status = Patch::Strategic(json!({"status": {"containerStatuses": status}}));
    world.pod_api().patch_status(&name, &PatchParams::default(), &status).await?;
    let web =
        goes_back(&world, "app:v2", "1 of 3 pods have a container that restarted 3 times or more").await?;
    let told = told(&web);
    same("what the history says", told.get(1).map(String::as_str), Some("2 NewImage Succeeded"))
}
