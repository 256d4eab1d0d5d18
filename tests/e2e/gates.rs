//! Gates and hooks with the real Job controller (GA-1 to GA-9).

use std::time::Duration;

use cluster::NotYet;
use jiff::Timestamp;
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::autoscaling::wait_autoscaled;
use crate::command_line::{DONE, FAILED, PAUSED, TIMEOUT, expect, tool};
use crate::failure::{Outcome, ensure, same, until};
use crate::manifest::Manifest;
use crate::ownership::pods_of;
use crate::quiet::{ensure_quiet, writes};
use crate::reverting::{judged, reverted};
use crate::scenario::{Scenario, scenarios};
use crate::watch::Trace;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours a_rollout_waits_for_its_jobs because "apps/v1 has no gates",
    ours jobs_that_fail_end_a_rollout because "apps/v1 has no gates",
    ours jobs_that_cannot_run_are_no_success because "apps/v1 has no gates",
    ours scaled_and_paused_at_a_gate because "apps/v1 has no gates",
    ours given_up_at_a_gate because "apps/v1 has no gates",
    own ours killed_at_each_moment_of_a_gate because "apps/v1 has no gates",
];

/// A Job with a pod that ends like this, after this many milliseconds, or `never`.
fn job(exit_code: u8, after: &str) -> Value {
    let fate = json!({"fake.rollwright.dev/exit-code": exit_code.to_string(), "fake.rollwright.dev/ends-after-ms": after});
    let containers = json!([{"name": "check", "image": "check:v1"}]);
    json!({"template": {"metadata": {"annotations": fate}, "spec": {"containers": containers}}})
}

/// A strategy with a gate at the first pod, and perhaps hooks.
fn gated(job: &Value, more: &Value) -> Value {
    let steps = json!([{"updated": 1, "gate": {"job": job, "timeoutSeconds": 20}}]);
    let mut strategy = json!({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0, "steps": steps}});
    strategy
        .as_object_mut()
        .into_iter()
        .for_each(|it| it.extend(more.as_object().cloned().unwrap_or_default()));
    strategy
}

fn jobs_api(world: &World) -> Api<DynamicObject> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("batch", "v1", "Job"));
    Api::namespaced_with(world.client(), &world.namespace, &kind)
}

async fn jobs(world: &World) -> Outcome<Vec<String>> {
    let all = jobs_api(world).list(&kube::api::ListParams::default()).await?;
    Ok(all.into_iter().map(|job| job.name_any()).collect())
}

async fn uid(world: &World, job: &str) -> Outcome<Option<String>> {
    Ok(jobs_api(world).get(job).await?.uid())
}

/// The pod of this Job, which runs until somebody asks, ends.
async fn end_job(world: &World, job: &str) -> Outcome {
    let selector = format!("--selector=batch.kubernetes.io/job-name={job}");
    let words = ["annotate", "pods", &selector, "--overwrite", "fake.rollwright.dev/ends-after-ms=0"];
    world.kubectl.run(&words).await?;
    world.wait_event("web", "JobPassed", &format!("Job {job} succeeded")).await.map(drop)
}

pub(crate) async fn wait_jobs(world: &World, names: &[&str]) -> Outcome {
    world
        .wait(&format!("the Jobs {names:?}"), async || {
            let all = jobs(world).await.map_err(|failure| NotYet(failure.0))?;
            until(all == names, all.join(" "))
        })
        .await
}

async fn message(world: &World, kind: &str, words: &str) -> Outcome {
    let is_there =
        |web: &crate::objects::Deployment| web.is_observed() && web.condition(kind).message.contains(words);
    world.wait_until("web", &format!("{kind} with {words}"), is_there).await.map(drop)
}

/// Hooks and a gate, one after the other; no pod comes before its Job has succeeded, and each Job runs once.
async fn a_rollout_waits_for_its_jobs(world: World) -> Outcome {
    let tool = tool(&world)?;
    let hooks = json!({"hooks": {"before": {"job": job(0, "3000")}, "after": {"job": job(0, "1000")}}});
    world.create(&Manifest::new("web", 3).spec("strategy", &gated(&job(0, "4000"), &hooks))).await?;
    wait_jobs(&world, &["web-1-before-1"]).await?;
    same("pods before the hook", world.sets().await?.iter().map(|set| set.size).sum::<i64>(), 0)?;
    same("the column STATUS", world.get("web").await?.text("/status/display/summary"), "Resting")?;
    judged(&world, "app:v1", "Good").await?;
    wait_jobs(&world, &["web-1-after-2", "web-1-before-1"]).await?;
    let trace = Trace::start(&world).await?;
    world.set_image("web", "app:v2").await?;
    message(&world, "Reconciling", "rests until Job web-2-before-1 succeeds").await?;
    expect(&tool, "why web", TIMEOUT, "kubectl logs -n").await?;
    message(&world, "Reconciling", "1 of 3 updated, rests until Job web-2-1-2 succeeds").await?;
    world.wait_sizes(&[("app:v1", 2), ("app:v2", 1)]).await?;
    expect(&tool, "promote web --full", FAILED, "has not passed").await?;
    message(&world, "Reconciling", "all pods are updated: it rests until Job web-2-after-3 succeeds").await?;
    expect(&tool, "status web --timeout=60s", DONE, "successfully rolled out").await?;
    judged(&world, "app:v2", "Good").await?;
    let seen = trace.stop(&world).await?;
    seen.ensure_at_most(4)?;
    seen.ensure_available(3)?;
    same(
        "Jobs of revision 2",
        jobs(&world).await?.iter().filter(|name| name.starts_with("web-2-")).count(),
        3,
    )?;
    // An incident does not wait for a Job.
    world.roll_back("web", 1).await?;
    world.wait_sizes(&[("app:v1", 3), ("app:v2", 0)]).await?;
    ensure_quiet(&world, Duration::from_secs(5)).await?;
    same(
        "Jobs of revision 3",
        jobs(&world).await?.iter().filter(|name| name.starts_with("web-3-")).count(),
        0,
    )
}

/// A gate that fails reverts the rollout; so does one that takes too long, and its Job is deleted. Without a policy,
/// the rollout rests, until somebody forces it.
async fn jobs_that_fail_end_a_rollout(world: World) -> Outcome {
    let tool = tool(&world)?;
    let strategy = gated(&job(1, "1000"), &json!({}));
    let manifest = Manifest::new("web", 3).spec("strategy", &strategy);
    world.roll_out(&manifest.spec("failurePolicy", &json!({"action": "Revert"}))).await?;
    judged(&world, "app:v1", "Good").await?;
    world.set_image("web", "app:v2").await?;
    reverted(&world, "web", "app:v1").await?;
    let cause = "The gate of step 1 failed: Job web-2-1-1: container check exited with code 1";
    world.wait_event("web", "JobFailed", cause).await?;
    let hanging = gated(&job(0, "never"), &json!({}));
    world.patch("web", &json!({"spec": {"strategy": hanging}})).await?;
    world.set_image("web", "app:v3").await?;
    world
        .wait_event("web", "JobFailed", "Job web-3-1-1: it ran for longer than 20 s (timeoutSeconds)")
        .await?;
    reverted(&world, "web", "app:v1").await?;
    wait_jobs(&world, &["web-2-1-1"]).await?;

    world.patch("web", &json!({"spec": {"failurePolicy": null, "strategy": strategy}})).await?;
    world.set_image("web", "app:v4").await?;
    message(&world, "Stalled", "rests because Job web-4-1-1 failed (container check exited with code 1)")
        .await?;
    expect(&tool, "status web --watch=false", PAUSED, "rests because Job web-4-1-1 failed").await?;
    expect(&tool, "promote web", FAILED, "`promote --force` passes gates").await?;
    expect(&tool, "promote web --force", DONE, "requested").await?;
    let web = world.complete("web").await?;
    same("who forced it", &web.value["status"]["history"][0]["promotions"][0]["forced"], &json!(true))
}

/// Quota, a template that the server refuses, an image that cannot be pulled, and a Job that somebody deletes.
async fn jobs_that_cannot_run_are_no_success(world: World) -> Outcome {
    let tool = tool(&world)?;
    let mut refused = job(0, "500");
    refused["template"]["spec"]["restartPolicy"] = "Always".into();
    world.create(&Manifest::new("web", 3).spec("strategy", &gated(&refused, &json!({})))).await?;
    message(&world, "Stalled", "spec.strategy.rollingUpdate.steps[0].gate.job: ").await?;
    expect(&tool, "get web", DONE, "gate.job").await?;
    same("ReplicaSets", world.sets().await?.len(), 0)?;
    let mut alike = job(0, "500");
    alike["template"]["metadata"]["labels"] = json!({"app": "web"});
    world.patch("web", &json!({"spec": {"strategy": gated(&alike, &json!({}))}})).await?;
    message(&world, "Stalled", "match spec.selector").await?;
    let mut missing = job(0, "500");
    missing["template"]["spec"]["containers"][0]["image"] = "bad:v1".into();
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "jobs"},
        "spec": {"hard": {"count/jobs.batch": "0"}}});
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ResourceQuota"));
    let quotas: Api<DynamicObject> = Api::namespaced_with(world.client(), &world.namespace, &kind);
    let is_pending =
        |web: &crate::objects::Deployment| web.condition("Progressing").reason == "RestingAtStep";
    world.patch("web", &json!({"spec": {"strategy": gated(&missing, &json!({}))}})).await?;
    world.complete("web").await?;
    judged(&world, "app:v1", "Good").await?;
    world.set_image("web", "app:v2").await?;
    world.wait_until("web", "the gate", is_pending).await?;
    message(&world, "Reconciling", "(its pod does not run: ImagePull: ").await?;
    jobs_api(&world).delete("web-2-1-1", &DeleteParams::background()).await?;
    wait_jobs(&world, &["web-2-1-2"]).await?;
    quotas.create(&kube::api::PostParams::default(), &serde_json::from_value(quota)?).await?;
    world
        .wait("the quota", async || {
            let quota = serde_json::to_value(quotas.get("jobs").await?)?;
            until(!quota["status"]["hard"].is_null(), quota.to_string())
        })
        .await?;
    // The newest template counts, and the quota is in its way.
    world.patch("web", &json!({"spec": {"strategy": gated(&job(0, "500"), &json!({}))}})).await?;
    message(&world, "Reconciling", "exceeded quota").await?;
    let set = world.set("app:v2").await?;
    ensure(set.size == 1, "no pod of the next step", set.size)?;
    quotas.delete("jobs", &DeleteParams::default()).await?;
    expect(&tool, "status web --timeout=60s", DONE, "successfully rolled out").await.map(drop)
}

/// An autoscaler's new size at a gate: both revisions follow it by the step's share, and the Job runs on. A pause lets
/// it end, and begins none.
async fn scaled_and_paused_at_a_gate(world: World) -> Outcome {
    let tool = tool(&world)?;
    let gate = json!({"job": job(0, "never")});
    let steps = json!([{"updated": "25%", "gate": gate}, {"updated": "50%", "gate": gate}]);
    let strategy = json!({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0, "steps": steps}});
    world.roll_out(&Manifest::new("web", 4).spec("strategy", &strategy)).await?;
    judged(&world, "app:v1", "Good").await?;
    let trace = Trace::start(&world).await?;
    world.set_image("web", "app:v2").await?;
    message(&world, "Reconciling", "1 of 4 updated, rests until Job web-2-1-1 succeeds (running since")
        .await?;
    let first = uid(&world, "web-2-1-1").await?;
    // Below its minimum the autoscaler needs no metrics to scale.
    let target = format!("{}/web", world.flavour.resource());
    world.kubectl.run(&["autoscale", &target, "--min=8", "--max=8", "--cpu-percent=80"]).await?;
    wait_autoscaled(&world, 8).await?;
    world.wait_sizes(&[("app:v1", 6), ("app:v2", 2)]).await?;
    message(&world, "Reconciling", "2 of 8 updated, rests until Job web-2-1-1 succeeds (running since")
        .await?;
    ensure_quiet(&world, Duration::from_secs(5)).await?;

    expect(&tool, "pause web", DONE, "paused").await?;
    world.wait_until("web", "the pause", |web| web.progressing().1 == "DeploymentPaused").await?;
    end_job(&world, "web-2-1-1").await?;
    ensure_quiet(&world, Duration::from_secs(5)).await?;
    wait_jobs(&world, &["web-2-1-1"]).await?;
    let seen = trace.stop(&world).await?;
    same("the most pods at step 1", seen.sizes("app:v2").into_iter().max(), Some(2))?;
    expect(&tool, "resume web", DONE, "resumed").await?;
    world.wait_sizes(&[("app:v1", 4), ("app:v2", 4)]).await?;
    wait_jobs(&world, &["web-2-1-1", "web-2-2-2"]).await?;
    same("the Job of step 1", uid(&world, "web-2-1-1").await?, first)?;
    end_job(&world, "web-2-2-2").await?;
    world.complete("web").await.map(drop)
}

/// A newer template, a pin, an abort, and a failure: each deletes the Job, and only a declared revision has one.
async fn given_up_at_a_gate(world: World) -> Outcome {
    let tool = tool(&world)?;
    let policy = json!({"action": "Revert", "when": {"restarts": 2}});
    let strategy = gated(&job(0, "never"), &json!({}));
    world
        .roll_out(&Manifest::new("web", 3).spec("strategy", &strategy).spec("failurePolicy", &policy))
        .await?;
    judged(&world, "app:v1", "Good").await?;
    let since = Timestamp::now();
    for (image, jobs) in [("app:v2", "web-2-1-1"), ("app:v3", "web-3-1-1")] {
        world.set_image("web", image).await?;
        wait_jobs(&world, &[jobs]).await?;
    }
    expect(&tool, "undo web --pin --to-revision=1 --wait --timeout=60s", DONE, "the pinned revision 1")
        .await?;
    ensure_quiet(&world, Duration::from_secs(5)).await?;
    wait_jobs(&world, &[]).await?;
    expect(&tool, "unpin web", DONE, "unpinned").await?;
    wait_jobs(&world, &["web-3-1-2"]).await?;
    expect(&tool, "abort web", DONE, "abort of revision 3 requested").await?;
    reverted(&world, "web", "app:v1").await?;
    wait_jobs(&world, &[]).await?;

    world.set_image("web", "app:v4").await?;
    wait_jobs(&world, &["web-4-1-1"]).await?;
    let set = world.set("app:v4").await?;
    for pod in pods_of(&world, &set).await? {
        world.kubectl.run(&["set", "image", &format!("pod/{pod}"), "app=crash:v4"]).await?;
    }
    reverted(&world, "web", "app:v1").await?;
    world.wait_event("web", "Reverted", "a container that restarted 2 times or more").await?;
    wait_jobs(&world, &[]).await?;
    let writes = writes(&world, since)?.into_iter();
    let mut deleted: Vec<String> =
        writes.filter(|it| it.verb == "delete" && it.resource == "jobs").map(|it| it.name).collect();
    deleted.sort();
    same("deleted", deleted, ["web-2-1-1", "web-3-1-1", "web-3-1-2", "web-4-1-1"].map(str::to_owned).to_vec())
}

/// The operator is killed again and again while a rollout goes through its hooks and its gate: no Job is made twice.
async fn killed_at_each_moment_of_a_gate(world: World) -> Outcome {
    let hooks = json!({"hooks": {"before": {"job": job(0, "1500")}, "after": {"job": job(0, "1500")}}});
    world.roll_out(&Manifest::new("web", 3).spec("strategy", &gated(&job(0, "1500"), &json!({})))).await?;
    world.patch("web", &json!({"spec": {"strategy": gated(&job(0, "1500"), &hooks)}})).await?;
    world.set_image("web", "app:v2").await?;
    let operator = world.operator()?;
    for moment in 0..14 {
        tokio::time::sleep(Duration::from_millis(150 + 130 * moment)).await;
        operator.kill();
        operator.start_again()?;
    }
    world.complete("web").await?;
    wait_jobs(&world, &["web-2-1-2", "web-2-after-3", "web-2-before-1"]).await?;
    ensure_quiet(&world, Duration::from_secs(5)).await?;
    wait_jobs(&world, &["web-2-1-2", "web-2-after-3", "web-2-before-1"]).await
}
