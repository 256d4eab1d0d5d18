//! The causes that [`crate::blockers`] leaves out: containers that do not start, and pods that are refused.

use cluster::kubelet::WAITS;
use cluster::webhook::{Registration, Verdict, Webhook};
use serde_json::{Value, json};

use crate::blockers::{SOON, Seat, of_pods, report};
use crate::failure::{Outcome, until};
use crate::manifest::Manifest;
use crate::scenario::{Scenario, scenarios};
use crate::why::DenyPods;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    own both starts_and_admission,
];

async fn starts_and_admission(world: World) -> Outcome {
    let seat = Seat::take(world.clone(), &[SOON]).await?;
    containers_that_do_not_start(&seat).await?;
    world.roll_out(&Manifest::new("refused", 1)).await?;
    a_webhook(&seat).await?;
    a_policy(&seat).await?;
    a_limit(&seat).await
}

/// A ConfigMap is missing, for a variable and for a volume.
async fn containers_that_do_not_start(seat: &Seat) -> Outcome {
    let world = &seat.world;
    for name in ["config", "volume"] {
        world.roll_out(&Manifest::new(name, 2)).await?;
    }
    let waits = |why: &str| of_pods(&json!({"metadata": {"annotations": {WAITS: why}}}));
    let missing = "configmap \"settings\" not found";
    world.patch("config", &waits(&format!("CreateContainerConfigError: {missing}"))).await?;
    world.patch("volume", &waits("ContainerCreating")).await?;
    let message = format!("MountVolume.SetUp failed for volume \"settings\" : {missing}");
    report(world, ("volume", WAITS), "FailedMount", &message).await?;
    seat.is_blocked("config", "ContainerConfig", "configmap").await?;
    seat.is_blocked("volume", "Volume", "cannot mount a volume: MountVolume.SetUp failed").await?;
    for name in ["config", "volume"] {
        world.patch(name, &of_pods(&json!({"metadata": {"annotations": null}}))).await?;
        world.complete(name).await?;
    }
    Ok(())
}

async fn a_webhook(seat: &Seat) -> Outcome {
    let world = &seat.world;
    let deny = |_: &Value| Verdict::Deny { code: 403, message: "not today".to_owned() };
    let mut webhook = Webhook::serve(deny).await?;
    let sets = Registration::replica_sets(&world.namespace, &["CREATE"]);
    let pods = Registration { group: String::new(), resource: "pods".to_owned(), ..sets };
    webhook.register(&world.client(), &pods).await?;
    world.set_image("refused", "app:v2").await?;
    seat.is_blocked("refused", "AdmissionWebhook", "not today").await?;
    webhook.remove(&world.client()).await?;
    world.complete("refused").await?;
    Ok(())
}

async fn a_policy(seat: &Seat) -> Outcome {
    let world = &seat.world;
    let policy = DenyPods::install(world).await?;
    world.set_image("refused", "app:v3").await?;
    seat.is_blocked("refused", "AdmissionPolicy", "no pods today").await?;
    policy.remove(world).await?;
    world.complete("refused").await?;
    Ok(())
}

/// A refusal without a cause of its own.
async fn a_limit(seat: &Seat) -> Outcome {
    let world = &seat.world;
    let limit = json!({
        "apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "small"},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "100m"}}]},
    });
    world.kubectl.apply(&limit.to_string()).await?;
    let container = json!({"name": "app", "image": "app:v4", "resources": {"limits": {"cpu": "1"}}});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"},
                     "spec": {"containers": [container]}});
    world
        .wait("the limit being in force", async || {
            let attempt = ["create", "--dry-run=server", "-f", "-"];
            let attempt = world.kubectl.output_of(&attempt, &pod.to_string()).await;
            until(attempt.is_err(), "a pod is accepted")
        })
        .await?;
    world.patch("refused", &of_pods(&json!({"spec": {"containers": [container]}}))).await?;
    seat.is_blocked("refused", "Refused", "maximum cpu usage per Container is 100m").await?;
    world.kubectl.run(&["delete", "limitrange", "small"]).await?;
    world.complete("refused").await?;
    Ok(())
}
