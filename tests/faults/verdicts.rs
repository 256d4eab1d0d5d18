//! The writes of a failure policy meet each fault: the verdict, which is stored before anything moves, and the status
//! that reports the revert (FP-2, FP-12).

use cluster::wait_for;
use faultproxy::{Match, Rule};
use serde_json::{Value, json};

use crate::failure::{Outcome, until};
use crate::manifest::Manifest;
use crate::rig::Rig;
use crate::rollout::{NAME, REPLICAS, Rollout, SOON};
use crate::suite::{Scenario, scenarios};
use crate::writes::{faults, repeats};

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours verdict,
    ours report,
];

const MEMORY: &str = "rollwright.dev/rollout";

async fn verdict(rig: &Rig) -> Outcome {
    let select =
        Match::verb("patch").resource("replicasets").field("/metadata/annotations/rollwright.dev~1rollout");
    each(rig, &select, "verdict on a revision").await
}

async fn report(rig: &Rig) -> Outcome {
    let select = Match::verb("patch").resource("deployments").subresource("status").field("/status/target");
    each(rig, &select, "status write of a revert").await
}

/// In the middle of a rollout with pods that do not start, somebody aborts it.
async fn each(rig: &Rig, select: &Match, place: &str) -> Outcome {
    let manifest = Manifest::new(NAME, REPLICAS).spec("failurePolicy", &json!({"action": "Revert"}));
    let mut rollout = Rollout::begin_with(rig, &manifest).await?;
    let mut good = "app:v1".to_owned();
    for (index, (name, fault, times)) in faults().into_iter().enumerate() {
        is_good(rig, &good).await?;
        rollout.change(&format!("bad:v{index}")).await?;
        rollout.half_way().await?;
        let times = repeats(&fault, times, true);
        let rule = rig.proxy.arm(Rule::always(select.clone(), fault).times(times));
        rollout.abort(&good).await?;
        rig.met(rule, times).await?;
        rollout.mark();
        rig.proxy.heal();
        rollout.finish(name, place, SOON).await?;
        good = format!("app:v{}", index + 2);
        rollout.change(&good).await?;
        rollout.measure("none", "after the revert", SOON).await?;
    }
    Ok(())
}

/// Waits until the revision with this image is good, so that no other verdict is written later.
async fn is_good(rig: &Rig, image: &str) -> Outcome {
    wait_for("a good revision", SOON, async || {
        let set = rig.world.set(image).await.map_err(|failure| cluster::NotYet(failure.0))?;
        let memory: Value = serde_json::from_str(set.annotation(MEMORY)).unwrap_or_default();
        until(memory["verdict"] == "Good", memory)
    })
    .await?;
    Ok(())
}
