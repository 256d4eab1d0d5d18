//! How many old ReplicaSets are kept (S11).

use serde_json::json;

use crate::failure::{Outcome, same};
use crate::manifest::Manifest;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both no_history,
    both short_history,
];

/// Limit 0 leaves nothing to roll back to (S11.7).
async fn no_history(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 2).spec("revisionHistoryLimit", &json!(0))).await?;
    world.set_image("web", "app:v2").await?;
    world.complete("web").await?;
    wait_images(&world, &["app:v2"]).await?;
    world.roll_back("web", 0).await?;
    let reason = "DeploymentRollbackRevisionNotFound";
    world.wait_event("web", reason, "Unable to find last revision.").await?;
    world.wait_until("web", "the request being gone", |web| !web.asks_for_rollback()).await?;
    let deployment = world.complete("web").await?;
    same("the image", deployment.image(), "app:v2")?;
    same("revision", deployment.revision(), 2)
}

/// Limit 2 keeps the two latest; a smaller limit takes effect at once (S11.3–S11.5).
async fn short_history(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 1).spec("revisionHistoryLimit", &json!(2))).await?;
    for image in ["app:v2", "app:v3", "app:v4", "app:v5"] {
        world.set_image("web", image).await?;
        world.complete("web").await?;
    }
    wait_images(&world, &["app:v3", "app:v4", "app:v5"]).await?;
    same("revision of v3", world.set("app:v3").await?.revision(), 3)?;
    world.patch("web", &json!({"spec": {"revisionHistoryLimit": 1}})).await?;
    wait_images(&world, &["app:v4", "app:v5"]).await?;
    // An old revision that comes back counts as the newest (S11.4, S5.4).
    world.set_image("web", "app:v4").await?;
    world.complete("web").await?;
    world.set_image("web", "app:v6").await?;
    world.complete("web").await?;
    wait_images(&world, &["app:v4", "app:v6"]).await?;
    same("revisions", (world.set("app:v4").await?.revision(), world.set("app:v6").await?.revision()), (6, 7))
}

async fn wait_images(world: &World, images: &[&str]) -> Outcome {
    world
        .wait_sets(&format!("sets of {images:?} only"), |sets| {
            let mut left: Vec<&str> = sets.iter().map(|set| set.image.as_str()).collect();
            left.sort_unstable();
            left == images
        })
        .await?;
    Ok(())
}
