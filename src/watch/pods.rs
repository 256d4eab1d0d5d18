//! Pods are watched for one Deployment at a time, while its Recreate waits for old pods to go.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::decode;
use engine::index::Key;
use engine::reconcile::Refusal;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::Api;
use kube::runtime::watcher;
use plan::Pod;
use tokio::sync::watch as signal;
use tokio::task::AbortHandle;
use tracing::debug;

use crate::client::object::{Kind, Object};
use crate::client::{WatchClient, WatchClients};
use crate::reconcile::queue::Queue;
use crate::serve::metrics::Metrics;
use crate::watch::renewal::Orders;
use crate::watch::{self, Sink};
use crate::write;

/// How long a reconcile waits for the first list.
const FIRST_LIST: Duration = Duration::from_secs(5);

/// The watches that run now.
pub(crate) struct PodWatches {
    clients: Arc<WatchClients>,
    queue: Arc<Queue>,
    metrics: Metrics,
    all: Mutex<HashMap<Key, PodWatch>>,
}

struct PodWatch {
    uid: String,
    selector: String,
    pods: Arc<Mutex<HashMap<String, Pod>>>,
    synced: signal::Receiver<bool>,
    task: AbortHandle,
}

impl Drop for PodWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl PodWatches {
    pub(crate) fn new(clients: Arc<WatchClients>, queue: Arc<Queue>, metrics: Metrics) -> Self {
        Self { clients, queue, metrics, all: Mutex::default() }
    }

    async fn listed(&self, key: &Key, uid: &str, selector: String) -> Result<Vec<Pod>, Refusal> {
        let (pods, mut synced) = {
            let mut watches = lock(&self.all);
            let known = watches.get(key);
            if known.is_none_or(|known| known.uid != uid || known.selector != selector) {
                watches.insert(key.clone(), self.start(key, uid, selector));
            }
            match watches.get(key) {
                Some(watch) => (watch.pods.clone(), watch.synced.clone()),
                None => return Err(unlisted(key)),
            }
        };
        match tokio::time::timeout(FIRST_LIST, synced.wait_for(|synced| *synced)).await {
            Ok(Ok(_)) => Ok(lock(&pods).values().cloned().collect()),
            Ok(Err(_)) | Err(_) => Err(unlisted(key)),
        }
    }

    fn start(&self, key: &Key, uid: &str, selector: String) -> PodWatch {
        debug!(%key, selector, "pods are watched");
        let pods = Arc::new(Mutex::new(HashMap::new()));
        let (sender, synced) = signal::channel(false);
        let WatchClient { client, pulse } = &self.clients.others;
        let api = Api::namespaced_with(client.clone(), &key.namespace, &Kind::Pod);
        let (queue, metrics) = (self.queue.clone(), self.metrics.clone());
        let sink = Pods { queue, metrics, key: key.clone(), pods: pods.clone(), synced: sender };
        let watch = watch::watch(api, watch::config(Some(&selector)), pulse.clone(), Orders::none(), sink);
        PodWatch { uid: uid.to_owned(), selector, pods, synced, task: tokio::spawn(watch).abort_handle() }
    }
}

impl write::Pods for PodWatches {
    fn of<'a>(
        &'a self,
        key: &'a Key,
        uid: &'a str,
        selector: String,
    ) -> BoxFuture<'a, Result<Vec<Pod>, Refusal>> {
        self.listed(key, uid, selector).boxed()
    }

    fn stop(&self, key: &Key) {
        if lock(&self.all).remove(key).is_some() {
            debug!(%key, "pods are not watched any more");
        }
    }

    fn stop_all(&self) {
        lock(&self.all).clear();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unlisted(key: &Key) -> Refusal {
    let message = format!("the pods of {key} could not be listed within {} s", FIRST_LIST.as_secs());
    Refusal::new(0, "", message)
}

struct Pods {
    queue: Arc<Queue>,
    metrics: Metrics,
    key: Key,
    pods: Arc<Mutex<HashMap<String, Pod>>>,
    synced: signal::Sender<bool>,
}

impl Pods {
    fn requeue(&self) {
        self.queue.requeue([self.key.clone()]);
    }
}

impl Sink for Pods {
    type Item = (String, Pod);

    fn read(&self, object: Object) -> Option<(String, Pod)> {
        Some((object.uid().to_owned(), decode::pod(&object.body)))
    }

    fn reset(&self, items: Vec<(String, Pod)>) {
        *lock(&self.pods) = items.into_iter().collect();
        if self.synced.send_replace(true) {
            self.requeue();
        }
    }

    fn apply(&self, (uid, pod): (String, Pod)) {
        let runs = pod.is_running();
        let old = lock(&self.pods).insert(uid, pod);
        if !runs && old.is_none_or(|old| old.is_running()) {
            self.requeue();
        }
    }

    fn delete(&self, object: &Object) {
        // S2.5; one that had finished held nobody up.
        if lock(&self.pods).remove(object.uid()).is_some_and(|old| old.is_running()) {
            self.requeue();
        }
    }

    fn failed(&self, error: &watcher::Error, failures: u32) {
        watch::log_failure(&self.metrics, "pods", error, failures);
    }
}
