//! The strategy Recreate (S7).

use std::collections::{BTreeMap, BTreeSet};

use cluster::Release;
use cluster::kubelet::TERMINATE_AFTER_MS;
use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, same};
use crate::manifest::{Manifest, pods_patch};
use crate::scenario::{Scenario, scenarios};
use crate::watch::{Sighting, Sightings};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both recreate_waits_for_terminating_pods,
];

/// No new pod while an old one is still terminating (S7.2, S7.3), whatever the ReplicaSets report.
async fn recreate_waits_for_terminating_pods(world: World) -> Outcome {
    let recreate = Manifest::new("web", 3).spec("strategy", &json!({"type": "Recreate"}));
    world.roll_out(&recreate.pods(TERMINATE_AFTER_MS, "4000")).await?;
    let sightings = Sightings::start(&world, world.pod_api()).await?;
    world.patch("web", &pods_patch("app:v2", TERMINATE_AFTER_MS, &Value::Null)).await?;
    let waiting = world
        .wait_until("web", "the old pods terminating", |web| {
            // Before Kubernetes 1.35, ReplicaSets do not report how many of their pods terminate.
            let is_silent = !Release::selected().is_ok_and(|release| release.is_since("1.35"));
            let are_known = is_silent || web.status("terminatingReplicas") == 3;
            web.is_observed() && web.status("replicas") == 0 && are_known
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

/// The first moment at which pods of two images existed, by what a watch showed.
fn mixture(sightings: &[Sighting]) -> Option<Vec<String>> {
    let mut pods: BTreeMap<&str, &str> = BTreeMap::new();
    for Sighting { object, is_gone, .. } in sightings {
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
