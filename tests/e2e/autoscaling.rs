//! The scale subresource, with kubectl and with Kubernetes' own autoscaler.

use std::time::Duration;

use cluster::kubelet::NEVER_READY;
use cluster::{NotYet, wait_for};
use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, same, until};
use crate::manifest::{Manifest, pods_patch};
use crate::scenario::{Scenario, scenarios};
use crate::watch::{Sightings, Trace};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both autoscaled_mid_rollout,
    both kubectl_scale,
];

const AUTOSCALED: Duration = Duration::from_secs(150);

/// An autoscaler that wants eight, while a rollout of four hangs with two pods of surge. The ReplicaSets grow in
/// proportion (S8.8), and what the autoscaler sees as the current size is eight, not twelve.
async fn autoscaled_mid_rollout(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 4).rolling(&json!("50%"), &json!(0))).await?;
    let sightings = Sightings::start(&world, world.deployments()).await?;
    let trace = Trace::start(&world).await?;
    world.patch("web", &pods_patch("app:v2", NEVER_READY, &json!("true"))).await?;
    world.wait_sizes(&[("app:v1", 4), ("app:v2", 2)]).await?;
    world.wait_until("web", "6 pods", |web| web.is_observed() && web.status("replicas") == 6).await?;
    scale_shows(&world, 4, 6).await?;

    // Below its minimum the autoscaler needs no metrics to scale.
    let target = format!("{}/web", world.flavour.resource());
    world.kubectl.run(&["autoscale", &target, "--min=8", "--max=10", "--cpu-percent=80"]).await?;
    wait_autoscaled(&world, 8).await?;
    world.wait_sizes(&[("app:v1", 8), ("app:v2", 4)]).await?;
    let all_there = |status: (i64, i64)| status == (12, 8);
    let web = world
        .wait_until("web", "12 pods, 8 of them available", |web| {
            web.is_observed() && all_there((web.status("replicas"), web.status("availableReplicas")))
        })
        .await?;
    same("updatedReplicas", web.status("updatedReplicas"), 4)?;
    scale_shows(&world, 8, 12).await?;
    // Until here all sizes are those of the rollout that hangs.
    trace.stop(&world).await?.ensure_at_most(12)?;

    let trace = Trace::start(&world).await?;
    world.patch("web", &pods_patch("app:v3", NEVER_READY, &Value::Null)).await?;
    let web = world.complete("web").await?;
    same("spec.replicas", web.replicas(), 8)?;
    world.wait_sizes(&[("app:v1", 0), ("app:v2", 0), ("app:v3", 8)]).await?;
    trace.stop(&world).await?.ensure_at_most(12)?;
    if world.flavour.is_ours() {
        let seen = sightings.stop(&world).await?.into_iter();
        let seen: Vec<Value> = seen.map(|sighting| sighting.object).collect();
        let hides = |web: &Value| web["status"]["scaleReplicas"].as_i64() <= web["spec"]["replicas"].as_i64();
        ensure(seen.iter().all(hides), "no surge in scaleReplicas at any moment", &seen)?;
    }
    Ok(())
}

/// Waits until the autoscaler has set this size. It looks every 15 s, and for new kinds every 30 s, so that
/// on a slow machine it may well come late.
pub(crate) async fn wait_autoscaled(world: &World, size: i64) -> Outcome {
    wait_for(&format!("the autoscaler to ask for {size}"), AUTOSCALED, async || {
        let web = world.get("web").await.map_err(|failure| NotYet(failure.0))?;
        until(web.replicas() == size, web.summary())
    })
    .await?;
    Ok(())
}

/// What the scale shows of the current size: that of the spec for rollwright.dev, all pods for apps/v1 (S15.6).
async fn scale_shows(world: &World, size: i64, pods: i64) -> Outcome {
    let scale = scale(world).await?;
    same("spec.replicas of the scale", &scale["spec"]["replicas"], &json!(size))?;
    let shown = if world.flavour.is_ours() { size } else { pods };
    same("its status.replicas", &scale["status"]["replicas"], &json!(shown))
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

/// The scale subresource.
async fn scale(world: &World) -> Outcome<Value> {
    let group = world.flavour.api_resource().api_version;
    let path = format!("/apis/{group}/namespaces/{}/deployments/web/scale", world.namespace);
    let request = http::Request::get(path).body(Vec::new())?;
    Ok(world.client().request(request).await?)
}
