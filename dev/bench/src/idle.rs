//! What a controller costs while nothing happens: memory, requests while idle, and the cost of one edit in a cluster of
//! many Deployments.

use std::path::Path;
use std::time::{Duration, Instant};

use cluster::audit::{self, Request};
use cluster::{Cluster, Companion, Component, Limits};
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

/// Beside the current one.
const OLD_REVISIONS: usize = 5;
/// Deployments that get a new template, to see what that costs among the others.
const EDITS: usize = 200;
/// How long nothing is done.
pub(crate) const QUIET: Duration = Duration::from_secs(10);
/// A controller may wait for this before it does anything.
const START: Duration = Duration::from_secs(2);
/// The time from a controller's start to the edit of a Deployment.
const EARLY: Duration = Duration::from_secs(1);

/// One side, among this many Deployments.
#[derive(Clone, Debug)]
pub(crate) struct Idle {
    pub(crate) side: Side,
    pub(crate) deployments: usize,
    /// From its start until it is idle.
    pub(crate) start_up: Duration,
    /// From an edit, a moment after its start, until the ReplicaSet of the new template is there.
    pub(crate) edited_early: Duration,
    /// Of the start, and with it the most memory that was needed.
    pub(crate) started: Usage,
    pub(crate) start_up_writes: usize,
    /// After it has been idle for a while.
    pub(crate) quiet: Usage,
    pub(crate) quiet_writes: usize,
    /// Beside watches and the lease.
    pub(crate) quiet_reads: usize,
    pub(crate) cpu_per_edit: Duration,
    pub(crate) requests_per_edit: f64,
}

impl Idle {
    /// The figures that the table has, too.
    pub(crate) fn write(&self, csv: &mut Csv) -> Result<(), Failure> {
        let head = format!("idle-{},1,{}", self.deployments, self.side.short());
        let figures = [
            ("start-up (s)", self.start_up.as_secs_f64()),
            ("an edit during it (s)", self.edited_early.as_secs_f64()),
            ("CPU of it (s)", self.started.cpu.as_secs_f64()),
            ("most memory (MiB)", mebibytes(self.started.peak)),
            ("idle (MiB)", mebibytes(self.quiet.resident)),
            ("CPU per edit (ms)", self.cpu_per_edit.as_secs_f64() * 1000.0),
            ("requests per edit", self.requests_per_edit),
        ];
        figures.into_iter().try_for_each(|(figure, value)| csv.value(&head, figure, value))
    }
}

/// Measures these sides among this many Deployments, each API in a cluster of its own.
pub(crate) async fn measure(
    operator: &Path,
    deployments: usize,
    wanted: &[Side],
) -> Result<Found<Idle>, Failure> {
    let mut found = Found::default();
    for (sides, settler) in
        [(&[Side::OurKind][..], Side::OurKind), (&[Side::Upstream, Side::AppsV1], Side::AppsV1)]
    {
        let sides: Vec<Side> = sides.iter().copied().filter(|side| wanted.contains(side)).collect();
        if sides.is_empty() {
            continue;
        }
        let cluster = ground::start_large().await?;
        // Nothing here is for the other controllers but the statuses of all the ReplicaSets.
        cluster.stop(Component::ControllerManager)?;
        let started = Instant::now();
        let mut revision = OLD_REVISIONS + 1;
        let fleet = Fleet::new(&cluster, settler, deployments).await?;
        fleet.create_settled(OLD_REVISIONS).await?;
        settle(&cluster, settler, operator, deployments).await?;
        eprintln!("idle {deployments}: all are there after {} s", started.elapsed().as_secs());
        for side in sides {
            revision += 1;
            let since = Timestamp::now();
            let controller = side.start(&cluster, operator, Limits::Lifted, &side.kubeconfig(&cluster))?;
            let measured = one(&cluster, side, &controller, since, &fleet, revision).await;
            ground::end(controller).await?;
            found.take(side, deployments, measured)?;
        }
        ground::end(cluster).await?;
    }
    found.measured.sort_by_key(|idle| idle.side);
    Ok(found)
}

/// Lets a controller write the statuses, all of them: one that waits for its first list is calm, too.
///
/// On apps/v1 that is Rollwright's. Kubernetes' controller never became idle among 10,000 Deployments, and what it
/// would have written otherwise shows: it is among the writes of its start-up.
async fn settle(cluster: &Cluster, side: Side, operator: &Path, deployments: usize) -> Result<(), Failure> {
    let since = Timestamp::now();
    let controller = side.start(cluster, operator, Limits::Lifted, &side.kubeconfig(cluster))?;
    tokio::time::sleep(START).await;
    loop {
        calm(cluster, side, controller.pid()).await?;
        if audit::writes(&cluster.audit_log(), since, side.user())?.len() >= deployments {
            break;
        }
    }
    ground::end(controller).await
}

async fn one(
    cluster: &Cluster,
    side: Side,
    controller: &Companion,
    since: Timestamp,
    fleet: &Fleet,
    revision: usize,
) -> Result<Idle, Failure> {
    let pid = controller.pid();
    let rest = async {
        tokio::time::sleep(START).await;
        Ok(START + calm(cluster, side, pid).await?)
    };
    let edit = async {
        tokio::time::sleep(EARLY).await;
        fleet.edit_last(revision).await
    };
    let (start_up, edited_early) = tokio::try_join!(rest, edit)?;
    let started = usage::of(pid)?;
    let at_rest = Timestamp::now();
    tokio::time::sleep(QUIET).await;
    let quiet = usage::of(pid)?;
    let edited = Timestamp::now();
    fleet.edit(EDITS, revision).await?;
    calm(cluster, side, pid).await?;
    let cpu = usage::of(pid)?.cpu.saturating_sub(quiet.cpu);
    let requests = audit::requests(&cluster.audit_log(), since, side.user())?;
    let of =
        |from, to| requests.iter().filter(move |request: &&Request| (from..to).contains(&request.timestamp));
    let writes = |from, to| of(from, to).filter(|request| is_write(request)).count();
    let edits = EDITS.min(fleet.deployments);
    Ok(Idle {
        side,
        deployments: fleet.deployments,
        start_up,
        edited_early,
        started,
        start_up_writes: writes(since, at_rest),
        quiet,
        quiet_writes: writes(at_rest, edited),
        quiet_reads: of(at_rest, edited).filter(|request| is_read(request)).count(),
        cpu_per_edit: cpu / u32::try_from(edits).unwrap_or(u32::MAX),
        requests_per_edit: count(
            of(edited, Timestamp::MAX).filter(|request| request.verb != "watch").count(),
        ) / count(edits),
    })
}

fn is_of_election(request: &Request) -> bool {
    request.resource == "leases"
}

fn is_write(request: &Request) -> bool {
    request.is_write() && !is_of_election(request)
}

fn is_read(request: &Request) -> bool {
    !request.is_write() && request.verb != "watch" && !is_of_election(request)
}

#[allow(clippy::cast_precision_loss, reason = "counts of requests are far below 2^53")]
fn count(count: usize) -> f64 {
    count as f64
}
