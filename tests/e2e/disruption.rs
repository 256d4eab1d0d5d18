//! PodDisruptionBudgets: what Kubernetes' own disruption controller makes of them in the middle of a rollout, and the
//! answer to an eviction.

use cluster::User;
use cluster::kubelet::NEVER_READY;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Client;
use kube::api::{Api, EvictParams};
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome, ensure, until};
use crate::manifest::{Manifest, pods_patch};
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both budget_in_percent,
];

/// The status of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Budget {
    expected: i32,
    desired: i32,
    healthy: i32,
    allowed: i32,
}

/// 75 % of four, in a rollout that hangs with two more pods that never become ready. For rollwright.dev the controller
/// counts by the sizes of the ReplicaSets, surge included: 75 % of six. It knows the built-in kind by name.
async fn budget_in_percent(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 4).rolling(&json!(2), &json!(0))).await?;
    protect(&world).await?;
    let at_rest = Budget { expected: 4, desired: 3, healthy: 4, allowed: 1 };
    wait_budget(&world, at_rest).await?;

    world.patch("web", &pods_patch("app:v2", NEVER_READY, &json!("true"))).await?;
    world.wait_sizes(&[("app:v1", 4), ("app:v2", 2)]).await?;
    if world.flavour.is_ours() {
        wait_budget(&world, Budget { expected: 6, desired: 5, healthy: 4, allowed: 0 }).await?;
        refused(&world, "app:v1").await?;
    } else {
        wait_budget(&world, at_rest).await?;
        evict(&world, "app:v1").await?;
        wait_budget(&world, at_rest).await?;
    }
    world.wait_sizes(&[("app:v1", 4), ("app:v2", 2)]).await?;

    world.patch("web", &pods_patch("app:v3", NEVER_READY, &Value::Null)).await?;
    world.complete("web").await?;
    wait_budget(&world, at_rest).await?;
    evict(&world, "app:v3").await?;
    wait_budget(&world, at_rest).await?;
    world.complete("web").await.map(drop)
}

fn budgets(world: &World) -> Api<PodDisruptionBudget> {
    Api::namespaced(world.client(), &world.namespace)
}

async fn protect(world: &World) -> Outcome {
    let words = ["create", "poddisruptionbudget", "web", "--min-available=75%", "--selector=app=web"];
    world.kubectl.run(&words).await?;
    Ok(())
}

/// Waits until the controller reports this, with no eviction under way.
async fn wait_budget(world: &World, wanted: Budget) -> Outcome {
    world
        .wait(&format!("the budget being {wanted:?}"), async || {
            let status = budgets(world).get("web").await?.status.unwrap_or_default();
            let seen = Budget {
                expected: status.expected_pods.unwrap_or_default(),
                desired: status.desired_healthy.unwrap_or_default(),
                healthy: status.current_healthy.unwrap_or_default(),
                allowed: status.disruptions_allowed.unwrap_or_default(),
            };
            let under_way = status.disrupted_pods.unwrap_or_default();
            until(seen == wanted && under_way.is_empty(), format!("{seen:?}, evicted {under_way:?}"))
        })
        .await
}

/// A pod of this image that nobody has deleted.
async fn any_pod(world: &World, image: &str) -> Outcome<String> {
    let is_one = |pod: &Pod| {
        let mut containers = pod.spec.iter().flat_map(|spec| &spec.containers);
        pod.metadata.deletion_timestamp.is_none()
            && containers.any(|container| container.image.as_deref() == Some(image))
    };
    let pod = world.pods().await?.into_iter().find(is_one).and_then(|pod| pod.metadata.name);
    pod.ok_or_else(|| Failure::new(format!("no pod of {image}")))
}

/// Evicts one pod of this image, and waits until it is gone.
async fn evict(world: &World, image: &str) -> Outcome {
    let name = any_pod(world, image).await?;
    let answer = ask(world, &name).await?;
    ensure(answer.is_ok(), "the eviction to be allowed", answer)?;
    world
        .wait(&format!("{name} being gone"), async || {
            until(world.pod_api().get_opt(&name).await?.is_none(), "still there")
        })
        .await
}

/// Asks once for an eviction. By itself the client would ask until the budget allows it.
async fn ask(world: &World, pod: &str) -> Outcome<Result<(), kube::Error>> {
    let mut config = world.stage.cluster.config(User::Admin).await?;
    config.default_retry = false;
    let pods: Api<Pod> = Api::namespaced(Client::try_from(config)?, &world.namespace);
    Ok(pods.evict(pod, &EvictParams::default()).await.map(drop))
}

/// An eviction of a pod of this image hurts the budget.
async fn refused(world: &World, image: &str) -> Outcome {
    let answer = ask(world, &any_pod(world, image).await?).await?;
    let is_refused = matches!(&answer, Err(kube::Error::Api(status)) if status.code == 429
        && status.message.contains("would violate the pod's disruption budget"));
    ensure(is_refused, "the eviction to be refused by the budget", answer)
}
