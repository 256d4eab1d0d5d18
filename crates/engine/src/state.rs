//! Everything that an operator process knows about one API, behind two locks: the cache, and the rest.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use plan::{Blocker, Flavour};

use crate::attempt::Listings;
use crate::durations::ANSWER_LIMIT;
use crate::early::Early;
use crate::entry::Entry;
use crate::index::{Index, Key};
use crate::load::Load;
use crate::looks::{Line, Looking, Looks};
use crate::next::{Next, Scheduled};
use crate::queue::Queue;
use crate::queued::Queued;
use crate::rivalry::Rivalry;
use crate::starts::{Limit, Starts};
use crate::templates::Templates;
use crate::waits::{Facts, Standing, Wait};

/// What happens to orphans that match a selector and lack the operator's label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adoption {
    /// The operator reports them, with the command that hands them over.
    Labelled,
    /// The operator labels them, and adopts them as apps/v1 would.
    Any,
}

/// What a few rollouts report together.
const BUSY_AT: usize = 20;

/// What an operator may be configured to do otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// What happens to orphans without the operator's label.
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
    /// How many statuses within a second make the operator busy, so that they wait longer for more news.
    pub busy_at: usize,
    /// Whether Jobs run, for gates and hooks (rollwright.dev).
    pub runs_jobs: bool,
}

impl Default for Settings {
    fn default() -> Self {
        let adoption = Adoption::Labelled;
        let (starts, slots, cooldowns, force, runs_jobs) = (true, None, true, false, true);
        Self { adoption, starts, slots, cooldowns, force, looking: None, busy_at: BUSY_AT, runs_jobs }
    }
}

/// What is known beside the cache: an entry for each Deployment, and who comes when.
pub struct State {
    /// Which Deployments to look at, and when.
    pub queue: Queue<Key>,
    pub(crate) entries: HashMap<Key, Entry>,
    /// Templates that are about to be needed.
    pub(crate) templates: Templates,
    /// Who may begin a rollout.
    pub starts: Starts,
    /// How many statuses are written.
    pub(crate) load: Load,
    /// When statuses may report that their rollouts wait for a slot.
    pub(crate) queued: Queued,
    /// Which pods are read when.
    pub(crate) line: Line,
    /// What is looked at before lists have come.
    pub(crate) early: Early,
    /// What is worked on with an answer waited for longer than usual.
    pub(crate) slow: HashSet<Key>,
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
            entries: HashMap::new(),
            templates: Templates::default(),
            starts: Starts::new(settings.slots.map_or_else(Limit::default, Limit::fixed)),
            load: Load::default(),
            queued: Queued::default(),
            line: Line::default(),
            early: Early::default(),
            slow: HashSet::new(),
        };
        Self {
            flavour,
            settings,
            listings: Listings::default(),
            cache: Mutex::new(cache),
            state: Mutex::new(state),
        }
    }

    /// The API of the Deployments that it reconciles.
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

    /// An attempt at this key ended so; returns when it comes again, and releases it.
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
        state.entries.values_mut().for_each(|entry| entry.memory.forget_scouting());
        self.listings.forget_all();
        self.requeue_all(&mut state, now);
    }

    fn requeue_all(&self, state: &mut State, now: Instant) {
        let keys: Vec<Key> = self.cache().keys().collect();
        state.queue.requeue(keys, now);
    }

    /// The watches are about to list everything again: what these lists show anyhow is waited for no more. Others have
    /// written since anything else was looked at, or may have.
    pub fn start_over(&self) {
        let mut state = self.state();
        state.entries.values_mut().for_each(Entry::start_over);
        state.line = Line::default();
        drop(state);
        self.listings.forget_all();
    }
}

impl State {
    /// What is known of this Deployment, for something to be noted.
    pub(crate) fn entry(&mut self, key: &Key) -> &mut Entry {
        self.entries.entry(key.clone()).or_default()
    }

    /// What is known of this Deployment, if anything is.
    pub(crate) fn known(&mut self, key: &Key) -> Option<&mut Entry> {
        self.entries.get_mut(key)
    }

    /// Nothing is remembered of a Deployment that is gone, or belongs to this operator no longer. Returns whether
    /// others may begin by that.
    pub(crate) fn forget(&mut self, key: &Key, now: Instant) -> bool {
        self.entries.remove(key);
        self.templates.forget(key);
        self.line.leave(key);
        self.early.ended(key);
        let granted = self.starts.ended(key, now);
        self.requeue(granted, now)
    }

    /// Until when this Deployment is left alone: as the server has asked, and for another controller.
    pub(crate) fn left_until(&mut self, key: &Key, now: Instant) -> [Option<Instant>; 2] {
        let Some(entry) = self.entries.get_mut(key) else { return [None; 2] };
        [entry.patience.until(key, &mut self.slow, now), entry.rivalry.yields_until(now)]
    }

    /// When the status of a rollout has to report that it waits for a slot.
    pub(crate) fn reports_queued(&mut self, key: &Key, now: Instant) -> Option<Instant> {
        self.queued.waits(&mut self.entries.entry(key.clone()).or_default().queued, now)
    }

    /// To read the pods of this Deployment.
    pub(crate) fn looks<'a>(&'a mut self, looking: Looking, key: &'a Key) -> Looks<'a> {
        let look = &mut self.entries.entry(key.clone()).or_default().look;
        Looks { looking, key, look, line: &mut self.line }
    }

    /// How long an answer to a request of this Deployment is waited for.
    #[must_use]
    pub fn answer_limit(&self, key: &Key) -> Duration {
        self.entries.get(key).map_or(ANSWER_LIMIT, |entry| entry.patience.limit())
    }

    /// What the cache has yet to show, by Deployment, and since when.
    #[must_use]
    pub fn unseen(&self) -> BTreeMap<&Key, (Instant, String)> {
        self.entries.iter().filter_map(|(key, entry)| Some((key, entry.ledger.waits()?))).collect()
    }

    /// The Deployment was deleted: it is left to nobody.
    pub fn forget_rival(&mut self, key: &Key) {
        if let Some(entry) = self.known(key) {
            entry.rivalry = Rivalry::default();
        }
    }

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
        self.entries.iter().filter_map(|(key, entry)| Some((key, entry.look.as_ref()?.blocked()?)))
    }

    /// Requeues keys; returns whether there were any.
    pub(crate) fn requeue(&mut self, keys: Vec<Key>, now: Instant) -> bool {
        let is_any = !keys.is_empty();
        self.queue.requeue(keys, now);
        is_any
    }
}
