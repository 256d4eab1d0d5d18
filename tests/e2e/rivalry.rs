//! Another controller that writes the same status.

use std::time::Duration;

use cluster::NotYet;
use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::failure::{Outcome, ensure, same};
use crate::manifest::Manifest;
use crate::quiet;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    own ours rival_controller because "both APIs share what yields",
];

const RIVAL: &str = "rival-controller";
const EVERY: Duration = Duration::from_millis(200);
/// How often the other controller writes once the operator has given way.
const WRITES_ALONE: i64 = 15;
const REPAIRS_MAX: usize = 3;

/// A single foreign write is repaired. Against a client that writes other counters five times a second, the operator
/// gives way after three repairs at most, and reports that.
async fn rival_controller(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 2)).await?;
    world.roll_out(&Manifest::new("other", 2)).await?;
    write(&world, 70).await?;
    repaired(&world).await?;
    let events = world.events("web").await?;
    ensure(events.iter().all(|event| event.reason != "RivalController"), "no word of it", events)?;

    let since = Timestamp::now();
    let mut number = 100;
    let event = world
        .wait("our giving way", async || {
            number += 1;
            write(&world, number).await.map_err(|failure| NotYet(failure.0))?;
            tokio::time::sleep(EVERY).await;
            let events = world.events("web").await.map_err(|failure| NotYet(failure.0))?;
            let said = events.into_iter().find(|event| event.reason == "RivalController");
            said.ok_or_else(|| NotYet("not yet".to_owned()))
        })
        .await?;
    ensure(event.message.contains(RIVAL) && event.kind == "Warning", "a warning that names it", event)?;
    let gave_way = Timestamp::now();
    for further in 1..=WRITES_ALONE {
        write(&world, number + further).await?;
        tokio::time::sleep(EVERY).await;
    }
    same("what the rival wrote last", world.get("web").await?.status("replicas"), number + WRITES_ALONE)?;
    same("our writes meanwhile", writes(&world, gave_way)?, 0)?;
    let repairs = writes(&world, since)?;
    ensure(repairs <= REPAIRS_MAX, "three repairs at most", repairs)?;
    // Others are served as ever.
    world.update("other", "app:v2").await.map(drop)
}

/// The other controller writes its counters, which are never the operator's.
async fn write(world: &World, replicas: i64) -> Outcome {
    let params = PatchParams { field_manager: Some(RIVAL.to_owned()), ..PatchParams::default() };
    let patch = Patch::Merge(json!({"status": {"replicas": replicas}}));
    world.deployments().patch_status("web", &params, &patch).await?;
    Ok(())
}

async fn repaired(world: &World) -> Outcome {
    world.wait_until("web", "the repair", |web| web.status("replicas") == 2).await.map(drop)
}

/// How many statuses of `web` the operator wrote since then.
fn writes(world: &World, since: Timestamp) -> Outcome<usize> {
    let mut writes = quiet::writes(world, since)?;
    writes.retain(|write| write.name == "web" && write.subresource == "status" && write.code == 200);
    Ok(writes.len())
}
