//! What `kubectl rollwright` shows of a revision that failed, and what people do about it with that.

use serde_json::{Value, json};

use crate::command_line::{DONE, FAILED, NOT_FOUND, expect, tool};
use crate::failure::{Outcome, ensure, same};
use crate::flavour::Flavour;
use crate::manifest::image_patch;
use crate::objects::Deployment;
use crate::retrying::reverted_by_a_quota;
use crate::reverting::{LONG, SHORT, judged, manifest, within};
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours retried_and_aborted_by_command because "apps/v1 has no failure policy",
    ours held_until_somebody_decides because "apps/v1 has no failure policy",
    own ours back_to_apps_after_a_revert because "it leads from ours to apps/v1",
];

/// The column STATUS while nothing is rolled out before somebody decides.
const HELD: &str = "Blocked: RolloutFailed";
/// What runs instead of what.
const WORDS: &str = "revision 1 runs instead of the declared revision 2";

/// Each verb shows the revert. `status` counts a request from the moment it is made: the state before it is neither its
/// failure nor its success.
async fn retried_and_aborted_by_command(world: World) -> Outcome {
    let tool = tool(&world)?;
    reverted_by_a_quota(&world).await?;
    expect(&tool, "status web", FAILED, WORDS).await?;
    expect(&tool, "status web --for=available", DONE, "has minimum availability").await?;
    expect(&tool, "why web", FAILED, WORDS).await?;
    expect(&tool, "why web", FAILED, "Next: kubectl rollwright retry deployment.rollwright.dev/web -n")
        .await?;
    expect(&tool, "get web", DONE, "runs revision 1: Reverted").await?;
    same("the column STATUS", world.get("web").await?.text("/status/state"), "Reverted")?;
    expect(&tool, "list --reverted", DONE, "Reverted").await?;
    expect(&tool, "list --blocked --pinned", DONE, "No Deployments found.").await?;
    expect(&tool, "diff web", DONE, "+++ revision 2 (declared)").await?;
    expect(&tool, "history web", DONE, "Revert").await?;
    expect(&tool, "abort web", FAILED, "has been reverted already: revision 1 runs").await?;
    expect(&tool, "unpin web", FAILED, "kubectl rollwright retry deployment.rollwright.dev/web -n").await?;
    expect(&tool, "undo web --dry-run=server", DONE, "rolled back to revision 1 (server dry run)").await?;

    world.kubectl.run(&["delete", "quota", "full"]).await?;
    world.patch("web", &within(LONG, json!({}))).await?;
    world.observed("web").await?;
    expect(&tool, "retry web", DONE, "retry of revision 2 requested").await?;
    expect(&tool, "status web --timeout=120s", DONE, "successfully rolled out").await?;
    expect(&tool, "retry web", FAILED, "revision 2 of web has not failed").await?;
    judged(&world, "app:v2", "Good").await?;
    expect(&tool, "abort web", DONE, "abort of revision 2 requested").await?;
    expect(&tool, "status web --timeout=120s", FAILED, WORDS).await?;
    same("the template", world.get("web").await?.image(), "app:v2")?;
    expect(&tool, "undo web --wait --timeout=120s", DONE, "successfully rolled out").await?;
    same("the template", world.get("web").await?.image(), "app:v1")
}

/// Nothing is rolled out, and each verb reports that. `undo` goes back to the good revision.
async fn held_until_somebody_decides(world: World) -> Outcome {
    let tool = tool(&world)?;
    world.roll_out(&manifest("web", 2).spec("failurePolicy", &json!({"action": "Pause"}))).await?;
    expect(&tool, "abort web", NOT_FOUND, "apply another template").await?;
    same("a request", world.get("web").await?.text("/metadata/annotations/rollwright.dev~1abort"), "")?;
    world.patch("web", &within(SHORT, image_patch("bad:v2"))).await?;
    held(&world, "bad:v2").await?;
    expect(&tool, "status web", FAILED, "the declared revision 2 failed").await?;
    expect(&tool, "why web", FAILED, "the declared revision 2 failed").await?;
    // While it waits for somebody, the status has no blockers.
    expect(&tool, "list --blocked", DONE, HELD).await?;
    expect(&tool, "diff web", DONE, "--- revision 1 (the last good one)").await?;
    world.patch("web", &within(SHORT, image_patch("bad:v3"))).await?;
    held(&world, "bad:v3").await?;
    expect(&tool, "status web", FAILED, "the declared revision 3 failed").await?;
    // The spec changes, and revision 2, which failed, does not become the one to go back to.
    world.scale("web", 3).await?;
    expect(&tool, "undo web --dry-run=client", DONE, "rolled back to revision 1 (client dry run)").await?;
    expect(&tool, "migrate web --back --dry-run", FAILED, "apps/v1 has no failure policy").await?;
    expect(&tool, "undo web --wait --timeout=120s", DONE, "successfully rolled out").await?;
    same("the template", world.get("web").await?.image(), "app:v1")
}

/// Waits until the status reports that this image failed, which is after the verdict is stored. Between the two, it
/// reports the deadline.
async fn held(world: &World, image: &str) -> Outcome {
    judged(world, image, "Failed").await?;
    let is_reported = |web: &Deployment| web.is_observed() && web.text("/status/state") == HELD;
    world.wait_until("web", &format!("the status that {image} failed"), is_reported).await?;
    Ok(())
}

/// Only with consent, since apps/v1 rolls out the declared revision.
async fn back_to_apps_after_a_revert(world: World) -> Outcome {
    world.stage.cluster.run_deployment_controller(true).await?;
    let tool = tool(&world)?;
    reverted_by_a_quota(&world).await?;
    let refused = expect(&tool, "migrate web --back", FAILED, "add --accept-declared").await?;
    ensure(refused.stderr.contains(WORDS), WORDS, &refused)?;
    same("the policy", world.get("web").await?.text("/spec/failurePolicy/action"), "Revert")?;
    let removed = "remove the field spec.failurePolicy from deployment.rollwright.dev/web";
    expect(&tool, "migrate web --back --accept-declared --dry-run", DONE, removed).await?;

    world.kubectl.run(&["delete", "quota", "full"]).await?;
    world.patch("web", &within(LONG, json!({}))).await?;
    world.observed("web").await?;
    expect(&tool, "migrate web --back --accept-declared --timeout=120s", DONE, removed).await?;
    let apps = World { flavour: Flavour::AppsV1, ..world.clone() };
    let web = apps.complete("web").await?;
    same("the template", web.image(), "app:v2")?;
    same("the policy", web.value.pointer("/spec/failurePolicy"), None::<&Value>)?;
    apps.wait_sizes(&[("app:v1", 0), ("app:v2", 2)]).await?;
    Ok(())
}
