//! What plain kubectl shows and says.

use serde_json::json;

use crate::failure::{Outcome, ensure, same};
use crate::manifest::Manifest;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both printer_columns,
    ours names_and_categories because "those of apps/v1 are the API server's",
];

/// `kubectl get` shows the same columns for both kinds (S15.7).
async fn printer_columns(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 2)).await?;
    let table = async |arguments: &[&str]| -> Outcome<(Vec<String>, Vec<String>)> {
        let arguments: Vec<&str> =
            ["get", world.flavour.resource(), "web"].iter().chain(arguments).copied().collect();
        let text = world.kubectl.run(&arguments).await?;
        let mut lines =
            text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        Ok((lines.next().unwrap_or_default(), lines.next().unwrap_or_default()))
    };
    let narrow = ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"];
    let (header, row) = table(&[]).await?;
    same("the columns", header, narrow)?;
    same("the row", row.get(..4).unwrap_or_default(), ["web", "2/2", "2", "2"])?;

    let (header, row) = table(&["-o", "wide"]).await?;
    same("the wide columns", header.get(..5).unwrap_or_default(), narrow)?;
    same("the rest", header.get(5..).unwrap_or_default(), ["CONTAINERS", "IMAGES", "SELECTOR"])?;
    same("the row", row.get(5..).unwrap_or_default(), ["app", "app:v1", "app=web"])?;

    // The columns follow a change that makes no pod ready.
    world.patch("web", &json!({"spec": {"replicas": 0}})).await?;
    world.complete("web").await?;
    let (_, row) = table(&[]).await?;
    same("the row", row.get(..4).unwrap_or_default(), ["web", "0/0", "0", "0"])
}

/// The short name, and the categories `all` and `rollwright`.
async fn names_and_categories(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 1)).await?;
    for resource in ["rwd", "rollwright", "all"] {
        let names = world.kubectl.run(&["get", resource, "-o", "name"]).await?;
        ensure(
            names.lines().any(|name| name == "deployment.rollwright.dev/web"),
            &format!("the Deployment among `kubectl get {resource}`"),
            &names,
        )?;
    }
    Ok(())
}
