//! Each watch meets each fault in the middle of a rollout. The template changes once more after the fault, and the
//! rollout needs both watches to end: that one brings the change, and the other the state of the pods.

use std::time::Duration;

use faultproxy::{Answer, Fault, Match, Rule, StreamFault};
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::failure::{Outcome, ensure};
use crate::manifest::Manifest;
use crate::report::Row;
use crate::rig::Rig;
use crate::rollout::{HALF_OPEN, Rollout, SOON, latency, neighbour};
use crate::suite::{Scenario, scenarios};

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours cut_deployments,
    ours cut_replicasets,
    apps cut_replicasets,
    ours refused_deployments,
    ours refused_replicasets,
    ours too_old_deployments,
    ours too_old_replicasets,
    ours held_deployments,
    ours held_replicasets,
    ours broken_deployments,
    ours broken_replicasets,
    ours broken_pods,
    ours half_open_deployments,
    ours half_open_replicasets,
    ours half_open_everything,
    ours trickle_replicasets,
    ours silent_start,
    ours silent_list,
];

/// How long a watch stays broken while the others live.
const A_WHILE: Duration = Duration::from_secs(25);
/// How late a healthy watch may be because another is broken.
const UNAFFECTED: Duration = Duration::from_secs(1);

fn watch(resource: &str) -> Match {
    Match::verb("watch").resource(resource)
}

/// Cut in the middle of a rollout, in every way.
async fn cut(rig: &Rig, resource: &str) -> Outcome {
    let faults = [
        ("connection reset", StreamFault::Reset),
        ("reset after 700 bytes more", StreamFault::ResetAfterBytes(700)),
        ("reset after two events more", StreamFault::ResetAfterEvents(2)),
        ("ended in order", StreamFault::End),
        ("ERROR event 410", StreamFault::Expire),
        ("a line that is no JSON", StreamFault::Garbage),
    ];
    let suffix = if rig.world.flavour.is_ours() { "" } else { ", apps/v1" };
    let place = format!("watch of {resource}{suffix}");
    let mut rollout = Rollout::begin(rig).await?;
    for (index, (name, fault)) in faults.into_iter().enumerate() {
        rollout.change(&format!("app:v{}", 2 * index + 2)).await?;
        rollout.half_way().await?;
        let struck = rig.proxy.strike(&watch(resource), fault);
        ensure(struck > 0, "a watch to strike", resource)?;
        rollout.change(&format!("app:v{}", 2 * index + 3)).await?;
        rollout.mark();
        rollout.finish(name, &place, SOON).await?;
    }
    Ok(())
}

async fn cut_deployments(rig: &Rig) -> Outcome {
    cut(rig, "deployments").await
}

async fn cut_replicasets(rig: &Rig) -> Outcome {
    cut(rig, "replicasets").await
}

/// Cut, and not let in again immediately.
async fn refused(rig: &Rig, resource: &str) -> Outcome {
    let faults = [
        ("refused: 429, Retry-After: 3", Fault::Answer(Answer::code(429).retry_after(3))),
        ("refused: 500", Fault::Answer(Answer::code(500))),
        ("refused: 503", Fault::Answer(Answer::code(503))),
        ("refused: connection reset", Fault::Drop),
    ];
    let mut rollout = Rollout::begin(rig).await?;
    for (index, (name, fault)) in faults.into_iter().enumerate() {
        rollout.change(&format!("app:v{}", 2 * index + 2)).await?;
        rollout.half_way().await?;
        let rule = rig.proxy.arm(Rule::always(watch(resource), fault).times(3));
        rig.proxy.strike(&watch(resource), StreamFault::Reset);
        rollout.change(&format!("app:v{}", 2 * index + 3)).await?;
        rig.met(rule, 3).await?;
        rollout.mark();
        rig.proxy.heal();
        rollout.finish(name, &format!("watch of {resource}"), SOON).await?;
    }
    Ok(())
}

async fn refused_deployments(rig: &Rig) -> Outcome {
    refused(rig, "deployments").await
}

async fn refused_replicasets(rig: &Rig) -> Outcome {
    refused(rig, "replicasets").await
}

/// The server answers each watch with 410, as an answer and not as an event, until there is a new list.
async fn too_old(rig: &Rig, resource: &str) -> Outcome {
    let mut rollout = Rollout::begin(rig).await?;
    rollout.change("app:v2").await?;
    rollout.half_way().await?;
    rig.proxy.arm(Rule::always(watch(resource), Fault::Answer(Answer::code(410))));
    rig.proxy.strike(&watch(resource), StreamFault::End);
    rollout.change("app:v3").await?;
    rollout.mark();
    rig.asked(&Match::verb("list").resource(resource).whole_cluster(), SOON).await?;
    rig.proxy.heal();
    rollout.finish("410 at the start, until a new list", &format!("watch of {resource}"), SOON).await
}

async fn too_old_deployments(rig: &Rig) -> Outcome {
    too_old(rig, "deployments").await
}

async fn too_old_replicasets(rig: &Rig) -> Outcome {
    too_old(rig, "replicasets").await
}

/// Ten seconds behind, and then everything together.
async fn held(rig: &Rig, resource: &str) -> Outcome {
    let mut rollout = Rollout::begin(rig).await?;
    rollout.change("app:v2").await?;
    rollout.half_way().await?;
    rig.proxy.strike(&watch(resource), StreamFault::Hold);
    rollout.change("app:v3").await?;
    tokio::time::sleep(Duration::from_secs(10)).await;
    rig.proxy.release(&watch(resource));
    rollout.mark();
    rollout.finish("held for 10 s, then replayed", &format!("watch of {resource}"), SOON).await
}

async fn held_deployments(rig: &Rig) -> Outcome {
    held(rig, "deployments").await
}

async fn held_replicasets(rig: &Rig) -> Outcome {
    held(rig, "replicasets").await
}

/// Neither the watch nor the list of a kind is let in.
fn shut_out(rig: &Rig, select: impl Fn(&str) -> Match) {
    for verb in ["watch", "list"] {
        let select = select(verb);
        rig.proxy.arm(Rule::always(select, Fault::Answer(Answer::code(503))));
    }
    rig.proxy.strike(&select("watch"), StreamFault::Reset);
}

/// Without the watch of Deployments, the operator still reacts to pods.
async fn broken_deployments(rig: &Rig) -> Outcome {
    let mut rollout = Rollout::begin(rig).await?;
    rig.world.roll_out(&Manifest::new("other", 1)).await?;
    shut_out(rig, |verb| Match::verb(verb).resource("deployments"));
    rig.proxy.clear_journal();
    // The ReplicaSet of a Deployment that is known gets another size: its watch shows it, and the operator undoes it.
    let sets = rig.world.sets().await?;
    let set = sets.iter().find(|set| set.name.starts_with("other"));
    let name = set.map_or("", |set| set.name.as_str());
    let patch = json!({"spec": {"replicas": 2}});
    rig.world.set_api().patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
    let undone = Match::verb("patch").resource("replicasets").name(name);
    let latency = latency(rig, &undone, SOON).await?;
    ensure(latency < UNAFFECTED, "a reaction within a second", latency)?;
    rollout.change("app:v2").await?;
    tokio::time::sleep(A_WHILE).await;
    rig.proxy.heal();
    rollout.mark();
    rollout.finish("shut out for 25 s, the others alive", "watch of deployments", SOON).await
}

/// Without the watch of ReplicaSets, the operator still reacts to a new Deployment.
async fn broken_replicasets(rig: &Rig) -> Outcome {
    let mut rollout = Rollout::begin(rig).await?;
    rollout.change("app:v2").await?;
    rollout.half_way().await?;
    // A list in one namespace is not the watch's.
    shut_out(rig, |verb| Match::verb(verb).resource("replicasets").whole_cluster());
    rig.proxy.clear_journal();
    rig.world.create(&neighbour("other")).await?;
    let seen = Match::verb("create").resource("replicasets").owner("other");
    let latency = latency(rig, &seen, SOON).await?;
    ensure(latency < UNAFFECTED, "a reaction within a second", latency)?;
    tokio::time::sleep(A_WHILE).await;
    rig.proxy.heal();
    rollout.mark();
    rollout.finish("shut out for 25 s, the others alive", "watch of replicasets", SOON).await?;
    rig.world.complete("other").await?;
    Ok(())
}

/// Without the watch of pods a Recreate waits, and nothing else does.
async fn broken_pods(rig: &Rig) -> Outcome {
    let mut rollout = Rollout::begin(rig).await?;
    rig.world.roll_out(&neighbour("anew")).await?;
    shut_out(rig, |verb| Match::verb(verb).resource("pods"));
    rig.world.set_image("anew", "app:v2").await?;
    rollout.change("app:v2").await?;
    let row = rollout.measure("shut out, a rolling update meanwhile", "watch of pods", SOON).await?;
    rig.row(row.clone());
    let started = std::time::Instant::now();
    rig.proxy.heal();
    let anew = tokio::time::timeout(SOON, rig.world.complete("anew")).await??;
    ensure(anew.image() == "app:v2", "the new image", anew.summary())?;
    rig.row(Row {
        fault: "shut out, until now".to_owned(),
        place: "watch of pods, a Recreate".to_owned(),
        injected: row.injected + rig.proxy.journal().faults(),
        recovery: started.elapsed(),
        bound: SOON,
        writes: rig.proxy.journal().writes().count(),
    });
    rig.proxy.clear_journal();
    Ok(())
}

/// Nothing comes any more, and the connection stays open.
async fn silent(rig: &Rig, select: &Match, fault: StreamFault, name: &str, place: &str) -> Outcome {
    let mut rollout = Rollout::begin(rig).await?;
    rollout.change("app:v2").await?;
    rollout.half_way().await?;
    ensure(rig.proxy.strike(select, fault) > 0, "a watch to strike", place)?;
    rollout.change("app:v3").await?;
    rollout.finish(name, place, HALF_OPEN).await
}

async fn half_open_deployments(rig: &Rig) -> Outcome {
    silent(rig, &watch("deployments"), StreamFault::HalfOpen, "half-open", "watch of deployments").await
}

async fn half_open_replicasets(rig: &Rig) -> Outcome {
    silent(rig, &watch("replicasets"), StreamFault::HalfOpen, "half-open", "watch of replicasets").await
}

async fn half_open_everything(rig: &Rig) -> Outcome {
    silent(rig, &Match::verb("watch"), StreamFault::HalfOpen, "half-open", "all watches").await
}

async fn trickle_replicasets(rig: &Rig) -> Outcome {
    silent(rig, &watch("replicasets"), StreamFault::Trickle, "ten bytes a second", "watch of replicasets")
        .await
}

/// A watch that starts and is never answered.
async fn silent_start(rig: &Rig) -> Outcome {
    hang(rig, watch("replicasets"), StreamFault::End, "start of the watch of replicasets").await
}

/// A list that is never answered.
async fn silent_list(rig: &Rig) -> Outcome {
    let list = Match::verb("list").resource("replicasets").whole_cluster();
    hang(rig, list, StreamFault::Expire, "list of replicasets").await
}

async fn hang(rig: &Rig, select: Match, interruption: StreamFault, place: &str) -> Outcome {
    let mut rollout = Rollout::begin(rig).await?;
    rollout.change("app:v2").await?;
    rollout.half_way().await?;
    let rule = rig.proxy.arm(Rule::once(select, Fault::Hang));
    rig.proxy.strike(&watch("replicasets"), interruption);
    rollout.change("app:v3").await?;
    rig.met(rule, 1).await?;
    rollout.mark();
    rollout.finish("never answered", place, HALF_OPEN).await
}
