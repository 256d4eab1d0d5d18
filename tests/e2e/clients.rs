//! What plain kubectl shows and prints.

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
    // What apps/v1 has no column for comes after what it has.
    let is_ours = world.flavour.is_ours();
    let (state, revision): (&[&str], &[&str]) =
        if is_ours { (&["STATUS", "TARGET"], &["REVISION"]) } else { (&[], &[]) };
    let (header, row) = table(&[]).await?;
    same("the columns", header, [&narrow, state].concat())?;
    same("the status", row.get(5..).unwrap_or_default(), if is_ours { vec!["Complete"] } else { vec![] })?;
    same("the row", row.get(..4).unwrap_or_default(), ["web", "2/2", "2", "2"])?;

    let (header, row) = table(&["-o", "wide"]).await?;
    same("the wide columns", header.get(..5).unwrap_or_default(), narrow)?;
    let rest = [state, &["CONTAINERS", "IMAGES", "SELECTOR"], revision].concat();
    same("the rest", header.get(5..).unwrap_or_default(), rest)?;
    let rest = ["app", "app:v1", "app=web"];
    let rest = if is_ours { [&["Complete"], &rest[..], &["1"]].concat() } else { rest.to_vec() };
    same("the row", row.get(5..).unwrap_or_default(), rest)?;

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
