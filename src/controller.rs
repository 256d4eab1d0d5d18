//! Everything that belongs to one API flavour: cache, queue, ledger and the way to the server.

use std::sync::{Mutex, MutexGuard, PoisonError};

use dispatch::index::{Index, Key, Sight};
use dispatch::ledger::Ledger;
use dispatch::memory::Memory;
use plan::Flavour;

use crate::events::Events;
use crate::metrics::Metrics;
use crate::pods::PodWatches;
use crate::queue::Queue;
use crate::requests::Server;
use crate::rivalry::Rivalry;
use crate::scout::Listings;

/// What happens to orphans that match a selector and lack our label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Adoption {
    /// They are reported, with the command that hands them over.
    Labelled,
    /// They get the label, and are adopted as apps/v1 would.
    Any,
}

/// One flavour's controller.
pub(crate) struct Controller {
    pub(crate) flavour: Flavour,
    pub(crate) adoption: Adoption,
    pub(crate) server: Server,
    /// For watches, which have an idle timeout of their own.
    pub(crate) watch_client: kube::Client,
    pub(crate) queue: Queue<Key>,
    pub(crate) events: Events,
    pub(crate) metrics: Metrics,
    pub(crate) pods: PodWatches,
    pub(crate) listings: Listings,
    index: Mutex<Index>,
    ledger: Mutex<Ledger>,
    memory: Mutex<Memory>,
    rivalry: Mutex<Rivalry>,
}

impl Controller {
    pub(crate) fn new(
        flavour: Flavour,
        adoption: Adoption,
        server: Server,
        watch_client: kube::Client,
        events: Events,
        metrics: Metrics,
        rivalry: Rivalry,
    ) -> Self {
        let sight = if flavour.set_labels().is_some() { Sight::ByLabel } else { Sight::Whole };
        Self {
            flavour,
            adoption,
            server,
            watch_client,
            queue: Queue::new(),
            events,
            metrics,
            pods: PodWatches::default(),
            listings: Listings::default(),
            index: Mutex::new(Index::new(sight)),
            ledger: Mutex::new(Ledger::default()),
            memory: Mutex::new(Memory::default()),
            rivalry: Mutex::new(rivalry),
        }
    }

    /// The cache. Held briefly, never across a request.
    pub(crate) fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ledger. Held briefly; where both are held, the ledger is taken first.
    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is remembered between passes. Held briefly.
    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who else writes our statuses. Held briefly, and no other lock meanwhile.
    pub(crate) fn rivalry(&self) -> MutexGuard<'_, Rivalry> {
        self.rivalry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
