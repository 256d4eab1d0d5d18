//! One side plays one scenario, on a control plane of its own.

use std::path::Path;
use std::time::{Duration, Instant};

use cluster::{Cluster, Companion, Component, User};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject};

use crate::completion::{Completions, Edit};
use crate::failure::Failure;
use crate::scenario::{Operation, Pace, Scenario, Trouble};
use crate::side::Side;
use crate::traffic::{Log, Traffic};
use crate::trouble::Way;
use crate::usage::{self, Usage};
use crate::{ground, manifest, trouble};

/// Edits that are on their way at the same time.
const PARALLEL: usize = 32;
/// Of one operation on all Deployments.
const DEADLINE: Duration = Duration::from_secs(900);
/// What comes after the last Deployment is complete, events above all, belongs to the operation too. Rollwright reports
/// a step when none has followed it for two seconds.
const SETTLE: Duration = Duration::from_millis(2500);
/// No events come of a Deployment without pods.
const SETTLE_SOON: Duration = Duration::from_millis(500);
/// Of a sequence, in which every edit has to find quiet.
const BETWEEN: Duration = Duration::from_millis(200);

/// What one operation on all Deployments of a round was like.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    pub(crate) operation: Operation,
    /// For each Deployment, from sending the edit to seeing it complete.
    pub(crate) times: Vec<Duration>,
    /// For each Deployment, from sending the edit to its first new pod.
    pub(crate) first_pods: Vec<Duration>,
    /// From the first edit until all are complete.
    pub(crate) all: Duration,
    /// Processor time of the controller, what follows included.
    pub(crate) cpu: Duration,
    /// The same of the API server.
    pub(crate) server_cpu: Duration,
    pub(crate) traffic: Traffic,
}

/// A whole round.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    pub(crate) side: Side,
    pub(crate) deployments: usize,
    /// From starting the process until it has seen to a Deployment that was there before.
    pub(crate) start_up: Duration,
    pub(crate) phases: Vec<Phase>,
    /// Of the controller, at the end.
    pub(crate) usage: Usage,
}

/// The namespace of a round, and who acts there.
struct Ground<'a> {
    cluster: &'a Cluster,
    scenario: &'a Scenario,
    side: Side,
    namespace: String,
    deployments: Api<DynamicObject>,
    completions: Completions,
}

/// An operation that is over; its requests have not been read yet.
struct Done {
    operation: Operation,
    since: Timestamp,
    until: Timestamp,
    edits: Vec<Edit>,
    times: Vec<Duration>,
    all: Duration,
    cpu: Duration,
    server_cpu: Duration,
}

/// All edits of an operation, and how long each took.
type Edited = (Vec<Edit>, Vec<Duration>);

pub(crate) async fn play(operator: &Path, scenario: &Scenario, side: Side) -> Result<Round, Failure> {
    let cluster = ground::start(scenario.pods).await?;
    let way = trouble::way(&cluster, side, scenario.trouble).await?;
    let ground = Ground::new(&cluster, scenario, side).await?;
    let (mut controller, start_up) = ground.start(operator, &way).await?;
    let mut done = Vec::new();
    for (index, operation) in scenario.operations.iter().enumerate() {
        done.push(ground.operate(*operation, index, &controller).await?);
        controller.check()?;
    }
    let usage = usage::of(controller.pid())?;
    ground::end(controller).await?;
    let log = Log::read(&cluster.audit_log(), way.user, &ground.namespace)?;
    let phases = done.into_iter().map(|done| done.with_traffic(&log)).collect();
    drop(ground);
    ground::clear(cluster).await?;
    Ok(Round { side, deployments: scenario.deployments, start_up, phases, usage })
}

impl Done {
    fn with_traffic(self, log: &Log) -> Phase {
        let Self { operation, since, until, edits, times, all, cpu, server_cpu } = self;
        let (first_pods, traffic) = (log.first_pods(&edits, until), log.between(since, until));
        Phase { operation, times, first_pods, all, cpu, server_cpu, traffic }
    }
}

impl<'a> Ground<'a> {
    async fn new(cluster: &'a Cluster, scenario: &'a Scenario, side: Side) -> Result<Self, Failure> {
        let namespace = cluster.create_namespace(side.short()).await?;
        let client = cluster.client(User::Admin).await?;
        let deployments = Api::namespaced_with(client, &namespace, &side.resource());
        let completions = Completions::follow(deployments.clone());
        Ok(Self { cluster, scenario, side, namespace, deployments, completions })
    }

    /// Starts the controller and waits until it has seen to a Deployment without pods.
    async fn start(&self, operator: &Path, way: &Way) -> Result<(Companion, Duration), Failure> {
        let probe = Edit::create(&self.deployments, self.side, "start-up".to_owned(), 0).await?;
        let started = Instant::now();
        let controller = self.side.start(self.cluster, operator, self.scenario.limits, &way.kubeconfig)?;
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
        let server = self.cluster.pid(Component::ApiServer).unwrap_or_default();
        let cpu_of = |pid| usage::of(pid).map(|usage| usage.cpu);
        let (since, started) = (Timestamp::now(), Instant::now());
        let (before, server_before) = (cpu_of(controller.pid())?, cpu_of(server)?);
        let acting = async {
            let edited = match self.scenario.pace {
                Pace::AllAtOnce => self.edit_all(operation, index).await,
                Pace::OneByOne => self.edit_one_by_one(operation, index).await,
            };
            edited.map(|(edits, times)| (edits, times, started.elapsed()))
        };
        let stalling = async {
            if self.scenario.trouble == Trouble::Stalling {
                trouble::stall(self.cluster).await;
            }
        };
        let (acted, ()) = tokio::join!(acting, stalling);
        let (edits, times, all) = acted?;
        tokio::time::sleep(SETTLE).await;
        let cpu = cpu_of(controller.pid())?.saturating_sub(before);
        let server_cpu = cpu_of(server)?.saturating_sub(server_before);
        Ok(Done { operation, since, until: Timestamp::now(), edits, times, all, cpu, server_cpu })
    }

    async fn edit_all(&self, operation: Operation, index: usize) -> Result<Edited, Failure> {
        let edits = (0..self.scenario.deployments).map(|number| self.edit(operation, index, number));
        let edits: Vec<Edit> = stream::iter(edits).buffer_unordered(PARALLEL).try_collect().await?;
        let times = self.completions.wait(&edits, DEADLINE).await?;
        Ok((edits, times))
    }

    async fn edit_one_by_one(&self, operation: Operation, index: usize) -> Result<Edited, Failure> {
        let (mut edits, mut times) = (Vec::new(), Vec::new());
        for number in 0..self.scenario.deployments {
            let edit = self.edit(operation, index, number).await?;
            times.extend(self.completions.wait(std::slice::from_ref(&edit), DEADLINE).await?);
            edits.push(edit);
            tokio::time::sleep(BETWEEN).await;
        }
        Ok((edits, times))
    }

    /// One edit of one Deployment; `index` is the number of the operation.
    async fn edit(&self, operation: Operation, index: usize, number: usize) -> Result<Edit, Failure> {
        let (api, name) = (&self.deployments, format!("web-{number}"));
        let replicas = self.scenario.replicas;
        let patch = match operation {
            Operation::Create => return Edit::create(api, self.side, name, replicas).await,
            Operation::Roll => manifest::template(index + 1),
            Operation::RollBack => manifest::template(1),
            Operation::Scale => manifest::size(replicas * 2),
        };
        Edit::patch(api, name, &patch).await
    }
}
