//! When each Deployment of a namespace was complete, as a watch shows it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::{StreamExt as _, pin_mut};
use jiff::Timestamp;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::watcher;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::failure::Failure;
use crate::manifest;
use crate::side::Side;

/// An edit: which generation it made, and when it was sent.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) name: String,
    pub(crate) generation: i64,
    pub(crate) sent: Instant,
    /// The same on the clock of the audit log.
    pub(crate) sent_at: Timestamp,
}

impl Edit {
    /// Creates a Deployment.
    pub(crate) async fn create(
        api: &Api<DynamicObject>,
        side: Side,
        name: String,
        replicas: i64,
    ) -> Result<Self, Failure> {
        let object = serde_json::from_value(manifest::deployment(side, &name, replicas))?;
        let (sent, sent_at) = (Instant::now(), Timestamp::now());
        let made = api.create(&PostParams::default(), &object).await?;
        Ok(Self { name, generation: made.metadata.generation.unwrap_or(1), sent, sent_at })
    }

    /// Changes one.
    pub(crate) async fn patch(
        api: &Api<DynamicObject>,
        name: String,
        patch: &Value,
    ) -> Result<Self, Failure> {
        let (sent, sent_at) = (Instant::now(), Timestamp::now());
        let made = api.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(Self { name, generation: made.metadata.generation.unwrap_or(1), sent, sent_at })
    }
}

/// The newest generation that was complete, and when that was seen first.
type Seen = HashMap<String, (i64, Instant)>;

/// Follows the Deployments of one namespace until dropped.
pub(crate) struct Completions {
    seen: Arc<Mutex<Seen>>,
    changed: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Completions {
    pub(crate) fn follow(api: Api<DynamicObject>) -> Self {
        let seen = Arc::<Mutex<Seen>>::default();
        let changed = Arc::<Notify>::default();
        let task = tokio::spawn(follow(api, seen.clone(), changed.clone()));
        Self { seen, changed, task }
    }

    /// Waits until all edits are complete and returns how long each took, in their order.
    pub(crate) async fn wait(&self, edits: &[Edit], deadline: Duration) -> Result<Vec<Duration>, Failure> {
        let waiting = async {
            loop {
                let changed = self.changed.notified();
                if let Some(times) = self.times(edits) {
                    return times;
                }
                changed.await;
            }
        };
        let late = |_| {
            Failure::Other(format!(
                "{} of {} are not complete after {deadline:?}",
                self.missing(edits),
                edits.len()
            ))
        };
        tokio::time::timeout(deadline, waiting).await.map_err(late)
    }

    fn times(&self, edits: &[Edit]) -> Option<Vec<Duration>> {
        let seen = self.seen();
        let time = |edit: &Edit| {
            let (generation, at) = seen.get(&edit.name)?;
            (*generation >= edit.generation).then(|| at.saturating_duration_since(edit.sent))
        };
        edits.iter().map(time).collect()
    }

    fn missing(&self, edits: &[Edit]) -> usize {
        let seen = self.seen();
        let is_there = |edit: &&Edit| seen.get(&edit.name).is_some_and(|(seen, _)| *seen >= edit.generation);
        edits.len() - edits.iter().filter(is_there).count()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Completions {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn follow(api: Api<DynamicObject>, seen: Arc<Mutex<Seen>>, changed: Arc<Notify>) {
    let events = watcher(api, watcher::Config::default());
    pin_mut!(events);
    while let Some(event) = events.next().await {
        // The watcher tries again by itself.
        let Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object)) = event else { continue };
        let (Some(name), Some(generation)) = (object.metadata.name, object.metadata.generation) else {
            continue;
        };
        if !is_complete(generation, &object.data) {
            continue;
        }
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.get(&name).is_none_or(|(known, _)| *known < generation) {
            seen.insert(name, (generation, Instant::now()));
            changed.notify_waiters();
        }
    }
}

/// What `kubectl rollout status` looks at, on either kind.
fn is_complete(generation: i64, object: &Value) -> bool {
    let number = |path: &str| object.pointer(path).and_then(Value::as_i64);
    let wanted = number("/spec/replicas").unwrap_or(1);
    number("/status/observedGeneration").is_some_and(|observed| observed >= generation)
        && ["updatedReplicas", "replicas", "availableReplicas"]
            .iter()
            .all(|field| number(&format!("/status/{field}")).unwrap_or(0) == wanted)
}
