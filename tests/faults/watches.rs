//! The watches' connections end in the middle of a rollout, or stay open and bring nothing any more. The template
//! changes once more after the fault, and the rollout needs both watches to end: that of the Deployments brings the
//! change, and that of the ReplicaSets the state of the pods.

use cluster::{NotYet, wait_for};
use faultproxy::{Match, StreamFault};

use crate::failure::{Outcome, ensure, until};
use crate::rig::Rig;
use crate::rollout::{HALF_OPEN, Rollout, SOON};
use crate::suite::{Scenario, scenarios};

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours cut,
    ours half_open,
];

/// Between two lines, and within one.
async fn cut(rig: &Rig) -> Outcome {
    let faults = [
        ("connection reset", StreamFault::Reset),
        ("reset after 700 bytes more", StreamFault::ResetAfterBytes(700)),
    ];
    let mut rollout = Rollout::begin(rig).await?;
    let mut version = 2;
    for resource in ["deployments", "replicasets"] {
        for (name, fault) in faults {
            rollout.change(&format!("app:v{version}")).await?;
            rollout.half_way().await?;
            let struck = rig.proxy.strike(&Match::verb("watch").resource(resource), fault);
            ensure(struck > 0, "a watch to strike", resource)?;
            rollout.change(&format!("app:v{}", version + 1)).await?;
            rollout.mark();
            rollout.finish(name, &format!("watch of {resource}"), SOON).await?;
            version += 2;
        }
    }
    Ok(())
}

/// Nothing comes any more, and the connections stay open. `/livez` reports that until there are others.
async fn half_open(rig: &Rig) -> Outcome {
    let mut rollout = Rollout::begin(rig).await?;
    rollout.change("app:v2").await?;
    rollout.half_way().await?;
    let struck = rig.proxy.strike(&Match::verb("watch"), StreamFault::HalfOpen);
    ensure(struck > 1, "both watches to strike", struck)?;
    rollout.change("app:v3").await?;
    let complains = livez(rig, 503, "watch of replicasets");
    tokio::try_join!(complains, rollout.finish("half-open", "all watches", HALF_OPEN))?;
    livez(rig, 200, "").await
}

/// Waits until `/livez` answers with this code and these words.
async fn livez(rig: &Rig, wanted: u16, words: &str) -> Outcome {
    let what = format!("/livez answering {wanted}");
    let waited = wait_for(&what, HALF_OPEN, async || {
        let (code, text) = rig.page("/livez").await.map_err(|failure| NotYet(failure.0))?;
        until(code == wanted && text.contains(words), format!("{code} {text}"))
    });
    Ok(waited.await?)
}
