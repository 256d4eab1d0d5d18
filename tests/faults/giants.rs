//! Ten Deployments in ten namespaces, with templates so large that the server needs many seconds to refuse them, with
//! megabytes of text. The operator's memory stays bounded, each status reports what is wrong, and a neighbor rolls out.

use std::time::{Duration, Instant};

use cluster::NotYet;
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::failure::{Outcome, ensure, until};
use crate::manifest::Manifest;
use crate::rig::Rig;
use crate::suite::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours refused,
];

const GIANTS: usize = 10;
/// None of them is a name of a host; each has a line in the refusal.
const NAMES: usize = 6_000;
const ROUNDS: usize = 5;
/// MiB at the peak, of a debug build.
const MEMORY_MAX: u64 = 256;
/// Each of them alone takes the server half a minute, and it has two cores.
const TOLD_WITHIN: Duration = Duration::from_secs(1200);
/// Until the operator has sent the first of them.
const PAUSE: Duration = Duration::from_secs(5);

async fn refused(rig: &Rig) -> Outcome {
    let calm = Manifest::new("calm", 2).spec("revisionHistoryLimit", &json!(0));
    rig.world.roll_out(&calm).await?;
    let alone = rollouts(rig, "alone").await?;
    let places = places(rig).await?;
    let before = rig.operator.memory("VmHWM")? / 1024;
    for place in &places {
        let mut giant = Manifest::new("giant", 1).json(place.flavour);
        giant["spec"]["template"]["spec"]["hostAliases"] = aliases();
        let giant: DynamicObject = serde_json::from_value(giant)?;
        drop(place.deployments().create(&PostParams::default(), &giant).await?);
    }
    tokio::time::sleep(PAUSE).await;
    let beside_us = rollouts(rig, "giants").await?;
    let since = Instant::now();
    for place in &places {
        told(place).await?;
    }
    let told_after = since.elapsed();
    let at_peak = rig.operator.memory("VmHWM")? / 1024;
    rig.note(format!(
        "{GIANTS} Deployments of {NAMES} invalid names of hosts in as many namespaces: the memory of the operator (debug \
         build) was at most {before} MiB before, and {at_peak} MiB after. A rollout of a neighbor, median of {ROUNDS}: \
         {} ms alone, {} ms beside them. The last status said why {} s later.",
        alone.as_millis(),
        beside_us.as_millis(),
        told_after.as_secs(),
    ));
    rig.ensure_running()?;
    ensure(at_peak <= MEMORY_MAX, "bounded memory", at_peak)
}

/// The median of some rollouts of the neighbor, from the edit to the end.
async fn rollouts(rig: &Rig, of: &str) -> Outcome<Duration> {
    let mut took = Vec::new();
    for round in 0..ROUNDS {
        let begin = Instant::now();
        rig.world.set_image("calm", &format!("app:{of}{round}")).await?;
        rig.world.complete("calm").await?;
        took.push(begin.elapsed());
    }
    took.sort_unstable();
    Ok(took[ROUNDS / 2])
}

async fn places(rig: &Rig) -> Outcome<Vec<World>> {
    let mut places = Vec::new();
    for _ in 0..GIANTS {
        let mut place = rig.world.clone();
        place.namespace = place.stage.cluster.create_namespace("giant").await?;
        place.kubectl = place.stage.kubectl.in_namespace(&place.namespace);
        places.push(place);
    }
    Ok(places)
}

fn aliases() -> Value {
    json!([{"ip": "10.0.0.1", "hostnames": vec!["_".repeat(200); NAMES]}])
}

/// The status names the field, or reports that the server gave up: on two cores, it may not get as far within its own
/// limit.
async fn told(place: &World) -> Outcome {
    let look = async || {
        let giant = place.get("giant").await.map_err(|failure| NotYet(failure.0))?;
        let conditions = giant.value["status"]["conditions"].to_string();
        let words = ["hostnames", "request did not complete"];
        until(words.iter().any(|words| conditions.contains(words)), conditions)
    };
    Ok(cluster::wait_for("the cause in the status", TOLD_WITHIN, look).await?)
}
