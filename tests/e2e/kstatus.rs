//! A client that waits for a rollout of rollwright.dev learns when it is done, and not before: by the original of
//! `kstatus`, by which Helm and Flux wait, and by `kubectl wait`.

use std::process::Stdio;

use cluster::Binary;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::failure::{Failure, Outcome, ensure, same};
use crate::manifest::{Manifest, image_patch};
use crate::objects::Deployment;
use crate::scenario::{Scenario, scenarios};
use crate::watch::Sightings;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours every_version_of_a_deployment because "kstatus has rules of its own for apps/v1",
    ours kubectl_waits_for_ready because "apps/v1 has no condition Ready",
];

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

/// Versions of the Deployment, one after the other, and what `kstatus` makes of each.
struct Part<'a>(&'a [(Deployment, String)]);

impl Part<'_> {
    fn last(&self) -> Option<&str> {
        self.0.last().map(|(_, answer)| answer.as_str())
    }

    /// A rollout that gets on: InProgress from the first version on, Current in the end, never Failed.
    fn is_healthy(&self) -> Outcome {
        let answers: Vec<&str> = self.0.iter().map(|(_, answer)| answer.as_str()).collect();
        ensure(!answers.contains(&"Failed"), "no failure", &answers)?;
        same("the first", answers.first(), Some(&"InProgress"))?;
        same("the last", answers.last(), Some(&"Current"))
    }
}

async fn every_version_of_a_deployment(world: World) -> Outcome {
    let sightings = Sightings::start(&world, world.deployments()).await?;
    let created = world.create(&Manifest::new("web", 3)).await?;
    same("observedGeneration in the answer to the creation", created.status("observedGeneration"), -1)?;
    let mut ends = vec![world.complete("web").await?];
    ends.push(world.update("web", "app:v2").await?);

    let mut bad = image_patch("bad:v3");
    bad["spec"]["progressDeadlineSeconds"] = json!(3);
    world.patch("web", &bad).await?;
    let stalled = |web: &Deployment| web.condition("Stalled").reason == "ProgressDeadlineExceeded";
    ends.push(world.wait_until("web", "the deadline having passed", stalled).await?);
    // A slow machine must not make the next ones late.
    world.patch("web", &json!({"spec": {"progressDeadlineSeconds": 600}})).await?;
    ends.push(world.observed("web").await?);
    world.roll_back("web", 0).await?;
    ends.push(world.complete("web").await?);

    world.patch("web", &json!({"spec": {"paused": true}})).await?;
    world.observed("web").await?;
    world.set_image("web", "app:v4").await?;
    let held = world.observed("web").await?;
    same("the reason", held.condition("Reconciling").reason.as_str(), "DeploymentPaused")?;
    ends.push(held);
    world.patch("web", &json!({"spec": {"paused": false}})).await?;
    ends.push(world.complete("web").await?);

    let seen = sightings.stop(&world).await?.into_iter();
    let versions: Vec<_> = seen.map(|it| Deployment::new(world.flavour, it.object)).collect();
    same("observedGeneration of the first version", versions[0].status("observedGeneration"), -1)?;
    let answers = kstatus(&versions).await?;
    let seen: Vec<_> = versions.into_iter().zip(answers).collect();
    for (version, answer) in &seen {
        let is_allowed = answer != "Current" || version.is_complete();
        ensure(is_allowed, "nothing Current that is not complete", version.summary())?;
    }
    let parts = parts(&seen, &ends)?;
    for number in [0, 1, 6] {
        parts[number].is_healthy()?;
    }
    same("the last of a late one", parts[2].last(), Some("Failed"))?;
    // The request is observed by the reconcile that carries it out: nothing before that is about it.
    parts[4].is_healthy()?;
    same("the last of a paused one", parts[5].last(), Some("InProgress"))
}

/// Splits what was seen after each of these versions, and what else has its generation.
fn parts<'a>(seen: &'a [(Deployment, String)], ends: &[Deployment]) -> Outcome<Vec<Part<'a>>> {
    let version = |web: &Deployment| web.text("/metadata/resourceVersion").to_owned();
    let (mut rest, mut parts) = (seen, Vec::new());
    for end in ends {
        let place = rest.iter().position(|(web, _)| version(web) == version(end));
        let place = place.ok_or_else(|| failed(format!("never seen: {}", end.summary())))?;
        let is_later = |(web, _): &&(Deployment, String)| web.generation() == end.generation();
        let later = rest.iter().skip(place + 1).take_while(is_later).count();
        let (part, after) = rest.split_at(place + 1 + later);
        rest = after;
        parts.push(Part(part));
    }
    Ok(parts)
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
