//! Each kind of write meets each fault, in the middle of rollouts.

use std::time::Duration;

use faultproxy::{Answer, Fault, Match, Rule};
use serde_json::json;

use crate::failure::Outcome;
use crate::flavour::Flavour;
use crate::manifest::Manifest;
use crate::rig::Rig;
use crate::rollout::{NAME, REPLICAS, RETRY_AFTER, Rollout, SOON};
use crate::suite::{Scenario, scenarios};

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours no_fault,
    ours create,
    ours scale,
    ours status,
    ours delete,
    ours rollback,
    apps no_fault,
    apps status,
    apps rollback,
];

/// What may happen to a write, and how often in a row.
pub(crate) fn faults() -> Vec<(&'static str, Fault, u32)> {
    vec![
        ("2 s late", Fault::Delay(Duration::from_secs(2)), 2),
        ("connection reset before it was carried out", Fault::Drop, 2),
        ("carried out, answer lost", Fault::LoseAnswer, 2),
        ("carried out, answered 504", Fault::AnswerAfter(Answer::code(504)), 2),
        ("carried out, never answered", Fault::HangAfter, 1),
        ("never answered", Fault::Hang, 1),
        ("409", Fault::Answer(Answer::code(409)), 3),
        ("429, Retry-After: 3", Fault::Answer(Answer::code(429).retry_after(RETRY_AFTER)), 2),
        ("500", Fault::Answer(Answer::code(500)), 3),
        ("503", Fault::Answer(Answer::code(503)), 3),
        ("504", Fault::Answer(Answer::code(504)), 3),
    ]
}

/// What it is without faults, to compare.
async fn no_fault(rig: &Rig) -> Outcome {
    let mut rollout = Rollout::begin(rig).await?;
    rollout.change("app:v2").await?;
    let place = format!("a rollout of ten pods, {}", rig.world.flavour.api_version());
    let row = rollout.measure("none", &place, SOON).await?;
    rig.row(row);
    Ok(())
}

/// How often a write of a kind is there to meet a fault: what was carried out is not asked for
/// a second time.
pub(crate) fn repeats(fault: &Fault, times: u32, is_single: bool) -> u32 {
    let is_carried_out = matches!(fault, Fault::Delay(_) | Fault::LoseAnswer | Fault::AnswerAfter(_));
    if is_single && is_carried_out { 1 } else { times }
}

/// Writes of one kind in a rollout.
struct Writes {
    select: Match,
    /// How many are let pass before one is met.
    skip: u32,
    /// Whether there may be no more than the one that is met.
    is_single: bool,
}

/// A rollout for each fault; the old ReplicaSet goes immediately, so that there is a delete in each.
async fn each(rig: &Rig, writes: Writes, place: &str) -> Outcome {
    let Writes { select, skip, is_single } = writes;
    let manifest = Manifest::new(NAME, REPLICAS).spec("revisionHistoryLimit", &json!(0));
    let mut rollout = Rollout::begin_with(rig, &manifest).await?;
    for (index, (name, fault, times)) in faults().into_iter().enumerate() {
        let times = repeats(&fault, times, is_single);
        let rule = rig.proxy.arm(Rule::always(select.clone(), fault).skip(skip).times(times));
        rollout.change(&format!("app:v{}", index + 2)).await?;
        rig.met(rule, times).await?;
        rollout.mark();
        rig.proxy.heal();
        rollout.finish(name, place, SOON).await?;
    }
    Ok(())
}

async fn create(rig: &Rig) -> Outcome {
    let select = Match::verb("create").resource("replicasets");
    each(rig, Writes { select, skip: 0, is_single: true }, "create of the ReplicaSet").await
}

async fn scale(rig: &Rig) -> Outcome {
    let select = Match::verb("patch").resource("replicasets").field("/spec/replicas");
    each(rig, Writes { select, skip: 1, is_single: false }, "scale of a ReplicaSet").await
}

/// A short rollout has two: that it has begun, and that it is complete.
async fn status(rig: &Rig) -> Outcome {
    let select = Match::verb("patch").resource("deployments").subresource("status");
    let place = if rig.world.flavour == Flavour::AppsV1 { "status write, apps/v1" } else { "status write" };
    each(rig, Writes { select, skip: 1, is_single: true }, place).await
}

async fn delete(rig: &Rig) -> Outcome {
    let select = Match::verb("delete").resource("replicasets");
    each(rig, Writes { select, skip: 0, is_single: true }, "delete of an old ReplicaSet").await
}

/// Each time to another template: one that returns again and again is refused.
async fn rollback(rig: &Rig) -> Outcome {
    let mut rollout = Rollout::begin(rig).await?;
    let select = Match::verb("patch").resource("deployments").subresource("");
    let place = match rig.world.flavour {
        Flavour::Rollwright => "patch of a rollback",
        Flavour::AppsV1 => "patch of a rollback, apps/v1",
    };
    for (index, (name, fault, times)) in faults().into_iter().enumerate() {
        rollout.change(&format!("app:v{}", index + 2)).await?;
        rollout.measure("none", "before the rollback", SOON).await?;
        let times = repeats(&fault, times, true);
        let rule = rig.proxy.arm(Rule::always(select.clone(), fault).times(times));
        rollout.roll_back(&format!("app:v{}", index + 1)).await?;
        rig.met(rule, times).await?;
        rollout.mark();
        rig.proxy.heal();
        rollout.finish(name, place, SOON).await?;
    }
    Ok(())
}
