//! Rolling updates: the first rollout, an update, and changes while one is under way.

use cluster::kubelet::NEVER_READY;
use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, same};
use crate::manifest::{Manifest, pods_patch};
use crate::scenario::{Scenario, scenarios};
use crate::trace::{Trace, size};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both create,
    both image_update,
    both rollover,
    both bounds_that_round_to_zero,
    both update_without_pods,
    both change_during_scale,
    both explicit_defaults_restart_nothing,
    both annotations_reach_the_set,
];

const HASH: &str = "pod-template-hash";

/// The first ReplicaSet and its metadata (S4.8–S4.15), status (S9) and event (S12).
async fn create(world: World) -> Outcome {
    world.create(&Manifest::new("web", 3)).await?;
    let deployment = world.complete("web").await?;
    for counter in ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"] {
        same(counter, deployment.status(counter), 3)?;
    }
    same("unavailableReplicas", deployment.status("unavailableReplicas"), 0)?;
    same("revision", deployment.revision(), 1)?;
    let available = deployment.condition("Available");
    same(
        "Available",
        (available.status.as_str(), available.reason.as_str()),
        ("True", "MinimumReplicasAvailable"),
    )?;
    same("its message", available.message.as_str(), "Deployment has minimum availability.")?;

    let sets = world.sets().await?;
    same("the number of sets", sets.len(), 1)?;
    let set = world.set("app:v1").await?;
    let hash = set.labels.get(HASH).cloned().unwrap_or_default();
    same("the set's name", set.name.as_str(), format!("web-{hash}").as_str())?;
    same("the set's owner", set.owner.as_str(), deployment.uid())?;
    same("desired-replicas", set.annotation("deployment.kubernetes.io/desired-replicas"), "3")?;
    same("max-replicas", set.annotation("deployment.kubernetes.io/max-replicas"), "4")?;
    same("the set's revision", set.revision(), 1)?;
    let object = serde_json::to_value(&set.object)?;
    let labels = json!({"app": "web", HASH: hash});
    same("the set's selector", object.pointer("/spec/selector/matchLabels"), Some(&labels))?;
    same("the pods' labels", object.pointer("/spec/template/metadata/labels"), Some(&labels))?;
    let owner = object.pointer("/metadata/ownerReferences/0").cloned().unwrap_or_default();
    same("the owner's apiVersion", owner["apiVersion"].as_str(), Some(world.flavour.api_version()))?;
    same("blockOwnerDeletion", owner["blockOwnerDeletion"].as_bool(), Some(true))?;

    let progressing = deployment.condition("Progressing");
    let message = format!("ReplicaSet \"{}\" has successfully progressed.", set.name);
    same("the message of Progressing", progressing.message, message)?;
    let text = format!("Scaled up replica set {} from 0 to 3", set.name);
    world.wait_event("web", "ScalingReplicaSet", &text).await?;
    Ok(())
}

/// A rolling update stays within its bounds, and ends with the old ReplicaSet empty but kept (S6).
async fn image_update(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 4)).await?;
    let trace = Trace::start(&world).await?;
    world.set_image("web", "app:v2").await?;
    let deployment = world.complete("web").await?;
    same("revision", deployment.revision(), 2)?;
    let seen = trace.stop(&world).await?;
    seen.ensure_at_most(5)?;
    seen.ensure_available(3)?;
    let (old, new) = (world.set("app:v1").await?, world.set("app:v2").await?);
    same("sizes", (old.size, new.size), (0, 4))?;
    same("revisions", (old.revision(), new.revision()), (1, 2))?;
    // S6.5: the new ReplicaSet starts with the surge, so there is more than one step.
    let steps = seen.sizes("app:v2").into_iter().filter(|size| (1..4).contains(size)).count();
    ensure(steps > 0, "a new set that grows in steps", seen.sizes("app:v2"))?;
    world
        .wait_event("web", "ScalingReplicaSet", &format!("Scaled up replica set {} from 0", new.name))
        .await?;
    world
        .wait_event("web", "ScalingReplicaSet", &format!("Scaled down replica set {} from", old.name))
        .await?;
    Ok(())
}

/// A third template in the middle of a rollout that hangs: the pods that never became ready go
/// first, the healthy ones stay until others are available (S6.10, S6.15).
async fn rollover(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 4)).await?;
    world.patch("web", &pods_patch("app:v2", NEVER_READY, &json!("true"))).await?;
    world.wait_sizes(&[("app:v1", 3), ("app:v2", 2)]).await?;
    // Only then is it settled that v1 has nothing unhealthy to cut.
    world.wait_sets("the sets' own counts", |sets| sets.iter().all(|set| set.replicas == set.size)).await?;
    let trace = Trace::start(&world).await?;
    world.patch("web", &pods_patch("app:v3", NEVER_READY, &Value::Null)).await?;
    let deployment = world.complete("web").await?;
    same("revision", deployment.revision(), 3)?;
    let seen = trace.stop(&world).await?;
    seen.ensure_at_most(5)?;
    seen.ensure_available(3)?;
    let healthy_first = seen.0.iter().find(|sets| size(sets, "app:v1") < 3 && size(sets, "app:v2") > 0);
    ensure(healthy_first.is_none(), "pods that never were ready to go first", healthy_first)?;
    same("sizes", sizes(&world, &["app:v1", "app:v2", "app:v3"]).await?, vec![0, 0, 4])
}

/// Neither surge nor a missing pod allowed, by rounding: then one pod may be missing (S6.2).
async fn bounds_that_round_to_zero(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 3).rolling(&json!("0%"), &json!("30%"))).await?;
    let trace = Trace::start(&world).await?;
    world.set_image("web", "app:v2").await?;
    world.complete("web").await?;
    let seen = trace.stop(&world).await?;
    seen.ensure_at_most(3)?;
    seen.ensure_available(2)
}

/// A template without any pod still gets its ReplicaSet and its revision (S4.11, S8.1), and pods once it should have
/// some.
async fn update_without_pods(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 0)).await?;
    world.set_image("web", "app:v2").await?;
    let deployment = world.complete("web").await?;
    same("revision", deployment.revision(), 2)?;
    same("sizes", sizes(&world, &["app:v1", "app:v2"]).await?, vec![0, 0])?;
    world.scale("web", 2).await?;
    world.complete("web").await?;
    same("sizes", sizes(&world, &["app:v1", "app:v2"]).await?, vec![0, 2])
}

/// Size and template changed together: the old ReplicaSet is scaled first, then the rollout begins
/// (S3.12).
async fn change_during_scale(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 4)).await?;
    let trace = Trace::start(&world).await?;
    let mut patch = pods_patch("app:v2", "note", &json!("two"));
    patch["spec"]["replicas"] = json!(8);
    world.patch("web", &patch).await?;
    world.complete("web").await?;
    let seen = trace.stop(&world).await?;
    let begins = seen.0.iter().find(|sets| sets.values().any(|set| set.image == "app:v2"));
    ensure(
        begins.is_some_and(|sets| size(sets, "app:v1") == 8),
        "an old set of 8 when the new one appears",
        seen.sizes("app:v1"),
    )?;
    seen.ensure_at_most(10)?;
    same("sizes", sizes(&world, &["app:v1", "app:v2"]).await?, vec![0, 8])
}

/// Writing down what the server would fill in anyway is no change of the template (S16.1).
async fn explicit_defaults_restart_nothing(world: World) -> Outcome {
    let before = world.roll_out(&Manifest::new("web", 2)).await?;
    let container = json!({
        "name": "app",
        "image": "app:v1",
        "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "resources": {},
    });
    let pod = json!({
        "containers": [container],
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "terminationGracePeriodSeconds": 30,
    });
    let trace = Trace::start(&world).await?;
    world.patch("web", &json!({"spec": {"template": {"spec": pod}}})).await?;
    world.observed("web").await?;
    // Whatever it would do next, it does before this.
    world.set_image("web", "app:v2").await?;
    let after = world.complete("web").await?;
    same("revisions", (before.revision(), after.revision()), (1, 2))?;
    let seen = trace.stop(&world).await?;
    let images = |moment: &crate::trace::Moment| moment.values().filter(|set| set.image == "app:v1").count();
    let most = seen.0.iter().map(images).max();
    same("the number of sets of app:v1", most, Some(1))
}

/// Annotations go to the new ReplicaSet without a rollout, and stay there when they are taken away
/// from the Deployment; what `kubectl apply` stores does not (S4.13).
async fn annotations_reach_the_set(world: World) -> Outcome {
    world.apply(&Manifest::new("web", 1).annotation("team", "a")).await?;
    world.complete("web").await?;
    same("team", world.set("app:v1").await?.annotation("team"), "a")?;
    world.patch("web", &json!({"metadata": {"annotations": {"team": "b", "floor": "2"}}})).await?;
    let sets = world
        .wait_sets("the annotations on the set", |sets| {
            sets.iter().all(|set| set.annotation("team") == "b" && set.annotation("floor") == "2")
        })
        .await?;
    same("the number of sets", sets.len(), 1)?;
    world.patch("web", &json!({"metadata": {"annotations": {"team": "c", "floor": null}}})).await?;
    let sets = world
        .wait_sets("the next annotation", |sets| sets.iter().all(|set| set.annotation("team") == "c"))
        .await?;
    let set = world.set("app:v1").await?;
    same("the annotation taken away", set.annotation("floor"), "2")?;
    same("what apply stored", set.annotation("kubectl.kubernetes.io/last-applied-configuration"), "")?;
    same("the number of sets", sets.len(), 1)
}

async fn sizes(world: &World, images: &[&str]) -> Outcome<Vec<i64>> {
    let mut sizes = Vec::new();
    for image in images {
        sizes.push(world.set(image).await?.size);
    }
    Ok(sizes)
}
