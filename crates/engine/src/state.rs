//! Everything that an operator process knows about one API, behind two locks: the cache, and the rest.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use plan::{Blocker, Flavour};

use crate::attempt::Listings;
use crate::early::Early;
use crate::index::{Index, Key};
use crate::ledger::Ledger;
use crate::looks::{Looking, Looks};
use crate::memory::Memory;
use crate::next::{Next, Scheduled};
use crate::patience::Patience;
use crate::queue::Queue;
use crate::queued::Queued;
use crate::rivalry::Rivalry;
use crate::starts::{Limit, Starts};
use crate::templates::Templates;
use crate::waits::{Facts, Standing, Wait};

/// What becomes of orphans that match a selector and lack our label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adoption {
    /// They are reported, with the command that hands them over.
    Labelled,
    /// They get the label, and are adopted as apps/v1 would.
    Any,
}

/// What an operator may be told to do otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// What becomes of orphans without our label.
    pub adoption: Adoption,
    /// Whether rollouts wait for slots.
    pub starts: bool,
    /// How many may be under way then; without a number, as many as the cluster serves.
    pub slots: Option<usize>,
    /// Whether a key that has just written may wait for all that it waits for.
    pub cooldowns: bool,
    /// Whether nobody is given way to.
    pub force: bool,
    /// How rollouts that do not move are looked at, if they are.
    pub looking: Option<Looking>,
}

impl Default for Settings {
    fn default() -> Self {
        let adoption = Adoption::Labelled;
        Self { adoption, starts: true, slots: None, cooldowns: true, force: false, looking: None }
    }
}

/// What is known beside the cache.
pub struct State {
    /// Which Deployments are to be looked at, and when.
    pub queue: Queue<Key>,
    /// What was written and the cache may not show yet.
    pub ledger: Ledger,
    /// What is remembered from one reconcile to the next.
    pub memory: Memory,
    /// Templates that are about to be needed.
    pub templates: Templates,
    /// Who may begin a rollout.
    pub starts: Starts,
    /// Deployments that wait for a rollout slot, for the status to report it.
    pub(crate) queued: Queued,
    /// What blocks the rollouts that do not move.
    pub(crate) looks: Looks,
    /// Who else writes our statuses.
    pub rivalry: Rivalry,
    /// Whom the server has asked to come later.
    pub patience: Patience,
    /// What is looked at before lists have come.
    pub(crate) early: Early,
}

/// One API's engine. It waits for nothing by itself: the caller supplies the time, and the world as a
/// [`Port`](crate::port::Port).
pub struct Engine {
    pub(crate) flavour: Flavour,
    pub(crate) settings: Settings,
    pub(crate) listings: Listings,
    cache: Mutex<Index>,
    state: Mutex<State>,
}

impl Engine {
    /// An engine that knows nothing yet.
    #[must_use]
    pub fn new(flavour: Flavour, settings: Settings, cache: Index, now: Instant) -> Self {
        let state = State {
            queue: Queue::new(now),
            ledger: Ledger::default(),
            memory: Memory::default(),
            templates: Templates::default(),
            starts: Starts::new(settings.slots.map_or_else(Limit::default, Limit::fixed)),
            queued: Queued::default(),
            looks: Looks::default(),
            rivalry: Rivalry::new(settings.force),
            patience: Patience::default(),
            early: Early::default(),
        };
        Self {
            flavour,
            settings,
            listings: Listings::default(),
            cache: Mutex::new(cache),
            state: Mutex::new(state),
        }
    }

    /// The API whose Deployments it reconciles.
    #[must_use]
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// The cache. Held briefly: nothing is decoded, listed or sent meanwhile. Where both locks are held,
    /// [`Self::state`] is taken first.
    pub fn cache(&self) -> MutexGuard<'_, Index> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All else. Held briefly, as the cache is.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An attempt at this key ended so; says when it comes again, and releases it.
    pub fn schedule(&self, key: &Key, next: &Next, now: Instant) -> Scheduled {
        let queue = &mut self.state().queue;
        let scheduled = next.apply(queue, key, now);
        queue.done(key);
        scheduled
    }

    /// The worker that took this key did nothing with it: it comes again.
    pub fn put_back(&self, key: &Key, now: Instant) {
        let queue = &mut self.state().queue;
        queue.requeue([key.clone()], now);
        queue.done(key);
    }

    /// The cache may be older than what others have written. Until [`Self::lists_came`], only what users change is
    /// looked at, from live reads.
    pub fn await_lists(&self, now: Instant) {
        let mut state = self.state();
        state.early.begin();
        self.requeue_all(&mut state, now);
    }

    /// Whether the lists have yet to come.
    #[must_use]
    pub fn awaits_lists(&self) -> bool {
        self.state().early.awaits_lists()
    }

    /// The cache shows everything that was written before the lists began: everything is looked at.
    pub fn lists_came(&self, now: Instant) {
        let mut state = self.state();
        state.early.end();
        // A ReplicaSet may have lost its label since a look at unlabelled ones, and before the list of labelled ones.
        state.memory.forget_scouting();
        self.listings.forget_all();
        self.requeue_all(&mut state, now);
    }

    fn requeue_all(&self, state: &mut State, now: Instant) {
        let keys: Vec<Key> = self.cache().keys().collect();
        state.queue.requeue(keys, now);
    }

    /// Everything is about to be listed anew: what these lists show anyhow is waited for no more. Others
    /// have written since anything else was looked at, or may have.
    pub fn start_over(&self) {
        let mut state = self.state();
        state.ledger.start_over();
        state.memory.start_over();
        state.looks.start_over();
        drop(state);
        self.listings.forget_all();
    }

    /// Nothing is remembered of a Deployment that is gone, or ours no more. Says whether others may
    /// begin by that.
    pub(crate) fn forget(&self, key: &Key, now: Instant) -> bool {
        let mut state = self.state();
        state.memory.forget(key);
        state.templates.forget(key);
        state.rivalry.forget(key);
        state.ledger.clear(key);
        state.queued.ended(key);
        state.looks.forget(key);
        state.early.ended(key);
        state.patience.forget(key);
        let granted = state.starts.ended(key, now);
        state.requeue(granted, now)
    }
}

impl State {
    /// What each key waits for that waits now.
    #[must_use]
    pub fn waits(&self, now: Instant) -> BTreeMap<&Key, Wait> {
        let standing = |due| Facts { due: Some(due), ..Facts::at(now) }.standing();
        let waits = self.queue.waiting().into_iter().filter_map(|(key, due)| match standing(due) {
            Standing::Now => None,
            Standing::Wait(wait) => Some((key, wait)),
        });
        waits.collect()
    }

    /// The rollouts that are known to be blocked, and by what.
    pub fn blocked(&self) -> impl Iterator<Item = (&Key, &[Blocker])> {
        self.looks.blocked()
    }

    /// Requeues keys; says whether there were any.
    pub(crate) fn requeue(&mut self, keys: Vec<Key>, now: Instant) -> bool {
        let is_any = !keys.is_empty();
        self.queue.requeue(keys, now);
        is_any
    }
}
