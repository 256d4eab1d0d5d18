//! A client that waits for a rollout of rollwright.dev learns when it is done, and not before: by the original of
//! `kstatus`, by which Helm and Flux wait, and by `kubectl wait`.

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use cluster::Binary;
use futures::TryStreamExt as _;
use kube::runtime::watcher::{self, Event};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::failure::{Failure, Outcome, ensure, same, until};
use crate::manifest::{Manifest, image_patch};
use crate::objects::Deployment;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours every_version_of_a_deployment because "kstatus has rules of its own for apps/v1",
    ours kubectl_waits_for_ready because "apps/v1 has no condition Ready",
];

/// Every version of the one Deployment in a namespace.
struct Versions {
    seen: Arc<Mutex<Vec<Deployment>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Versions {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Versions {
    fn record(world: &World) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (versions, world) = (seen.clone(), world.clone());
        let task = tokio::spawn(async move {
            let stream = watcher::watcher(world.deployments(), watcher::Config::default());
            let mut stream = std::pin::pin!(stream);
            while let Ok(Some(event)) = stream.try_next().await {
                let (Event::Apply(object) | Event::InitApply(object)) = event else { continue };
                let value = serde_json::to_value(object).unwrap_or_default();
                let version = Deployment::new(world.flavour, value);
                versions.lock().unwrap_or_else(PoisonError::into_inner).push(version);
            }
        });
        Self { seen, task }
    }

    /// What has been recorded since the last call, up to this version.
    async fn until(&self, world: &World, last: &Deployment) -> Outcome<Vec<Deployment>> {
        let version = "/metadata/resourceVersion";
        world
            .wait("the watch catching up", async || {
                let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                let is_there = seen.iter().any(|one| one.text(version) == last.text(version));
                until(is_there, format!("{} versions", seen.len()))
            })
            .await?;
        Ok(std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// What the original makes of these objects.
async fn kstatus(versions: &[Deployment]) -> Outcome<Vec<String>> {
    let program = tokio::task::spawn_blocking(|| Binary::Kstatus.locate()).await.map_err(failed)??;
    let mut child = tokio::process::Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let lines: String = versions.iter().map(|one| format!("{}\n", one.value)).collect();
    let mut input = child.stdin.take().ok_or_else(|| failed("no standard input"))?;
    let feed = tokio::spawn(async move { input.write_all(lines.as_bytes()).await });
    let output = child.wait_with_output().await?;
    feed.await.map_err(failed)??;
    ensure(output.status.success(), "an answer of kstatus", format!("{output:?}"))?;
    let answers = String::from_utf8_lossy(&output.stdout);
    let answers: Result<Vec<Value>, _> = answers.lines().map(serde_json::from_str).collect();
    let answers: Vec<_> =
        answers?.iter().map(|answer| answer["status"].as_str().unwrap_or_default().to_owned()).collect();
    same("answers", answers.len(), versions.len())?;
    Ok(answers)
}

fn failed(problem: impl std::fmt::Display) -> Failure {
    Failure::new(problem.to_string())
}

/// Only what is complete is Current; returns the answers.
async fn honest(versions: &[Deployment]) -> Outcome<Vec<String>> {
    let answers = kstatus(versions).await?;
    for (version, answer) in versions.iter().zip(&answers) {
        let is_allowed = answer != "Current" || version.is_complete();
        ensure(is_allowed, "nothing Current that is not complete", version.summary())?;
    }
    Ok(answers)
}

/// A rollout that gets on: InProgress from the first version on, Current in the end, never Failed.
async fn healthy(versions: &[Deployment]) -> Outcome {
    let answers = honest(versions).await?;
    ensure(!answers.iter().any(|answer| answer == "Failed"), "no failure", format!("{answers:?}"))?;
    same("the first", answers.first().map(String::as_str), Some("InProgress"))?;
    same("the last", answers.last().map(String::as_str), Some("Current"))
}

async fn every_version_of_a_deployment(world: World) -> Outcome {
    let versions = Versions::record(&world);
    let created = world.create(&Manifest::new("web", 3)).await?;
    same("observedGeneration in the answer to the creation", created.status("observedGeneration"), -1)?;
    let done = world.complete("web").await?;
    let seen = versions.until(&world, &done).await?;
    same("observedGeneration of the first version", seen[0].status("observedGeneration"), -1)?;
    healthy(&seen).await?;

    world.set_image("web", "app:v2").await?;
    let done = world.complete("web").await?;
    healthy(&versions.until(&world, &done).await?).await?;

    let mut bad = image_patch("bad:v3");
    bad["spec"]["progressDeadlineSeconds"] = json!(3);
    world.patch("web", &bad).await?;
    let stalled = |web: &Deployment| web.condition("Stalled").reason == "ProgressDeadlineExceeded";
    let stuck = world.wait_until("web", "the deadline having passed", stalled).await?;
    let answers = honest(&versions.until(&world, &stuck).await?).await?;
    same("the last", answers.last().map(String::as_str), Some("Failed"))?;

    // A slow machine must not make the next ones late.
    world.patch("web", &json!({"spec": {"progressDeadlineSeconds": 600}})).await?;
    let _stuck = versions.until(&world, &world.observed("web").await?).await?;
    world.roll_back("web", 0).await?;
    let done = world.complete("web").await?;
    let seen = versions.until(&world, &done).await?;
    // The request is observed by the reconcile that carries it out: nothing before that is about it.
    healthy(&seen).await?;

    world.patch("web", &json!({"spec": {"paused": true}})).await?;
    world.observed("web").await?;
    world.set_image("web", "app:v4").await?;
    let held = world.observed("web").await?;
    let answers = honest(&versions.until(&world, &held).await?).await?;
    same("a paused one", answers.last().map(String::as_str), Some("InProgress"))?;
    same("the reason", held.condition("Reconciling").reason.as_str(), "DeploymentPaused")?;
    world.patch("web", &json!({"spec": {"paused": false}})).await?;
    let done = world.complete("web").await?;
    healthy(&versions.until(&world, &done).await?).await
}

async fn kubectl_waits_for_ready(world: World) -> Outcome {
    let target = format!("{}/web", world.flavour.resource());
    let wait = ["wait", "--for=condition=Ready", &target, "--timeout=60s"];
    world.apply(&Manifest::new("web", 3)).await?;
    world.kubectl.run(&wait).await?;
    let web = world.get("web").await?;
    ensure(web.is_complete(), "a complete rollout when kubectl is done", web.summary())?;
    for image in ["app:v2", "app:v3"] {
        world.set_image("web", image).await?;
        world.kubectl.run(&wait).await?;
        let web = world.get("web").await?;
        ensure(web.is_complete(), "a complete rollout when kubectl is done", web.summary())?;
        same("the image", web.image(), image)?;
    }
    Ok(())
}
