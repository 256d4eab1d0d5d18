//! `/livez` reports when a watch has stopped moving, and when it moves again.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use cluster::{NotYet, wait_for};
use faultproxy::{Match, StreamFault};
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::failure::{Outcome, ensure, until};
use crate::manifest::Manifest;
use crate::report::Row;
use crate::rig::Rig;
use crate::rollout::HALF_OPEN;
use crate::suite::{Scenario, scenarios};

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours trips_on_a_wedged_stream,
];

/// Shorter than the time after which the operator itself takes a silent watch for dead: with the default, the probe
/// would have nothing to report.
const STALLED_AFTER: &str = "--stalled-after=85";
/// A Deployment that asks for nothing.
const STEADY: &str = "steady";

/// Between two changes of a Deployment; several fit into [`STALLED_AFTER`].
const NEWS_EVERY: Duration = Duration::from_secs(20);

/// Gives the watch of Deployments something to report, for ever. A server that was restarted sends no bookmarks for a
/// kind until an object of it has changed, so these alone do not.
async fn tell_news(rig: &Rig) -> Outcome<Infallible> {
    let deployments = rig.world.deployments();
    let mut count = 0;
    loop {
        let patch = json!({"metadata": {"annotations": {"example.org/count": count.to_string()}}});
        deployments.patch(STEADY, &PatchParams::default(), &Patch::Merge(patch)).await?;
        count += 1;
        tokio::time::sleep(NEWS_EVERY).await;
    }
}

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
    rig.world.create(&Manifest::new(STEADY, 0).spec("paused", &json!(true))).await?;
    let started = Instant::now();
    let struck = rig.proxy.strike(&Match::verb("watch").resource("replicasets"), StreamFault::HalfOpen);
    ensure(struck > 0, "a watch to strike", struck)?;
    let complaint = tokio::select! {
        complaint = livez(rig, 503) => complaint?,
        failed = tell_news(rig) => match failed? {},
    };
    let tripped = started.elapsed();
    ensure(complaint.contains("watch of replicasets"), "the name of the watch", &complaint)?;
    // Not the one that still brings news.
    ensure(!complaint.contains("watch of deployments"), "no other name", &complaint)?;
    ensure(tripped <= Duration::from_secs(92), "the probe to trip", tripped)?;
    // The operator heals itself, and reports that.
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
