//! What a controller costs among thousands of Deployments without pods: while nothing happens, for one edit, and for a
//! new template of all as their old revisions pile up.

use std::path::Path;
use std::time::Duration;

use cluster::audit::{self, Request};
use cluster::{Cluster, Companion};
use jiff::Timestamp;

use crate::calm::calm;
use crate::failure::Failure;
use crate::figure::{Figure, count, mebibytes, milliseconds};
use crate::fleet::Fleet;
use crate::side::Side;
use crate::{ground, usage};

/// Beside the current one.
const OLD_REVISIONS: usize = 5;
/// Deployments that get a new template, to see what that costs among the others.
const EDITS: usize = 200;
/// How long nothing is done.
const QUIET: Duration = Duration::from_secs(10);
/// A controller may wait for this before it does anything.
const START: Duration = Duration::from_secs(2);
/// The time from a controller's start to the edit of a Deployment.
const EARLY: Duration = Duration::from_secs(1);
/// All get a new template so often.
const ROLLS: usize = 5;

pub(crate) const ABOUT_IDLE: &str = "Deployments without pods, each with 5 old revisions, all templates of 5 KiB. Nothing happens for 10 s; then 200 \
     of them get a new template.";
pub(crate) const ABOUT_GROWTH: &str =
    "All Deployments of one namespace, without pods, get a new template at once, five times.";

/// Lets a side start, do nothing, and see to some edits.
pub(crate) async fn play(operator: &Path, deployments: usize, side: Side) -> Result<Vec<Figure>, Failure> {
    let cluster = ground::start_large().await?;
    let fleet = Fleet::new(&cluster, side, deployments).await?;
    fleet.create(OLD_REVISIONS).await?;
    settle(&cluster, if side == Side::Upstream { Side::AppsV1 } else { side }, operator, deployments).await?;
    let since = Timestamp::now();
    let controller = side.start(&cluster, operator)?;
    let measured = measure(&cluster, side, &controller, since, &fleet).await;
    ground::end(controller).await?;
    drop(fleet);
    ground::clear(cluster).await?;
    measured
}

/// Lets a controller write the statuses, all of them: one that waits for its first list is calm, too.
///
/// On apps/v1 that is Rollwright's. Kubernetes' controller never became idle among 10,000 Deployments, and what it
/// would have written otherwise shows: it is among the writes of its start-up.
async fn settle(cluster: &Cluster, side: Side, operator: &Path, deployments: usize) -> Result<(), Failure> {
    let since = Timestamp::now();
    let controller = side.start(cluster, operator)?;
    tokio::time::sleep(START).await;
    loop {
        calm(cluster, side, controller.pid()).await?;
        if audit::writes(&cluster.audit_log(), since, side.user())?.len() >= deployments {
            break;
        }
    }
    ground::end(controller).await
}

async fn measure(
    cluster: &Cluster,
    side: Side,
    controller: &Companion,
    since: Timestamp,
    fleet: &Fleet,
) -> Result<Vec<Figure>, Failure> {
    let (pid, revision) = (controller.pid(), OLD_REVISIONS + 2);
    let rest = async {
        tokio::time::sleep(START).await;
        Ok(START + calm(cluster, side, pid).await?)
    };
    let edit = async {
        tokio::time::sleep(EARLY).await;
        fleet.edit_last(revision).await
    };
    let (start_up, edited_early) = tokio::try_join!(rest, edit)?;
    let (started, at_rest) = (usage::of(pid)?, Timestamp::now());
    tokio::time::sleep(QUIET).await;
    let (quiet, edited) = (usage::of(pid)?, Timestamp::now());
    let edits = EDITS.min(fleet.deployments);
    fleet.edit(edits, revision).await?;
    calm(cluster, side, pid).await?;
    let cpu = usage::of(pid)?.cpu.saturating_sub(quiet.cpu);
    let requests = audit::requests(&cluster.audit_log(), since, side.user())?;
    let of = |from: Timestamp, to: Timestamp| {
        requests.iter().filter(move |request: &&Request| (from..to).contains(&request.timestamp))
    };
    let is_asked = |request: &&Request| request.verb != "watch" && request.resource != "leases";
    let start_up_writes = of(since, at_rest).filter(is_asked).filter(|request| request.is_write()).count();
    let per_edit = of(edited, Timestamp::MAX).filter(|request| request.verb != "watch").count();
    let figures = [
        ("start-up (s)", start_up.as_secs_f64()),
        ("an edit during it (s)", edited_early.as_secs_f64()),
        ("CPU of it (s)", started.cpu.as_secs_f64()),
        ("writes of it", count(start_up_writes)),
        ("most memory (MiB)", mebibytes(started.peak)),
        ("idle (MiB)", mebibytes(quiet.resident)),
        ("requests while idle", count(of(at_rest, edited).filter(is_asked).count())),
        ("CPU while idle (ms)", milliseconds(quiet.cpu.saturating_sub(started.cpu))),
        ("CPU per edit (ms)", milliseconds(cpu) / count(edits)),
        ("requests per edit", count(per_edit) / count(edits)),
    ];
    Ok(figures.into_iter().map(|(name, value)| Figure::new("", name, value)).collect())
}

/// Lets a side roll all Deployments out, again and again.
pub(crate) async fn grow(operator: &Path, deployments: usize, side: Side) -> Result<Vec<Figure>, Failure> {
    let cluster = ground::start_large().await?;
    let fleet = Fleet::new(&cluster, side, deployments).await?;
    let controller = side.start(&cluster, operator)?;
    let measured = rolls(&cluster, side, controller.pid(), &fleet).await;
    ground::end(controller).await?;
    drop(fleet);
    ground::clear(cluster).await?;
    measured
}

/// With one old revision each at the end of the first roll, with two at the end of the second.
async fn rolls(cluster: &Cluster, side: Side, pid: u32, fleet: &Fleet) -> Result<Vec<Figure>, Failure> {
    fleet.create_new().await?;
    calm(cluster, side, pid).await?;
    let mut figures = Vec::new();
    for roll in 1..=ROLLS {
        let (since, before) = (Timestamp::now(), usage::of(pid)?.cpu);
        fleet.edit(fleet.deployments, roll + 1).await?;
        calm(cluster, side, pid).await?;
        let writes = audit::writes(&cluster.audit_log(), since, side.user())?;
        let last = writes.iter().map(|request| request.answered).max().unwrap_or(since);
        // From the first edit to the answer to the controller's last write.
        let time = Duration::try_from(last - since).unwrap_or_default();
        let cpu = usage::of(pid)?.cpu.saturating_sub(before);
        figures.push(Figure::new("", format!("roll {roll}: time (s)"), time.as_secs_f64()));
        figures.push(Figure::new("", format!("roll {roll}: CPU (s)"), cpu.as_secs_f64()));
    }
    figures.push(Figure::new("", "most memory (MiB)", mebibytes(usage::of(pid)?.peak)));
    Ok(figures)
}
