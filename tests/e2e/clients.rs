//! What plain kubectl shows and prints.

use serde_json::json;

use crate::failure::{Outcome, ensure, same};
use crate::manifest::Manifest;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours columns_names_and_categories because "those of apps/v1 are the API server's",
];

/// `kubectl get` shows what apps/v1 has a column for, and then more (S15.7). There are a short name and the categories
/// `all` and `rollwright`.
async fn columns_names_and_categories(world: World) -> Outcome {
    world.apply(&Manifest::new("web", 2)).await?;
    world.kubectl.run(&["wait", "--for=condition=Available", "rwd/web", "--timeout=60s"]).await?;
    world.complete("web").await?;
    let table = async |arguments: &[&str]| -> Outcome<Vec<Vec<String>>> {
        let text = world.kubectl.run(&[&["get", "rwd", "web"], arguments].concat()).await?;
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        Ok(text.lines().map(words).collect())
    };
    let narrow = ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "STATUS", "TARGET"];
    let seen = table(&[]).await?;
    same("the columns", &seen[0], &narrow)?;
    same("the row", &seen[1][..4], ["web", "2/2", "2", "2"])?;
    same("the status", &seen[1][5..], ["Complete"])?;

    let seen = table(&["-o", "wide"]).await?;
    same("the wide columns", &seen[0][..7], narrow)?;
    same("the rest", &seen[0][7..], ["CONTAINERS", "IMAGES", "SELECTOR", "REVISION"])?;
    same("the row", &seen[1][5..], ["Complete", "app", "app:v1", "app=web", "1"])?;

    // The columns follow a change that makes no pod ready.
    world.patch("web", &json!({"spec": {"replicas": 0}})).await?;
    world.complete("web").await?;
    same("the row", &table(&[]).await?[1][..4], ["web", "0/0", "0", "0"])?;

    for resource in ["rwd", "rollwright", "all"] {
        let names = world.kubectl.run(&["get", resource, "-o", "name"]).await?;
        let is_there = names.lines().any(|name| name == "deployment.rollwright.dev/web");
        ensure(is_there, &format!("the Deployment among `kubectl get {resource}`"), &names)?;
    }
    Ok(())
}
