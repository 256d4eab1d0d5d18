//! `spec.pin`: an earlier revision runs while the template stays as its author wrote it (FP-11, FP-12).

use std::time::Duration;

use serde_json::{Value, json};

use crate::failure::{Failure, Outcome, ensure, same};
use crate::floor::Floor;
use crate::manifest::Manifest;
use crate::objects::{Deployment, summaries};
use crate::scenario::{Scenario, scenarios};
use crate::trace::Trace;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    own ours killed_while_a_pin_rolls_out because "apps/v1 has no pin",
    ours pinned_and_released because "apps/v1 has no pin",
    ours a_pin_that_names_nothing because "apps/v1 has no pin",
    ours a_wrong_pin_is_refused because "apps/v1 has no pin",
];

/// Revision 2 is complete, and revision 1 has no pods.
async fn two_revisions(world: &World, name: &str) -> Outcome<String> {
    let manifest = manifest(name, "app:v1");
    world.roll_out(&manifest).await?;
    let hash = hash(world, name, "app:v1").await?;
    world.set_image(name, "app:v2").await?;
    world.complete(name).await?;
    Ok(hash)
}

fn manifest(name: &str, image: &str) -> Manifest {
    Manifest::new(name, 3).image(image).rolling(&json!(1), &json!(0))
}

/// The label `pod-template-hash` of the ReplicaSet with this image.
pub(crate) async fn hash(world: &World, name: &str, image: &str) -> Outcome<String> {
    let sets = world.sets().await?;
    let found = sets.iter().find(|set| set.name.starts_with(&format!("{name}-")) && set.image == image);
    let hash = found.and_then(|set| set.labels.get("pod-template-hash")).cloned();
    hash.ok_or_else(|| Failure::new(format!("no ReplicaSet of {image}: {}", summaries(&sets))))
}

async fn pin(world: &World, name: &str, hash: &str) -> Outcome {
    world.patch(name, &json!({"spec": {"pin": {"hash": hash, "reason": "INC-4711"}}})).await
}

/// Waits until the revision of this image has all pods, and the status reports it.
pub(crate) async fn runs(world: &World, name: &str, image: &str) -> Outcome<Deployment> {
    let hash = hash(world, name, image).await?;
    world
        .wait_until(name, &format!("{image} running"), |it| {
            let target = it.value.pointer("/status/target/hash").and_then(Value::as_str);
            let is_whole =
                ["replicas", "availableReplicas"].iter().all(|count| it.status(count) == it.replicas());
            // None of the declared revision is left.
            let has_ended = it.value.pointer("/status/rollout").is_none_or(Value::is_null);
            let is_alone =
                has_ended && it.status("updatedReplicas") == 0 && it.status("terminatingReplicas") == 0;
            it.is_observed() && is_alone && target == Some(hash.as_str()) && is_whole
        })
        .await
}

/// The pinned revision takes over under the same surge and availability, and everything reports it; without the pin
/// the template rolls out again.
async fn pinned_and_released(world: World) -> Outcome {
    let hash = two_revisions(&world, "web").await?;
    let (trace, floor) = (Trace::start(&world).await?, Floor::start(&world).await?);
    pin(&world, "web", &hash).await?;
    let web = runs(&world, "web", "app:v1").await?;
    world.wait_sizes(&[("app:v1", 3), ("app:v2", 0)]).await?;
    same("the template", web.image(), "app:v2")?;
    same("Progressing", web.progressing(), ("False".to_owned(), "RolledBack".to_owned()))?;
    for (kind, status) in [("Ready", "False"), ("Stalled", "True"), ("Available", "True")] {
        same(kind, web.condition(kind).status.as_str(), status)?;
    }
    same("updatedReplicas", web.status("updatedReplicas"), 0)?;
    same("the revision that runs", web.value.pointer("/status/target/revision"), Some(&json!(1)))?;
    same("the declared one", web.value.pointer("/status/target/declaredRevision"), Some(&json!(2)))?;
    world.wait_event("web", "Pinned", "revision 1 runs instead of the declared revision 2").await?;

    // Git changes the template, and the autoscaler the size.
    world.set_image("web", "app:v3").await?;
    world.scale("web", 4).await?;
    runs(&world, "web", "app:v1").await?;
    world.wait_sizes(&[("app:v1", 4), ("app:v2", 0), ("app:v3", 0)]).await?;

    world.patch("web", &json!({"spec": {"pin": null}})).await?;
    let web = world.complete("web").await?;
    same("status.target", web.value.pointer("/status/target").filter(|it| !it.is_null()), None::<&Value>)?;
    world.wait_sizes(&[("app:v1", 0), ("app:v2", 0), ("app:v3", 4)]).await?;
    world.wait_event("web", "PinReleased", "the declared revision is rolled out").await?;
    let seen = trace.stop(&world).await?;
    seen.ensure_at_most(5)?;
    seen.ensure_available(3)?;
    ensure(floor.is_complete() && floor.lowest() >= 3, "three ready pods at every moment", floor.lowest())
}

/// The operator is killed again and again while the pinned revision takes over.
async fn killed_while_a_pin_rolls_out(world: World) -> Outcome {
    let hash = two_revisions(&world, "web").await?;
    let operator = world.stage.operator(world.flavour).ok_or_else(|| Failure::new("there is no operator"))?;
    let trace = Trace::start(&world).await?;
    pin(&world, "web", &hash).await?;
    for pause in [0, 150, 300, 450] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        operator.kill();
        operator.start_again()?;
    }
    let web = runs(&world, "web", "app:v1").await?;
    same("the template", web.image(), "app:v2")?;
    world.wait_sizes(&[("app:v1", 3), ("app:v2", 0)]).await?;
    let seen = trace.stop(&world).await?;
    seen.ensure_at_most(4)?;
    seen.ensure_available(3)
}

/// Nothing moves, the status names the mistake, and the next pin is carried out.
async fn a_pin_that_names_nothing(world: World) -> Outcome {
    let hash = two_revisions(&world, "web").await?;
    pin(&world, "web", "nothing").await?;
    let stalled = |it: &Deployment| it.is_observed() && it.condition("Stalled").reason == "PinTargetMissing";
    world.wait_until("web", "PinTargetMissing", stalled).await?;
    world.wait_event("web", "PinTargetMissing", "remove spec.pin").await?;
    world.set_image("web", "app:v3").await?;
    world.scale("web", 4).await?;
    world.wait_sizes(&[("app:v1", 0), ("app:v2", 4)]).await?;
    pin(&world, "web", &hash).await?;
    runs(&world, "web", "app:v1").await?;
    world.wait_sizes(&[("app:v1", 4), ("app:v2", 0), ("app:v3", 0)]).await?;
    Ok(())
}

/// The API server names the field and the fix.
async fn a_wrong_pin_is_refused(world: World) -> Outcome {
    world.roll_out(&manifest("web", "app:v1")).await?;
    for (wrong, text) in [
        (json!({"hash": "not a label"}), "must be the label pod-template-hash of a ReplicaSet"),
        (json!({"hash": ""}), "must be the label pod-template-hash of a ReplicaSet"),
        (json!({"hash": "a", "whileTemplate": "v2"}), "must be a fingerprint of the form v1:"),
        (json!({"reason": "INC-4711"}), "spec.pin.hash"),
    ] {
        let refused = world.patch("web", &json!({"spec": {"pin": wrong}})).await.err();
        let said = refused.map(|failure| failure.0).unwrap_or_default();
        ensure(said.contains(text), &format!("\"{text}\" for {wrong}"), &said)?;
    }
    Ok(())
}
