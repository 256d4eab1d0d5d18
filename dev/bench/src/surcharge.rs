//! What a request to rollwright.dev costs the API server more than the same to apps/v1, without anybody who
//! decides: a client sends the same requests to both, while one watch of each kind is open.

use std::time::{Duration, Instant};

use cluster::{Cluster, Component, User};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use plan::RECORDS_MAX;
use serde_json::{Value, json};

use crate::completion::Completions;
use crate::failure::Failure;
use crate::side::Side;
use crate::{ground, manifest, usage};

pub(crate) const NAME: &str = "surcharge";
const DEPLOYMENTS: usize = 50;
/// Requests of each sort to each Deployment, but for creations.
const TIMES: usize = 20;
/// Each sort is sent so often, the kinds in turns.
const ROUNDS: usize = 3;
/// Requests that are on their way at the same time: more would measure queues.
const PARALLEL: usize = 4;

/// What is sent.
#[derive(Clone, Copy, Debug)]
enum Sort {
    Create,
    Status,
    StatusByJsonPatch,
    Template,
    Read,
    /// With as many rollouts in `status.history` as it holds, which the write leaves as they are. The last one, since
    /// they stay there.
    StatusWithHistory,
}

impl Sort {
    const ALL: [Self; 6] = [
        Self::Create,
        Self::Status,
        Self::StatusByJsonPatch,
        Self::Template,
        Self::Read,
        Self::StatusWithHistory,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Create => "create a Deployment",
            Self::Status => "status, as a merge patch",
            Self::StatusByJsonPatch => "status, as a JSON patch",
            Self::Template => "another template",
            Self::Read => "read it",
            Self::StatusWithHistory => "status, after twenty rollouts",
        }
    }
}

/// Milliseconds of the API server's processor time for a request, and until its answer.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    cpu: f64,
    time: f64,
}

struct Kind {
    side: Side,
    deployments: Api<DynamicObject>,
    _watch: Completions,
}

/// Measures both kinds and returns a table.
pub(crate) async fn measure() -> Result<String, Failure> {
    let cluster = ground::start_large().await?;
    cluster.stop(Component::ControllerManager)?;
    let kinds = [Kind::new(&cluster, Side::AppsV1).await?, Kind::new(&cluster, Side::OurKind).await?];
    let mut text = format!(
        "### `{NAME}`\n\nMilliseconds of kube-apiserver's CPU for a request, and until its answer; {PARALLEL} at a time, \
         medians of {ROUNDS} rounds.\n\n\
         | request | apps/v1: CPU | answer | rollwright.dev: CPU | answer | CPU, ratio |\n|---|---|---|---|---|---|\n"
    );
    for sort in Sort::ALL {
        let mut costs = [const { Vec::new() }; 2];
        for round in 0..ROUNDS {
            for (kind, costs) in kinds.iter().zip(&mut costs) {
                costs.push(kind.cost(&cluster, sort, round).await?);
            }
        }
        let [apps, ours] = costs.map(|mut costs: Vec<Cost>| {
            costs.sort_by(|one, other| one.cpu.total_cmp(&other.cpu));
            costs.get(ROUNDS / 2).copied().unwrap_or_default()
        });
        text.push_str(&format!(
            "| {} | {:.2} | {:.1} | {:.2} | {:.1} | {:.2} |\n",
            sort.name(),
            apps.cpu,
            apps.time,
            ours.cpu,
            ours.time,
            ours.cpu / apps.cpu
        ));
    }
    drop(kinds);
    ground::clear(cluster).await?;
    text.push('\n');
    Ok(text)
}

impl Kind {
    async fn new(cluster: &Cluster, side: Side) -> Result<Self, Failure> {
        let namespace = cluster.create_namespace(side.short()).await?;
        let deployments: Api<DynamicObject> =
            Api::namespaced_with(cluster.client(User::Admin).await?, &namespace, &side.resource());
        Ok(Self { side, _watch: Completions::follow(deployments.clone()), deployments })
    }

    async fn cost(&self, cluster: &Cluster, sort: Sort, round: usize) -> Result<Cost, Failure> {
        let server = cluster.pid(Component::ApiServer).unwrap_or_default();
        if matches!(sort, Sort::StatusWithHistory) && round == 0 {
            self.add_history().await?;
        }
        let times = if matches!(sort, Sort::Create) { 1 } else { TIMES };
        let before = usage::of(server)?.cpu;
        let requests = (0..times).flat_map(|time| (0..DEPLOYMENTS).map(move |number| (time, number)));
        let sent = stream::iter(requests).map(async |(time, number)| {
            let name = match sort {
                Sort::Create => format!("web-{round}-{number}"),
                _ => format!("web-0-{number}"),
            };
            let started = Instant::now();
            self.send(sort, &name, round * TIMES + time).await?;
            Ok::<Duration, Failure>(started.elapsed())
        });
        let answered: Vec<Duration> = sent.buffer_unordered(PARALLEL).try_collect().await?;
        let cpu = usage::of(server)?.cpu.saturating_sub(before);
        let count = u32::try_from(answered.len().max(1)).unwrap_or(u32::MAX);
        let each = |time: Duration| (time / count).as_secs_f64() * 1000.0;
        Ok(Cost { cpu: each(cpu), time: each(answered.iter().sum()) })
    }

    /// What twenty rollouts leave behind: on apps/v1, nothing.
    async fn add_history(&self) -> Result<(), Failure> {
        if !matches!(self.side, Side::OurKind) {
            return Ok(());
        }
        let history: Vec<Value> = (1..=RECORDS_MAX).rev().map(record).collect();
        let patch = Patch::Merge(json!({ "status": { "history": history } }));
        for number in 0..DEPLOYMENTS {
            let name = format!("web-0-{number}");
            self.deployments.patch_status(&name, &PatchParams::default(), &patch).await?;
        }
        Ok(())
    }

    async fn send(&self, sort: Sort, name: &str, number: usize) -> Result<(), Failure> {
        let (api, params) = (&self.deployments, PatchParams::default());
        match sort {
            Sort::Create => {
                let object = serde_json::from_value(manifest::deployment(self.side, name, 2))?;
                api.create(&PostParams::default(), &object).await?;
            }
            Sort::Status | Sort::StatusWithHistory => {
                let patch = Patch::Merge(json!({ "status": status(self.side, number) }));
                api.patch_status(name, &params, &patch).await?;
            }
            Sort::StatusByJsonPatch => {
                let operations =
                    json!([{ "op": "add", "path": "/status", "value": status(self.side, number) }]);
                let patch: Patch<Value> = Patch::Json(serde_json::from_value(operations)?);
                api.patch_status(name, &params, &patch).await?;
            }
            Sort::Template => {
                api.patch(name, &params, &Patch::Merge(manifest::template(number + 2))).await?;
            }
            Sort::Read => {
                api.get(name).await?;
            }
        }
        Ok(())
    }
}

/// A rollout that has ended, as the operator records it.
fn record(id: usize) -> Value {
    json!({
        "id": id, "revision": id, "from": id - 1, "hash": "5d8f9c7b6", "trigger": "NewImage", "outcome": "Succeeded",
        "author": { "manager": "kubectl-client-side-apply", "operation": "Update" },
        "images": { "app": "registry.example.org/shop/web:1.0" },
        "started": "2026-01-01T00:00:00Z", "ended": "2026-01-01T00:01:00Z", "highestPods": 3, "lowestAvailable": 2,
    })
}

/// A status in the middle of a rollout, as the operator writes it; another one for each number.
fn status(side: Side, number: usize) -> Value {
    let condition = |kind: &str, reason: &str, message: String| {
        json!({
            "type": kind, "status": "True", "reason": reason, "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z", "lastUpdateTime": "2026-01-01T00:00:00Z",
        })
    };
    let progress = format!("ReplicaSet \"web-1-5d8f9c7b6\" is progressing, {number}.");
    let conditions = [
        condition("Available", "MinimumReplicasAvailable", "Deployment has minimum availability.".to_owned()),
        condition("Progressing", "ReplicaSetUpdated", progress),
    ];
    let mut status = json!({
        "observedGeneration": 1, "replicas": 3, "updatedReplicas": 1 + number % 2, "readyReplicas": 2,
        "availableReplicas": 2, "unavailableReplicas": 1, "conditions": conditions,
    });
    let extras = json!({
        "containers": "app", "images": "registry.example.org/shop/web:1.0", "ready": "2/2", "revision": 1,
        "scaleReplicas": 2, "selector": "app=web",
    });
    if let (Side::OurKind, Some(members), Value::Object(extras)) = (side, status.as_object_mut(), extras) {
        members.extend(extras);
    }
    status
}
