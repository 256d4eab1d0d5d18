//! The fewest pods that ever served at the same time.
//!
//! What the ReplicaSets report lags behind; this counts the pods themselves, after each change that
//! their watch delivers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::runtime::watcher::{self, Event};
use tokio::task::JoinHandle;

use crate::failure::{Outcome, until};
use crate::world::World;

/// Counting under way. Dropping it ends it.
pub(crate) struct Floor {
    lowest: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Floor {
    /// Starts to count, when all pods that should serve do.
    pub(crate) async fn start(world: &World) -> Outcome<Self> {
        let lowest = Arc::new(AtomicUsize::new(usize::MAX));
        let task = tokio::spawn(count(world.pod_api(), lowest.clone()));
        let floor = Self { lowest, task };
        world
            .wait("the watch of the pods starting", async || {
                until(floor.lowest() < usize::MAX, "no pods seen")
            })
            .await?;
        Ok(floor)
    }

    /// The lowest count so far.
    pub(crate) fn lowest(&self) -> usize {
        self.lowest.load(Ordering::Relaxed)
    }

    /// Whether all changes since the start were seen.
    pub(crate) fn is_complete(&self) -> bool {
        !self.task.is_finished()
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn count(pods: Api<Pod>, lowest: Arc<AtomicUsize>) {
    let mut events = std::pin::pin!(watcher::watcher(pods, watcher::Config::default()));
    let mut serving = BTreeSet::new();
    let mut listing = false;
    while let Ok(Some(event)) = events.try_next().await {
        match event {
            Event::Init => {
                serving.clear();
                listing = true;
            }
            Event::InitDone => listing = false,
            Event::InitApply(pod) | Event::Apply(pod) if serves(&pod) => {
                serving.extend(pod.metadata.uid);
            }
            Event::InitApply(pod) | Event::Apply(pod) | Event::Delete(pod) => {
                serving.remove(&pod.metadata.uid.unwrap_or_default());
            }
        }
        if !listing {
            lowest.fetch_min(serving.len(), Ordering::Relaxed);
        }
    }
}

/// Ready and not on its way out.
fn serves(pod: &Pod) -> bool {
    let conditions = pod.status.iter().filter_map(|status| status.conditions.as_ref()).flatten();
    let states: BTreeMap<_, _> =
        conditions.map(|found| (found.type_.as_str(), found.status.as_str())).collect();
    pod.metadata.deletion_timestamp.is_none() && states.get("Ready") == Some(&"True")
}
