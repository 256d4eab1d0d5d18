//! Changes of `spec.replicas`: in proportion during a rollout, and by the scale subresource.

use std::time::Duration;

use cluster::kubelet::{NEVER_READY, READY_AFTER_MS};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, same};
use crate::manifest::{Manifest, pods_patch};
use crate::objects::Set;
use crate::scenario::{Scenario, scenarios};
use crate::stage::Controller;
use crate::trace::Trace;
use crate::watch::Sightings;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both proportional_scaling,
    both kubectl_scale,
    both set_scaled_by_hand,
    both stale_scaling_annotation,
    ours scale_hides_surge because "apps/v1 reports status.replicas there, surge included (S15.6)",
];

/// Long enough for a mistake to show.
const A_WHILE: Duration = Duration::from_secs(3);

/// Ten to thirty and back in the middle of a rollout that hangs: the ReplicaSets grow and shrink in
/// proportion (the check values of S8.8), and note what they were scaled for (S8.10).
async fn proportional_scaling(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 10).rolling(&json!(3), &json!(2))).await?;
    world.patch("web", &pods_patch("app:v2", NEVER_READY, &json!("true"))).await?;
    world.wait_sizes(&[("app:v1", 8), ("app:v2", 5)]).await?;
    world.scale("web", 30).await?;
    let sets = world.wait_sizes(&[("app:v1", 20), ("app:v2", 13)]).await?;
    let noted = |set: &Set| {
        let note = |key: &str| set.annotation(&format!("deployment.kubernetes.io/{key}")).to_owned();
        (note("desired-replicas"), note("max-replicas"))
    };
    for set in &sets {
        same("desired and max", noted(set), ("30".to_owned(), "33".to_owned()))?;
    }
    // S9.11: a change of size alone is no progress of the rollout, and needs none.
    world.wait_until("web", "20 available pods", |web| web.status("availableReplicas") == 20).await?;
    world.scale("web", 10).await?;
    world.wait_sizes(&[("app:v1", 8), ("app:v2", 5)]).await?;
    let deployment = world
        .wait_until("web", "8 pods available again", |web| {
            web.is_observed() && web.status("availableReplicas") == 8 && web.status("replicas") == 13
        })
        .await?;
    same("updatedReplicas", deployment.status("updatedReplicas"), 5)?;
    same("unavailableReplicas", deployment.status("unavailableReplicas"), 5)
}

/// `kubectl scale` by the scale subresource, which has a selector as text (S15.6, S15.8).
async fn kubectl_scale(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 2)).await?;
    let target = format!("{}/web", world.flavour.resource());
    for replicas in [5, 0, 3] {
        world.kubectl.run(&["scale", &target, &format!("--replicas={replicas}")]).await?;
        world.complete("web").await?;
        let scale = scale(&world).await?;
        // Zero is left out.
        same("spec.replicas of the scale", scale["spec"]["replicas"].as_i64().unwrap_or(0), replicas)?;
        same("its status.replicas", scale["status"]["replicas"].as_i64().unwrap_or(0), replicas)?;
        same("its selector", &scale["status"]["selector"], &json!("app=web"))?;
    }
    let refused =
        world.kubectl.output(&["scale", &target, "--current-replicas=9", "--replicas=1"], "").await?;
    ensure(!refused.success, "a wrong --current-replicas to be refused", &refused)?;
    same("the number of sets", world.sets().await?.len(), 1)?;
    let set = world.set("app:v1").await?;
    same("desired-replicas", set.annotation("deployment.kubernetes.io/desired-replicas"), "3")
}

/// A ReplicaSet that somebody scales behind the Deployment's back gets its size back (S6.6, S6.7).
async fn set_scaled_by_hand(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 2)).await?;
    let set = world.set("app:v1").await?;
    for size in [5, 0] {
        let trace = Trace::start(&world).await?;
        let target = format!("replicasets.apps/{}", set.name);
        world.kubectl.run(&["scale", &target, &format!("--replicas={size}")]).await?;
        world.wait_sizes(&[("app:v1", 2)]).await?;
        let sizes = trace.stop(&world).await?.sizes("app:v1");
        ensure(sizes.contains(&size) && sizes.last() == Some(&2), "the size to go and come back", sizes)?;
    }
    world.complete("web").await?;
    Ok(())
}

/// A ReplicaSet of the right size that was noted to be scaled for another one. Upstream waits for ever then (S8.12);
/// Rollwright notes the size and continues.
async fn stale_scaling_annotation(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 2)).await?;
    let name = world.set("app:v1").await?.name;
    let stale = json!({"metadata": {"annotations": {"deployment.kubernetes.io/desired-replicas": "7"}}});
    world.set_api().patch(&name, &PatchParams::default(), &Patch::Merge(&stale)).await?;
    world.set_image("web", "app:v2").await?;
    if world.controller == Controller::Reference {
        world.observed("web").await?;
        tokio::time::sleep(A_WHILE).await;
        return same("the number of sets", world.sets().await?.len(), 1);
    }
    world.complete("web").await?;
    world.wait_sizes(&[("app:v1", 0), ("app:v2", 2)]).await?;
    Ok(())
}

/// During a rollout the scale never shows more pods than were asked for, so that an autoscaler
/// does not take surge for load.
async fn scale_hides_surge(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 4).rolling(&json!("100%"), &json!(0))).await?;
    let sightings = Sightings::start(&world, world.deployments()).await?;
    // Long enough for a status with counters in the middle of it: these are not written immediately.
    world.patch("web", &pods_patch("app:v2", READY_AFTER_MS, &json!("3000"))).await?;
    world.complete("web").await?;
    let seen: Vec<Value> =
        sightings.stop(&world).await?.into_iter().map(|sighting| sighting.object).collect();
    let counter = |web: &Value, field: &str| web["status"][field].as_i64().unwrap_or(0);
    let surges = seen.iter().filter(|web| counter(web, "replicas") > 4).count();
    ensure(surges > 0, "a rollout with surge", seen.len())?;
    let shown: Vec<i64> = seen.iter().map(|web| counter(web, "scaleReplicas")).collect();
    ensure(shown.iter().all(|shown| *shown <= 4), "no surge in scaleReplicas", &shown)?;
    let scale = scale(&world).await?;
    same("status.replicas of the scale", &scale["status"]["replicas"], &json!(4))
}

/// The scale subresource.
pub(crate) async fn scale(world: &World) -> Outcome<Value> {
    let group = world.flavour.api_resource().api_version;
    let path = format!("/apis/{group}/namespaces/{}/deployments/web/scale", world.namespace);
    let request = http::Request::get(path).body(Vec::new())?;
    Ok(world.client().request(request).await?)
}
