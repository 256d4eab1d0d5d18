//! What a failed scenario left behind: objects, events, and the operator's log.

use std::fmt::Write as _;

use serde_json::Value;

use crate::failure::Outcome;
use crate::objects::Set;
use crate::world::World;

const LOG_LINES: usize = 60;

/// A report on the namespace; parts that cannot be read are left out.
pub(crate) async fn report(world: &World) -> String {
    let mut text = format!("\nnamespace {} ({})\n", world.namespace, world.flavour.api_version());
    for result in [deployments(world).await, sets(world).await, pods(world).await, events(world).await] {
        match result {
            Ok(part) => text.push_str(&part),
            Err(failure) => {
                let _ = writeln!(text, "(not readable: {})", failure.0);
            }
        }
    }
    if let Some(operator) = world.stage.operator(world.flavour) {
        let log = operator.tail(&world.namespace, LOG_LINES);
        let _ = writeln!(text, "--- log of the operator ({}):\n{log}", operator.log().display());
    }
    text
}

async fn deployments(world: &World) -> Outcome<String> {
    let mut text = String::new();
    for deployment in world.deployments().list(&kube::api::ListParams::default()).await? {
        let mut value = serde_json::to_value(deployment)?;
        if let Some(metadata) = value.pointer_mut("/metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        let _ = writeln!(text, "--- Deployment:\n{}", serde_json::to_string_pretty(&value)?);
    }
    Ok(text)
}

async fn sets(world: &World) -> Outcome<String> {
    let line =
        |set: &Set| format!("{} owner {} annotations {:?}\n", set.summary(), set.owner, set.annotations);
    let sets = world.sets().await?;
    Ok(format!("--- ReplicaSets:\n{}", sets.iter().map(line).collect::<String>()))
}

async fn pods(world: &World) -> Outcome<String> {
    let pods = world.kubectl.run(&["get", "pods", "--show-labels"]).await?;
    Ok(format!("--- pods:\n{pods}"))
}

async fn events(world: &World) -> Outcome<String> {
    let events = world.kubectl.run(&["get", "events", "--sort-by=.metadata.creationTimestamp"]).await?;
    Ok(format!("--- events:\n{events}"))
}
