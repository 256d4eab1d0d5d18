//! Pausing and resuming (S13).

use std::time::Duration;

use cluster::kubelet::NEVER_READY;
use serde_json::{Value, json};

use crate::failure::{Outcome, same};
use crate::manifest::{Manifest, pods_patch};
use crate::scenario::{Scenario, scenarios};
use crate::trace::Trace;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both pause_scale_resume,
    both paused_from_birth,
    both rollback_waits_while_paused,
];

/// Long enough for a mistake to show.
const A_WHILE: Duration = Duration::from_secs(2);

fn paused(paused: bool) -> Value {
    json!({"spec": {"paused": paused}})
}

/// While paused nothing is rolled out, but size is followed, in proportion; a resumed rollout continues with the
/// template of that moment (S13.2–S13.5).
async fn pause_scale_resume(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 4)).await?;
    world.patch("web", &pods_patch("app:v2", NEVER_READY, &json!("true"))).await?;
    world.wait_sizes(&[("app:v1", 3), ("app:v2", 2)]).await?;

    world.patch("web", &paused(true)).await?;
    let is_paused = ("Unknown".to_owned(), "DeploymentPaused".to_owned());
    world.wait_until("web", "the pause being noted", |web| web.progressing() == is_paused).await?;
    world.scale("web", 8).await?;
    world.wait_sizes(&[("app:v1", 6), ("app:v2", 4)]).await?;

    world.patch("web", &pods_patch("app:v3", NEVER_READY, &Value::Null)).await?;
    let deployment = world
        .wait_until("web", "the template of v3 being observed", |web| {
            web.is_observed() && web.status("updatedReplicas") == 0
        })
        .await?;
    same("Progressing", deployment.progressing(), is_paused)?;
    tokio::time::sleep(A_WHILE).await;
    same("the number of sets", world.sets().await?.len(), 2)?;

    let trace = Trace::start(&world).await?;
    world.patch("web", &paused(false)).await?;
    let deployment = world.complete("web").await?;
    same("revision", deployment.revision(), 3)?;
    world.wait_sizes(&[("app:v1", 0), ("app:v2", 0), ("app:v3", 8)]).await?;
    trace.stop(&world).await?.ensure_at_most(10)
}

/// Created paused: no ReplicaSet at all, and counters that show that (S13.3).
async fn paused_from_birth(world: World) -> Outcome {
    world.create(&Manifest::new("web", 2).spec("paused", &json!(true))).await?;
    let deployment = world.observed("web").await?;
    same("Available", deployment.condition("Available").status.as_str(), "False")?;
    same("replicas", deployment.status("replicas"), 0)?;
    tokio::time::sleep(A_WHILE).await;
    same("the number of sets", world.sets().await?.len(), 0)?;
    world.patch("web", &paused(false)).await?;
    let deployment = world.complete("web").await?;
    same("revision", deployment.revision(), 1)
}

/// A rollback asked for while paused is carried out after resuming (S3.7).
async fn rollback_waits_while_paused(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 1)).await?;
    world.set_image("web", "app:v2").await?;
    world.complete("web").await?;
    world.patch("web", &paused(true)).await?;
    world.roll_back("web", 1).await?;
    world.observed("web").await?;
    tokio::time::sleep(A_WHILE).await;
    let deployment = world.get("web").await?;
    same("the request", deployment.asks_for_rollback(), true)?;
    same("the image", deployment.image(), "app:v2")?;
    world.patch("web", &paused(false)).await?;
    world.wait_until("web", "the rollback", |web| web.image() == "app:v1").await?;
    let deployment = world.complete("web").await?;
    same("the request", deployment.asks_for_rollback(), false)?;
    same("revision", deployment.revision(), 3)
}
