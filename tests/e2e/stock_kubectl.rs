//! Everything that kubectl and helm do with an apps/v1 Deployment (S15).

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::failure::{Outcome, ensure, same};
use crate::manifest::Manifest;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    apps status_history_and_undo because "kubectl rollout knows no other kinds (S15.8)",
    apps pause_resume_and_restart because "kubectl rollout knows no other kinds (S15.8)",
    apps status_of_a_stuck_rollout because "kubectl rollout knows no other kinds (S15.8)",
    both helm_waits,
];

/// Long enough for a mistake to show.
const A_WHILE: Duration = Duration::from_secs(2);

/// Runs `kubectl rollout status` to its end.
async fn rolled_out(world: &World) -> Outcome {
    let said = world.kubectl.run(&["rollout", "status", "deployment/web", "--timeout=60s"]).await?;
    ensure(said.contains("deployment \"web\" successfully rolled out"), "success", said)
}

/// The numbers that `kubectl rollout history` lists.
async fn revisions(world: &World) -> Outcome<Vec<String>> {
    let said = world.kubectl.run(&["rollout", "history", "deployment/web"]).await?;
    let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
    Ok(said.lines().skip(2).filter_map(first).collect())
}

async fn status_history_and_undo(world: World) -> Outcome {
    let kubectl = &world.kubectl;
    world.apply(&Manifest::new("web", 2)).await?;
    rolled_out(&world).await?;
    kubectl.run(&["set", "image", "deployment/web", "app=app:v2"]).await?;
    rolled_out(&world).await?;
    same("the history", revisions(&world).await?, ["1", "2"])?;
    let shown = kubectl.run(&["rollout", "history", "deployment/web", "--revision=1"]).await?;
    ensure(shown.contains("app:v1"), "the template of revision 1", shown)?;

    kubectl.run(&["rollout", "undo", "deployment/web"]).await?;
    rolled_out(&world).await?;
    same("the image", world.get("web").await?.image(), "app:v1")?;
    same("the history", revisions(&world).await?, ["2", "3"])?;
    kubectl.run(&["rollout", "undo", "deployment/web", "--to-revision=2"]).await?;
    rolled_out(&world).await?;
    same("the image", world.get("web").await?.image(), "app:v2")?;
    let again = kubectl.run(&["rollout", "undo", "deployment/web", "--to-revision=4"]).await?;
    ensure(again.contains("skipped rollback"), "nothing to undo", again)?;
    same("the number of sets", world.sets().await?.len(), 2)
}

async fn pause_resume_and_restart(world: World) -> Outcome {
    let kubectl = &world.kubectl;
    world.apply(&Manifest::new("web", 2)).await?;
    rolled_out(&world).await?;
    kubectl.run(&["rollout", "pause", "deployment/web"]).await?;
    let refused = kubectl.output(&["rollout", "restart", "deployment/web"], "").await?;
    ensure(!refused.success, "no restart while paused", refused)?;
    kubectl.run(&["set", "image", "deployment/web", "app=app:v2"]).await?;
    world.observed("web").await?;
    tokio::time::sleep(A_WHILE).await;
    same("the number of sets while paused", world.sets().await?.len(), 1)?;
    kubectl.run(&["rollout", "resume", "deployment/web"]).await?;
    rolled_out(&world).await?;
    same("the sizes", world.wait_sizes(&[("app:v1", 0), ("app:v2", 2)]).await?.len(), 2)?;
    kubectl.run(&["rollout", "restart", "deployment/web"]).await?;
    rolled_out(&world).await?;
    same("the number of sets", world.sets().await?.len(), 3)?;
    same("revision", world.get("web").await?.revision(), 3)
}

async fn status_of_a_stuck_rollout(world: World) -> Outcome {
    let kubectl = &world.kubectl;
    world.apply(&Manifest::new("web", 1)).await?;
    rolled_out(&world).await?;
    world.patch("web", &json!({"spec": {"progressDeadlineSeconds": 3}})).await?;
    kubectl.run(&["set", "image", "deployment/web", "app=bad:v2"]).await?;
    let status = kubectl.output(&["rollout", "status", "deployment/web", "--timeout=60s"], "").await?;
    ensure(!status.success, "a failure", &status)?;
    ensure(status.stderr.contains("exceeded its progress deadline"), "the deadline named", &status)?;
    kubectl.run(&["rollout", "undo", "deployment/web"]).await?;
    // The condition keeps its word until the bad pod is gone, here as upstream (S9.12), and
    // `rollout status` believes a condition of the last rollout as soon as the generation fits.
    world.complete("web").await?;
    rolled_out(&world).await
}

/// `helm install --wait` and `helm upgrade --wait` end when the rollout does.
async fn helm_waits(world: World) -> Outcome {
    let chart = world.stage.cluster.directory().join(format!("chart-{}", world.namespace));
    write_chart(&chart, &world)?;
    let helm = world.stage.cluster.helm(cluster::User::Admin)?.in_namespace(&world.namespace);
    let path = chart.display().to_string();
    for (verb, image) in [("install", "app:v1"), ("upgrade", "app:v2")] {
        let set = format!("image={image}");
        helm.run(&[verb, "web", &path, "--wait", "--timeout=60s", "--set", &set]).await?;
        let deployment = world.get("web").await?;
        ensure(deployment.is_complete(), "a complete rollout when helm is done", deployment.summary())?;
        same("the image", deployment.image(), image)?;
    }
    Ok(())
}

fn write_chart(chart: &Path, world: &World) -> Outcome {
    std::fs::create_dir_all(chart.join("templates"))?;
    std::fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: web\nversion: 0.1.0\n")?;
    let manifest = Manifest::new("web", 2).image("{{ .Values.image }}").json(world.flavour);
    std::fs::write(chart.join("templates").join("web.yaml"), manifest.to_string())?;
    Ok(())
}
