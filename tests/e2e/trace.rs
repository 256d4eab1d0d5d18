//! Records every state that the ReplicaSets of a namespace pass through.
//!
//! One watch delivers all changes in order, so the sums over all ReplicaSets are states that really
//! were: what holds for a rollout at any moment can be checked on them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use cluster::NotYet;
use futures::TryStreamExt as _;
use kube::runtime::watcher::{self, Event};
use tokio::task::JoinHandle;

use crate::failure::{Outcome, ensure, until};
use crate::objects::{Set, summaries};
use crate::world::World;

/// The ReplicaSets of a namespace at one moment, by name.
pub(crate) type Moment = BTreeMap<String, Set>;

/// A recording under way. Dropping it ends it.
pub(crate) struct Trace {
    moments: Arc<Mutex<Vec<Moment>>>,
    task: JoinHandle<()>,
}

pub(crate) struct Recording(pub(crate) Vec<Moment>);

impl Trace {
    /// Starts to record; what is there already is the first moment.
    pub(crate) async fn start(world: &World) -> Outcome<Self> {
        let moments = Arc::new(Mutex::new(Vec::new()));
        let task = tokio::spawn(record(world.clone(), moments.clone()));
        let trace = Self { moments, task };
        world.wait("the watch starting", async || until(!trace.read().is_empty(), "nothing seen")).await?;
        Ok(trace)
    }

    fn read(&self) -> Vec<Moment> {
        self.moments.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the recording has caught up with the present, and ends it.
    pub(crate) async fn stop(self, world: &World) -> Outcome<Recording> {
        let version = |set: &Set| set.object.metadata.resource_version.clone();
        world
            .wait("the watch catching up", async || {
                let sets = world.sets().await.map_err(|failure| NotYet(failure.0))?;
                let moments = self.read();
                let last = moments.last().ok_or_else(|| NotYet("nothing seen".to_owned()))?;
                let current = sets.iter().all(|set| last.get(&set.name).map(version) == Some(version(set)));
                until(current && last.len() == sets.len(), summaries(&sets))
            })
            .await?;
        self.task.abort();
        Ok(Recording(self.read()))
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn record(world: World, moments: Arc<Mutex<Vec<Moment>>>) {
    let stream = watcher::watcher(world.set_api(), watcher::Config::default());
    let mut stream = std::pin::pin!(stream);
    let mut sets = Moment::new();
    let mut pending = Moment::new();
    while let Ok(Some(event)) = stream.try_next().await {
        match event {
            Event::Init => {
                pending.clear();
                continue;
            }
            Event::InitApply(set) => {
                let set = Set::from(set);
                pending.insert(set.name.clone(), set);
                continue;
            }
            Event::InitDone => sets.clone_from(&pending),
            Event::Apply(set) => {
                let set = Set::from(set);
                sets.insert(set.name.clone(), set);
            }
            Event::Delete(set) => {
                sets.remove(&Set::from(set).name);
            }
        }
        moments.lock().unwrap_or_else(PoisonError::into_inner).push(sets.clone());
    }
}

impl Recording {
    /// Sizes of the ReplicaSets of an image over time.
    pub(crate) fn sizes(&self, image: &str) -> Vec<i64> {
        self.0.iter().map(|moment| size(moment, image)).collect()
    }

    /// The ReplicaSets never had more pods than this together (S6.7).
    #[track_caller]
    pub(crate) fn ensure_at_most(&self, bound: i64) -> Outcome {
        let total = |moment: &Moment| moment.values().map(|set| set.size).sum::<i64>();
        let worst = self.0.iter().max_by_key(|moment| total(moment));
        ensure(
            worst.is_none_or(|moment| total(moment) <= bound),
            &format!("at most {bound} pods at any moment"),
            worst.map(describe),
        )
    }

    /// The ReplicaSets never reported fewer available pods than this together (S6.9, S6.11).
    #[track_caller]
    pub(crate) fn ensure_available(&self, floor: i64) -> Outcome {
        let available = |moment: &Moment| moment.values().map(|set| set.available).sum::<i64>();
        let worst = self.0.iter().min_by_key(|moment| available(moment));
        ensure(
            worst.is_some_and(|moment| available(moment) >= floor),
            &format!("at least {floor} available pods at every moment"),
            worst.map(describe),
        )
    }
}

/// Size of the ReplicaSets of an image together.
pub(crate) fn size(moment: &Moment, image: &str) -> i64 {
    moment.values().filter(|set| set.image == image).map(|set| set.size).sum()
}

fn describe(moment: &Moment) -> String {
    summaries(&moment.values().cloned().collect::<Vec<_>>())
}
