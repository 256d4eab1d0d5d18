//! Records every state of objects as a watch shows them.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use cluster::NotYet;
use futures::future::BoxFuture;
use futures::{FutureExt as _, TryStreamExt as _};
use k8s_openapi::api::apps::v1::ReplicaSet;
use kube::api::{Api, ListParams};
use kube::runtime::watcher::{self, Event};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::failure::{Outcome, until};
use crate::objects::Set;
use crate::trace::{Moment, Recording};
use crate::world::World;

/// Lists the objects that are there now.
type Look = Box<dyn Fn() -> BoxFuture<'static, Result<Vec<Value>, NotYet>> + Send + Sync>;

/// A recording of single objects, in the order of their changes. Dropping it ends it.
pub(crate) struct Sightings {
    seen: Arc<Mutex<State>>,
    look: Look,
    task: JoinHandle<()>,
}

/// An object at one moment.
pub(crate) struct Sighting {
    pub(crate) object: Value,
    /// This was its end.
    pub(crate) is_gone: bool,
    /// A list has shown it, which shows one object after the other.
    pub(crate) is_listed: bool,
}

#[derive(Default)]
struct State {
    started: bool,
    sightings: Vec<Sighting>,
}

impl State {
    fn add<K: Serialize>(&mut self, object: K, is_gone: bool, is_listed: bool) {
        if let Ok(object) = serde_json::to_value(object) {
            self.sightings.push(Sighting { object, is_gone, is_listed });
        }
    }

    /// Whether the recording ends with exactly these objects.
    fn ends_with(&self, objects: &[Value]) -> bool {
        let text =
            |object: &Value, field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let mut last = BTreeMap::new();
        for Sighting { object, is_gone, .. } in &self.sightings {
            last.insert(text(object, "uid"), (!is_gone).then(|| text(object, "resourceVersion")));
        }
        last.retain(|_, version| version.is_some());
        let now = objects.iter().map(|object| (text(object, "uid"), Some(text(object, "resourceVersion"))));
        last == now.collect()
    }
}

impl Sightings {
    /// Starts to record what this API shows; what is there already comes first.
    pub(crate) async fn start<K>(world: &World, api: Api<K>) -> Outcome<Self>
    where
        K: kube::Resource + Clone + Debug + DeserializeOwned + Serialize + Send + Sync + 'static,
    {
        let seen = Arc::new(Mutex::new(State::default()));
        let task = tokio::spawn(record(api.clone(), seen.clone()));
        let sightings = Self { seen, look: look(api), task };
        world.wait("the watch starting", async || until(lock(&sightings.seen).started, "not yet")).await?;
        Ok(sightings)
    }

    /// Waits until the recording has caught up with the present, and ends it.
    pub(crate) async fn stop(self, world: &World) -> Outcome<Vec<Sighting>> {
        world
            .wait("the watch catching up", async || {
                let now = (self.look)().await?;
                until(lock(&self.seen).ends_with(&now), format!("{} objects", now.len()))
            })
            .await?;
        Ok(std::mem::take(&mut lock(&self.seen).sightings))
    }
}

impl Drop for Sightings {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A recording of all ReplicaSets of a namespace together.
pub(crate) struct Trace(Sightings);

impl Trace {
    /// Starts to record; what is there already is the first moment.
    pub(crate) async fn start(world: &World) -> Outcome<Self> {
        Ok(Self(Sightings::start(world, world.set_api()).await?))
    }

    /// Waits until the recording has caught up with the present, and ends it.
    pub(crate) async fn stop(self, world: &World) -> Outcome<Recording> {
        let (mut sets, mut moments, mut is_listed) = (Moment::new(), Vec::new(), false);
        for sighting in self.0.stop(world).await? {
            // In the middle of a list, the sums are of no moment.
            if !sighting.is_listed && is_listed {
                moments.push(sets.clone());
            }
            is_listed = sighting.is_listed;
            let set = Set::from(serde_json::from_value::<ReplicaSet>(sighting.object)?);
            if sighting.is_gone {
                sets.remove(&set.name);
            } else {
                sets.insert(set.name.clone(), set);
            }
            if !is_listed {
                moments.push(sets.clone());
            }
        }
        moments.push(sets);
        Ok(Recording(moments))
    }
}

fn lock(seen: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn look<K>(api: Api<K>) -> Look
where
    K: Clone + Debug + DeserializeOwned + Serialize + Send + Sync + 'static,
{
    Box::new(move || {
        let api = api.clone();
        async move {
            let list = api.list(&ListParams::default()).await?;
            let objects = list.items.into_iter().map(serde_json::to_value);
            Ok(objects.collect::<Result<_, _>>()?)
        }
        .boxed()
    })
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
            Event::InitApply(object) => state.add(object, false, true),
            Event::Apply(object) => state.add(object, false, false),
            Event::Delete(object) => state.add(object, true, false),
        }
    }
}
