//! The progress deadline (S9.11–S9.13) and minReadySeconds (S9.18).

use std::collections::BTreeSet;
use std::time::Duration;

use cluster::kubelet::{NEVER_READY, READY_AFTER_MS};
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::failure::{Outcome, ensure, same};
use crate::flavour::Flavour;
use crate::manifest::{Manifest, pods_patch};
use crate::objects::Deployment;
use crate::scenario::{Scenario, scenarios};
use crate::trace::Trace;
use crate::watch::{Sighting, Sightings};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both created_sets_are_not_found,
    both deadline_exceeded_then_recovered,
    both deadline_exceeded_then_replaced,
    both unready_pods_after_the_rollout,
    both min_ready_seconds,
    both min_ready_seconds_reach_the_set,
];

/// Longer than the shortest deadline here.
const PAST_THE_DEADLINE: Duration = Duration::from_secs(4);

/// One pod that may be missing: the reconcile that creates a ReplicaSet cuts the old one too. Each new ReplicaSet is
/// reported as created, and none as found (S4.4, S4.15). On rollwright.dev the first report waits for its counters, so
/// it may report that the ReplicaSet is progressing already.
async fn created_sets_are_not_found(world: World) -> Outcome {
    let sightings = Sightings::start(&world, world.deployments()).await?;
    // If a rollout is complete at its first report, only that is reported.
    let manifest = Manifest::new("web", 1).rolling(&json!(1), &json!(1)).pods(READY_AFTER_MS, "3000");
    world.roll_out(&manifest).await?;
    for image in ["app:v2", "app:v3"] {
        world.set_image("web", image).await?;
        world.complete("web").await?;
    }
    let progressing =
        |sighting: Sighting| Deployment::new(world.flavour, sighting.object).condition("Progressing").message;
    let messages: BTreeSet<String> = sightings.stop(&world).await?.into_iter().map(progressing).collect();
    for set in world.sets().await? {
        let created = format!("Created new replica set \"{}\"", set.name);
        let progressing = format!("ReplicaSet \"{}\" is progressing.", set.name);
        let is_reported = match world.flavour {
            Flavour::AppsV1 => messages.contains(&created),
            Flavour::Rollwright => messages.contains(&created) || messages.contains(&progressing),
        };
        ensure(is_reported, &created, &messages)?;
    }
    ensure(!messages.iter().any(|message| message.starts_with("Found")), "nothing to be found", &messages)
}

async fn exceeded(world: &World, image: &str) -> Outcome<Deployment> {
    let late = ("False".to_owned(), "ProgressDeadlineExceeded".to_owned());
    let deployment = world
        .wait_until("web", "the deadline being exceeded", |web| {
            web.is_observed() && web.progressing() == late
        })
        .await?;
    let set = world.set(image).await?;
    let message = format!("ReplicaSet \"{}\" has timed out progressing.", set.name);
    same("the message", deployment.condition("Progressing").message, message)?;
    same("Available", deployment.condition("Available").status.as_str(), "True")?;
    Ok(deployment)
}

/// Pods that come late after all: the rollout continues as if nothing had been (S9.13).
async fn deadline_exceeded_then_recovered(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 1).spec("progressDeadlineSeconds", &json!(3))).await?;
    world.patch("web", &pods_patch("app:v2", READY_AFTER_MS, &json!("12000"))).await?;
    exceeded(&world, "app:v2").await?;
    let deployment = world.complete("web").await?;
    same("revision", deployment.revision(), 2)
}

/// Pods that never come: the next template rolls out from the state at hand.
async fn deadline_exceeded_then_replaced(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 2).spec("progressDeadlineSeconds", &json!(3))).await?;
    world.set_image("web", "bad:v2").await?;
    exceeded(&world, "bad:v2").await?;
    world.set_image("web", "app:v3").await?;
    let deployment = world.complete("web").await?;
    same("revision", deployment.revision(), 3)?;
    world.wait_sizes(&[("app:v1", 0), ("bad:v2", 0), ("app:v3", 2)]).await?;
    Ok(())
}

/// Pods that become unready later on make the Deployment unavailable, but a rollout that was
/// complete does not time out any more (S9.8, S9.11).
async fn unready_pods_after_the_rollout(world: World) -> Outcome {
    let deadline = json!(2);
    world.roll_out(&Manifest::new("web", 2).spec("progressDeadlineSeconds", &deadline)).await?;
    for (never_ready, status) in [(json!("true"), "False"), (json!(null), "True")] {
        let patch = json!({"metadata": {"annotations": {NEVER_READY: never_ready}}});
        for pod in world.pods().await? {
            let name = pod.metadata.name.unwrap_or_default();
            world.pod_api().patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
        }
        let what = format!("Available being {status}");
        world.wait_until("web", &what, |web| web.condition("Available").status == status).await?;
        tokio::time::sleep(PAST_THE_DEADLINE).await;
        let done = ("True".to_owned(), "NewReplicaSetAvailable".to_owned());
        same("Progressing", world.get("web").await?.progressing(), done)?;
    }
    let deployment = world.complete("web").await?;
    same("unavailableReplicas", deployment.status("unavailableReplicas"), 0)
}

/// A pod counts as available only after that time, and old ones stay until then.
async fn min_ready_seconds(world: World) -> Outcome {
    let manifest = Manifest::new("web", 2).rolling(&json!(1), &json!(0));
    world.roll_out(&manifest.spec("minReadySeconds", &json!(2))).await?;
    let trace = Trace::start(&world).await?;
    world.set_image("web", "app:v2").await?;
    world.complete("web").await?;
    let seen = trace.stop(&world).await?;
    seen.ensure_available(2)?;
    seen.ensure_at_most(3)?;
    let waits = seen
        .0
        .iter()
        .filter(|sets| sets.values().any(|set| set.image == "app:v2" && set.ready > set.available));
    ensure(waits.count() > 0, "moments with pods that are ready and not yet available", seen.sizes("app:v2"))
}

/// A new value goes to the ReplicaSet that is there, without a rollout (S4.3).
async fn min_ready_seconds_reach_the_set(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 1)).await?;
    world.patch("web", &json!({"spec": {"minReadySeconds": 1}})).await?;
    let sets = world
        .wait_sets("minReadySeconds on the set", |sets| {
            sets.iter().all(|set| set.object.spec.as_ref().and_then(|spec| spec.min_ready_seconds) == Some(1))
        })
        .await?;
    same("the number of sets", sets.len(), 1)?;
    let deployment = world.complete("web").await?;
    same("revision", deployment.revision(), 1)
}
