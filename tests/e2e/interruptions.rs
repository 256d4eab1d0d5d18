//! The operator is killed, and etcd is restored under it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;
use std::{fs, io};

use cluster::Component;
use serde_json::json;

use crate::failure::{Failure, Outcome, ensure, same};
use crate::manifest::Manifest;
use crate::objects::{Set, summaries};
use crate::ownership::sizes;
use crate::scenario::{Scenario, scenarios};
use crate::watch::Trace;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    own ours killed_twenty_times because "the process is killed, whatever its API",
    own ours restored_from_a_backup because "both APIs share the watches",
];

const KILLS: u64 = 20;
/// Where a control plane keeps its data, and a copy of it.
const ETCD: &str = "etcd";
const BACKUP: &str = "backup";

/// The operator is killed at many moments of rollouts. The end is as if it had not been: one ReplicaSet per template
/// at all times, never too many pods, never too few available (S4.15, S6).
async fn killed_twenty_times(world: World) -> Outcome {
    let operator = world.stage.operator(world.flavour).ok_or_else(|| Failure::new("there is no operator"))?;
    let manifest =
        Manifest::new("web", 4).rolling(&json!(1), &json!(1)).spec("revisionHistoryLimit", &json!(50));
    world.roll_out(&manifest).await?;
    let trace = Trace::start(&world).await?;
    let mut template = 1;
    for kill in 0..KILLS {
        // Now and then a rollout spans two kills.
        if kill % 4 != 3 {
            template += 1;
            world.set_image("web", &format!("app:v{template}")).await?;
        }
        tokio::time::sleep(Duration::from_millis(kill * 331 % 900)).await;
        operator.kill();
        tokio::time::sleep(Duration::from_millis(kill * 71 % 200)).await;
        operator.start_again()?;
    }
    world.complete("web").await?;
    let sets = world.sets().await?;
    let last = format!("app:v{template}");
    let expected = |set: &Set| set.size == if set.image == last { 4 } else { 0 };
    ensure(sets.iter().all(expected), "pods of the last template only", summaries(&sets))?;
    let seen = trace.stop(&world).await?;
    seen.ensure_at_most(5)?;
    seen.ensure_available(3)?;
    seen.ensure_one_per_template()
}

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
        world.set_image("web", &format!("app:v{version}")).await?;
        world.complete("web").await?;
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
    world.wait_sizes(&[("app:v1", 2), ("app:v9", 1)]).await?;
    Ok(())
}
