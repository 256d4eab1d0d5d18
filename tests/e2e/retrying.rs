//! Somebody decides about a revision, with or without a failure policy: by the annotations
//! `rollwright.dev/retry` and `rollwright.dev/abort` (FP-9).

use serde_json::{Value, json};

use crate::failure::{Outcome, same, until};
use crate::manifest::image_patch;
use crate::objects::Set;
use crate::reverting::{
    ABORT, LONG, RETRY, SHORT, ask, is_reported, judged, manifest, memory, reverted, target, told, within,
};
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours retried_and_aborted because "apps/v1 has no failure policy",
];

/// Somebody decides: to try a revision again, once for each text, or to give it up.
async fn retried_and_aborted(world: World) -> Outcome {
    retried(&world).await?;
    aborted(&world, ("web", "3"), "bad:v3", ("app:v2", 2)).await?;

    // Without a policy, too.
    let plain = manifest("plain", 2).image("app:p1").spec("failurePolicy", &Value::Null);
    world.roll_out(&plain).await?;
    aborted(&world, ("plain", "2"), "bad:p2", ("app:p1", 1)).await?;
    // The request means nothing for the next revision.
    world.set_image("plain", "app:p3").await?;
    let plain = world.complete("plain").await?;
    same("status.target", target(&plain), None::<&Value>)?;
    world.wait_sizes(&[("app:p1", 0), ("bad:p2", 0), ("app:p3", 2)]).await?;
    Ok(())
}

/// Two pods of revision 1 run instead of revision 2, which is fine, but a quota allows none of its pods.
pub(crate) async fn reverted_by_a_quota(world: &World) -> Outcome {
    world.roll_out(&manifest("web", 2)).await?;
    world.kubectl.run(&["create", "quota", "full", "--hard=pods=2"]).await?;
    world
        .wait("the quota being in force", async || {
            let quota = world.kubectl.json(&["get", "resourcequota", "full"]).await?;
            until(quota["status"]["hard"]["pods"] == "2", &quota["status"])
        })
        .await?;
    world.patch("web", &within(SHORT, image_patch("app:v2"))).await?;
    reverted(world, "web", "app:v1").await?;
    Ok(())
}

/// A quota is why a good revision fails, twice. Once it is gone, another request succeeds.
async fn retried(world: &World) -> Outcome {
    reverted_by_a_quota(world).await?;
    ask(world, "web", (RETRY, "2/first"), SHORT).await?;
    world.wait_event("web", "RevertEnded", "the declared revision is rolled out").await?;
    let is_heard = |sets: &[Set]| {
        let memory = memory(sets, "app:v2");
        memory["verdict"] == "Failed" && memory["retry"] == "2/first"
    };
    world.wait_sets("the first retry having failed", is_heard).await?;
    let before = reverted(world, "web", "app:v1").await?;
    is_reported(&before, 1, 2)?;
    let records = told(&before);
    same("the newest records", &records[..2], &["1 Revert Succeeded", "2 Revert Failed"][..])?;
    // Another reconcile finds the same request, and does not carry it out again.
    world.patch("web", &json!({"spec": {"revisionHistoryLimit": 5}})).await?;
    let after = world.observed("web").await?;
    same("status.target", target(&after), target(&before))?;
    same("the history", told(&after), records)?;

    world.kubectl.run(&["delete", "quota", "full"]).await?;
    ask(world, "web", (RETRY, "2/second"), LONG).await?;
    let web = world.complete("web").await?;
    same("status.target", target(&web), None::<&Value>)?;
    same("revision", web.revision(), 2)?;
    let good = judged(world, "app:v2", "Good").await?;
    same("the request that was heard last", &good["retry"], &json!("2/second"))
}

/// A rollout is given up long before its deadline.
async fn aborted(
    world: &World,
    (name, request): (&str, &str),
    bad: &str,
    (good, revision): (&str, i64),
) -> Outcome {
    world.set_image(name, bad).await?;
    world.wait_sizes(&[(bad, 1), (good, 2)]).await?;
    ask(world, name, (ABORT, request), LONG).await?;
    let failed = judged(world, bad, "Failed").await?;
    let memory = (&failed["aborted"], &failed["abort"]);
    same("what is remembered", memory, (&json!(true), &json!(request)))?;
    let web = reverted(world, name, good).await?;
    is_reported(&web, revision, revision + 1)?;
    same("the template", web.image(), bad)?;
    world.wait_sizes(&[(bad, 0), (good, 2)]).await?;
    Ok(())
}
