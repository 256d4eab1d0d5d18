//! Records every state of objects as a watch shows them.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use futures::TryStreamExt as _;
use kube::api::Api;
use kube::runtime::watcher::{self, Event};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::failure::{Outcome, until};
use crate::world::World;

/// A recording of single objects, in the order of their changes. Dropping it ends it.
pub(crate) struct Sightings {
    seen: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

/// An object at one moment.
pub(crate) struct Sighting {
    pub(crate) object: Value,
    /// This was its end.
    pub(crate) is_gone: bool,
}

#[derive(Default)]
struct State {
    started: bool,
    sightings: Vec<Sighting>,
}

impl State {
    fn add<K: Serialize>(&mut self, object: K, is_gone: bool) {
        if let Ok(object) = serde_json::to_value(object) {
            self.sightings.push(Sighting { object, is_gone });
        }
    }
}

impl Sightings {
    /// Starts to record what this API shows; what is there already comes first.
    pub(crate) async fn start<K>(world: &World, api: Api<K>) -> Outcome<Self>
    where
        K: kube::Resource + Clone + Debug + DeserializeOwned + Serialize + Send + 'static,
    {
        let seen = Arc::new(Mutex::new(State::default()));
        let task = tokio::spawn(record(api, seen.clone()));
        let sightings = Self { seen, task };
        world.wait("the watch starting", async || until(lock(&sightings.seen).started, "not yet")).await?;
        Ok(sightings)
    }

    /// Ends the recording.
    pub(crate) fn stop(self) -> Vec<Sighting> {
        std::mem::take(&mut lock(&self.seen).sightings)
    }
}

impl Drop for Sightings {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(seen: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn record<K>(api: Api<K>, seen: Arc<Mutex<State>>)
where
    K: kube::Resource + Clone + Debug + DeserializeOwned + Serialize + Send + 'static,
{
    let mut stream = std::pin::pin!(watcher::watcher(api, watcher::Config::default()));
    while let Ok(Some(event)) = stream.try_next().await {
        let mut state = lock(&seen);
        match event {
            Event::Init => {}
            Event::InitDone => state.started = true,
            Event::InitApply(object) | Event::Apply(object) => state.add(object, false),
            Event::Delete(object) => state.add(object, true),
        }
    }
}
