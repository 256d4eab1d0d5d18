//! Nothing is written when there is nothing to do.

use std::time::Duration;

use cluster::{NotYet, audit};
use jiff::Timestamp;
use serde_json::json;

use crate::failure::{Outcome, same, until};
use crate::manifest::Manifest;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both no_writes_when_settled,
];

/// How long nothing may be written.
const QUIET: Duration = Duration::from_secs(60);
/// How long before that the last write must have been. A status waits for up to ten seconds.
const SETTLED: Duration = Duration::from_secs(12);

/// Not one write in a minute: neither for rollouts that are complete, nor for one that is
/// paused, nor for one that is stuck past its deadline.
async fn no_writes_when_settled(world: World) -> Outcome {
    world.create(&Manifest::new("done", 3)).await?;
    world.create(&Manifest::new("anew", 2).spec("strategy", &json!({"type": "Recreate"}))).await?;
    world.create(&Manifest::new("none", 0)).await?;
    world.create(&Manifest::new("late", 2).spec("progressDeadlineSeconds", &json!(3))).await?;
    world.create(&Manifest::new("idle", 2).spec("revisionHistoryLimit", &json!(0))).await?;
    for name in ["done", "anew", "none", "late", "idle"] {
        world.complete(name).await?;
    }
    for (name, image) in [("done", "app:v2"), ("anew", "app:v2"), ("idle", "bad:v2"), ("late", "bad:v2")] {
        world.set_image(name, image).await?;
    }
    world.complete("done").await?;
    world.complete("anew").await?;
    world.patch("idle", &json!({"spec": {"paused": true}})).await?;
    world.wait_until("idle", "the pause", |idle| idle.progressing().1 == "DeploymentPaused").await?;
    world
        .wait_until("late", "the deadline", |late| late.progressing().1 == "ProgressDeadlineExceeded")
        .await?;

    ensure_quiet(&world, QUIET).await
}

/// Waits until nothing has been written for a while; events are written in the background.
pub(crate) async fn settle(world: &World) -> Outcome {
    world
        .wait("the last write being over", async || {
            let since = Timestamp::now() - SETTLED;
            let writes = writes(world, since).map_err(|failure| NotYet(failure.0))?;
            until(writes.is_empty(), format!("{writes:?}"))
        })
        .await
}

/// The writes come to an end, and then there is none for this long.
pub(crate) async fn ensure_quiet(world: &World, window: Duration) -> Outcome {
    settle(world).await?;
    let since = Timestamp::now();
    tokio::time::sleep(window).await;
    same("writes once all is done", writes(world, since)?, Vec::new())
}

/// Writes by the controller in charge, in this namespace.
pub(crate) fn writes(world: &World, since: Timestamp) -> Outcome<Vec<audit::Request>> {
    let mut writes = audit::writes(&world.stage.cluster.audit_log(), since, world.user())?;
    writes.retain(|write| write.namespace == world.namespace);
    Ok(writes)
}
