//! `kubectl rollwright` beside a rollout with steps (SP-6, SP-8).

use cluster::kubelet::NEVER_READY;
use serde_json::json;

use crate::command_line::{DONE, FAILED, PAUSED, TIMEOUT, USAGE, expect, tool};
use crate::failure::{Outcome, same};
use crate::manifest::pods_patch;
use crate::objects::Deployment;
use crate::reverting::{LONG, SHORT, judged, reverted, within};
use crate::scenario::{Scenario, scenarios};
use crate::steps::{manifest, promoted, rests, timed};
use crate::steps_breaks::ready;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours promoted_on_the_command_line because "apps/v1 has no steps",
    ours a_late_rollout_is_promoted because "apps/v1 has no steps",
];

/// From step to step; then the next revision is given up at its first one.
async fn promoted_on_the_command_line(world: World) -> Outcome {
    let tool = tool(&world)?;
    let steps = json!([promoted(&json!(1)), timed(&json!("50%"), 600), {"updated": "75%"}]);
    world.roll_out(&manifest(4, &steps)).await?;
    expect(&tool, "promote web", FAILED, "there is nothing to promote").await?;
    world.set_image("web", "app:v2").await?;
    let words = "step 1 of 4: 1 of 4 updated, rests until somebody promotes it";
    expect(&tool, "status web --timeout=60s", PAUSED, words).await?;
    expect(&tool, "why web", PAUSED, "rests until somebody promotes it").await?;
    expect(&tool, "get web", DONE, "step 1 of 4").await?;
    expect(&tool, "promote web --to=some", USAGE, "--to some is no step").await?;
    let requested = "promotion of revision 2 to step 2 of 4 (50%) requested";
    expect(&tool, "promote web", DONE, requested).await?;
    rests(&world, "2 of 4: 2 of 4 updated, rests until ").await?;
    expect(&tool, "status web --watch=false", TIMEOUT, "step 2 of 4: 2 of 4 updated, rests until ").await?;
    expect(&tool, "why web", TIMEOUT, "by rollwright-cli").await?;
    expect(&tool, "promote web --to=1", FAILED, "is not promoted").await?;
    expect(&tool, "promote web --full", DONE, "promotion of revision 2 to all pods requested").await?;
    expect(&tool, "status web --timeout=60s", DONE, "successfully rolled out").await?;
    expect(&tool, "history web", DONE, "2         4      rollwright-cli").await?;
    judged(&world, "app:v2", "Good").await?;

    world.set_image("web", "app:v3").await?;
    rests(&world, "1 of 4: 1 of 4 updated").await?;
    expect(&tool, "abort web", DONE, "").await?;
    reverted(&world, "web", "app:v2").await?;
    expect(&tool, "promote web", FAILED, "revision 3 of web failed").await?;
    world.wait_sizes(&[("app:v1", 0), ("app:v2", 4), ("app:v3", 0)]).await?;
    Ok(())
}

/// The deadline passes before the pod of the first step is available. It then rests, and is promoted as any other.
async fn a_late_rollout_is_promoted(world: World) -> Outcome {
    let tool = tool(&world)?;
    world.roll_out(&manifest(4, &json!([promoted(&json!(1))]))).await?;
    let slow = pods_patch("app:v2", NEVER_READY, &json!("true"));
    world.patch("web", &within(SHORT, slow)).await?;
    let late = |web: &Deployment| web.is_observed() && web.progressing().1 == "ProgressDeadlineExceeded";
    world.wait_until("web", "the deadline", late).await?;
    ready(&world, "app:v2", true).await?;
    let web = rests(&world, "1 of 2: 1 of 4 updated").await?;
    same("the step", &web.value["status"]["rollout"]["step"], &json!(1))?;
    world.patch("web", &json!({"spec": {"progressDeadlineSeconds": LONG}})).await?;
    expect(&tool, "promote web", DONE, "promotion of revision 2 to all pods requested").await?;
    let is_more = |web: &Deployment| web.status("updatedReplicas") > 1;
    world.wait_until("web", "more updated pods", is_more).await?;
    Ok(())
}
