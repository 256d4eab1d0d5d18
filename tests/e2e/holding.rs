//! `spec.resumePolicy: Manual`: the operator is killed in the middle of a rollout, which then waits for a word (HO-2).

use std::time::Duration;

use serde_json::json;

use crate::command_line::{DONE, FAILED, PAUSED, expect, tool};
use crate::failure::{Outcome, same};
use crate::manifest::Manifest;
use crate::objects::Set;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    own ours killed_and_resumed because "apps/v1 has no resumePolicy",
];

/// Longer than the next step of the rollout takes.
const PATIENCE: Duration = Duration::from_secs(8);

fn sizes(sets: &[Set]) -> Vec<(String, i64)> {
    sets.iter().map(|set| (set.image.clone(), set.size)).collect()
}

async fn killed_and_resumed(world: World) -> Outcome {
    let tool = tool(&world)?;
    let manifest = Manifest::new("web", 4).rolling(&json!(1), &json!(0)).spec("minReadySeconds", &json!(3));
    world.roll_out(&manifest.spec("resumePolicy", &json!("Manual"))).await?;
    world.set_image("web", "app:v2").await?;
    let is_between = |sets: &[Set]| sets.len() == 2 && sets.iter().all(|set| set.size > 0);
    world.wait_sets("a rollout under way", is_between).await?;
    world.operator()?.kill();
    let held = sizes(&world.sets().await?);
    // Nobody gives the word between two crashes either.
    for _ in 0..2 {
        world.operator()?.start_again()?;
        world
            .wait_event("web", "HeldAfterRestart", "the operator restarted while it rolled out revision 2")
            .await?;
        expect(&tool, "status web --timeout=60s", PAUSED, "is held: the operator restarted").await?;
        tokio::time::sleep(PATIENCE).await;
        same("the sizes", sizes(&world.sets().await?), held.clone())?;
        world.operator()?.kill();
    }
    world.operator()?.start_again()?;
    expect(&tool, "list --held", DONE, "web").await?;
    expect(&tool, "get web", DONE, "is held: the operator restarted").await?;
    expect(&tool, "why web", PAUSED, "kubectl rollwright resume deployment.rollwright.dev/web").await?;
    expect(&tool, "resume --all --parallel=2", DONE, "continuation of revision 2 requested").await?;
    world.complete("web").await?;
    expect(&tool, "resume web", FAILED, "is neither paused nor held").await?;
    expect(&tool, "resume --all --parallel=2", DONE, "No rollout is held.").await.map(drop)
}
