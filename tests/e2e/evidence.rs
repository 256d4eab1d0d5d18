//! A revision that fails by what its pods show, not by its deadline (FP-2, FP-4).

use std::time::{Duration, Instant};

use cluster::kubelet::{NEVER_READY, READY_AFTER_MS};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, same};
use crate::manifest::{Manifest, image_patch, pods_patch};
use crate::objects::Deployment;
use crate::pinning::hash;
use crate::reverting::{judged, manifest, target, told};
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours stuck_pods_are_reverted because "apps/v1 has no failure policy",
    ours restarting_pods_are_reverted because "apps/v1 has no failure policy",
    ours ten_dead_pods_give_way_at_once because "apps/v1 has no failure policy",
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

/// The container of a pod of the second revision has restarted so often.
pub(crate) async fn restart(world: &World, pod: &str, count: i64) -> Outcome {
    let status = json!([{"name": "app", "image": "app:v2", "imageID": "", "ready": true, "restartCount": count,
        "state": {"running": {"startedAt": "2026-04-01T12:00:00Z"}}}]);
    let status = Patch::Strategic(json!({"status": {"containerStatuses": status}}));
    world.pod_api().patch_status(pod, &PatchParams::default(), &status).await?;
    Ok(())
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
    let names = pod_names(&world, "app:v2").await?;
    restart(&world, names.first().map_or("", String::as_str), 3).await?;
    let web =
        goes_back(&world, "app:v2", "1 of 3 pods have a container that restarted 3 times or more").await?;
    let told = told(&web);
    same("what the history says", told.get(1).map(String::as_str), Some("2 NewImage Succeeded"))
}

/// All ten pods die after the rollout was complete. What goes back does not wait for surge and availability, since dead
/// pods cost nothing: the ten pods of the first revision, which take twenty seconds, start together (FP-7).
async fn ten_dead_pods_give_way_at_once(world: World) -> Outcome {
    let policy = json!({"action": "Revert", "when": {"restarts": 3}});
    let manifest = manifest("web", 10).pods(READY_AFTER_MS, "20000").spec("failurePolicy", &policy);
    world.roll_out(&manifest).await?;
    judged(&world, "app:v1", "Good").await?;
    let mut fast = pods_patch("app:v2", READY_AFTER_MS, &Value::Null);
    fast["spec"]["failurePolicy"] = json!({"bakeSeconds": 3600});
    world.patch("web", &fast).await?;
    world.complete("web").await?;
    let dead = json!({"metadata": {"annotations": {NEVER_READY: "true"}}});
    let names = pod_names(&world, "app:v2").await?;
    for name in &names {
        world.pod_api().patch(name, &PatchParams::default(), &Patch::Merge(&dead)).await?;
    }
    world.wait_until("web", "no pod that is ready", |web| web.status("availableReplicas") == 0).await?;
    restart(&world, names.first().map_or("", String::as_str), 3).await?;
    judged(&world, "app:v2", "Failed").await?;
    let verdict = Instant::now();
    let is_back = |web: &Deployment| web.status("availableReplicas") == 10;
    world.wait_until("web", "ten available pods of the first revision", is_back).await?;
    let (time, most) = (verdict.elapsed(), Duration::from_secs(100));
    ensure(time <= most, "ten available pods before they would be one after another", time)?;
    same("what runs", world.get("web").await?.text("/status/target/because"), "Reverted")
}

/// The pods of this image that stay.
pub(crate) async fn pod_names(world: &World, image: &str) -> Outcome<Vec<String>> {
    let is_it = |pod: &Pod| {
        let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
        let mut images = containers.filter_map(|container| container.image.as_deref());
        pod.metadata.deletion_timestamp.is_none() && images.any(|found| found == image)
    };
    let pods = world.pods().await?.into_iter().filter(is_it);
    Ok(pods.filter_map(|pod| pod.metadata.name).collect())
}
