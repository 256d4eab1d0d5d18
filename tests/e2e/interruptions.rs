//! etcd is restored to an older revision under an operator that runs on.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

use cluster::Component;
use serde_json::json;

use crate::failure::{Outcome, same};
use crate::manifest::Manifest;
use crate::ownership::sizes;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    own ours restored_from_a_backup because "both APIs share the watches",
];

/// Where a control plane keeps its data, and a copy of it.
const ETCD: &str = "etcd";
const BACKUP: &str = "backup";

/// etcd stops; what happens to the data meanwhile is for `change`. The API server starts again, too, since it has a
/// cache.
async fn offline(world: &World, change: impl FnOnce(&Path) -> std::io::Result<()>) -> Outcome {
    let cluster = &world.stage.cluster;
    cluster.stop(Component::Etcd)?;
    change(cluster.directory())?;
    cluster.restart(Component::Etcd).await?;
    cluster.restart(Component::ApiServer).await?;
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let status = Command::new("cp").arg("-a").args([from, to]).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("cp ended with {status}"))) }
}

/// etcd is restored to an older revision, without `--bump-revision`, while the operator runs on. The versions of
/// objects fall by that. A watch that went on from a later one would be silent, and show neither what the restore took
/// back nor what is edited then. The operator notices, and acts on an edit.
async fn restored_from_a_backup(world: World) -> Outcome {
    let manifest = Manifest::new("web", 2).rolling(&json!(1), &json!(0));
    world.roll_out(&manifest).await?;
    offline(&world, |directory| copy(&directory.join(ETCD), &directory.join(BACKUP))).await?;
    for version in 2..5 {
        world.update("web", &format!("app:v{version}")).await?;
    }
    for number in 0..200 {
        world.patch("web", &json!({"metadata": {"annotations": {"number": number.to_string()}}})).await?;
    }
    offline(&world, |directory| {
        fs::remove_dir_all(directory.join(ETCD))?;
        fs::rename(directory.join(BACKUP), directory.join(ETCD))
    })
    .await?;
    let sets = world.sets().await?;
    same("the sets of the backup", sizes(&sets), [("app:v1", 2)])?;
    world.set_image("web", "app:v9").await?;
    // The controllers that create pods may not have noticed: the operator's own write shows it.
    world.wait_sizes(&[("app:v1", 2), ("app:v9", 1)]).await.map(drop)
}
