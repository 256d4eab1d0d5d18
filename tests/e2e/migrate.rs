//! `kubectl rollwright migrate`, there and back, with Kubernetes' own Deployment controller running beside the
//! operator: no pod is ever created or deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;

use cluster::{NotYet, Tool, User};
use faultproxy::{Fault, FaultProxy, Match, Rule};
use futures::future::try_join_all;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::command_line::{run, tool};
use crate::failure::{Failure, Outcome, ensure, same, until};
use crate::flavour::Flavour;
use crate::manifest::Manifest;
use crate::objects::Set;
use crate::scenario::{Scenario, scenarios};
use crate::watch::Sightings;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    own ours killed_at_every_write because "it leads from apps/v1 to ours and back",
    own ours one_that_never_was_of_apps because "it leads from ours to apps/v1 and back",
    own ours there_and_back because "it leads from apps/v1 to ours and back",
];

const PREFIX: &str = "rollwright.dev/";
/// Questions about the user's rights, which are requests of the kind that writes are.
const REVIEWS: u32 = 6;
/// Of a migration with two ReplicaSets in the history, in either direction.
const WRITES: u32 = 8;

/// The same namespace, seen through the other API.
fn apps(world: &World) -> World {
    World { flavour: Flavour::AppsV1, ..world.clone() }
}

/// A Deployment of apps/v1 with three revisions.
async fn three_revisions(world: &World) -> Outcome {
    let apps = apps(world);
    apps.roll_out(&Manifest::new("web", 2).annotation("team", "shop")).await?;
    for image in ["app:v2", "app:v3"] {
        apps.update("web", image).await?;
        apps.wait_sizes(&[(image, 2)]).await?;
    }
    // Those of earlier revisions have gone.
    apps.wait_pods(2).await
}

/// Every pod that a watch has shown since, and whether all are still those of the beginning.
struct Pods {
    sightings: Sightings,
    before: BTreeSet<String>,
}

impl Pods {
    async fn watch(world: &World) -> Outcome<Self> {
        let pods = world.pods().await?;
        let before = pods.into_iter().filter_map(|pod| pod.metadata.uid).collect();
        Ok(Self { sightings: Sightings::start(world, world.pod_api()).await?, before })
    }

    /// None was created, and none deleted.
    async fn untouched(self, world: &World) -> Outcome {
        let mut seen = BTreeSet::new();
        for sighting in self.sightings.stop(world).await? {
            let text = |path: &str| sighting.object.pointer(path).and_then(Value::as_str).unwrap_or_default();
            let is_ending = sighting.is_gone || !text("/metadata/deletionTimestamp").is_empty();
            ensure(!is_ending, "no pod to end", text("/metadata/name"))?;
            seen.insert(text("/metadata/uid").to_owned());
        }
        same("the pods that were seen", seen, self.before)
    }
}

/// Names of the ReplicaSets and their revisions.
fn history(sets: &[Set]) -> BTreeMap<String, i64> {
    sets.iter().map(|set| (set.name.clone(), set.revision())).collect()
}

/// There is one Deployment, of this API, that acts and has all ReplicaSets.
async fn settled(world: &World, before: &BTreeMap<String, i64>) -> Outcome {
    let deployment = world.complete("web").await?;
    let other = World {
        flavour: if world.flavour.is_ours() { Flavour::AppsV1 } else { Flavour::Rollwright },
        ..world.clone()
    };
    ensure(other.get("web").await.is_err(), "no Deployment of the other API", other.flavour)?;
    same(
        "spec.paused",
        deployment.value.pointer("/spec/paused").and_then(Value::as_bool) == Some(true),
        false,
    )?;
    same("the annotation", deployment.annotation("team"), Some("shop"))?;
    let sets = world.sets().await?;
    same("the sets and their revisions", history(&sets), before.clone())?;
    let others: Vec<_> = sets.iter().filter(|set| set.owner != deployment.uid()).collect();
    ensure(others.is_empty(), "all sets to belong to the Deployment", others)?;
    let mut marked: Vec<String> = marks(&deployment.value);
    if !world.flavour.is_ours() {
        let sets = sets.iter().map(|set| serde_json::to_value(&set.object));
        for set in sets.collect::<Result<Vec<_>, _>>()? {
            marked.extend(marks(&set));
        }
    }
    ensure(marked.is_empty(), "no mark of ours", marked)
}

/// Keys of Rollwright anywhere in an object that people can see.
fn marks(object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for place in ["/metadata/labels", "/metadata/annotations", "/spec/template/metadata/labels"] {
        let keys = object.pointer(place).and_then(Value::as_object).into_iter().flatten();
        found.extend(keys.map(|(key, _)| key.clone()).filter(|key| key.starts_with(PREFIX)));
    }
    found
}

async fn migrate(tool: &Tool, words: &str) -> Outcome {
    let output = run(tool, &format!("migrate deployment/web --timeout=0{words}")).await?;
    same(&format!("exit code of migrate{words}: {output:?}"), output.code, Some(0))
}

/// Kills it by SIGKILL once the server has answered this many writes, and before the process knows.
async fn killed(world: &World, proxy: &FaultProxy, words: &str, writes: u32) -> Outcome {
    proxy.heal();
    proxy.clear_journal();
    let last = Rule::once(Match::writes(), Fault::HangAfter).skip(REVIEWS + writes - 1);
    let rule = proxy.arm(last);
    let kubeconfig = world.stage.cluster.directory().join(format!("{}.kubeconfig", world.namespace));
    proxy.write_kubeconfig(&kubeconfig)?;
    let mut process = Command::new(env!("CARGO_BIN_EXE_kubectl-rollwright"))
        .arg("--kubeconfig")
        .arg(&kubeconfig)
        .args(["--namespace", &world.namespace, "migrate", "deployment/web", "--timeout=0"])
        .args(words.split_whitespace())
        .env_remove("KUBECONFIG")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    world
        .wait(&format!("write {writes} of migrate{words}"), async || {
            let ended = process.try_wait()?;
            let is_answered = proxy.journal().writes().last().is_some_and(|it| it.server_code.is_some());
            until(proxy.met(rule) == 1 && is_answered, format!("{ended:?}"))
        })
        .await?;
    process.kill().await?;
    let reviews = proxy.journal().writes().filter(|write| write.request.label().ends_with("reviews")).count();
    proxy.heal();
    same("the questions before the first write", reviews, REVIEWS as usize)
}

/// Whatever write is its last, the same command continues, and the opposite one returns.
async fn killed_at_every_write(world: World) -> Outcome {
    world.stage.cluster.run_deployment_controller(true).await?;
    let world = &world;
    let cases = (1..=WRITES).map(|writes| async move {
        let namespace = world_of(world, writes).await?;
        killed_after(&namespace, writes).await.map_err(|failure| {
            Failure(format!("killed after {writes} writes in {}: {}", namespace.namespace, failure.0))
        })
    });
    try_join_all(cases).await?;
    Ok(())
}

async fn world_of(world: &World, writes: u32) -> Outcome<World> {
    World::new(world.stage.clone(), world.controller, world.flavour, &format!("killed-{writes}")).await
}

async fn killed_after(world: &World, writes: u32) -> Outcome {
    three_revisions(world).await?;
    let before = history(&world.sets().await?);
    let pods = Pods::watch(world).await?;
    let (tool, proxy) =
        (tool(world)?, FaultProxy::start(world.stage.cluster.config(User::Admin).await?).await?);
    let (ours, apps) = (world, &apps(world));

    killed(world, &proxy, "", writes).await?;
    migrate(&tool, "").await?;
    settled(ours, &before).await?;

    killed(world, &proxy, " --back", writes).await?;
    migrate(&tool, " --back").await?;
    settled(apps, &before).await?;

    killed(world, &proxy, "", writes).await?;
    migrate(&tool, " --back").await?;
    settled(apps, &before).await?;

    migrate(&tool, "").await?;
    killed(world, &proxy, " --back", writes).await?;
    migrate(&tool, "").await?;
    settled(ours, &before).await?;
    pods.untouched(world).await
}

/// A Deployment as its author wrote it, without the defaults of apps/v1 and with quantities that the server rewrites,
/// goes to apps/v1 and returns.
async fn one_that_never_was_of_apps(world: World) -> Outcome {
    world.stage.cluster.run_deployment_controller(true).await?;
    let (ours, apps) = (&world, &apps(&world));
    let container = |image: &str| {
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [
            {"name": "app", "image": image, "resources": {"requests": {"cpu": "0.5"}}}]}})
    };
    let manifest = Manifest::new("web", 2).annotation("team", "shop").spec("template", &container("app:v1"));
    ours.roll_out(&manifest).await?;
    ours.apply(&manifest.spec("template", &container("app:v2"))).await?;
    ours.complete("web").await?;
    ours.wait_pods(2).await?;
    let before = history(&ours.sets().await?);
    let pods = Pods::watch(ours).await?;
    let tool = tool(ours)?;
    migrate(&tool, " --back").await?;
    settled(apps, &before).await?;
    migrate(&tool, "").await?;
    settled(ours, &before).await?;
    pods.untouched(ours).await
}

/// What people do with it: look first, move with an autoscaler, go back when the operator is gone, and continue with
/// plain kubectl.
async fn there_and_back(world: World) -> Outcome {
    world.stage.cluster.run_deployment_controller(true).await?;
    let (ours, apps) = (&world, &apps(&world));
    three_revisions(ours).await?;
    scaler(ours).await?;
    let before = history(&ours.sets().await?);
    let pods = Pods::watch(ours).await?;
    let tool = tool(ours)?;
    let version = apps.get("web").await?.text("/metadata/resourceVersion").to_owned();
    let refused = run(&tool, "migrate deployment/web").await?;
    same("exit code", refused.code, Some(1))?;
    let text = "horizontalpodautoscaler/web scales deployment.apps/web, which goes; add --hpa=retarget";
    ensure(refused.stderr.contains(text), text, &refused.stderr)?;
    let [first, second, third] = ["app:v1", "app:v2", "app:v3"].map(async |image| apps.set(image).await);
    let (first, second, third) = (first.await?.name, second.await?.name, third.await?.name);

    let shown = run(&tool, "migrate web --dry-run --hpa=retarget").await?;
    let (earlier, later) = if first < second { (&first, &second) } else { (&second, &first) };
    let lines = [
        "create deployment.rollwright.dev/web, paused".to_owned(),
        format!("attach replicaset.apps/{earlier} with replicaset.apps/{third}"),
        format!("attach replicaset.apps/{later} with replicaset.apps/{third}"),
        format!("hand over replicaset.apps/{third}"),
        "delete deployment.apps/web and leave its ReplicaSets".to_owned(),
        format!("release replicaset.apps/{earlier}"),
        format!("release replicaset.apps/{later}"),
        "let horizontalpodautoscaler/web scale deployment.rollwright.dev/web".to_owned(),
        "resume deployment.rollwright.dev/web".to_owned(),
    ];
    let dry: String = lines.iter().map(|line| format!("{line} (dry run)\n")).collect();
    same("what the dry run shows", &shown.stdout, &dry)?;
    same("the version after it", apps.get("web").await?.text("/metadata/resourceVersion"), &*version)?;
    same("the number of ours", ours.get("web").await.is_err(), true)?;

    let done = run(&tool, "migrate web --hpa=retarget").await?;
    let real: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let end = "deployment.apps/web is deployment.rollwright.dev/web now, with the same pods\n";
    same(&format!("what it did: {}", done.stderr), &done.stdout, &format!("{real}{end}"))?;
    settled(ours, &before).await?;
    same("whom the autoscaler scales", &scaled(ours).await?, "rollwright.dev/v1")?;
    let again = run(&tool, "migrate web -o name").await?;
    same("a second time", &again.stdout, "deployment.rollwright.dev/web\n")?;

    world.operator()?.stop();
    migrate(&tool, " --back --hpa=retarget").await?;
    settled(apps, &before).await?;
    same("whom the autoscaler scales", &scaled(ours).await?, "apps/v1")?;

    // Nobody sees what it makes, so it moves nothing, and the way back is open.
    let late = run(&tool, "migrate web --hpa=leave --timeout=2s").await?;
    same(&format!("exit code without an operator: {late:?}"), late.code, Some(3))?;
    let waits = "timed out waiting for the operator to see deployment.rollwright.dev/web";
    ensure(late.stderr.contains(waits), waits, &late.stderr)?;
    migrate(&tool, " --back").await?;
    settled(apps, &before).await?;
    world.kubectl.run(&["delete", "crd", "deployments.rollwright.dev"]).await?;
    let unknown = "the API server does not know rollwright.dev/v1: install the definition first";
    ours.wait(unknown, async || {
        let refused = run(&tool, "migrate web --hpa=leave").await.map_err(|failure| NotYet(failure.0))?;
        until(refused.code == Some(1) && refused.stderr.contains(unknown), format!("{refused:?}"))
    })
    .await?;
    pods.untouched(ours).await?;

    world.kubectl.run(&["rollout", "undo", "deployment.v1.apps/web"]).await?;
    let undone = apps.complete("web").await?;
    same("the image after a stock undo", undone.image(), "app:v2")?;
    same("marks after a stock undo", marks(&undone.value), Vec::<String>::new())?;
    for set in apps.sets().await? {
        same("marks after a stock undo", marks(&serde_json::to_value(&set.object)?), Vec::<String>::new())?;
    }
    Ok(())
}

/// An autoscaler that names the Deployment of apps/v1.
async fn scaler(world: &World) -> Outcome {
    let scaler = json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2,
            "maxReplicas": 4,
        },
    });
    world.kubectl.apply(&scaler.to_string()).await?;
    Ok(())
}

async fn scaled(world: &World) -> Outcome<String> {
    let path = "jsonpath={.spec.scaleTargetRef.apiVersion}";
    Ok(world.kubectl.run(&["get", "hpa", "web", "-o", path]).await?)
}
