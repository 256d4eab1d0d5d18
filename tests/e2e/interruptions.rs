//! The operator is killed, and absent while things change.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs, io};

use cluster::Component;
use kube::api::DeleteParams;
use serde_json::json;

use crate::failure::{Failure, Outcome, ensure, same};
use crate::floor::Floor;
use crate::manifest::Manifest;
use crate::objects::{Set, summaries};
use crate::operator::Operator;
use crate::ownership::sizes;
use crate::scenario::{Scenario, scenarios};
use crate::trace::{Moment, Recording, Trace};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    own both killed_twenty_times,
    own both away_while_objects_change,
    own both restored_from_a_backup,
];

/// Names the seed of [`killed_twenty_times`], to repeat a run.
const SEED: &str = "E2E_SEED";
const KILLS: u32 = 20;
/// Where a control plane keeps its data, and a copy of it.
const ETCD: &str = "etcd";
const BACKUP: &str = "backup";

/// Marsaglia's xorshift: random enough to hit a rollout anywhere.
struct Random(u64);

impl Random {
    fn seeded() -> Self {
        let given = env::var(SEED).ok().and_then(|text| text.parse().ok());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seed = given.unwrap_or_else(|| u64::from(now.subsec_nanos()) | 1);
        println!("{SEED}={seed}");
        Self(seed.max(1))
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound.max(1)
    }
}

fn operator(world: &World) -> Outcome<&Operator> {
    world.stage.operator(world.flavour).ok_or_else(|| Failure::new("there is no operator"))
}

/// The operator is killed at random moments of rollouts. The end is as if it had not been: one ReplicaSet per template
/// at all times, never too many pods, never too few available (S4.15, S6).
async fn killed_twenty_times(world: World) -> Outcome {
    let mut random = Random::seeded();
    let manifest =
        Manifest::new("web", 4).rolling(&json!(1), &json!(1)).spec("revisionHistoryLimit", &json!(50));
    world.roll_out(&manifest).await?;
    let (trace, floor) = (Trace::start(&world).await?, Floor::start(&world).await?);
    let mut template = 1;
    for _ in 0..KILLS {
        // Now and then a rollout spans two kills.
        if template == 1 || random.below(4) > 0 {
            template += 1;
            world.set_image("web", &format!("app:v{template}")).await?;
        }
        tokio::time::sleep(Duration::from_millis(random.below(900))).await;
        operator(&world)?.kill();
        tokio::time::sleep(Duration::from_millis(random.below(200))).await;
        operator(&world)?.start_again()?;
    }
    world.complete("web").await?;
    let sets = world.sets().await?;
    let last = format!("app:v{template}");
    let expected = |set: &Set| set.size == if set.image == last { 4 } else { 0 };
    ensure(sets.iter().all(expected), "pods of the last template only", summaries(&sets))?;
    let seen = trace.stop(&world).await?;
    seen.ensure_at_most(5)?;
    seen.ensure_available(3)?;
    ensure(floor.is_complete() && floor.lowest() >= 3, "three ready pods at every moment", floor.lowest())?;
    one_per_template(&seen)
}

fn one_per_template(seen: &Recording) -> Outcome {
    for moment in &seen.0 {
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for set in moment.values() {
            *counts.entry(&set.image).or_default() += 1;
        }
        ensure(counts.values().all(|count| *count == 1), "one set per template", names(moment))?;
    }
    Ok(())
}

fn names(moment: &Moment) -> String {
    moment.values().map(Set::summary).collect::<Vec<_>>().join("; ")
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

/// While the operator is away a Deployment gets two templates and another size, one is deleted,
/// one is created, and one is replaced by another of the same name. It starts, and all is done
/// as if it had been there; of the template that nobody saw there is no ReplicaSet.
async fn away_while_objects_change(world: World) -> Outcome {
    for name in ["edited", "deleted", "replaced"] {
        world.create(&Manifest::new(name, 2)).await?;
    }
    for name in ["edited", "deleted", "replaced"] {
        world.complete(name).await?;
    }
    operator(&world)?.stop();
    world.set_image("edited", "app:v2").await?;
    world.set_image("edited", "app:v3").await?;
    world.scale("edited", 5).await?;
    for name in ["deleted", "replaced"] {
        let _ = world.deployments().delete(name, &DeleteParams::background()).await?;
    }
    let replacement = world.create(&Manifest::new("replaced", 1).image("app:v4")).await?;
    let created = world.create(&Manifest::new("created", 1)).await?;
    operator(&world)?.start_again()?;

    let edited = world.complete("edited").await?;
    world.complete("replaced").await?;
    world.complete("created").await?;
    let is_tidy = |sets: &[Set]| sets.len() == 4;
    let sets = world.wait_sets("the sets of what was deleted going", is_tidy).await?;
    let of = |uid: &str| sets.iter().filter(|set| set.owner == uid).cloned().collect::<Vec<_>>();
    same("the sets of the edited one", sizes(&of(edited.uid())), [("app:v1", 0), ("app:v3", 5)])?;
    same("the sets of the replacement", sizes(&of(replacement.uid())), [("app:v4", 1)])?;
    same("the sets of the new one", sizes(&of(created.uid())), [("app:v1", 1)])
}
