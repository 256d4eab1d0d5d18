//! Shards: operators that each manage the namespaces with their label, with a lease each, and a namespace
//! that goes from one to another in the middle of a rollout.

use std::time::Duration;

use cluster::kubelet::READY_AFTER_MS;
use jiff::Timestamp;
use serde_json::json;

use crate::failure::{Failure, Outcome, ensure, same};
use crate::leadership::one_set_per_template;
use crate::manifest::{Manifest, pods_patch};
use crate::objects::{Set, summaries};
use crate::replica::{Replica, Rights, leads};
use crate::scenario::{Scenario, scenarios};
use crate::trace::Trace;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    own both shards,
];

const PODS: i64 = 8;
/// Long enough for a rollout to continue under both.
const SLOW: &str = "1000";
/// After its last look at a namespace a shard writes for so long (docs/how-to/sharding.md),
const LOOK_HOLDS: Duration = Duration::from_secs(5);
/// and the next one begins so much later than it saw the change.
const HANDOVER: Duration = Duration::from_secs(15);

/// Two operators with a lease each. Each manages its own namespaces, and only those; killing one stops only its own. A
/// namespace that is moved in the middle of a rollout is never short of pods, nor has it too many, and ends as it
/// should. One without the label is nobody's before somebody selects it.
async fn shards(a: World) -> Outcome {
    let alone = a.stage.operator(a.flavour);
    alone.ok_or_else(|| Failure::new("there is no operator"))?.stop();
    let begin = Timestamp::now();
    let b = elsewhere(&a, "b").await?;
    let none = elsewhere(&a, "none").await?;
    label(&a, "shard=a").await?;
    label(&b, "shard=b").await?;
    let of_a = Replica::start(&a, "of-a", Rights::Cluster, &["--selector=shard=a"]).await?;
    let of_b = Replica::start(&a, "of-b", Rights::Cluster, &["--selector=shard in (b)"]).await?;
    for world in [&a, &b, &none] {
        world.create(&Manifest::new("web", PODS).rolling(&json!(1), &json!(1))).await?;
    }
    leads(&a, &of_a).await?;
    leads(&a, &of_b).await?;
    for world in [&a, &b] {
        world.complete("web").await?;
    }
    only_in(&a, &of_a, &a, begin)?;
    only_in(&a, &of_b, &b, begin)?;

    killed(&a, &b, &of_a).await?;
    moved(&a, &of_a, &of_b).await?;

    // Nobody has looked at the third one.
    same("sets without a shard", none.sets().await?.len(), 0)?;
    ensure(none.get("web").await?.status("observedGeneration") <= 0, "nobody having looked", "")?;
    let since = Timestamp::now();
    let rest = Replica::start(&a, "rest", Rights::Cluster, &["--selector=!shard"]).await?;
    none.complete("web").await?;
    only_in(&a, &rest, &none, since)?;
    for (replica, requests) in [
        (&of_a, of_a.requests(&a, begin)?),
        (&of_b, of_b.requests(&a, begin)?),
        (&rest, rest.requests(&a, begin)?),
    ] {
        let refused: Vec<_> = requests.iter().filter(|request| request.code == 403).collect();
        ensure(refused.is_empty(), "no request that was refused", refused)?;
        ensure(replica.operator.is_running(), "all of them running", replica.operator.tail("", 5))?;
    }
    Ok(())
}

async fn elsewhere(world: &World, name: &str) -> Outcome<World> {
    World::new(world.stage.clone(), world.controller, world.flavour, name).await
}

async fn label(world: &World, label: &str) -> Outcome {
    world.kubectl.run(&["label", "namespace", &world.namespace, label, "--overwrite"]).await?;
    Ok(())
}

/// What a replica wrote is all in one namespace, and is something.
fn only_in(world: &World, replica: &Replica, place: &World, since: Timestamp) -> Outcome {
    let writes = replica.writes(world, since)?;
    let astray: Vec<_> = writes.iter().filter(|write| write.namespace != place.namespace).collect();
    ensure(!writes.is_empty() && astray.is_empty(), "writes in its own namespaces only", astray)
}

/// One of them is killed: the other one continues, and the first one's namespaces wait for it.
async fn killed(a: &World, b: &World, of_a: &Replica) -> Outcome {
    of_a.operator.kill();
    for world in [a, b] {
        world.set_image("web", "app:v2").await?;
    }
    b.complete("web").await?;
    let sets = a.sets().await?;
    ensure(sets.iter().all(|set| set.image != "app:v2"), "nobody else's hands", summaries(&sets))?;
    of_a.operator.start_again()?;
    a.complete("web").await?;
    Ok(())
}

/// A namespace goes over while a rollout is half way, which the new one ends.
async fn moved(a: &World, of_a: &Replica, of_b: &Replica) -> Outcome {
    let trace = Trace::start(a).await?;
    a.patch("web", &pods_patch("app:v3", READY_AFTER_MS, &json!(SLOW))).await?;
    let is_half_way = |sets: &[Set]| sets.iter().any(|set| set.image == "app:v3" && set.size >= 3);
    a.wait_sets("a rollout that is half way", is_half_way).await?;
    let before = Timestamp::now();
    label(a, "shard=b").await?;
    let after = Timestamp::now();
    let sets = a.sets().await?;
    ensure(sets.iter().any(|set| set.image != "app:v3" && set.size > 0), "old pods left", summaries(&sets))?;
    a.complete("web").await?;
    let seen = trace.stop(a).await?;
    seen.ensure_at_most(PODS + 1)?;
    seen.ensure_available(PODS - 1)?;
    one_set_per_template(&seen)?;

    let here = |replica: &Replica| -> Outcome<Vec<_>> {
        let mut writes = replica.writes(a, before)?;
        writes.retain(|write| write.namespace == a.namespace && write.resource != "events");
        Ok(writes)
    };
    let late: Vec<_> = here(of_a)?.into_iter().filter(|write| write.timestamp > after + LOOK_HOLDS).collect();
    ensure(late.is_empty(), "no write of the one that has lost it", late)?;
    let writes = here(of_b)?;
    let early: Vec<_> = writes.iter().filter(|write| write.timestamp < before + HANDOVER).collect();
    ensure(!writes.is_empty() && early.is_empty(), "no write of the one that has won it for 15 s", early)?;
    a.set_image("web", "app:v4").await?;
    a.complete("web").await?;
    Ok(())
}
