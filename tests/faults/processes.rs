//! Processes are killed or stopped in the middle of rollouts: the operator at each of its writes,
//! the API server, etcd.

use std::time::Duration;

use cluster::Component;
use faultproxy::{Fault, Match, Rule};

use crate::failure::{Outcome, ensure};
use crate::report::Row;
use crate::rig::Rig;
use crate::rollout::{NAME, Rollout, SOON};
use crate::suite::{Scenario, scenarios};

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    ours killed_before_a_write,
    ours killed_after_a_write,
    apps killed_after_a_write,
    ours server_killed,
    ours etcd_killed,
    ours server_frozen,
];

/// The most writes of a rollout; the operator is killed at each of them.
const WRITES_MAX: u32 = 20;
/// A rollout has at least this many.
const WRITES_MIN: u32 = 6;
const AWAY: Duration = Duration::from_secs(2);

/// The operator dies when it has sent its n-th write, which never arrives or is carried out.
async fn killed(rig: &Rig, fault: &Fault, name: &str) -> Outcome {
    let mut rollout = Rollout::begin(rig).await?;
    rollout.allow_restart();
    let mut worst: Option<Row> = None;
    for (version, skip) in (2..).zip(0..WRITES_MAX) {
        let rule = rig.proxy.arm(Rule::once(Match::writes(), fault.clone()).skip(skip));
        rollout.change(&format!("app:v{version}")).await?;
        let is_met = tokio::select! {
            met = rig.met(rule, 1) => met.map(|()| true)?,
            complete = rig.world.complete(NAME) => complete.map(|_| false)?,
        };
        if !is_met {
            ensure(skip >= WRITES_MIN, "more writes in a rollout", skip)?;
            rig.proxy.heal();
            break;
        }
        rig.operator.kill();
        rig.proxy.heal();
        rig.operator.start_again()?;
        rollout.mark();
        let row = rollout.measure(name, "each write of a rollout; the worst", SOON).await?;
        println!("write {}: {row}", skip + 1);
        worst = Some(worst.map_or_else(|| row.clone(), |worst| worst.and(&row)));
    }
    worst.into_iter().for_each(|row| rig.row(row));
    Ok(())
}

async fn killed_before_a_write(rig: &Rig) -> Outcome {
    killed(rig, &Fault::Hang, "operator killed, its write never arrived").await
}

async fn killed_after_a_write(rig: &Rig) -> Outcome {
    let name = match rig.world.flavour.is_ours() {
        true => "operator killed, its write carried out",
        false => "operator killed, its write carried out, apps/v1",
    };
    killed(rig, &Fault::HangAfter, name).await
}

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
