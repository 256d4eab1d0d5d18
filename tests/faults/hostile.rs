//! Objects that nobody should write, next to one that is in order: nothing panics, memory stays
//! bounded, and the neighbour is served as before.

use std::fs;
use std::time::{Duration, Instant};

use cluster::NotYet;
use faultproxy::{Match, shapes};
use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams};
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome, ensure, same, until};
use crate::manifest::Manifest;
use crate::rig::Rig;
use crate::rollout::SOON;
use crate::suite::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours neighbours,
    apps neighbours,
];

/// Rollouts of the neighbour that are measured, before and among the others.
const ROUNDS: usize = 15;
/// Whatever else runs on two cores while this is measured; the figures are what counts.
const SLACK: Duration = Duration::from_millis(250);
/// Resident, of a debug build.
const MEMORY_MAX: u64 = 128;
const MAX: i64 = i32::MAX as i64;
const KIB: usize = 1024;
/// The Deployment of two thousand million pods.
const MANY: &str = "many";

/// From an edit of the neighbour to the first request that the operator makes for it.
async fn latencies(rig: &Rig, from: usize) -> Outcome<Vec<Duration>> {
    let mut found = Vec::new();
    let first = Match::verb("create").resource("replicasets").owner("calm");
    for round in from..from + ROUNDS {
        rig.proxy.clear_journal();
        rig.world.set_image("calm", &format!("app:r{round}")).await?;
        let edited = Instant::now();
        rig.asked(&first, SOON).await?;
        let journal = rig.proxy.journal();
        let seen = journal.exchanges().iter().filter(|seen| first.selects(&seen.request, &seen.body));
        let at = seen.map(|seen| seen.at).min().ok_or_else(|| Failure::new("no request"))?;
        found.push(at.saturating_duration_since(edited));
        rig.world.complete("calm").await?;
        // What is seen so far has its shape checked before it is forgotten.
        same("requests out of shape", shapes::violations(&journal), Vec::<String>::new())?;
    }
    found.sort_unstable();
    Ok(found)
}

fn median(sorted: &[Duration]) -> Duration {
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// What the server takes of it; `None` is a refusal.
async fn try_create(there: &World, manifest: &Value) -> Outcome<bool> {
    let object: DynamicObject = serde_json::from_value(manifest.clone())?;
    match there.deployments().create(&PostParams::default(), &object).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if (400..500).contains(&status.code) => {
            let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
            println!("{}: {name:.20} refused: {:.160}", there.flavour.name(), status.message);
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

/// Objects to be afraid of, and whether this API's server takes them.
fn villains(rig: &Rig) -> Vec<(Value, bool)> {
    let is_ours = rig.world.flavour.is_ours();
    let json = |manifest: Manifest| manifest.json(rig.world.flavour);
    let noise = "\u{1b}[31m\u{202e}\u{feff}\u{0007}\r\n\u{1f980}７\u{0}".replace('\u{0}', "");
    let mut odd = json(Manifest::new("odd", 1).annotation("example.com/noise", &noise));
    odd["spec"]["template"]["spec"]["containers"][0]["env"] =
        json!([{"name": "NOISE", "value": noise}, {"name": "LONG", "value": "x".repeat(300 * KIB)}]);
    let mut long = json(Manifest::new("long", 1));
    long["metadata"]["name"] = json!("n".repeat(253));
    let mut deep = json(Manifest::new("deep", 1));
    deep["spec"]["template"]["spec"]["unknown"] = nested(90);
    // Refused by the ReplicaSet's validation only, at every attempt: `calm` is no host of its pod.
    let mut failing = json(Manifest::new("failing", 1));
    failing["spec"]["template"]["spec"]["hostAliases"] = json!([{"ip": "no address", "hostnames": ["a"]}]);
    vec![
        (json(Manifest::new("surge", 1).rolling(&json!(MAX), &json!(MAX))), true),
        (json(Manifest::new("big", 1).annotation("example.com/big", &"x".repeat(200 * KIB))), true),
        (json(Manifest::new("brim", 1).annotation("example.com/brim", &"x".repeat(256 * KIB - 60))), true),
        (odd, true),
        (long, true),
        (deep, true),
        (failing, is_ours),
        (json(Manifest::new(MANY, MAX).rolling(&json!("100%"), &json!(0))), !is_ours),
    ]
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!({}), |inner, _| json!({"x": inner}))
}

async fn let_in(rig: &Rig, there: &World) -> Outcome {
    for (manifest, is_taken) in villains(rig) {
        let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
        if name == MANY {
            // The big Deployment takes whatever the quota has left, and the others would have no pods to begin with.
            big_is_served(there).await?;
        }
        same(&format!("the server taking {name:.20}"), try_create(there, &manifest).await?, is_taken)?;
    }
    Ok(())
}

async fn neighbours(rig: &Rig) -> Outcome {
    let calm = Manifest::new("calm", 1).spec("revisionHistoryLimit", &json!(0));
    rig.world.roll_out(&calm).await?;
    let before = latencies(rig, 0).await?;
    let memory_before = rig.operator.memory("VmRSS")? / 1024;
    // Two thousand million pods are asked for, and few are let in.
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"},
        "spec": {"hard": {"pods": "12"}},
    });
    let there = elsewhere(rig).await?;
    there.kubectl.apply(&quota.to_string()).await?;
    let_in(rig, &there).await?;
    let among = latencies(rig, ROUNDS).await?;
    // The large ones change too, and with each change they get another ReplicaSet.
    for round in 0..5 {
        for name in ["big", "odd", "surge"] {
            let annotation = json!({"metadata": {"annotations": {"example.com/round": round.to_string()}}});
            there.patch(name, &json!({"spec": {"template": annotation}})).await?;
        }
    }
    let busy = latencies(rig, 2 * ROUNDS).await?;
    let memory_after = rig.operator.memory("VmRSS")? / 1024;
    let verdict = judge(rig, &there, &before, &among, &busy, (memory_before, memory_after)).await;
    // The next scenario's operator must not find them.
    let (delete, all) = (DeleteParams::background(), ListParams::default());
    let _ = there.deployments().delete_collection(&delete, &all).await;
    verdict
}

/// Another namespace: quotas are shared by all in one.
async fn elsewhere(rig: &Rig) -> Outcome<World> {
    let mut there = rig.world.clone();
    there.namespace = there.stage.cluster.create_namespace("hostile").await?;
    there.kubectl = there.stage.kubectl.in_namespace(&there.namespace);
    Ok(there)
}

async fn big_is_served(there: &World) -> Outcome {
    there
        .wait("the big one being seen to", async || {
            let big = there.get("big").await.map_err(|failure| NotYet(failure.0))?;
            until(big.is_observed() && big.status("availableReplicas") == 1, big.summary())
        })
        .await
}

async fn judge(
    rig: &Rig,
    there: &World,
    before: &[Duration],
    among: &[Duration],
    busy: &[Duration],
    memory: (u64, u64),
) -> Outcome {
    rig.ensure_running()?;
    let log = fs::read_to_string(rig.operator.log())?;
    let panics: Vec<_> = log.lines().filter(|line| line.contains("panicked")).collect();
    ensure(panics.is_empty(), "no panic", panics)?;
    let raw: Vec<char> = log.chars().filter(|c| c.is_control() && *c != '\n').collect();
    ensure(raw.is_empty(), "no control characters in the log", raw)?;
    ensure(memory.1 <= MEMORY_MAX, "bounded memory", memory)?;
    same("requests out of shape", shapes::violations(&rig.proxy.journal()), Vec::<String>::new())?;
    let fair = |seen: &[Duration]| median(seen) <= 2 * median(before) + SLACK;
    ensure(fair(among) && fair(busy), "the neighbour at most twice as late", (before, among, busy))?;
    big_is_served(there).await?;
    let text = |seen: &[Duration]| {
        let worst = seen.last().copied().unwrap_or_default();
        format!("{} ms (worst {} ms)", median(seen).as_millis(), worst.as_millis())
    };
    rig.note(format!(
        "{}: time from an edit of the neighbor to the first request for it, median of {ROUNDS}. Alone {}; among hostile \
         objects {}; while those change {}. Resident memory of the operator (debug build): {} MiB, \
         then {} MiB.",
        rig.world.flavour.api_version(),
        text(before),
        text(among),
        text(busy),
        memory.0,
        memory.1,
    ));
    Ok(())
}
