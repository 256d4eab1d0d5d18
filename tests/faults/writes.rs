//! Writes meet connections that end before the answer, or never bring one, in the middle of a rollout.

use faultproxy::{Fault, Match, Rule};

use crate::failure::Outcome;
use crate::rig::Rig;
use crate::rollout::{Rollout, SOON};
use crate::suite::{Scenario, scenarios};

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours no_fault,
    ours scale,
    apps no_fault,
];

/// What it is without faults, to compare.
async fn no_fault(rig: &Rig) -> Outcome {
    let mut rollout = Rollout::begin(rig).await?;
    rollout.change("app:v2").await?;
    let place = format!("a rollout of ten pods, {}", rig.world.flavour.api_version());
    let row = rollout.measure("none", &place, SOON).await?;
    rig.row(row);
    Ok(())
}

/// A rollout for each fault, and how often in a row it is met. After one that hangs, the operator needs another
/// connection.
async fn scale(rig: &Rig) -> Outcome {
    let faults = [
        ("connection reset before it was carried out", Fault::Drop, 2),
        ("carried out, answer lost", Fault::LoseAnswer, 2),
        ("carried out, never answered", Fault::HangAfter, 1),
        ("never answered", Fault::Hang, 1),
    ];
    let select = Match::verb("patch").resource("replicasets").field("/spec/replicas");
    let mut rollout = Rollout::begin(rig).await?;
    for (index, (name, fault, times)) in faults.into_iter().enumerate() {
        let rule = rig.proxy.arm(Rule::always(select.clone(), fault).skip(1).times(times));
        rollout.change(&format!("app:v{}", index + 2)).await?;
        rig.met(rule, times).await?;
        rollout.mark();
        rig.proxy.heal();
        rollout.finish(name, "scale of a ReplicaSet", SOON).await?;
    }
    Ok(())
}
