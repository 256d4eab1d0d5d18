//! What a template for all Deployments of one namespace together costs, as their old revisions pile up.

use std::path::Path;
use std::time::Duration;

use cluster::audit;
use cluster::{Cluster, Component, Limits};
use jiff::Timestamp;

use crate::calm::calm;
use crate::csv::Csv;
use crate::failure::Failure;
use crate::fleet::Fleet;
use crate::found::Found;
use crate::ground;
use crate::report::mebibytes;
use crate::side::Side;
use crate::usage::{self, Usage};

/// All get a new template so often.
const ROLLS: usize = 5;

/// One side's rolls.
#[derive(Clone, Debug)]
pub(crate) struct Growth {
    pub(crate) side: Side,
    pub(crate) deployments: usize,
    /// With one old revision each at the end of the first, with two at the end of the second.
    pub(crate) rolls: Vec<Roll>,
    /// At the end.
    pub(crate) usage: Usage,
}

/// A new template for all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Roll {
    /// From the first edit to the answer to the controller's last write.
    pub(crate) time: Duration,
    pub(crate) cpu: Duration,
}

impl Growth {
    /// The figures that the table has, too.
    pub(crate) fn write(&self, csv: &mut Csv) -> Result<(), Failure> {
        let head = format!("growth-{},1,{}", self.deployments, self.side.short());
        for (number, roll) in self.rolls.iter().enumerate() {
            csv.value(&head, &format!("roll {}: time (s)", number + 1), roll.time.as_secs_f64())?;
            csv.value(&head, &format!("roll {}: CPU (s)", number + 1), roll.cpu.as_secs_f64())?;
        }
        csv.value(&head, "most memory (MiB)", mebibytes(self.usage.peak))
    }
}

/// Lets each of these sides roll this many Deployments.
pub(crate) async fn measure(
    operator: &Path,
    deployments: usize,
    sides: &[Side],
) -> Result<Found<Growth>, Failure> {
    let mut found = Found::default();
    for side in sides.iter().copied() {
        let cluster = ground::start_large().await?;
        cluster.stop(Component::ControllerManager)?;
        let fleet = Fleet::new(&cluster, side, deployments).await?;
        let controller = side.start(&cluster, operator, Limits::Lifted, &side.kubeconfig(&cluster))?;
        let measured = one(&cluster, side, controller.pid(), &fleet).await;
        ground::end(controller).await?;
        ground::end(cluster).await?;
        found.take(side, deployments, measured)?;
    }
    Ok(found)
}

async fn one(cluster: &Cluster, side: Side, pid: u32, fleet: &Fleet) -> Result<Growth, Failure> {
    fleet.create_new().await?;
    calm(cluster, side, pid).await?;
    let mut rolls = Vec::new();
    for revision in 2..ROLLS + 2 {
        let (since, before) = (Timestamp::now(), usage::of(pid)?.cpu);
        fleet.edit(fleet.deployments, revision).await?;
        calm(cluster, side, pid).await?;
        let writes = audit::writes(&cluster.audit_log(), since, side.user())?;
        let last = writes.iter().map(|request| request.answered).max().unwrap_or(since);
        let time = Duration::try_from(last - since).unwrap_or_default();
        let roll = Roll { time, cpu: usage::of(pid)?.cpu.saturating_sub(before) };
        eprintln!("growth {}, {}: {roll:?}", fleet.deployments, side.name());
        rolls.push(roll);
    }
    Ok(Growth { side, deployments: fleet.deployments, rolls, usage: usage::of(pid)? })
}
