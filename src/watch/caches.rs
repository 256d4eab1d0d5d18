//! The watches of one flavour, and how what they bring gets into the index and the queue.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use api::decode::{self, Defaults};
use engine::index::{Key, Placed};
use engine::packed::Packed;
use engine::rivalry::Sighting;
use engine::territory;
use kube::Api;
use kube::runtime::watcher;
use plan::Workload;
use tokio::sync::watch as signal;
use tokio::task::JoinSet;
use tracing::{error, info};

use crate::client::object::{Kind, Object};
use crate::client::pulse::Pulse;
use crate::client::unread::Unread;
use crate::client::{WatchClient, WatchPair};
use crate::clock;
use crate::reconcile::reconciler::Reconciler;
use crate::shard::Shard;
use crate::watch::quarantine::Quarantine;
use crate::watch::renewal::{Orders, Renewer, renewal};
use crate::watch::{self, Sink};

/// How often a watch that has yet to begin gives a sign of life.
const BEAT: Duration = Duration::from_secs(10);
/// The first lists wait this long for the lease. Those that begin under it need not be repeated, and a free lease is
/// won with two requests.
const HEAD_START: Duration = Duration::from_secs(1);

/// What can be asked of a cache.
#[derive(Clone)]
pub(crate) struct Cache {
    pub(crate) kind: &'static str,
    /// The objects that it should hold and cannot be understood.
    pub(crate) quarantine: Arc<Quarantine>,
    is_filled: signal::Receiver<bool>,
    /// The term in which its first list began, if that was under the lease.
    began_in: Arc<OnceLock<u64>>,
    renewer: Renewer,
}

/// Starts the watches of a flavour.
pub(crate) fn start(reconciler: &Arc<Reconciler>, tasks: &mut JoinSet<()>) -> Vec<Cache> {
    let (flavour, shard) = (reconciler.flavour, reconciler.shard());
    let labels = flavour.set_labels().map(|(key, value)| format!("{key}={value}"));
    let mut caches = Vec::new();
    for pair in &reconciler.watches.pairs {
        let mut common = |kind| {
            let (filled, is_filled) = signal::channel(false);
            let (renewer, orders) = renewal();
            let quarantine = Arc::new(Quarantine::new(reconciler, kind));
            let began_in = Arc::<OnceLock<u64>>::default();
            let began = Began { reconciler: reconciler.clone(), term: began_in.clone() };
            caches.push(Cache { kind, quarantine: quarantine.clone(), is_filled, began_in, renewer });
            let (reconciler, namespace) = (reconciler.clone(), pair.namespace.clone());
            (Common { reconciler, kind, namespace, filled, quarantine }, orders, began)
        };
        let (workloads, orders, began) = common("deployments");
        let listed = workloads.filled.subscribe();
        let kind = Kind::Deployment(flavour);
        let watch = follow(pair, &pair.workloads, kind, None, orders, Workloads(workloads));
        tasks.spawn(once_open(shard.cloned(), None, pair.workloads.pulse.clone(), began, watch));
        let (sets, orders, began) = common("replicasets");
        let labels = labels.as_deref();
        let watch = follow(pair, &pair.sets, Kind::ReplicaSet, labels, orders, Sets(sets));
        tasks.spawn(once_open(shard.cloned(), Some(listed), pair.sets.pulse.clone(), began, watch));
    }
    caches
}

/// Where it is noted in which term a first list began.
struct Began {
    reconciler: Arc<Reconciler>,
    term: Arc<OnceLock<u64>>,
}

/// Watches from when it is known which namespaces to look at, and once the cache `after` is filled. The Deployments are
/// listed first, because the operator acts on edits of those that it knows, and the larger list of ReplicaSets would
/// delay that.
async fn once_open(
    shard: Option<Arc<Shard>>,
    after: Option<signal::Receiver<bool>>,
    pulse: Arc<Pulse>,
    began: Began,
    watch: impl Future<Output = ()>,
) {
    // Until then this watch does not stand still; the one before it may.
    let open = async {
        if let Some(shard) = shard {
            shard.opened().await;
        }
        if let Some(mut after) = after {
            // An error means that the other watch is gone, and the process about to end.
            _ = after.wait_for(|filled| *filled).await;
        }
    };
    let mut open = std::pin::pin!(open);
    while tokio::time::timeout(BEAT, &mut open).await.is_err() {
        pulse.beat();
    }
    let leadership = began.reconciler.leadership();
    _ = tokio::time::timeout(HEAD_START, leadership.won()).await;
    if let Some(term) = leadership.term() {
        _ = began.term.set(term);
    }
    watch.await;
}

fn follow<S: Sink<Unread>>(
    pair: &WatchPair,
    watch: &WatchClient,
    kind: Kind,
    labels: Option<&str>,
    orders: Orders,
    sink: S,
) -> impl Future<Output = ()> + use<S> {
    let api = match &pair.namespace {
        Some(namespace) => Api::namespaced_with(watch.client.clone(), namespace, &kind),
        None => Api::all_with(watch.client.clone(), &kind),
    };
    watch::watch(api, watch::config(labels), watch.pulse.clone(), orders, sink)
}

/// Waits until all caches have been filled.
pub(crate) async fn all_filled(caches: &[Cache]) {
    for cache in caches {
        if cache.is_filled.clone().wait_for(|filled| *filled).await.is_err() {
            // The watch is gone, and the process about to end.
            std::future::pending::<()>().await;
        }
    }
}

/// Whether all first lists began in this term, so that they show everything that was written before it.
pub(crate) fn began_in(caches: &[Cache], term: u64) -> bool {
    caches.iter().all(|cache| cache.began_in.get() == Some(&term))
}

/// Fills all caches again, by lists that begin after this call.
pub(crate) async fn renew(caches: &[Cache]) {
    futures::future::join_all(caches.iter().map(|cache| cache.renewer.renew())).await;
}

struct Common {
    reconciler: Arc<Reconciler>,
    kind: &'static str,
    /// The part of the cluster that is watched; `None` for all.
    namespace: Option<String>,
    filled: signal::Sender<bool>,
    quarantine: Arc<Quarantine>,
}

impl Common {
    /// Whether an object is kept, if it can be understood.
    fn admits(&self, object: &Object) -> bool {
        self.reconciler.index().admits(object.namespace())
    }

    /// All objects are about to be listed.
    fn begin(&self, kind: territory::Kind) {
        self.reconciler.index().begin(kind);
        self.quarantine.start_over();
    }

    fn newest(&self, kind: territory::Kind) -> Option<u64> {
        self.reconciler.index().newest(kind, self.namespace.as_deref())
    }

    fn restored(&self, kind: territory::Kind, version: u64) {
        let namespace = self.namespace.as_deref();
        self.reconciler.queue.feed(|engine, _| engine.restored(kind, namespace, version));
    }

    fn note_filled(&self) {
        if !self.filled.send_replace(true) {
            let (api, namespace) = (self.reconciler.flavour.api_version(), self.namespace.as_deref());
            info!(api, kind = self.kind, namespace, "cache is filled");
        }
        self.note_sizes();
        if let Some(shard) = self.reconciler.shard() {
            shard.lists_came();
        }
    }

    fn note_sizes(&self) {
        let (workloads, sets) = self.reconciler.index().sizes();
        let cached = &self.reconciler.metrics.cached;
        let api = self.reconciler.flavour.api_version();
        let gauge = |kind: &str, size: usize| {
            cached.with_label_values(&[api, kind]).set(i64::try_from(size).unwrap_or(i64::MAX));
        };
        gauge("deployments", workloads);
        gauge("replicasets", sets);
    }
}

struct Workloads(Common);

/// A Deployment, or the name of one that cannot be understood.
enum Read {
    Workload(Packed<Workload>),
    Unreadable(Key, String),
}

impl Sink<Unread> for Workloads {
    type Item = Read;

    fn read(&self, unread: Unread) -> Option<Read> {
        if !self.0.admits(unread.metadata()) {
            return None;
        }
        let flavour = self.0.reconciler.flavour;
        let (mut object, whole) = unread.read();
        let key = Key { namespace: object.namespace().to_owned(), name: object.name().to_owned() };
        decode::slim(&mut object.body);
        let decoded = whole.and_then(|()| decode::workload(flavour, object.parts(), Defaults::of(flavour)));
        if let Ok(workload) = &decoded {
            let sighting = Sighting::new(workload, object.status_writer.take());
            self.0.reconciler.engine.saw_status(&key, sighting, clock::now());
            self.0.reconciler.engine.saw_template(&key, workload, object.parts().template);
        }
        self.0.quarantine.judge(&object, decoded.as_ref().err());
        Some(match decoded {
            Ok(workload) => Read::Workload(workload.into()),
            Err(_) => Read::Unreadable(key, object.resource_version().to_owned()),
        })
    }

    fn begin(&self) {
        self.0.begin(territory::Kind::Workloads);
    }

    fn newest(&self) -> Option<u64> {
        self.0.newest(territory::Kind::Workloads)
    }

    fn restored(&self, version: u64) {
        self.0.restored(territory::Kind::Workloads, version);
    }

    fn reset(&self, items: Vec<Read>) {
        let readable = items.into_iter().filter_map(|item| match item {
            Read::Workload(workload) => Some(workload),
            Read::Unreadable(..) => None,
        });
        let namespace = self.0.namespace.as_deref();
        self.0.reconciler.queue.feed(|engine, now| engine.workloads_listed(namespace, readable, now));
        self.0.note_filled();
    }

    fn apply(&self, item: Read) {
        self.0.reconciler.queue.feed(|engine, now| match item {
            Read::Workload(workload) => engine.workload_came(workload, now),
            Read::Unreadable(key, version) => engine.workload_gone(key, &version, now),
        });
        self.0.note_sizes();
    }

    fn delete(&self, object: &Unread) {
        let object = object.metadata();
        self.0.quarantine.judge(object, None);
        let key = Key { namespace: object.namespace().to_owned(), name: object.name().to_owned() };
        self.0.reconciler.engine.state().forget_rival(&key);
        let version = object.resource_version();
        self.0.reconciler.queue.feed(|engine, now| engine.workload_gone(key, version, now));
        self.0.note_sizes();
    }

    fn failed(&self, error: &watcher::Error, failures: u32) {
        let reconciler = &self.0.reconciler;
        if watch::is_missing(error) && reconciler.flavour.is_custom_resource() {
            if failures % 15 == 1 {
                error!(
                    crd = api::crd::CRD_NAME,
                    "the CustomResourceDefinition is not installed: `rollwright crd | kubectl apply -f -` \
                     installs it; waiting for it"
                );
            }
        } else {
            watch::log_failure(&reconciler.metrics, self.0.kind, error, failures);
        }
    }
}

struct Sets(Common);

impl Sink<Unread> for Sets {
    type Item = Packed<Placed>;

    fn read(&self, unread: Unread) -> Option<Packed<Placed>> {
        if !self.0.admits(unread.metadata()) {
            return None;
        }
        let (object, whole) = unread.read();
        let decoded = whole.and_then(|()| decode::replica_set(self.0.reconciler.flavour, object.parts()));
        self.0.quarantine.judge(&object, decoded.as_ref().err());
        let placed = Placed { namespace: object.namespace().to_owned(), set: Arc::new(decoded.ok()?) };
        Some(placed.into())
    }

    fn begin(&self) {
        self.0.begin(territory::Kind::Sets);
    }

    fn newest(&self) -> Option<u64> {
        self.0.newest(territory::Kind::Sets)
    }

    fn restored(&self, version: u64) {
        self.0.restored(territory::Kind::Sets, version);
    }

    fn reset(&self, items: Vec<Packed<Placed>>) {
        let namespace = self.0.namespace.as_deref();
        self.0.reconciler.queue.feed(|engine, now| engine.sets_listed(namespace, items, now));
        self.0.note_filled();
    }

    fn apply(&self, item: Packed<Placed>) {
        self.0.reconciler.queue.feed(|engine, now| engine.set_came(item, now));
        self.0.note_sizes();
    }

    fn delete(&self, object: &Unread) {
        let object = object.metadata();
        self.0.quarantine.judge(object, None);
        let (namespace, version) = (object.namespace(), object.resource_version());
        self.0.reconciler.queue.feed(|engine, now| engine.set_gone(namespace, object.uid(), version, now));
        self.0.note_sizes();
    }

    fn failed(&self, error: &watcher::Error, failures: u32) {
        watch::log_failure(&self.0.reconciler.metrics, self.0.kind, error, failures);
    }
}
