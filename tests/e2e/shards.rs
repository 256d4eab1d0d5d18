//! Shards: operators that each manage the namespaces with their label, with a lease each.

use jiff::Timestamp;
use serde_json::json;

use crate::failure::{Outcome, ensure, same};
use crate::manifest::Manifest;
use crate::objects::summaries;
use crate::replica::{Replica, leads};
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    own ours shards because "the process has shards, whatever its API",
];

const PODS: i64 = 4;

/// Two operators with a lease each. Each manages only its own namespaces; killing one stops only its own, and
/// a namespace can be moved. One without the label is nobody's before somebody selects it.
async fn shards(a: World) -> Outcome {
    a.operator()?.stop();
    let begin = Timestamp::now();
    let b = elsewhere(&a, "b").await?;
    let none = elsewhere(&a, "none").await?;
    label(&a, "shard=a").await?;
    label(&b, "shard=b").await?;
    let of_a = Replica::start(&a, "of-a", &["--selector=shard=a"]).await?;
    let of_b = Replica::start(&a, "of-b", &["--selector=shard in (b)"]).await?;
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
    moved(&a, &of_b).await?;

    // Nobody has looked at the third one.
    same("sets without a shard", none.sets().await?.len(), 0)?;
    ensure(none.get("web").await?.status("observedGeneration") <= 0, "nobody having looked", "")?;
    let since = Timestamp::now();
    let rest = Replica::start(&a, "rest", &["--selector=!shard"]).await?;
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
    a.complete("web").await.map(drop)
}

/// A namespace goes over, and the next rollout is that of the other one.
async fn moved(a: &World, of_b: &Replica) -> Outcome {
    label(a, "shard=b").await?;
    let since = Timestamp::now();
    a.update("web", "app:v3").await?;
    let writes = of_b.writes(a, since)?;
    ensure(writes.iter().any(|write| write.namespace == a.namespace), "writes of the one that won it", writes)
}
