//! Rolling updates: the first rollout, an update, and changes while one is under way.

use serde_json::json;

use crate::failure::{Outcome, ensure, same};
use crate::manifest::Manifest;
use crate::scenario::{Scenario, scenarios};
use crate::trace::Trace;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both create,
    both image_update,
];

const HASH: &str = "pod-template-hash";

/// The first ReplicaSet and its metadata (S4.8–S4.15), status (S9) and event (S12).
async fn create(world: World) -> Outcome {
    world.create(&Manifest::new("web", 3)).await?;
    let deployment = world.complete("web").await?;
    for counter in ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"] {
        same(counter, deployment.status(counter), 3)?;
    }
    same("unavailableReplicas", deployment.status("unavailableReplicas"), 0)?;
    same("revision", deployment.revision(), 1)?;
    let available = deployment.condition("Available");
    same(
        "Available",
        (available.status.as_str(), available.reason.as_str()),
        ("True", "MinimumReplicasAvailable"),
    )?;
    same("its message", available.message.as_str(), "Deployment has minimum availability.")?;

    let sets = world.sets().await?;
    same("the number of sets", sets.len(), 1)?;
    let set = world.set("app:v1").await?;
    let hash = set.labels.get(HASH).cloned().unwrap_or_default();
    same("the set's name", set.name.as_str(), format!("web-{hash}").as_str())?;
    same("the set's owner", set.owner.as_str(), deployment.uid())?;
    same("desired-replicas", set.annotation("deployment.kubernetes.io/desired-replicas"), "3")?;
    same("max-replicas", set.annotation("deployment.kubernetes.io/max-replicas"), "4")?;
    same("the set's revision", set.revision(), 1)?;
    let object = serde_json::to_value(&set.object)?;
    let labels = json!({"app": "web", HASH: hash});
    same("the set's selector", object.pointer("/spec/selector/matchLabels"), Some(&labels))?;
    same("the pods' labels", object.pointer("/spec/template/metadata/labels"), Some(&labels))?;
    let owner = object.pointer("/metadata/ownerReferences/0").cloned().unwrap_or_default();
    same("the owner's apiVersion", owner["apiVersion"].as_str(), Some(world.flavour.api_version()))?;
    same("blockOwnerDeletion", owner["blockOwnerDeletion"].as_bool(), Some(true))?;

    let progressing = deployment.condition("Progressing");
    let message = format!("ReplicaSet \"{}\" has successfully progressed.", set.name);
    same("the message of Progressing", progressing.message, message)?;
    let text = format!("Scaled up replica set {} from 0 to 3", set.name);
    world.wait_event("web", "ScalingReplicaSet", &text).await?;
    Ok(())
}

/// A rolling update stays within its bounds, and ends with the old set empty but kept (S6).
async fn image_update(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 4)).await?;
    let trace = Trace::start(&world).await?;
    world.set_image("web", "app:v2").await?;
    let deployment = world.complete("web").await?;
    same("revision", deployment.revision(), 2)?;
    let seen = trace.stop(&world).await?;
    seen.ensure_at_most(5)?;
    seen.ensure_available(3)?;
    let (old, new) = (world.set("app:v1").await?, world.set("app:v2").await?);
    same("sizes", (old.size, new.size), (0, 4))?;
    same("revisions", (old.revision(), new.revision()), (1, 2))?;
    // S6.5: the new set starts with the surge, so there is more than one step.
    let steps = seen.sizes("app:v2").into_iter().filter(|size| (1..4).contains(size)).count();
    ensure(steps > 0, "a new set that grows in steps", seen.sizes("app:v2"))?;
    world
        .wait_event("web", "ScalingReplicaSet", &format!("Scaled up replica set {} from 0", new.name))
        .await?;
    world
        .wait_event("web", "ScalingReplicaSet", &format!("Scaled down replica set {} from", old.name))
        .await?;
    Ok(())
}
