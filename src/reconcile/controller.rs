//! Everything that belongs to one API flavour: cache, queue, ledger and the way to the server.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::index::{Extent, Index, Sight};
use engine::{Engine, Settings};
use jiff::Timestamp;
use plan::Flavour;

use crate::client::WatchClients;
use crate::client::requests::Server;
use crate::clock;
use crate::leadership::Leadership;
use crate::reconcile::queue::Queue;
use crate::reconcile::rollouts::Rollouts;
use crate::serve::health::Progress;
use crate::serve::metrics::{Metrics, standard::Meters};
use crate::shard::Shard;
use crate::watch::pods::PodWatches;
use crate::write::events::Events;

/// One flavour's controller.
pub(crate) struct Controller {
    pub(crate) flavour: Flavour,
    pub(crate) server: Server,
    /// Whether we may write.
    pub(crate) leadership: Leadership,
    /// The namespaces that are ours; `None` for all that are watched.
    pub(crate) shard: Option<Arc<Shard>>,
    pub(crate) watches: WatchClients,
    /// What decides, and all that it knows.
    pub(crate) engine: Arc<Engine>,
    pub(crate) queue: Queue,
    /// How the workers get on.
    pub(crate) progress: Arc<Progress>,
    pub(crate) events: Events,
    pub(crate) metrics: Metrics,
    /// Those of them that every controller has.
    pub(crate) meters: Meters,
    pub(crate) rollouts: Rollouts,
    pub(crate) pods: PodWatches,
    working_term: Mutex<Option<u64>>,
}

impl Controller {
    pub(crate) fn new(
        flavour: Flavour,
        settings: Settings,
        server: Server,
        watches: WatchClients,
        events: Events,
        metrics: Metrics,
    ) -> Self {
        metrics.begin(flavour);
        let is_split = watches.pairs.iter().any(|pair| pair.namespace.is_some());
        let extent = if is_split { Extent::Namespace } else { Extent::Cluster };
        let sight = if flavour.set_labels().is_some() { Sight::ByLabel } else { Sight::Whole };
        let index = match server.shard() {
            Some(_) => Index::of_shard(sight),
            None => Index::watched(sight, extent),
        };
        let engine = Arc::new(Engine::new(flavour, settings, index, clock::now()));
        Self {
            flavour,
            leadership: server.leadership().clone(),
            shard: server.shard().cloned(),
            server,
            watches,
            queue: Queue::new(engine.clone()),
            engine,
            progress: Arc::new(Progress::new()),
            events,
            meters: metrics.standard.of(flavour.controller_name()),
            metrics,
            rollouts: Rollouts::default(),
            pods: PodWatches::default(),
            working_term: Mutex::new(None),
        }
    }

    /// Nothing is worked on any more; what happens is noted.
    pub(crate) fn stand_by(&self) {
        self.queue.pause();
        self.progress.stand_by();
        *self.working_term() = None;
        self.pods.stop_all();
        self.rollouts.forget_all();
        self.index().ignore_strays();
    }

    /// We have won the lease, and everything is about to be listed anew: what these lists show anyhow
    /// is waited for no more. Others have written since we looked at anything else, or may have.
    pub(crate) fn start_over(&self) {
        self.engine.start_over();
        self.pods.stop_all();
        self.watches.measure_again();
    }

    /// We lead. The caches may be older than what was written before that; until they are not, the engine looks only
    /// at what users edit.
    pub(crate) fn begin(&self, term: u64) {
        self.queue.feed(Engine::await_lists);
        *self.working_term() = Some(term);
        self.progress.start();
        self.queue.resume();
    }

    /// The caches are as new as the term. Everything is looked at: nobody knows what happened before.
    pub(crate) fn take_over(&self) {
        self.index().heed_strays();
        self.queue.feed(Engine::lists_came);
    }

    /// The term that a reconcile may be begun in now: the one that we lead in.
    pub(crate) fn term(&self) -> Option<u64> {
        let working = *self.working_term();
        self.leadership.term().filter(|term| working == Some(*term))
    }

    /// What time it is for decisions, and for what they write. On apps/v1 the clock of this machine tells, as upstream's
    /// does (S9.12).
    pub(crate) fn timestamp(&self) -> Timestamp {
        let by_server = self.flavour.has_status_extras().then(|| self.watches.server_time());
        by_server.flatten().unwrap_or_else(clock::timestamp)
    }

    /// The number of the time that a namespace is ours for, if it is; see [`Shard::stay`].
    pub(crate) fn stay(&self, namespace: &str) -> Option<u64> {
        self.shard.as_ref().map_or(Some(0), |shard| shard.stay(namespace))
    }

    fn working_term(&self) -> MutexGuard<'_, Option<u64>> {
        self.working_term.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cache; see [`Engine::cache`].
    pub(crate) fn index(&self) -> MutexGuard<'_, Index> {
        self.engine.cache()
    }
}
