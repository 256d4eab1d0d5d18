//! `spec.failurePolicy`: a revision that fails gives way to the last good one, while the template stays as its author
//! wrote it, and people decide about it (FP-1 to FP-10).

use serde_json::{Value, json};

use crate::blockers::quota;
use crate::command_line::{DONE, FAILED, expect, tool};
use crate::failure::{Failure, Outcome, ensure, same};
use crate::manifest::{Manifest, image_patch};
use crate::objects::{Deployment, Set, summaries};
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours restarting_pods_are_reverted because "apps/v1 has no failure policy",
    ours retried_and_aborted_by_command because "apps/v1 has no failure policy",
];

/// What the operator remembers of a ReplicaSet, and the two requests that it handles.
const MEMORY: &str = "rollwright.dev/rollout";
pub(crate) const RETRY: &str = "rollwright.dev/retry";
pub(crate) const ABORT: &str = "rollwright.dev/abort";
/// Deadlines in seconds. Only a template that should fail has the short one: on a slow machine, a good one might be
/// late for it, and so might a way back.
pub(crate) const SHORT: i64 = 5;
pub(crate) const LONG: i64 = 600;
/// What runs instead of what.
const WORDS: &str = "revision 1 runs instead of the declared revision 2";

/// A Deployment that reverts, without a pod to spare.
fn manifest(policy: &Value) -> Manifest {
    Manifest::new("web", 2).rolling(&json!(1), &json!(0)).spec("failurePolicy", policy)
}

/// A patch with another deadline.
fn within(seconds: i64, mut patch: Value) -> Value {
    patch["spec"]["progressDeadlineSeconds"] = json!(seconds);
    patch
}

/// The label `pod-template-hash` of the ReplicaSet with this image.
pub(crate) async fn hash(world: &World, name: &str, image: &str) -> Outcome<String> {
    let sets = world.sets().await?;
    let found = sets.iter().find(|set| set.name.starts_with(&format!("{name}-")) && set.image == image);
    let hash = found.and_then(|set| set.labels.get("pod-template-hash")).cloned();
    hash.ok_or_else(|| Failure::new(format!("no ReplicaSet of {image}: {}", summaries(&sets))))
}

/// Waits for the verdict on a revision; returns what is remembered with it.
pub(crate) async fn judged(world: &World, image: &str, verdict: &str) -> Outcome<Value> {
    let memory = |sets: &[Set]| -> Value {
        let set = sets.iter().find(|set| set.image == image);
        set.and_then(|set| serde_json::from_str(set.annotation(MEMORY)).ok()).unwrap_or_default()
    };
    let is_judged = |sets: &[Set]| memory(sets)["verdict"] == verdict;
    let sets = world.wait_sets(&format!("the verdict {verdict} on {image}"), is_judged).await?;
    Ok(memory(&sets))
}

/// Waits until the revision of this image is all that runs, after a revert, and nothing is left to report. On a slow
/// machine, a deadline of seconds may have passed on the way back (FP-8).
pub(crate) async fn reverted(world: &World, name: &str, image: &str) -> Outcome<Deployment> {
    let hash = hash(world, name, image).await?;
    let is_there = |web: &Deployment| {
        let all = ["replicas", "readyReplicas", "availableReplicas"];
        let none = ["updatedReplicas", "unavailableReplicas", "terminatingReplicas"];
        let newest = &web.value["status"]["history"][0];
        web.is_observed()
            && ["Reverted", "Aborted"].contains(&web.text("/status/target/reason"))
            && web.text("/status/target/podTemplateHash") == hash
            && all.iter().all(|count| web.status(count) == web.replicas())
            && none.iter().all(|count| web.status(count) == 0)
            && newest["trigger"] == "Revert"
            && ["Succeeded", "Failed"].iter().any(|outcome| newest["outcome"] == *outcome)
    };
    world.wait_until(name, &format!("the revert of {name} to {image}"), is_there).await
}

/// The restarts of a container, as a real server stores them.
async fn restarting_pods_are_reverted(world: World) -> Outcome {
    let policy = json!({"action": "Revert", "when": {"restarts": 2}});
    world.roll_out(&manifest(&policy)).await?;
    judged(&world, "app:v1", "Good").await?;
    world.set_image("web", "crash:v2").await?;
    let memory = judged(&world, "crash:v2", "Failed").await?;
    let words = "1 of 1 pods have a container that restarted 2 times or more";
    ensure(memory["cause"].as_str().is_some_and(|cause| cause.contains(words)), words, &memory)?;
    reverted(&world, "web", "app:v1").await?;
    world.wait_event("web", "Reverted", words).await.map(drop)
}

/// Each verb shows the revert. `status` counts a request from the moment it is made: the state before it is neither its
/// failure nor its success.
async fn retried_and_aborted_by_command(world: World) -> Outcome {
    let tool = tool(&world)?;
    world.roll_out(&manifest(&json!({"action": "Revert"}))).await?;
    // A quota is why a good revision fails.
    quota(&world, &json!({"pods": "2"})).await?;
    world.patch("web", &within(SHORT, image_patch("app:v2"))).await?;
    reverted(&world, "web", "app:v1").await?;
    expect(&tool, "status web", FAILED, WORDS).await?;
    expect(&tool, "status web --for=available", DONE, "has minimum availability").await?;
    expect(&tool, "why web", FAILED, &WORDS[1..]).await?;
    // The quota comes first, since no retry helps before it.
    expect(&tool, "why web", FAILED, "Next: kubectl describe quota -n").await?;
    expect(&tool, "get web", DONE, "runs revision 1: Reverted").await?;
    same("the column STATUS", world.get("web").await?.text("/status/display/summary"), "Reverted")?;
    expect(&tool, "list --reverted", DONE, "Reverted").await?;
    expect(&tool, "list --blocked --pinned", DONE, "No Deployments found.").await?;
    expect(&tool, "diff web", DONE, "+++ revision 2 (declared)").await?;
    expect(&tool, "history web", DONE, "Revert").await?;
    expect(&tool, "abort web", FAILED, "has been reverted already: revision 1 runs").await?;
    expect(&tool, "unpin web", FAILED, "kubectl rollwright retry deployment.rollwright.dev/web -n").await?;
    expect(&tool, "undo web --dry-run=server", DONE, "rolled back to revision 1 (app:v1) (server dry run)")
        .await?;

    world.kubectl.run(&["delete", "quota", "limit"]).await?;
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
