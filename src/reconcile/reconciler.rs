//! What works, for one API: the engine, its queue, and what workers need to see whether they may work.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::Engine;
use engine::index::Index;
use jiff::Timestamp;
use plan::Flavour;

use crate::client::WatchClients;
use crate::clock;
use crate::leadership::Leadership;
use crate::reconcile::queue::Queue;
use crate::reconcile::rollouts::Rollouts;
use crate::serve::health::Progress;
use crate::serve::metrics::{Metrics, standard::Meters};
use crate::shard::Shard;
use crate::write::Writer;

/// What reconciles the Deployments of one API.
pub(crate) struct Reconciler {
    pub(crate) flavour: Flavour,
    /// What decides, and all that it knows.
    pub(crate) engine: Arc<Engine>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) writer: Writer,
    /// What their connections show: how the watches are, and what time it is by the server.
    pub(crate) watches: Arc<WatchClients>,
    /// How the workers get on.
    pub(crate) progress: Arc<Progress>,
    pub(crate) metrics: Metrics,
    /// Those of them that every controller has.
    pub(crate) meters: Meters,
    pub(super) rollouts: Rollouts,
    working_term: Mutex<Option<u64>>,
}

impl Reconciler {
    pub(crate) fn new(
        queue: Arc<Queue>,
        writer: Writer,
        watches: Arc<WatchClients>,
        metrics: Metrics,
    ) -> Self {
        let flavour = writer.flavour;
        metrics.begin(flavour);
        Self {
            flavour,
            engine: queue.engine.clone(),
            queue,
            writer,
            watches,
            progress: Arc::new(Progress::new()),
            meters: metrics.standard.of(flavour.controller_name()),
            metrics,
            rollouts: Rollouts::default(),
            working_term: Mutex::new(None),
        }
    }

    /// Whether this operator may write.
    pub(crate) fn leadership(&self) -> &Leadership {
        self.writer.server.leadership()
    }

    /// The namespaces of this shard; `None` for all that are watched.
    pub(crate) fn shard(&self) -> Option<&Arc<Shard>> {
        self.writer.server.shard()
    }

    /// Nothing is worked on any more; what happens is noted.
    pub(crate) fn stand_by(&self) {
        self.queue.pause();
        self.progress.stand_by();
        *self.working_term() = None;
        self.writer.pods.stop_all();
        self.rollouts.forget_all();
        self.index().ignore_strays();
    }

    /// This operator has won the lease, and the watches are about to list everything again: what these lists show
    /// anyhow is waited for no more. Others have written since this operator looked at anything else, or may have.
    pub(crate) fn start_over(&self) {
        self.engine.start_over();
        self.writer.pods.stop_all();
        self.watches.measure_again();
    }

    /// This operator leads. The caches may be older than what was written before that; until they are not, the engine
    /// looks only at what users edit.
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

    /// The term that a reconcile may be begun in now: the one that this operator leads in.
    pub(crate) fn term(&self) -> Option<u64> {
        let working = *self.working_term();
        self.leadership().term().filter(|term| working == Some(*term))
    }

    /// What time it is for decisions, and for what they write. On apps/v1 the clock of this machine counts, as
    /// upstream's does (S9.12).
    pub(crate) fn timestamp(&self) -> Timestamp {
        let by_server = self.flavour.has_status_extras().then(|| self.watches.server_time());
        by_server.flatten().unwrap_or_else(clock::timestamp)
    }

    /// The number of a namespace's stay in the shard, if it is there; see [`Shard::stay`].
    pub(crate) fn stay(&self, namespace: &str) -> Option<u64> {
        self.shard().map_or(Some(0), |shard| shard.stay(namespace))
    }

    fn working_term(&self) -> MutexGuard<'_, Option<u64>> {
        self.working_term.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cache; see [`Engine::cache`].
    pub(crate) fn index(&self) -> MutexGuard<'_, Index> {
        self.engine.cache()
    }
}
