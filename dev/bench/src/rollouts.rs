//! Many Deployments at once: they are created, get a new template, return to the first one, and grow.

use std::path::Path;
use std::time::{Duration, Instant};

use cluster::{Cluster, Companion, Component};
use jiff::Timestamp;
use kube::api::DeleteParams;

use crate::failure::Failure;
use crate::figure::{Figure, count, mebibytes, milliseconds, percentile, seconds};
use crate::side::Side;
use crate::stage::{Change, Edit, Stage};
use crate::traffic::Log;
use crate::{ground, usage};

/// What comes after the last Deployment is complete, events above all, belongs to the operation too. Rollwright reports
/// a step when none has followed it for two seconds.
const SETTLE: Duration = Duration::from_millis(2500);
/// No events come of a Deployment without pods.
const SETTLE_SOON: Duration = Duration::from_millis(500);

/// How many Deployments, and how their pods behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) deployments: usize,
    pub(crate) replicas: i64,
    /// From being scheduled to being ready.
    pub(crate) ready_after: Duration,
}

impl Load {
    /// From a pod's being deleted to its being gone.
    fn gone_after(self) -> Duration {
        Duration::from_secs(self.ready_after.as_secs().min(3))
    }

    pub(crate) fn about(self) -> String {
        let Self { deployments, replicas, ready_after } = self;
        format!(
            "{deployments} Deployments of {replicas} replicas, edited all at once; pods are ready after {} s and gone \
             after {} s.",
            ready_after.as_secs_f64(),
            self.gone_after().as_secs(),
        )
    }
}

/// An operation on all Deployments that is over; its requests have not been read yet.
struct Done {
    operation: &'static str,
    since: Timestamp,
    until: Timestamp,
    edits: Vec<Edit>,
    /// For each Deployment, from sending the edit to seeing it complete.
    times: Vec<Duration>,
    /// From the first edit until all are complete.
    all: Duration,
    /// Processor time of the controller, what follows included.
    cpu: Duration,
    /// The same of the API server.
    server_cpu: Duration,
}

pub(crate) async fn play(operator: &Path, load: Load, side: Side) -> Result<Vec<Figure>, Failure> {
    let cluster = ground::start(load.ready_after, load.gone_after(), side.definitions(operator)?).await?;
    let stage = Stage::new(&cluster, side).await?;
    let (mut controller, start_up) = start(&cluster, &stage, operator, side).await?;
    let changes = [
        ("create", Change::Create(load.replicas)),
        ("roll out", Change::template(2)),
        // With its ReplicaSet still there.
        ("roll back", Change::template(1)),
        ("scale", Change::size(load.replicas * 2)),
    ];
    let mut done = Vec::new();
    for (operation, change) in changes {
        done.push(operate(&cluster, &stage, load.deployments, operation, &change, &controller).await?);
        controller.check()?;
    }
    let peak = usage::of(controller.pid())?.peak;
    ground::end(controller).await?;
    let log = Log::read(&cluster.audit_log(), side.user(), &stage.namespace)?;
    let mut figures: Vec<Figure> = done.iter().flat_map(|done| done.figures(&log)).collect();
    let each = |time: fn(&Done) -> Duration| {
        milliseconds(done.iter().map(time).sum()) / count(done.len() * load.deployments)
    };
    figures.extend([
        Figure::new("all", "CPU of the controller each (ms)", each(|done| done.cpu)),
        Figure::new("all", "CPU of both each (ms)", each(|done| done.cpu + done.server_cpu)),
        Figure::new("", "start-up until a Deployment is seen to (s)", start_up.as_secs_f64()),
        Figure::new("", "resident at most (MiB)", mebibytes(peak)),
    ]);
    drop(stage);
    ground::clear(cluster).await?;
    Ok(figures)
}

/// Starts the controller and waits until it has seen to a Deployment without pods.
async fn start(
    cluster: &Cluster,
    stage: &Stage,
    operator: &Path,
    side: Side,
) -> Result<(Companion, Duration), Failure> {
    let probe = stage.edit("start-up".to_owned(), &Change::Create(0)).await?;
    let probe = Edit { sent: Instant::now(), ..probe };
    let controller = side.start(cluster, operator)?;
    let times = stage.wait(&[probe]).await?;
    stage.deployments.delete("start-up", &DeleteParams::background()).await?;
    tokio::time::sleep(SETTLE_SOON).await;
    Ok((controller, times.first().copied().unwrap_or_default()))
}

async fn operate(
    cluster: &Cluster,
    stage: &Stage,
    deployments: usize,
    operation: &'static str,
    change: &Change,
    controller: &Companion,
) -> Result<Done, Failure> {
    let server = cluster.pid(Component::ApiServer).unwrap_or_default();
    let cpu_of = |pid| usage::of(pid).map(|usage| usage.cpu);
    let (since, started) = (Timestamp::now(), Instant::now());
    let (before, server_before) = (cpu_of(controller.pid())?, cpu_of(server)?);
    let (edits, times) = stage.change(deployments, change).await?;
    let all = started.elapsed();
    tokio::time::sleep(SETTLE).await;
    let cpu = cpu_of(controller.pid())?.saturating_sub(before);
    let server_cpu = cpu_of(server)?.saturating_sub(server_before);
    Ok(Done { operation, since, until: Timestamp::now(), edits, times, all, cpu, server_cpu })
}

impl Done {
    /// In the order of the table.
    fn figures(&self, log: &Log) -> Vec<Figure> {
        let Self { operation, since, until, edits, times, all, cpu, server_cpu } = self;
        let traffic = log.between(*since, *until);
        let each = |number: usize| count(number) / count(edits.len());
        let time = |times: &[Duration], share| percentile(seconds(times), share).unwrap_or_default();
        let figures = [
            ("all complete (s)", all.as_secs_f64()),
            ("time to complete, p50 (s)", time(times, 50)),
            ("time to complete, p99 (s)", time(times, 99)),
            ("first new pod, p50 (s)", time(&log.first_pods(edits, *until), 50)),
            ("writes each, events apart", each(traffic.writes())),
            ("event writes each", each(traffic.events)),
            ("writes with events each", each(traffic.writes() + traffic.events)),
            ("reads each", each(traffic.reads)),
            ("dry runs each", each(traffic.dry_runs)),
            ("conflicts (409) each", each(traffic.conflicts)),
            ("CPU of the controller each (ms)", milliseconds(*cpu) / count(edits.len())),
            ("CPU of kube-apiserver each (ms)", milliseconds(*server_cpu) / count(edits.len())),
        ];
        let figures = figures.into_iter().map(|(name, value)| Figure::new(operation, name, value));
        let kinds = traffic.by_kind.iter();
        let kinds = kinds.map(|(kind, number)| Figure::new(operation, format!("{kind} each"), each(*number)));
        figures.chain(kinds).collect()
    }
}
