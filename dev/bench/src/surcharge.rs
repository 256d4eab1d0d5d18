//! What a request to rollwright.dev costs the API server more than the same to apps/v1, without anybody who
//! decides: a client sends the same requests to either kind, while one watch is open.

use std::time::{Duration, Instant};

use cluster::Component;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{Patch, PatchParams};
use plan::RECORDS_MAX;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::figure::{Figure, count, milliseconds};
use crate::side::Side;
use crate::stage::{Change, Stage};
use crate::{ground, usage};

const DEPLOYMENTS: usize = 50;
/// Requests of each sort to each Deployment, but for creations.
const TIMES: usize = 20;
/// Requests that are on their way at the same time: more would measure queues.
const PARALLEL: usize = 4;

pub(crate) const ABOUT: &str = "Milliseconds of kube-apiserver's CPU for a request, and until its answer, four requests at a time and without a \
     controller. The requests of Kubernetes' column are to apps/v1.";

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Create,
    Status,
    Template,
    /// A status while twenty rollouts have ended, so that the history is full. It stays as it is.
    LaterStatus,
}

const SORTS: [(Sort, &str); 4] = [
    (Sort::Create, "create"),
    (Sort::Status, "status"),
    (Sort::Template, "another template"),
    (Sort::LaterStatus, "status after twenty rollouts"),
];

/// Plays Kubernetes' side on apps/v1, and nothing for Rollwright on apps/v1, which would be the same.
pub(crate) async fn play(side: Side) -> Result<Vec<Figure>, Failure> {
    if side == Side::AppsV1 {
        return Ok(Vec::new());
    }
    let cluster = ground::start_large().await?;
    let stage = Stage::new(&cluster, side).await?;
    let server = cluster.pid(Component::ApiServer).unwrap_or_default();
    let mut figures = Vec::new();
    for (sort, name) in SORTS {
        // The first round warms the server up.
        send_all(&stage, side, sort, 0).await?;
        let before = usage::of(server)?.cpu;
        let answered = send_all(&stage, side, sort, 1).await?;
        let cpu = usage::of(server)?.cpu.saturating_sub(before);
        let each = |time: Duration| milliseconds(time) / count(answered.len());
        figures.push(Figure::new(name, "CPU (ms)", each(cpu)));
        figures.push(Figure::new(name, "answer (ms)", each(answered.iter().sum())));
    }
    drop(stage);
    ground::clear(cluster).await?;
    Ok(figures)
}

/// Returns how long each answer took.
async fn send_all(stage: &Stage, side: Side, sort: Sort, round: usize) -> Result<Vec<Duration>, Failure> {
    let times = if sort == Sort::Create { 1 } else { TIMES };
    let requests = (0..times).flat_map(|time| (0..DEPLOYMENTS).map(move |number| (time, number)));
    let sent = stream::iter(requests).map(async |(time, number)| {
        let name = format!("web-{}-{number}", if sort == Sort::Create { round } else { 0 });
        let started = Instant::now();
        send(stage, side, sort, name, round * TIMES + time).await?;
        Ok(started.elapsed())
    });
    sent.buffer_unordered(PARALLEL).try_collect().await
}

async fn send(stage: &Stage, side: Side, sort: Sort, name: String, number: usize) -> Result<(), Failure> {
    match sort {
        Sort::Create => stage.edit(name, &Change::Create(2)).await.map(drop),
        Sort::Template => stage.edit(name, &Change::template(number + 2)).await.map(drop),
        Sort::Status | Sort::LaterStatus => {
            let mut status = status(side, number);
            if (sort, side) == (Sort::LaterStatus, Side::OurKind) && number < TIMES {
                let history: Value = (1..=20).rev().take(RECORDS_MAX).map(record).collect();
                status.as_object_mut().into_iter().for_each(|status| {
                    status.insert("history".to_owned(), history.clone());
                });
            }
            let patch = Patch::Merge(json!({ "status": status }));
            Ok(stage.deployments.patch_status(&name, &PatchParams::default(), &patch).await.map(drop)?)
        }
    }
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
    let display = json!({
        "summary": "Rolling 1/2", "ready": "2/2", "containers": "app", "images": "registry.example.org/shop/web:1.0",
    });
    let mut rollout = record(21);
    rollout
        .as_object_mut()
        .into_iter()
        .for_each(|rollout| rollout.retain(|name, _| !ENDED.contains(&name.as_str())));
    let extras = json!({
        "display": display, "revision": 1, "scaleReplicas": 2, "selector": "app=web", "rollout": rollout,
        "memory": {"outline": "000102030405060708090a0b"},
    });
    if let (Side::OurKind, Some(members), Value::Object(extras)) = (side, status.as_object_mut(), extras) {
        members.extend(extras);
    }
    status
}

/// What a rollout has once it has ended.
const ENDED: [&str; 2] = ["completionTime", "outcome"];

/// A rollout that has ended, as the operator records it.
fn record(id: i64) -> Value {
    json!({
        "id": id, "revision": id, "podTemplateHash": "5d8f9c7b6", "from": id - 1,
        "images": {"app": "registry.example.org/shop/web:1.0"}, "trigger": "NewImage",
        "author": {"manager": "kubectl-client-side-apply", "operation": "Update"},
        "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:01:00Z", "outcome": "Succeeded",
        "lowestAvailable": 2, "highestPods": 3,
    })
}
