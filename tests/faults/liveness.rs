//! `/livez` tells when a watch has stopped moving, and when it moves again.

use std::time::{Duration, Instant};

use cluster::{NotYet, wait_for};
use faultproxy::{Match, StreamFault};

use crate::failure::{Outcome, ensure, until};
use crate::report::Row;
use crate::rig::Rig;
use crate::rollout::HALF_OPEN;
use crate::suite::{Scenario, scenarios};

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours trips_on_a_wedged_stream,
];

/// Shorter than the time after which the operator itself takes a silent watch for dead: with the
/// default, the probe would have nothing to say.
const STALLED_AFTER: &str = "--stalled-after=85";

async fn livez(rig: &Rig, wanted: u16) -> Outcome<String> {
    let what = format!("/livez answering {wanted}");
    let waited = wait_for(&what, HALF_OPEN, async || {
        let (code, text) = rig.page("/livez").await.map_err(|failure| NotYet(failure.0))?;
        until(code == wanted, format!("{code} {text}"))?;
        Ok(text)
    });
    Ok(waited.await?)
}

async fn trips_on_a_wedged_stream(rig: &Rig) -> Outcome {
    let _operator = rig.replacement(STALLED_AFTER).await?;
    livez(rig, 200).await?;
    let started = Instant::now();
    let struck = rig.proxy.strike(&Match::verb("watch").resource("replicasets"), StreamFault::HalfOpen);
    ensure(struck > 0, "a watch to strike", struck)?;
    let complaint = livez(rig, 503).await?;
    let tripped = started.elapsed();
    ensure(complaint.contains("watch of replicasets"), "the name of the watch", &complaint)?;
    // Not one that merely has nothing to say: bookmarks keep those alive.
    ensure(!complaint.contains("watch of deployments"), "no other name", &complaint)?;
    ensure(tripped <= Duration::from_secs(92), "the probe to trip", tripped)?;
    // It heals itself, and says so.
    livez(rig, 200).await?;
    let (recovery, injected) = (started.elapsed(), rig.proxy.journal().faults());
    let place = format!("watch of replicasets; /livez failed after {} s", tripped.as_secs());
    rig.row(Row {
        fault: "half-open, idle".to_owned(),
        place,
        injected,
        recovery,
        bound: HALF_OPEN,
        writes: 0,
    });
    Ok(())
}
