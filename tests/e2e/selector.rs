//! A selector that the manifest leaves out.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, same};
use crate::manifest::Manifest;
use crate::quiet::writes;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours selector_defaulting because "apps/v1 requires a selector (S1.2)",
];

/// The selector is taken from the template's labels and stored before the first ReplicaSet is created, by one patch;
/// from then on it stays as it is.
async fn selector_defaulting(world: World) -> Outcome {
    let since = Timestamp::now();
    world.apply(&Manifest::new("web", 2).spec("selector", &Value::Null)).await?;
    let deployment = world.complete("web").await?;
    let selector = |value: &Value| value.pointer("/spec/selector").cloned().unwrap_or_default();
    let stored = json!({"matchLabels": {"app": "web"}});
    same("the selector", &selector(&deployment.value), &stored)?;

    let mut writes = writes(&world, since)?;
    writes.retain(|write| !write.dry_run);
    let patches =
        writes.iter().filter(|write| write.resource == "deployments" && write.subresource.is_empty());
    let patches: Vec<_> = patches.collect();
    let created = writes.iter().find(|write| write.resource == "replicasets");
    same("the number of writes to the Deployment", patches.len(), 1)?;
    let in_time = patches.first().zip(created).is_some_and(|(patch, set)| patch.timestamp < set.timestamp);
    ensure(in_time, "the selector to be stored before the first set", &writes)?;

    // More labels on the pods change nothing about it, and applying the same manifest takes
    // nothing away.
    let labels = json!({"spec": {"template": {"metadata": {"labels": {"tier": "front"}}}}});
    world.patch("web", &labels).await?;
    let deployment = world.complete("web").await?;
    same("revision", deployment.revision(), 2)?;
    world.apply(&Manifest::new("web", 3).spec("selector", &Value::Null)).await?;
    let deployment = world.complete("web").await?;
    same("the selector", &selector(&deployment.value), &stored)?;

    let remove = json!({"spec": {"selector": null}});
    let refused = world.patch("web", &remove).await;
    ensure(refused.is_err(), "removing the selector to be refused", &refused)
}
