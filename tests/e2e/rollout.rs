//! Rolling updates: the first rollout, an update, texts that are no change of the template, and odd names.

use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, same};
use crate::manifest::{Manifest, image_patch};
use crate::objects::summaries;
use crate::ownership::sizes;
use crate::scenario::{Scenario, scenarios};
use crate::watch::Trace;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both create_and_update,
    both another_text_of_a_template_restarts_nothing,
    both longest_name_and_odd_labels,
];

const HASH: &str = "pod-template-hash";

/// The first ReplicaSet and its metadata (S4.8–S4.15), status (S9) and event (S12).
async fn create_and_update(world: World) -> Outcome {
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
    update(&world).await
}

/// A rolling update stays within its bounds, and ends with the old ReplicaSet empty but kept (S6).
async fn update(world: &World) -> Outcome {
    world.scale("web", 4).await?;
    world.complete("web").await?;
    let trace = Trace::start(world).await?;
    let deployment = world.update("web", "app:v2").await?;
    same("revision", deployment.revision(), 2)?;
    let seen = trace.stop(world).await?;
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
        .await
        .map(drop)
}

/// Writing down what the server would fill in anyway is no change of the template (S16.1), and neither is a tool that
/// writes `creationTimestamp: null` into it beside one that does not (kubernetes#134773).
async fn another_text_of_a_template_restarts_nothing(world: World) -> Outcome {
    let manifest = Manifest::new("web", 2).json(world.flavour);
    let mut with_null = manifest.clone();
    with_null["spec"]["template"]["metadata"]["creationTimestamp"] = Value::Null;
    world.kubectl.apply(&with_null.to_string()).await?;
    world.complete("web").await?;
    let trace = Trace::start(&world).await?;
    for manifest in [&manifest, &with_null] {
        world.kubectl.apply(&manifest.to_string()).await?;
        world.observed("web").await?;
    }
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
    world.patch("web", &json!({"spec": {"template": {"spec": pod}}})).await?;
    let before = world.observed("web").await?;
    // Whatever it would do next, it does before this.
    let after = world.update("web", "app:v2").await?;
    same("revisions", (before.revision(), after.revision()), (1, 2))?;
    let seen = trace.stop(&world).await?;
    let images = |moment: &crate::trace::Moment| moment.values().filter(|set| set.image == "app:v1").count();
    let most = seen.0.iter().map(images).max();
    same("the number of sets of app:v1", most, Some(1))
}

/// 253 characters are a legal name. That of the ReplicaSet is cut, so each template still has one of its own (S4.8).
/// Labels look like something else, and one is a hash label of the user's own (S4.10).
async fn longest_name_and_odd_labels(world: World) -> Outcome {
    let name = "n".repeat(253);
    let prefix = format!("{0}.{0}.{0}.{1}", "p".repeat(63), "p".repeat(61));
    let key = format!("{prefix}/{}", "k".repeat(63));
    let labels = json!({
        "app": "web", "empty": "", "no": "null", "yes": "true", "0": "0x10", "A--b__c..d": "Z._-9",
        "longest": "v".repeat(63), key.as_str(): "1e400", "pod-template-hash": "of-the-user",
    });
    let expressions = json!([
        {"key": key, "operator": "In", "values": ["1e400", "", "x"]},
        {"key": "empty", "operator": "Exists"},
        {"key": "no", "operator": "NotIn", "values": ["true", ""]},
        {"key": "absent", "operator": "DoesNotExist"},
    ]);
    let template =
        json!({"metadata": {"labels": labels}, "spec": image_patch("app:v1")["spec"]["template"]["spec"]});
    let manifest = Manifest::new(&name, 2)
        .annotation("example.com/crab", "\u{1f980}\u{202e}\u{feff}\n\u{7f}")
        .spec("selector", &json!({"matchLabels": {"A--b__c..d": "Z._-9"}, "matchExpressions": expressions}))
        .spec("template", &template);
    world.roll_out(&manifest).await?;
    let first = world.set("app:v1").await?;
    let hash = first.labels.get("pod-template-hash").map_or("", String::as_str);
    ensure(first.name.ends_with(hash) && hash != "of-the-user", "a hash label of our own", &first.labels)?;
    world.update(&name, "app:v2").await?;
    let sets = world.sets().await?;
    same("the sets", sizes(&sets), [("app:v1", 0), ("app:v2", 2)])?;
    ensure(sets.iter().all(|set| set.name.len() <= 253), "legal names", summaries(&sets))?;
    world.wait_event(&name, "ScalingReplicaSet", "Scaled up").await.map(drop)
}
