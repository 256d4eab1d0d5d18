//! Records the states of a Deployment's ReplicaSets, and continues after the API server was away; what happened
//! meanwhile is seen as it is afterwards.

use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt as _;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use tokio::task::JoinHandle;

use crate::failure::{Outcome, until};
use crate::objects::Set;
use crate::trace::{Moment, Recording};
use crate::world::World;

/// A recording under way. Dropping it ends it.
pub(crate) struct Recorder {
    moments: Arc<Mutex<Vec<Moment>>>,
    task: JoinHandle<()>,
}

impl Recorder {
    pub(crate) async fn start(world: &World, owner: &str) -> Outcome<Self> {
        let moments = Arc::new(Mutex::new(Vec::new()));
        let task = tokio::spawn(record(world.clone(), owner.to_owned(), moments.clone()));
        let recorder = Self { moments, task };
        world
            .wait("the watch starting", async || until(!recorder.read().0.is_empty(), "nothing seen"))
            .await?;
        Ok(recorder)
    }

    /// What was seen so far.
    pub(crate) fn read(&self) -> Recording {
        Recording(self.moments.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn record(world: World, owner: String, moments: Arc<Mutex<Vec<Moment>>>) {
    let stream = watcher::watcher(world.set_api(), watcher::Config::default()).default_backoff();
    let mut stream = std::pin::pin!(stream);
    let mut sets = Moment::new();
    let mut pending = Moment::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(Event::Init) => {
                pending.clear();
                continue;
            }
            Ok(Event::InitApply(set)) => {
                let set = Set::from(set);
                pending.insert(set.name.clone(), set);
                continue;
            }
            Ok(Event::InitDone) => sets.clone_from(&pending),
            Ok(Event::Apply(set)) => {
                let set = Set::from(set);
                sets.insert(set.name.clone(), set);
            }
            Ok(Event::Delete(set)) => {
                sets.remove(&Set::from(set).name);
            }
            Err(_) => continue,
        }
        let mut moment = sets.clone();
        moment.retain(|_, set| set.owner == owner);
        moments.lock().unwrap_or_else(PoisonError::into_inner).push(moment);
    }
}
