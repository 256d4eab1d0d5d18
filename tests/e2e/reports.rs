//! Public reports about Kubernetes' Deployments and about other controllers, each tried as its author describes it.

use std::time::Duration;

use cluster::kubelet::{READY_AFTER_MS, WAITS};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, same};
use crate::floor::Floor;
use crate::manifest::{Manifest, pods_patch};
use crate::obstacles::quota;
use crate::reverting::told;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both recreate_beside_a_failed_pod,
    both first_revision_repaired_while_it_crashes,
    both pods_that_stay_pending,
    both creation_timestamp_that_leaves_the_template,
    both fewer_pods_than_replicas,
    ours restart_that_git_takes_back because "apps/v1 has no records of rollouts",
];

/// Long enough for a mistake to show.
const A_WHILE: Duration = Duration::from_secs(3);

/// kubernetes#128798: an evicted pod stays after its ReplicaSet has replaced it, and nothing waits for it.
async fn recreate_beside_a_failed_pod(world: World) -> Outcome {
    let recreate = json!({"type": "Recreate"});
    world.roll_out(&Manifest::new("web", 2).spec("strategy", &recreate)).await?;
    let pod = world.pods().await?.pop().and_then(|pod| pod.metadata.name).unwrap_or_default();
    let evicted = json!({"status": {"phase": "Failed", "reason": "Evicted", "conditions": []}});
    world.pod_api().patch_status(&pod, &PatchParams::default(), &Patch::Merge(&evicted)).await?;
    world
        .wait_until("web", "another pod in its place", |web| {
            web.status("replicas") == 2 && web.status("availableReplicas") == 2
        })
        .await?;
    world.set_image("web", "app:v2").await?;
    world.complete("web").await?;
    world.wait_sizes(&[("app:v1", 0), ("app:v2", 2)]).await?;
    Ok(())
}

/// kubernetes#137409: the first revision crashes, and seconds later somebody applies one that does not.
async fn first_revision_repaired_while_it_crashes(world: World) -> Outcome {
    world.create(&Manifest::new("web", 3).image("crash:v1")).await?;
    world.wait_until("web", "pods that crash", |web| web.status("replicas") == 3).await?;
    world.set_image("web", "app:v2").await?;
    world.complete("web").await?;
    world.wait_sizes(&[("crash:v1", 0), ("app:v2", 3)]).await?;
    Ok(())
}

/// kubernetes#116891: with the defaults, the new pods of three replicas stay pending. All old pods stay.
async fn pods_that_stay_pending(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 3)).await?;
    let floor = Floor::start(&world).await?;
    world.patch("web", &pods_patch("app:v2", WAITS, &json!("ContainerCreating"))).await?;
    world.wait_sizes(&[("app:v1", 3), ("app:v2", 1)]).await?;
    tokio::time::sleep(A_WHILE).await;
    world.wait_sizes(&[("app:v1", 3), ("app:v2", 1)]).await?;
    ensure(floor.is_complete(), "a watch without a gap", "it ended")?;
    same("the fewest pods that served", floor.lowest(), 3)?;
    world.patch("web", &pods_patch("app:v2", WAITS, &Value::Null)).await?;
    world.complete("web").await?;
    Ok(())
}

/// kubernetes#134773: one tool writes `creationTimestamp: null` into the template, and the next one does not.
async fn creation_timestamp_that_leaves_the_template(world: World) -> Outcome {
    let manifest = Manifest::new("web", 2).json(world.flavour);
    let mut with_null = manifest.clone();
    with_null["spec"]["template"]["metadata"]["creationTimestamp"] = Value::Null;
    for manifest in [&with_null, &manifest, &with_null] {
        world.kubectl.apply(&manifest.to_string()).await?;
        let web = world.complete("web").await?;
        same("the revision", web.revision(), 1)?;
    }
    same("ReplicaSets", world.sets().await?.len(), 1)
}

/// kruise#2384: a quota allows fewer pods than `replicas`. A rollout that can start no pods removes none of those that
/// serve, and completes once the quota is gone.
async fn fewer_pods_than_replicas(world: World) -> Outcome {
    quota(&world, &json!({"pods": "3"})).await?;
    world.create(&Manifest::new("web", 5)).await?;
    world.wait_until("web", "three of five pods", |web| web.status("availableReplicas") == 3).await?;
    let floor = Floor::start(&world).await?;
    world.set_image("web", "app:v2").await?;
    world.observed("web").await?;
    tokio::time::sleep(A_WHILE).await;
    ensure(floor.is_complete(), "a watch without a gap", "it ended")?;
    same("the fewest pods that served", floor.lowest(), 3)?;
    world.kubectl.run(&["delete", "resourcequota", "limit"]).await?;
    world.complete("web").await?;
    world.wait_sizes(&[("app:v1", 0), ("app:v2", 5)]).await?;
    Ok(())
}

/// argo-cd#28769: somebody restarts the pods by an annotation that is not in Git, and a GitOps tool removes it during
/// the rollout. The history shows that.
async fn restart_that_git_takes_back(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 3)).await?;
    world.patch("web", &pods_patch("app:v1", READY_AFTER_MS, &json!("600000"))).await?;
    world.wait_until("web", "a rollout under way", |web| web.status("updatedReplicas") == 1).await?;
    world.patch("web", &pods_patch("app:v1", READY_AFTER_MS, &Value::Null)).await?;
    let web = world
        .wait_until("web", "the first pods alone", |web| {
            web.is_complete() && told(web).first().is_some_and(|record| record.ends_with("Succeeded"))
        })
        .await?;
    let outcomes: Vec<String> =
        told(&web).iter().filter_map(|record| record.rsplit(' ').next().map(str::to_owned)).collect();
    same("outcomes, newest first", outcomes, ["Succeeded", "Superseded", "Succeeded"])
}
