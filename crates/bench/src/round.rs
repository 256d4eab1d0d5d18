//! One side plays one scenario, from an empty namespace to an empty namespace.

use std::path::Path;
use std::time::{Duration, Instant};

use cluster::{Cluster, Companion, User};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::Value;

use crate::completion::{Completions, Edit};
use crate::failure::Failure;
use crate::manifest;
use crate::scenario::{Operation, Pace, Scenario};
use crate::side::Side;
use crate::traffic::{Log, Writes};
use crate::usage::{self, Usage};

/// Edits that are on their way at the same time.
const PARALLEL: usize = 32;
/// Of one operation on all Deployments.
const DEADLINE: Duration = Duration::from_secs(300);
/// What comes after the last Deployment is complete, events above all, belongs to the operation too.
/// Ours tell of a step when none has followed it for two seconds.
const SETTLE: Duration = Duration::from_millis(2500);
/// No events come after a deletion, nor of a Deployment without pods.
const SETTLE_SOON: Duration = Duration::from_millis(500);
/// Of a sequence, in which every edit has to find quiet.
const BETWEEN: Duration = Duration::from_millis(200);

/// What one operation on all Deployments of a round was like.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    pub(crate) operation: Operation,
    /// For each Deployment, from sending the edit to seeing it complete, the shortest first. Of a
    /// deletion only one: until the last pod is gone.
    pub(crate) times: Vec<Duration>,
    /// From the first edit until all are complete.
    pub(crate) all: Duration,
    /// Processor time of the controller, what follows included.
    pub(crate) cpu: Duration,
    pub(crate) writes: Writes,
}

/// A whole round.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    pub(crate) side: Side,
    pub(crate) deployments: usize,
    /// From starting the process until it has seen to a Deployment that was there before.
    pub(crate) start_up: Duration,
    pub(crate) phases: Vec<Phase>,
    /// At the end.
    pub(crate) usage: Usage,
}

/// The namespace of a round, and who acts there.
struct Ground<'a> {
    cluster: &'a Cluster,
    scenario: &'a Scenario,
    side: Side,
    namespace: String,
    client: Client,
    deployments: Api<DynamicObject>,
    completions: Completions,
}

/// An operation that is over, but whose requests have not been read yet.
struct Done {
    operation: Operation,
    since: Timestamp,
    until: Timestamp,
    times: Vec<Duration>,
    all: Duration,
    cpu: Duration,
}

/// Plays a scenario.
pub(crate) async fn play(
    cluster: &Cluster,
    operator: &Path,
    scenario: &Scenario,
    side: Side,
) -> Result<Round, Failure> {
    if let Some(kubelet) = cluster.kubelet() {
        kubelet.configure(|options| options.ready_after = scenario.ready_after);
    }
    let ground = Ground::new(cluster, scenario, side).await?;
    let (mut controller, start_up) = ground.start(operator).await?;
    let mut done = Vec::new();
    for (index, operation) in scenario.operations.iter().enumerate() {
        done.push(ground.operate(*operation, index, &controller).await?);
        controller.check()?;
    }
    let usage = usage::of(controller.pid())?;
    drop(controller);
    let log = Log::read(&cluster.audit_log(), side, &ground.namespace)?;
    let phases = done.into_iter().map(|done| done.with_writes(&log)).collect();
    Ok(Round { side, deployments: scenario.deployments, start_up, phases, usage })
}

impl Done {
    fn with_writes(self, log: &Log) -> Phase {
        let Self { operation, since, until, times, all, cpu } = self;
        Phase { operation, times, all, cpu, writes: log.between(since, until) }
    }
}

impl<'a> Ground<'a> {
    async fn new(cluster: &'a Cluster, scenario: &'a Scenario, side: Side) -> Result<Self, Failure> {
        let namespace = cluster.create_namespace(&format!("{}-{}", scenario.name, side.short())).await?;
        let client = cluster.client(User::Admin).await?;
        let deployments = Api::namespaced_with(client.clone(), &namespace, &side.resource());
        let completions = Completions::follow(deployments.clone());
        Ok(Self { cluster, scenario, side, namespace, client, deployments, completions })
    }

    /// Starts the controller and waits until it has seen to a Deployment without pods.
    async fn start(&self, operator: &Path) -> Result<(Companion, Duration), Failure> {
        let probe = self.create("start-up", 0).await?;
        let started = Instant::now();
        let controller = self.side.start(self.cluster, operator, self.scenario.limits)?;
        let probe = Edit { sent: started, ..probe };
        let times = self.completions.wait(&[probe], DEADLINE).await?;
        self.deployments.delete("start-up", &DeleteParams::background()).await?;
        tokio::time::sleep(SETTLE_SOON).await;
        Ok((controller, times.first().copied().unwrap_or_default()))
    }

    async fn operate(
        &self,
        operation: Operation,
        index: usize,
        controller: &Companion,
    ) -> Result<Done, Failure> {
        let (since, started) = (Timestamp::now(), Instant::now());
        let before = usage::of(controller.pid())?;
        let mut times = match (operation, self.scenario.pace) {
            (Operation::Delete, _) => self.delete_all().await?,
            (_, Pace::AllAtOnce) => self.edit_all(operation, index).await?,
            (_, Pace::OneByOne) => self.edit_one_by_one(operation, index).await?,
        };
        let all = started.elapsed();
        times.sort();
        tokio::time::sleep(if operation == Operation::Delete { SETTLE_SOON } else { SETTLE }).await;
        let cpu = usage::of(controller.pid())?.cpu.saturating_sub(before.cpu);
        Ok(Done { operation, since, until: Timestamp::now(), times, all, cpu })
    }

    async fn edit_all(&self, operation: Operation, index: usize) -> Result<Vec<Duration>, Failure> {
        let edits = (0..self.scenario.deployments).map(|number| self.edit(operation, index, number));
        let edits: Vec<Edit> = stream::iter(edits).buffer_unordered(PARALLEL).try_collect().await?;
        self.completions.wait(&edits, DEADLINE).await
    }

    async fn edit_one_by_one(&self, operation: Operation, index: usize) -> Result<Vec<Duration>, Failure> {
        let mut times = Vec::new();
        for number in 0..self.scenario.deployments {
            let edit = self.edit(operation, index, number).await?;
            times.extend(self.completions.wait(&[edit], DEADLINE).await?);
            tokio::time::sleep(BETWEEN).await;
        }
        Ok(times)
    }

    /// One edit of one Deployment; `index` is the number of the operation.
    async fn edit(&self, operation: Operation, index: usize, number: usize) -> Result<Edit, Failure> {
        let name = format!("web-{number}");
        match operation {
            Operation::Create => self.create(&name, self.scenario.replicas).await,
            Operation::Roll => self.patch(name, &manifest::template(index + 1)).await,
            Operation::RollBack => self.patch(name, &manifest::template(1)).await,
            Operation::Scale => self.patch(name, &manifest::size(self.scenario.replicas * 2)).await,
            Operation::Delete => Err(Failure::Other("a deletion is no edit".to_owned())),
        }
    }

    async fn create(&self, name: &str, replicas: i64) -> Result<Edit, Failure> {
        let object = serde_json::from_value(manifest::deployment(self.side, name, replicas))?;
        let sent = Instant::now();
        let made = self.deployments.create(&PostParams::default(), &object).await?;
        Ok(Edit { name: name.to_owned(), generation: made.metadata.generation.unwrap_or(1), sent })
    }

    async fn patch(&self, name: String, patch: &Value) -> Result<Edit, Failure> {
        let sent = Instant::now();
        let made = self.deployments.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(Edit { name, generation: made.metadata.generation.unwrap_or(1), sent })
    }

    async fn delete_all(&self) -> Result<Vec<Duration>, Failure> {
        let started = Instant::now();
        let names = (0..self.scenario.deployments).map(|number| format!("web-{number}"));
        stream::iter(names)
            .map(|name| async move { self.deployments.delete(&name, &DeleteParams::background()).await })
            .buffer_unordered(PARALLEL)
            .try_collect::<Vec<_>>()
            .await?;
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        cluster::wait_for("deletion of all pods", DEADLINE, async || {
            let left = pods.list_metadata(&ListParams::default().limit(1)).await?.items.len();
            if left == 0 { Ok(()) } else { Err(cluster::NotYet("pods are left".to_owned())) }
        })
        .await?;
        Ok(vec![started.elapsed()])
    }
}
