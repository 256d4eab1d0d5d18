//! Several replicas of the operator: one leads, the others stand by, and what happens when the leader is stopped in its
//! tracks, or ends.

use std::time::{Duration, Instant};

use cluster::Signal;
use cluster::kubelet::READY_AFTER_MS;
use jiff::Timestamp;
use serde_json::json;

use crate::failure::{Outcome, ensure, same};
use crate::manifest::{Manifest, pods_patch};
use crate::objects::{Set, summaries};
use crate::replica::{Replica, leads};
use crate::scenario::{Scenario, scenarios};
use crate::watch::Trace;
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    own ours leader_stopped_and_continued because "what is stopped is the process, whatever its API",
];

/// After a stop: the lease has to expire, which takes 15 to 17 s. The rest is for a loaded machine.
const TAKEOVER: Duration = Duration::from_secs(40);
/// After an orderly end: the lease was given back. This takes fractions of a second
/// (docs/how-to/high-availability.md). A lease that was not given back takes 13 s at least, and a loaded
/// machine needs some of the time between.
const HANDOVER: Duration = Duration::from_secs(10);
/// How long the leader is stopped.
const STOPPED: Duration = Duration::from_secs(20);
/// How long an orderly end may take: less than the time after which the process is killed.
const END: Duration = Duration::from_secs(8);
/// Pods that take this long, in milliseconds, leave time to see a rollout that is half way.
const SLOW: &str = "1000";

const PODS: i64 = 8;

/// A leader and one that stands by, with a Deployment that is complete.
async fn two(world: &World) -> Outcome<(Replica, Replica)> {
    world.operator()?.stop();
    let leader = Replica::start(world, "one", &[]).await?;
    leads(world, &leader).await?;
    let other = Replica::start(world, "two", &[]).await?;
    other.says("another replica leads").await?;
    other.says("ready").await?;
    leader.shows(true).await?;
    other.shows(false).await?;
    let manifest = Manifest::new("web", PODS).rolling(&json!(1), &json!(1));
    world.roll_out(&manifest).await?;
    Ok((leader, other))
}

/// Starts a rollout and waits until it is half way.
async fn half_way(world: &World, image: &str) -> Outcome {
    world.patch("web", &pods_patch(image, READY_AFTER_MS, &json!(SLOW))).await?;
    let is_half_way = |sets: &[Set]| sets.iter().any(|set| set.image == image && set.size >= 3);
    let sets = world.wait_sets("a rollout that is half way", is_half_way).await?;
    ensure(sets.iter().any(|set| set.image != image && set.size > 0), "old pods left", summaries(&sets))
}

/// The end is as with one operator, and so was every moment on the way.
async fn ended_well(world: &World, trace: Trace, image: &str) -> Outcome {
    world.complete("web").await?;
    let sets = world.sets().await?;
    let expected = |set: &Set| set.size == if set.image == image { PODS } else { 0 };
    ensure(sets.iter().all(expected), "pods of the last template only", summaries(&sets))?;
    let seen = trace.stop(world).await?;
    seen.ensure_at_most(PODS + 1)?;
    seen.ensure_available(PODS - 1)?;
    seen.ensure_one_per_template()
}

/// The leader is stopped in the middle of a rollout, long enough for the other one to take over, and then continues. It
/// writes nothing, not even what it was about to write when it was stopped. It stands by, and leads again when the
/// other one ends.
async fn leader_stopped_and_continued(world: World) -> Outcome {
    let begin = Timestamp::now();
    let (leader, other) = two(&world).await?;
    let trace = Trace::start(&world).await?;
    half_way(&world, "app:v2").await?;
    same("writes of the one that stands by", other.writes(&world, begin)?, [])?;
    leader.signal(Signal::STOP)?;
    let stopped = Instant::now();
    leads(&world, &other).await?;
    ensure(stopped.elapsed() <= TAKEOVER, "a takeover soon after the lease has expired", stopped.elapsed())?;
    other.says("everything has been listed anew").await?;
    let taken = Timestamp::now();
    tokio::time::sleep(STOPPED.saturating_sub(stopped.elapsed())).await;
    leader.signal(Signal::CONT)?;
    leader.says("another replica leads").await?;
    leader.shows(false).await?;
    other.shows(true).await?;
    ended_well(&world, trace, "app:v2").await?;
    let trace = Trace::start(&world).await?;
    world.set_image("web", "app:v3").await?;
    ended_well(&world, trace, "app:v3").await?;
    same("what the continued one wrote", leader.writes(&world, taken)?, [])?;
    ensure(!other.writes(&world, taken)?.is_empty(), "writes of the new leader", "none")?;
    ensure(leader.operator.is_running(), "a continued one that runs on", leader.operator.tail("", 5))?;

    let told = Instant::now();
    let (took, _other) = tokio::task::spawn_blocking(move || (other.operator.stop(), other)).await?;
    leads(&world, &leader).await?;
    ensure(took <= END, "an orderly end", took)?;
    ensure(told.elapsed() <= HANDOVER, "a handover before the lease expires", told.elapsed())?;
    let trace = Trace::start(&world).await?;
    world.set_image("web", "app:v4").await?;
    ended_well(&world, trace, "app:v4").await
}
