//! A shard: the namespaces with certain labels. This operator manages the Deployments in them, and other
//! operators those of other namespaces.
//!
//! A namespace with changed labels moves from one shard to another, and no lease separates the two. Time
//! does, as with a lease. A shard that has just checked a namespace may write there for [`LOOK_HOLDS`], and
//! waits at most until [`OVER`] for the answer. If the namespace has changed and the watch has not reported
//! it yet, the shard writes nothing. A shard that finds a namespace newly its own leaves it alone for
//! [`HANDOVER`], and then lists its objects. So, however far the watch of the losing shard lags, that shard
//! has ended when the other one begins. A watch that does not lag only ends it sooner.

mod intake;
mod members;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::durations::HANDOVER;
use engine::namespaces::Namespaces;
use engine::reconcile::Refusal;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::core::PartialObjectMeta;
use plan::Map;
use tokio::sync::{Notify, watch as signal};

use crate::args::Selector;
use crate::client::object::{Kind, Object};
use crate::client::requests::Server;
use crate::client::{ClientError, Dial, WatchClient, client};
use crate::clock;
use crate::serve::metrics::Metrics;

/// Writes leave for this long after the request that has shown the namespace in the shard.
const LOOK_HOLDS: Duration = Duration::from_secs(5);
/// And so long after it nobody waits for their answers any more.
const OVER: Duration = Duration::from_secs(10);

// What is under way in the server or the network has some seconds.
const _: () = assert!(HANDOVER.as_secs() >= OVER.as_secs() + 5);

/// When a namespace was last seen in the shard.
type Look = tokio::sync::Mutex<Option<Instant>>;

/// The namespaces of this operator.
pub(crate) struct Shard {
    selector: Selector,
    /// To look at namespaces.
    server: Server,
    pub(crate) watch: WatchClient,
    metrics: Metrics,
    namespaces: Mutex<Namespaces>,
    looks: Mutex<HashMap<String, Arc<Look>>>,
    /// Namespaces have come, gone or changed.
    news: Notify,
    /// When they were listed first.
    listed: signal::Sender<Option<Instant>>,
    /// Whether those that were listed first have been taken in.
    is_open: signal::Sender<bool>,
    /// Something may have to be listed.
    lists: signal::Sender<u64>,
}

impl Shard {
    pub(crate) fn new(
        selector: Selector,
        dial: Dial<'_>,
        metrics: &Metrics,
    ) -> Result<Arc<Self>, ClientError> {
        Ok(Arc::new(Self {
            selector,
            server: Server::new(client(dial)?, metrics.clone()),
            watch: WatchClient::new(dial)?,
            metrics: metrics.clone(),
            namespaces: Mutex::default(),
            looks: Mutex::default(),
            news: Notify::new(),
            listed: signal::channel(None).0,
            is_open: signal::channel(false).0,
            lists: signal::channel(0).0,
        }))
    }

    /// Waits until the namespaces are known that the shard has from the start. Lists that begin then show what they
    /// hold.
    pub(crate) async fn opened(&self) {
        if self.is_open.subscribe().wait_for(|is_open| *is_open).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// The number of a namespace's stay in the shard, if it is there.
    pub(crate) fn stay(&self, namespace: &str) -> Option<u64> {
        self.namespaces().stay(namespace)
    }

    /// Lists have come: other ones may be needed now.
    pub(crate) fn lists_came(&self) {
        self.lists.send_modify(|count| *count += 1);
    }

    /// Lets a write leave if the stay of its namespace in the shard still has this number, and returns when the wait
    /// for its answer has to end. It is refused once the namespace has left the shard, even if it has returned since.
    ///
    /// In a box, since a request that reads asks for no permit, which the compiler cannot know.
    pub(crate) fn permit<'a>(
        &'a self,
        place: Option<(&'a str, u64)>,
    ) -> BoxFuture<'a, Result<Instant, Refusal>> {
        self.permitted(place).boxed()
    }

    async fn permitted(&self, place: Option<(&str, u64)>) -> Result<Instant, Refusal> {
        let Some((namespace, stay)) = place else {
            return Err(Refusal::not_sent("it is not known to be in a namespace of this shard"));
        };
        let look = self.look(namespace);
        let mut looked = look.lock().await;
        let now = clock::now();
        let at = match looked.filter(|at| now.saturating_duration_since(*at) < LOOK_HOLDS) {
            Some(at) => at,
            None => {
                self.look_at(namespace).await?;
                *looked = Some(now);
                now
            }
        };
        drop(looked);
        // The watch may have shown more meanwhile, and the answer may have taken long.
        let is_ours = self.stay(namespace) == Some(stay);
        if is_ours && clock::now().saturating_duration_since(at) < LOOK_HOLDS {
            Ok(at + OVER)
        } else {
            Err(Refusal::not_sent(&format!("namespace {namespace} is not known to be of this shard now")))
        }
    }

    fn look(&self, namespace: &str) -> Arc<Look> {
        self.looks().entry(namespace.to_owned()).or_default().clone()
    }

    /// Fails unless the namespace is as the watch has shown it.
    async fn look_at(&self, namespace: &str) -> Result<(), Refusal> {
        let api = self.server.cluster_metadata(Kind::Namespace);
        let live = self.server.send("get", "namespaces", api.get_opt(namespace)).await;
        let live = live.map_err(|refusal| {
            Refusal::not_sent(&format!("namespace {namespace} cannot be looked at: {}", refusal.message))
        })?;
        let is_as_seen = live.is_some_and(|live| {
            let version = live.resource_version().unwrap_or_default();
            self.selects(&live) && self.namespaces().knows(namespace, &version)
        });
        if is_as_seen {
            return Ok(());
        }
        Err(Refusal::not_sent(&format!(
            "namespace {namespace} has changed, and the watch has yet to tell how"
        )))
    }

    fn selects(&self, namespace: &PartialObjectMeta<Object>) -> bool {
        let labels: Map = namespace.labels().clone();
        self.selector.matches(&labels)
    }

    fn namespaces(&self) -> MutexGuard<'_, Namespaces> {
        self.namespaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn looks(&self) -> MutexGuard<'_, HashMap<String, Arc<Look>>> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
