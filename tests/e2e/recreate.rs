//! The strategy Recreate (S7).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cluster::kubelet::{NEVER_READY, TERMINATE_AFTER_MS};
use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, same};
use crate::manifest::{Manifest, pods_patch};
use crate::scenario::{Scenario, scenarios};
use crate::stage::Controller;
use crate::watch::{Sighting, Sightings};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both recreate_waits_for_terminating_pods,
    both recreate_scales,
    both switched_while_scaled,
];

/// Long enough for a mistake to show.
const A_WHILE: Duration = Duration::from_secs(3);

fn manifest(replicas: i64) -> Manifest {
    Manifest::new("web", replicas).spec("strategy", &json!({"type": "Recreate"}))
}

/// No new pod while an old one is still terminating (S7.2, S7.3), whatever the ReplicaSets report.
async fn recreate_waits_for_terminating_pods(world: World) -> Outcome {
    world.roll_out(&manifest(3).pods(TERMINATE_AFTER_MS, "4000")).await?;
    let sightings = Sightings::start(&world, world.pod_api()).await?;
    world.patch("web", &pods_patch("app:v2", TERMINATE_AFTER_MS, &Value::Null)).await?;
    let waiting = world
        .wait_until("web", "the old pods terminating", |web| {
            web.is_observed() && web.status("replicas") == 0 && web.status("terminatingReplicas") == 3
        })
        .await?;
    let available = waiting.condition("Available");
    same(
        "Available",
        (available.status.as_str(), available.reason.as_str()),
        ("False", "MinimumReplicasUnavailable"),
    )?;
    same("updatedReplicas", waiting.status("updatedReplicas"), 0)?;
    same("the number of sets", world.sets().await?.len(), 1)?;

    let deployment = world.complete("web").await?;
    same("revision", deployment.revision(), 2)?;
    same("terminatingReplicas", deployment.status("terminatingReplicas"), 0)?;
    world.wait_sizes(&[("app:v1", 0), ("app:v2", 3)]).await?;
    let mixed = mixture(&sightings.stop(&world).await?);
    ensure(mixed.is_none(), "never pods of both images at once", mixed)
}

/// A change of size alone restarts nothing; downwards and upwards.
async fn recreate_scales(world: World) -> Outcome {
    world.roll_out(&manifest(2)).await?;
    for replicas in [4, 1] {
        world.scale("web", replicas).await?;
        world.complete("web").await?;
        same("the size", world.set("app:v1").await?.size, replicas)?;
    }
    Ok(())
}

/// The strategy changes in the middle of a rolling update, the size with it, and the template. Upstream waits for ever
/// then (S8.13); Rollwright continues.
async fn switched_while_scaled(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 4)).await?;
    world.patch("web", &pods_patch("app:v2", NEVER_READY, &json!("true"))).await?;
    world.wait_sizes(&[("app:v1", 3), ("app:v2", 2)]).await?;
    let mut patch = pods_patch("app:v3", NEVER_READY, &Value::Null);
    patch["spec"]["strategy"] = json!({"type": "Recreate", "rollingUpdate": null});
    patch["spec"]["replicas"] = json!(6);
    world.patch("web", &patch).await?;
    if world.controller == Controller::Reference {
        world.observed("web").await?;
        tokio::time::sleep(A_WHILE).await;
        return same("the number of sets", world.sets().await?.len(), 2);
    }
    world.complete("web").await?;
    world.wait_sizes(&[("app:v1", 0), ("app:v2", 0), ("app:v3", 6)]).await?;
    Ok(())
}

/// The first moment at which pods of two images existed, by what a watch showed.
fn mixture(sightings: &[Sighting]) -> Option<Vec<String>> {
    let mut pods: BTreeMap<&str, &str> = BTreeMap::new();
    for Sighting { object, is_gone } in sightings {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (name, image) = (text("/metadata/name"), text("/spec/containers/0/image"));
        if *is_gone {
            pods.remove(name);
        } else {
            pods.insert(name, image);
        }
        if pods.values().collect::<BTreeSet<_>>().len() > 1 {
            return Some(pods.iter().map(|(name, image)| format!("{name}: {image}")).collect());
        }
    }
    None
}
