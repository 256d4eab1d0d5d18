//! What the view of a Deployment shows, as it was read at one moment.

use std::time::Duration;

use api::Rollout;
use futures::{Stream, StreamExt as _, stream};
use jiff::Timestamp;
use kube::api::ListParams;
use plan::Trigger;
use serde_json::Value;

use super::lives::time;
use crate::at_step;
use crate::cluster::{Cluster, Deployment, body};
use crate::diagnosis::Diagnosis;
use crate::failure::Failure;
use crate::history::{Revision, revisions};
use crate::pinned;
use crate::rollout::{self, Phase};
use crate::rollouts;
use crate::signs::LOOK_AGAIN;
use crate::terminal::clean;
use crate::tree::Tree;
use crate::verbs::why::{self, Read};
use crate::watched::{changes, grown};

/// Changes that arrive together are read once: a rollout of many pods has many, and each reads all pods.
const GATHER: Duration = Duration::from_millis(500);

/// All that is shown.
pub(super) struct Seen {
    pub(super) tree: Tree,
    pub(super) pods: Vec<Value>,
    pub(super) may_list_pods: bool,
    pub(super) diagnosis: Diagnosis,
    /// Newest first.
    pub(super) all: Vec<Revision>,
    /// Newest first.
    pub(super) events: Vec<Happened>,
    /// The fewest pods that should be available, and the most that may exist.
    pub(super) limits: Option<(i64, i64)>,
    /// How many pods each step before the last updates.
    pub(super) steps: Vec<i64>,
    /// The steps that were begun, and when, as far as the operator records it.
    pub(super) reached: Vec<(i64, Timestamp)>,
    /// Available pods of the revision that runs or is rolled out.
    pub(super) done: i64,
    /// When the last rollout began and ended, as the operator records it.
    pub(super) recorded: Option<(Timestamp, Option<Timestamp>)>,
}

/// An event of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Happened {
    pub(super) at: Option<Timestamp>,
    pub(super) is_warning: bool,
    pub(super) words: String,
}

impl Seen {
    /// What these objects show.
    pub(super) fn of(tree: Tree, read: Read, own_events: &[Value], now: Timestamp) -> Self {
        let deployment = &tree.deployment;
        let workload = deployment.workload().ok();
        let limits = workload.map(|it| {
            let ceiling = it.replicas.saturating_add(it.strategy.max_surge(it.replicas));
            (it.strategy.min_available(it.replicas), ceiling)
        });
        let status = deployment.status();
        let rollouts = rollouts::of(&status);
        let last = rollouts.last().copied().cloned().unwrap_or_default();
        let promoted = last.promotions.iter().flatten();
        let mut reached: Vec<_> = promoted.filter_map(|it| Some((it.step, it.time.as_ref()?.0))).collect();
        reached.extend(last.step.zip(last.rest_start_time.as_ref().map(|it| it.0)));
        let recorded = begin(&rollouts).map(|begin| (begin, last.completion_time.as_ref().map(|it| it.0)));
        let pods = read.pods.as_deref().unwrap_or_default();
        let warnings = read.events.iter().flatten().filter(|event| is_about(event, pods));
        let mut events: Vec<_> = warnings.chain(own_events).map(happened).collect();
        events.sort_by_key(|event| std::cmp::Reverse(event.at));
        let all = revisions(read.owned(deployment));
        // What has yet to begin has no pods.
        let running =
            pinned::running(deployment, &all).filter(|_| !rollout::is_yet_to_begin(&deployment.body));
        Self {
            diagnosis: read.diagnosis(deployment, now),
            done: running.map_or(0, |running| running.status().available),
            all,
            steps: at_step::marks(deployment),
            may_list_pods: read.pods.is_some(),
            pods: read.pods.unwrap_or_default(),
            events,
            limits,
            reached,
            recorded,
            tree,
        }
    }
}

/// When the last rollout began; a revert belongs to the rollout that failed.
fn begin(rollouts: &[&Rollout]) -> Option<Timestamp> {
    let is_revert = |it: &&&Rollout| it.trigger.as_deref() == Some(Trigger::Revert.as_str());
    let first = rollouts.iter().rev().find(|it| !is_revert(it)).or(rollouts.last())?;
    Some(first.start_time.as_ref()?.0)
}

fn is_about(event: &Value, pods: &[Value]) -> bool {
    let name = event.pointer("/involvedObject/name");
    name.is_some() && pods.iter().any(|pod| pod.pointer("/metadata/name") == name)
}

fn happened(event: &Value) -> Happened {
    let text = |path: &str| event.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let times = ["/series/lastObservedTime", "/lastTimestamp", "/eventTime", "/metadata/creationTimestamp"];
    let count = event.get("count").and_then(Value::as_i64).filter(|count| *count > 1);
    let count = count.map_or_else(String::new, |count| format!(" ({count} times)"));
    let words = format!("{}: {}{count}", text("/reason"), text("/message"));
    Happened {
        at: times.into_iter().find_map(|path| time(text(path))),
        is_warning: text("/type") == "Warning",
        words: clean(&words),
    }
}

/// Reads everything once.
async fn look(cluster: &Cluster, deployment: &Deployment, revisions: usize) -> Result<Seen, Failure> {
    let deployment = cluster.read_again(deployment).await?;
    let read = why::read(cluster, &deployment).await?;
    let about = format!("involvedObject.kind=Deployment,involvedObject.name={}", deployment.name());
    // The view is whole without them.
    let events = cluster.events().list(&ListParams::default().fields(&about)).await.map(|list| list.items);
    let events: Vec<Value> = events.unwrap_or_default().into_iter().map(body).collect();
    let sets = read.owned(&deployment);
    let tree = grown(cluster, deployment, (sets, read.pods.as_deref()), revisions).await;
    Ok(Seen::of(tree, read, &events, Timestamp::now()))
}

/// Reads everything at each change, and now and then until the rollout is complete: an event about a pod that starts
/// changes no pod.
pub(super) fn follow<'a>(
    cluster: &'a Cluster,
    deployment: &'a Deployment,
    revisions: usize,
) -> impl Stream<Item = Result<Seen, Failure>> + 'a {
    let changes = Box::pin(changes(cluster, deployment).ready_chunks(64));
    stream::unfold((changes, None), move |(mut changes, patience)| async move {
        if let Some(patience) = patience {
            // A watch that ends begins again by itself.
            let _ = tokio::time::timeout(patience, changes.next()).await;
            tokio::time::sleep(GATHER).await;
        }
        let seen = look(cluster, deployment, revisions).await;
        let is_at_rest = seen.as_ref().is_ok_and(|seen| seen.tree.rollout.phase == Phase::Complete);
        let patience = if is_at_rest { Duration::MAX } else { LOOK_AGAIN };
        Some((seen, (changes, Some(patience))))
    })
}
