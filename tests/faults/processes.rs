//! The API server or etcd is killed or stopped in the middle of a rollout.

use std::time::Duration;

use cluster::Component;

use crate::failure::Outcome;
use crate::report::Row;
use crate::rig::Rig;
use crate::rollout::{Rollout, SOON};
use crate::suite::{Scenario, scenarios};

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours server_killed,
    ours etcd_killed,
    ours server_frozen,
];

const AWAY: Duration = Duration::from_secs(2);

/// Killed, gone for two seconds, and started again on the same data.
async fn restarted(rig: &Rig, component: Component) -> Outcome {
    let mut rollout = Rollout::begin(rig).await?;
    rollout.hits_everybody();
    rollout.change("app:v2").await?;
    rollout.half_way().await?;
    let cluster = &rig.world.stage.cluster;
    cluster.kill(component)?;
    tokio::time::sleep(AWAY).await;
    cluster.restart(component).await?;
    cluster.ready(Component::ApiServer).await?;
    rollout.mark();
    rollout.change("app:v3").await?;
    happened(rig, &mut rollout, "killed, away for 2 s", component).await
}

async fn server_killed(rig: &Rig) -> Outcome {
    restarted(rig, Component::ApiServer).await
}

async fn etcd_killed(rig: &Rig) -> Outcome {
    restarted(rig, Component::Etcd).await
}

/// Stopped without an end: connections stay open, and nobody answers.
async fn server_frozen(rig: &Rig) -> Outcome {
    let mut rollout = Rollout::begin(rig).await?;
    rollout.hits_everybody();
    rollout.change("app:v2").await?;
    rollout.half_way().await?;
    let cluster = &rig.world.stage.cluster;
    cluster.freeze(Component::ApiServer);
    tokio::time::sleep(Duration::from_secs(20)).await;
    cluster.thaw(Component::ApiServer);
    cluster.ready(Component::ApiServer).await?;
    rollout.mark();
    rollout.change("app:v3").await?;
    happened(rig, &mut rollout, "stopped for 20 s (SIGSTOP)", Component::ApiServer).await
}

/// Once, and not by the proxy.
async fn happened(rig: &Rig, rollout: &mut Rollout<'_>, fault: &str, component: Component) -> Outcome {
    let row = rollout.measure(fault, component.name(), SOON).await?;
    rig.row(Row { injected: 1, ..row });
    Ok(())
}
