//! Deletion of Deployments in all propagation modes, and of their namespace.

use std::time::Duration;

use cluster::webhook::{Registration, Verdict, Webhook};
use cluster::{NotYet, audit, kubelet};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::json;

use crate::failure::{Outcome, ensure, same, until};
use crate::manifest::Manifest;
use crate::objects::{Set, summaries};
use crate::ownership::{pods_of, sizes};
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both namespace_deleted,
    both orphaned_and_resumed,
    both foreground_and_background,
];

async fn until_gone(world: &World, name: &str) -> Outcome {
    world
        .wait("the Deployment going", async || {
            until(world.deployments().get_opt(name).await?.is_none(), "it is there")
        })
        .await
}

/// A Deployment with rollouts that take seconds, pod by pod.
fn slow(image: &str) -> Manifest {
    Manifest::new("web", 4).image(image).rolling(&json!(1), &json!(0)).pods(kubelet::READY_AFTER_MS, "1500")
}

/// A Deployment that is deleted without its ReplicaSets in the middle of a rollout and created again continues where it
/// was: the same ReplicaSets, and no pod of the new template restarts (S2.20).
async fn orphaned_and_resumed(world: World) -> Outcome {
    world.roll_out(&slow("app:v1")).await?;
    world.patch("web", &slow("app:v2").json(world.flavour)).await?;
    let is_half_way = |sets: &[Set]| {
        let of = |image: &str| sets.iter().find(|set| set.image == image);
        of("app:v1").is_some_and(|set| set.size < 4) && of("app:v2").is_some_and(|set| set.available > 0)
    };
    world.wait_sets("the rollout being half-way", is_half_way).await?;
    let _ = world.deployments().delete("web", &DeleteParams::orphan()).await?;
    until_gone(&world, "web").await?;
    let orphans = world.sets().await?;
    ensure(orphans.iter().all(|set| set.owner.is_empty()), "no owners", summaries(&orphans))?;
    ensure(orphans.iter().all(|set| set.size > 0), "a rollout half-way", summaries(&orphans))?;
    let pods = pods_of(&world, &world.set("app:v2").await?).await?;

    let deployment = world.roll_out(&slow("app:v2")).await?;
    let sets = world.sets().await?;
    same("the sets", sizes(&sets), [("app:v1", 0), ("app:v2", 4)])?;
    let uids = |sets: &[Set]| sets.iter().map(|set| set.uid.clone()).collect::<Vec<_>>();
    same("their uids", uids(&sets), uids(&orphans))?;
    ensure(sets.iter().all(|set| set.owner == deployment.uid()), "sets adopted", summaries(&sets))?;
    let later = pods_of(&world, &world.set("app:v2").await?).await?;
    ensure(pods.iter().all(|pod| later.contains(pod)), "no pod restarted", (pods, later))
}

/// Foreground deletion: the Deployment outlives its ReplicaSets and gets nothing but its status. An
/// edit in between makes no ReplicaSet (S3.5). After a background deletion, the garbage collector takes the rest, and
/// nothing returns.
async fn foreground_and_background(world: World) -> Outcome {
    let manifest = Manifest::new("web", 2).pods(kubelet::TERMINATE_AFTER_MS, "3000");
    world.roll_out(&manifest).await?;
    let _ = world.deployments().delete("web", &DeleteParams::foreground()).await?;
    world.set_image("web", "app:v2").await?;
    world
        .wait("the Deployment going after its sets", async || {
            // Read in this order, no ReplicaSet may be left once the Deployment is gone.
            let deployment = world.deployments().get_opt("web").await?;
            let sets = world.sets().await.map_err(|failure| NotYet(failure.0))?;
            if sets.iter().any(|set| set.image != "app:v1") || (deployment.is_none() && !sets.is_empty()) {
                return Ok(Err(summaries(&sets)));
            }
            until(deployment.is_none(), summaries(&sets))?;
            Ok(Ok(()))
        })
        .await?
        .or_else(|seen| ensure(false, "no set made, and none left behind", seen))?;

    world.roll_out(&Manifest::new("web", 2)).await?;
    let _ = world.deployments().delete("web", &DeleteParams::background()).await?;
    until_gone(&world, "web").await?;
    world.wait_sets("the sets going", <[Set]>::is_empty).await?;
    world.wait_pods(0).await
}

/// A namespace goes while a Deployment in it cannot be deleted yet: its ReplicaSets vanish and cannot
/// be created again. That is no error (S14.3): a few requests, and no storm of events.
async fn namespace_deleted(world: World) -> Outcome {
    const WINDOW: Duration = Duration::from_secs(8);
    const REQUESTS_MAX: usize = 24;
    world.roll_out(&Manifest::new("web", 2)).await?;
    let mut guard = Webhook::serve(|_| Verdict::Deny { code: 403, message: "not yet".to_owned() }).await?;
    let resource = world.flavour.api_resource();
    let registration = Registration {
        group: resource.group,
        version: resource.version,
        resource: resource.plural,
        ..Registration::replica_sets(&world.namespace, &["DELETE"])
    };
    guard.register(&world.client(), &registration).await?;

    let since = Timestamp::now();
    let namespaces: Api<Namespace> = Api::all(world.client());
    let _ = namespaces.delete(&world.namespace, &DeleteParams::default()).await?;
    world.wait_sets("the sets going", <[Set]>::is_empty).await?;
    tokio::time::sleep(WINDOW).await;
    world.get("web").await?;
    let mut requests = audit::requests(&world.stage.cluster.audit_log(), since, world.user())?;
    requests.retain(|request| request.namespace == world.namespace);
    ensure(requests.len() <= REQUESTS_MAX, "a few requests only", (requests.len(), &requests))?;
    let refused = requests.iter().any(|request| request.verb == "create" && request.code == 403);
    ensure(refused, "a set that could not be created", &requests)?;

    guard.remove(&world.client()).await?;
    world
        .wait("the namespace going", async || {
            let found = namespaces.get_opt(&world.namespace).await?;
            until(found.is_none(), format!("{:?}", found.and_then(|found| found.status)))
        })
        .await
}
