//! The change of guard: Deployments go from Kubernetes' own controller to Rollwright and back.

use std::collections::{BTreeMap, BTreeSet};

use cluster::kubelet::{READY_AFTER_MS, TERMINATE_AFTER_MS};
use cluster::{NotYet, User, audit};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, same, until};
use crate::manifest::{Manifest, pods_patch};
use crate::objects::{Set, summaries};
use crate::scenario::{Scenario, scenarios};
use crate::watch::{Sighting, Sightings};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    own apps handover because "nobody else knows rollwright.dev",
];

/// The second one has a history.
const SETTLED: [&str; 2] = ["settled-0", "settled-1"];
const ROLLING: [&str; 4] = ["rolling-0", "rolling-1", "rolling-2", SCALING];
const SCALING: &str = "scaling";
const PAUSED: &str = "paused";
const STUCK: &str = "stuck";
const WAITING: &str = "waiting";

/// The last template, and the last size of those that are scaled.
const LAST: &str = "app:v3";
const SCALED: i64 = 4;
/// Pods of those that are under way: a rollout takes some ten seconds.
const REPLICAS: i64 = 8;
/// Long enough for a rollout to continue under both.
const SLOW: &str = "1000";
/// Long enough for a Recreate to still wait when the guard has changed.
const LINGERING: &str = "6000";
const UPSTREAM: &str = "system:serviceaccount:kube-system:deployment-controller";

/// Who is in charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guard {
    Upstream,
    Ours,
}

/// Deployments at different stages go from kube-controller-manager to Rollwright and back. No change of guard creates a
/// ReplicaSet or restarts a pod, each time the other one continues where the first has stopped, and all ends as it
/// should.
async fn handover(world: World) -> Outcome {
    world.operator()?.stop();
    world.stage.cluster.run_deployment_controller(true).await?;
    create(&world).await?;
    let sightings = Sightings::start(&world, world.set_api()).await?;
    let settled = pods(&world, &SETTLED).await?;
    same("the number of settled pods", settled.len(), 2 * SETTLED.len())?;
    let since = Timestamp::now();
    set_off(&world).await?;
    let at_rest = settled_sets(&world).await?;
    for (guard, size) in [(Guard::Ours, 10), (Guard::Upstream, SCALED)] {
        still_under_way(&world).await?;
        world.scale(SCALING, size).await?;
        let changed = Timestamp::now();
        change(&world, guard).await?;
        // Each rollout takes at least one more step under the new guard.
        advance(&world, guard, changed).await?;
        same("the sets of those that rest", settled_sets(&world).await?, at_rest.clone())?;
    }
    end(&world).await?;
    same("the pods of the settled", pods(&world, &SETTLED).await?, settled)?;
    for user in [UPSTREAM, User::Operator.name()] {
        let writes = writes(&world, since, user)?;
        let disturbing: Vec<_> = writes.iter().filter(|write| write.name.starts_with("settled-")).collect();
        ensure(disturbing.is_empty(), "no writes to the settled", disturbing)?;
    }
    one_set_per_template(&sightings.stop(&world).await?)
}

/// All, and those that stay where they are brought there.
async fn create(world: &World) -> Outcome {
    for name in SETTLED {
        world.roll_out(&Manifest::new(name, 2)).await?;
    }
    for name in ROLLING.into_iter().chain([PAUSED]) {
        world.roll_out(&Manifest::new(name, REPLICAS).rolling(&json!(1), &json!(0))).await?;
    }
    world.roll_out(&Manifest::new(STUCK, 3).spec("progressDeadlineSeconds", &json!(2))).await?;
    let recreate = Manifest::new(WAITING, 2).spec("strategy", &json!({"type": "Recreate"}));
    world.roll_out(&recreate.pods(TERMINATE_AFTER_MS, LINGERING)).await?;

    world.set_image(SETTLED[1], "app:v2").await?;
    world.patch(PAUSED, &pods_patch("app:v2", READY_AFTER_MS, &json!(SLOW))).await?;
    wait_size(world, PAUSED, "app:v2", 1).await?;
    world.patch(PAUSED, &json!({"spec": {"paused": true}})).await?;
    world.wait_until(PAUSED, "the pause", |it| it.progressing().1 == "DeploymentPaused").await?;
    world.set_image(STUCK, "bad:v2").await?;
    let is_late = |reason: String| reason == "ProgressDeadlineExceeded";
    world.wait_until(STUCK, "the deadline", |it| is_late(it.progressing().1)).await?;
    world.complete(SETTLED[1]).await.map(drop)
}

/// Begins rollouts, and waits until all are under way.
async fn set_off(world: &World) -> Outcome {
    for name in ROLLING {
        world.patch(name, &pods_patch(LAST, READY_AFTER_MS, &json!(SLOW))).await?;
    }
    for name in ROLLING {
        wait_size(world, name, LAST, 1).await?;
    }
    world.set_image(WAITING, LAST).await?;
    let emptied = |sets: &[Set]| of(sets, WAITING).all(|set| set.size == 0);
    world.wait_sets("the old set going down", emptied).await.map(drop)
}

/// At the moment of a handover there is something left to do.
async fn still_under_way(world: &World) -> Outcome {
    let sets = world.sets().await?;
    let is_left = |name: &&str| of(&sets, name).any(|set| set.image != LAST && set.size > 0);
    ensure(ROLLING.iter().any(is_left), "rollouts that are under way", summaries(&sets))
}

/// First the one ends, then the other starts: no Deployment ever has two.
async fn change(world: &World, to: Guard) -> Outcome {
    let cluster = &world.stage.cluster;
    match to {
        Guard::Ours => {
            cluster.run_deployment_controller(false).await?;
            world.operator()?.start_again()?;
        }
        Guard::Upstream => {
            world.operator()?.stop();
            cluster.run_deployment_controller(true).await?;
        }
    }
    Ok(())
}

/// The new guard writes to a ReplicaSet of each rollout.
async fn advance(world: &World, guard: Guard, since: Timestamp) -> Outcome {
    let user = match guard {
        Guard::Upstream => UPSTREAM,
        Guard::Ours => User::Operator.name(),
    };
    world
        .wait(&format!("{guard:?} going on with all rollouts"), async || {
            let writes = writes(world, since, user).map_err(|failure| NotYet(failure.0))?;
            let sets = writes.iter().filter(|write| write.resource == "replicasets");
            let names: Vec<_> = sets.map(|write| write.name.as_str()).collect();
            let is_on = |name: &&&str| names.iter().any(|set| set.starts_with(**name));
            let idle: Vec<_> = ROLLING.iter().filter(|name| !is_on(name)).collect();
            until(idle.is_empty(), format!("nothing was done about {idle:?}"))
        })
        .await
}

/// What is left is unblocked: everything ends with the last template, at the size last asked for.
async fn end(world: &World) -> Outcome {
    world.patch(PAUSED, &json!({"spec": {"paused": false}})).await?;
    world.set_image(STUCK, LAST).await?;
    let [first, second, third, _] = ROLLING;
    for (name, image, size) in [
        (first, LAST, REPLICAS),
        (second, LAST, REPLICAS),
        (third, LAST, REPLICAS),
        (SCALING, LAST, SCALED),
        (PAUSED, "app:v2", REPLICAS),
        (STUCK, LAST, 3),
        (WAITING, LAST, 2),
        (SETTLED[0], "app:v1", 2),
        (SETTLED[1], "app:v2", 2),
    ] {
        let deployment = world.complete(name).await?;
        let sets = world.sets().await?;
        let active: Vec<_> = of(&sets, name).filter(|set| set.size > 0).collect();
        let seen: Vec<_> = active.iter().map(|set| (set.image.as_str(), set.size)).collect();
        same(&format!("what {name} ends with"), seen, vec![(image, size)])?;
        same("the revision", deployment.revision(), active.first().map_or(0, |set| set.revision()))?;
    }
    Ok(())
}

fn of<'a>(sets: &'a [Set], name: &str) -> impl Iterator<Item = &'a Set> {
    let prefix = format!("{name}-");
    sets.iter().filter(move |set| set.name.starts_with(&prefix))
}

async fn wait_size(world: &World, name: &str, image: &str, size: i64) -> Outcome {
    let is_there =
        |sets: &[Set]| of(sets, name).any(|set| set.image == image && set.size >= size && set.replicas > 0);
    world.wait_sets(&format!("{name} having pods of {image}"), is_there).await.map(drop)
}

/// Names, sizes and revisions of the ReplicaSets of those that nobody should touch.
async fn settled_sets(world: &World) -> Outcome<Vec<(String, i64, i64)>> {
    let sets = world.sets().await?;
    let names = SETTLED.into_iter().chain([PAUSED, STUCK]);
    Ok(names
        .flat_map(|name| of(&sets, name).map(|set| (set.name.clone(), set.size, set.revision())))
        .collect())
}

/// Names and uids of the pods of these.
async fn pods(world: &World, names: &[&str]) -> Outcome<BTreeSet<(String, String)>> {
    let pods = world.pods().await?.into_iter().map(|pod| pod.metadata);
    let pods = pods.filter(|pod| pod.deletion_timestamp.is_none());
    let is_of = |name: &str| names.iter().any(|of| name.starts_with(&format!("{of}-")));
    let named = pods.map(|pod| (pod.name.unwrap_or_default(), pod.uid.unwrap_or_default()));
    Ok(named.filter(|(name, _)| is_of(name)).collect())
}

fn writes(world: &World, since: Timestamp, user: &str) -> Outcome<Vec<audit::Request>> {
    let mut writes = audit::writes(&world.stage.cluster.audit_log(), since, user)?;
    writes.retain(|write| write.namespace == world.namespace && write.resource != "events");
    Ok(writes)
}

/// By everything that the watch has ever shown.
fn one_set_per_template(sightings: &[Sighting]) -> Outcome {
    let mut uids: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for Sighting { object, .. } in sightings {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let template =
            (text("/spec/template/metadata/labels/app"), text("/spec/template/spec/containers/0/image"));
        uids.entry(template).or_default().insert(text("/metadata/uid"));
    }
    let twice: Vec<_> = uids.iter().filter(|(_, uids)| uids.len() != 1).collect();
    ensure(uids.len() > 15 && twice.is_empty(), "one set per template", twice)
}
