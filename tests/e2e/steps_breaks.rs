//! A rollout with steps that is interrupted, goes wrong, or has to do without surge (SP-3, SP-5, SP-10).

use std::time::Duration;

use cluster::kubelet::NEVER_READY;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::evidence::pod_names;
use crate::failure::{Outcome, ensure, same};
use crate::manifest::Manifest;
use crate::objects::Deployment;
use crate::pinning::hash;
use crate::reverting::{ABORT, LONG, RETRY, SHORT, ask, judged, memory, reverted, target, within};
use crate::scenario::{Scenario, scenarios};
use crate::steps::{at_the_first_step, manifest, numbers, path, promote, promoted, rests, since, timed};
use crate::trace::Trace;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours a_break_begins_the_time_anew because "apps/v1 has no steps",
    ours aborted_and_retried_at_a_step because "apps/v1 has no steps",
    ours nothing_goes_on_that_is_not_available because "apps/v1 has no steps",
    ours pinned_at_a_step because "apps/v1 has no steps",
    ours steps_without_surge because "apps/v1 has no steps",
];

const IMAGES: &[&str] = &["app:v1", "app:v2"];

/// The pods of this image are ready, or they are not.
pub(crate) async fn ready(world: &World, image: &str, is_ready: bool) -> Outcome {
    let never = if is_ready { Value::Null } else { json!("true") };
    let patch = json!({"metadata": {"annotations": {NEVER_READY: never}}});
    for name in pod_names(world, image).await? {
        world.pod_api().patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
    }
    Ok(())
}

/// A pod that is not available for a while restarts the time of the rest. One of the old revision does not.
async fn a_break_begins_the_time_anew(world: World) -> Outcome {
    world.roll_out(&manifest(4, &json!([timed(&json!("50%"), 600)]))).await?;
    let trace = Trace::start(&world).await?;
    world.set_image("web", "app:v2").await?;
    let first = since(&rests(&world, "1 of 2: 2 of 4 updated, rests until ").await?)?;
    let available =
        |count: i64| move |web: &Deployment| web.is_observed() && web.status("availableReplicas") == count;
    ready(&world, "app:v1", false).await?;
    let web = world.wait_until("web", "two available pods", available(2)).await?;
    same("since when it rests", since(&web)?, first)?;
    ready(&world, "app:v1", true).await?;
    world.wait_until("web", "four available pods", available(4)).await?;

    // Times are in whole seconds.
    tokio::time::sleep(Duration::from_secs(2)).await;
    ready(&world, "app:v2", false).await?;
    let web = world.wait_until("web", "two available pods", available(2)).await?;
    same("since when it rests", web.text("/status/rollout/restingSince"), "")?;
    same("Progressing", web.progressing(), ("True".to_owned(), "ReplicaSetUpdated".to_owned()))?;
    same("step, of, updated, want", numbers(&web), [1, 2, 2, 2])?;
    ready(&world, "app:v2", true).await?;
    let again = since(&rests(&world, "1 of 2: 2 of 4 updated, rests until ").await?)?;
    ensure(again > first, "a time that begins anew", (first, again))?;
    same("the path", path(&trace.stop(&world).await?, IMAGES), ["4+0", "4+1", "3+1", "3+2", "2+2"])
}

/// Somebody gives a revision up while it rests, without a failure policy, and tries it again: from the first step, and
/// what was promoted before means nothing.
async fn aborted_and_retried_at_a_step(world: World) -> Outcome {
    at_the_first_step(&world).await?;
    promote(&world, "2/2").await?;
    rests(&world, "2 of 3: 2 of 4 updated").await?;
    ask(&world, "web", (ABORT, "2"), LONG).await?;
    let failed = judged(&world, "app:v2", "Failed").await?;
    same("why", &failed["aborted"], &json!(true))?;
    let web = reverted(&world, "web", "app:v1").await?;
    world.wait_sizes(&[("app:v1", 4), ("app:v2", 0)]).await?;
    same("Progressing", web.progressing(), ("False".to_owned(), "RolledBack".to_owned()))?;
    same("the step", &web.value["status"]["rollout"]["step"], &Value::Null)?;

    ask(&world, "web", (RETRY, "2/again"), LONG).await?;
    let web = rests(&world, "1 of 3: 1 of 4 updated").await?;
    same("status.target", target(&web), None::<&Value>)?;
    world.wait_sizes(&[("app:v1", 3), ("app:v2", 1)]).await?;
    promote(&world, "2/all").await?;
    world.complete("web").await?;
    judged(&world, "app:v2", "Good").await?;
    Ok(())
}

/// Pods that never come, without a policy: the step is not reached, the deadline passes, and neither time nor a
/// promotion takes more than a pod of surge. Then the next template goes through the steps.
async fn nothing_goes_on_that_is_not_available(world: World) -> Outcome {
    let steps = json!([timed(&json!(1), 1), promoted(&json!("50%"))]);
    world.roll_out(&manifest(4, &steps)).await?;
    let trace = Trace::start(&world).await?;
    let bad = json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "bad:v2"}]}}}});
    world.patch("web", &within(SHORT, bad)).await?;
    let late = |web: &Deployment| web.is_observed() && web.progressing().1 == "ProgressDeadlineExceeded";
    world.wait_until("web", "the deadline", late).await?;
    promote(&world, "2/50%").await?;
    world.wait_event("web", "Promoted", "Revision 2 is promoted to step 2 of 3").await?;
    same("the step", &memory(&world.sets().await?, "bad:v2")["steps"]["step"], &json!(2))?;
    promote(&world, "2/1").await?;
    world.wait_event("web", "PromotionRefused", "names step 1 of 3").await?;
    promote(&world, "2/half").await?;
    world.wait_event("web", "PromotionRefused", "names no step").await?;
    let seen = trace.stop(&world).await?;
    same("the path", path(&seen, &["app:v1", "bad:v2"]), ["4+0", "4+1"])?;
    let good = json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:v3"}]}}}});
    world.patch("web", &within(LONG, good)).await?;
    rests(&world, "2 of 3: 2 of 4 updated").await?;
    world.wait_sizes(&[("app:v1", 2), ("bad:v2", 0), ("app:v3", 2)]).await?;
    Ok(())
}

/// A pin takes all pods to the first revision, without steps. Once it is released, the rollout continues where it was,
/// and waits there.
async fn pinned_at_a_step(world: World) -> Outcome {
    at_the_first_step(&world).await?;
    promote(&world, "2/2").await?;
    rests(&world, "2 of 3: 2 of 4 updated").await?;
    let trace = Trace::start(&world).await?;
    let hash = hash(&world, "web", "app:v1").await?;
    world.patch("web", &json!({"spec": {"pin": {"hash": hash, "reason": "INC-4711"}}})).await?;
    world.wait_sizes(&[("app:v1", 4), ("app:v2", 0)]).await?;
    let is_pinned = |web: &Deployment| {
        web.is_observed() && web.text("/status/target/because") == "Pinned" && web.status("replicas") == 4
    };
    let web = world.wait_until("web", "the pin", is_pinned).await?;
    same("the step", &web.value["status"]["rollout"]["step"], &Value::Null)?;
    world.patch("web", &json!({"spec": {"pin": null}})).await?;
    rests(&world, "2 of 3: 2 of 4 updated").await?;
    same("what is remembered", &memory(&world.sets().await?, "app:v2")["steps"]["step"], &json!(2))?;
    let seen = trace.stop(&world).await?;
    seen.ensure_at_most(5)?;
    seen.ensure_available(4)?;
    promote(&world, "2/all").await?;
    world.complete("web").await?;
    Ok(())
}

/// No surge, and a pod that may be missing: it is taken first. While the rollout waits, all pods are there (SP-3).
async fn steps_without_surge(world: World) -> Outcome {
    let bounds = json!({"maxSurge": 0, "maxUnavailable": 1, "steps": [promoted(&json!("50%"))]});
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": bounds});
    world.roll_out(&Manifest::new("web", 4).spec("strategy", &strategy)).await?;
    let trace = Trace::start(&world).await?;
    world.set_image("web", "app:v2").await?;
    rests(&world, "1 of 2: 2 of 4 updated").await?;
    world.wait_until("web", "four available pods", |it| it.status("availableReplicas") == 4).await?;
    promote(&world, "2/all").await?;
    world.complete("web").await?;
    let seen = trace.stop(&world).await?;
    seen.ensure_at_most(4)?;
    seen.ensure_available(3)?;
    let path = path(&seen, IMAGES).join(" ");
    same("the path", path.as_str(), "4+0 3+0 3+1 2+1 2+2 1+2 1+3 0+3 0+4")
}
