//! Rollouts begin in turn. When hundreds are asked for at once, all of them together are no sooner
//! done than one after the other, and until then none is: so those under way are finished first.
//!
//! Only what keeps the cluster's controllers busy counts as under way. A rollout whose pods are all
//! there, ready or not, makes room half a second later, so one that hangs holds nobody up, and many
//! whose pods are slow run side by side. One whose pods are still to be made or deleted waits for a
//! busy server: to begin more of them would keep it waiting longer. Namespaces take turns.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::Bound;
use std::time::{Duration, Instant};

use plan::{ReplicaSet, Workload};

use crate::index::Key;

/// A rollout whose sets have all pods that they were asked for, for so long, waits for these.
const STILL_AFTER: Duration = Duration::from_millis(500);
/// A rollout for which nothing was written for so long holds nobody up, whatever it waits for.
const STUCK_AFTER: Duration = Duration::from_secs(10);
/// Rollouts that are under way at the same time, at most. Enough to keep a server of two cores busy: with
/// twelve it waits at times, with 24 each rollout takes more writes.
const UNDER_WAY_MAX: usize = 16;
/// How often [`Starts::turns`] is to be asked, lest a rollout that hangs holds up the others.
pub const LOOK: Duration = Duration::from_millis(250);
/// Who waits asks again after this long, should nobody tell.
pub const ASK_AGAIN: Duration = Duration::from_secs(30);

/// Who is under way, and who waits.
pub struct Starts {
    limit: usize,
    /// Until when each counts as under way.
    moving: HashMap<Key, Instant>,
    /// Names in the order in which they came, by namespace.
    waiting: BTreeMap<String, VecDeque<String>>,
    is_waiting: HashSet<Key>,
    /// The namespace whose turn was last.
    last: String,
}

/// Whether a rollout may begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Whether this one may.
    pub is_now: bool,
    /// Others whose turn has come: wake them.
    pub others: Vec<Key>,
}

/// Whether a pass over this Deployment would begin a rollout: its template is new, or came back, no pod
/// of it was asked for yet, and pods of another template are to go. A change of size waits for nobody, and
/// neither does a Deployment without pods: it disturbs none.
#[must_use]
pub fn is_start(workload: &Workload, sets: &[ReplicaSet]) -> bool {
    let template = &workload.template.fingerprint;
    workload.status.observed_generation < workload.generation
        && workload.replicas > 0
        && !workload.deleting
        && !workload.paused
        && workload.rollback_to.is_none()
        && sets.iter().any(ReplicaSet::is_active)
        && !sets.iter().any(|set| set.is_active() && set.carries(template))
}

impl Default for Starts {
    fn default() -> Self {
        Self::new(UNDER_WAY_MAX)
    }
}

impl Starts {
    /// So many may be under way at a time; at least one.
    fn new(limit: usize) -> Self {
        Self {
            limit: limit.max(1),
            moving: HashMap::new(),
            waiting: BTreeMap::new(),
            is_waiting: HashSet::new(),
            last: String::new(),
        }
    }

    /// A rollout is about to begin. If it has to wait, its turn is told by [`Turn::others`] of
    /// another call, or comes when it asks again after [`ASK_AGAIN`].
    pub fn ask(&mut self, key: &Key, now: Instant) -> Turn {
        if !self.moving.contains_key(key) && self.is_waiting.insert(key.clone()) {
            self.waiting.entry(key.namespace.clone()).or_default().push_back(key.name.clone());
        }
        let mut others = self.turns(now);
        others.retain(|other| other != key);
        let is_now = self.moving.contains_key(key);
        if is_now {
            self.moving.insert(key.clone(), now + STUCK_AFTER);
        }
        Turn { is_now, others }
    }

    /// How many others are under way.
    #[must_use]
    pub fn others(&self, key: &Key, now: Instant) -> usize {
        self.moving.iter().filter(|(other, until)| *other != key && **until > now).count()
    }

    /// How many rollouts begin before that of a key that waits, if nobody else comes: those of its
    /// namespace that came sooner, and those of other namespaces, which take turns with it. `None` if it
    /// does not wait.
    #[must_use]
    pub fn before(&self, key: &Key) -> Option<usize> {
        let own = self.waiting.get(&key.namespace)?.iter().position(|name| *name == key.name)?;
        // In a round, those after the namespace whose turn was last come first.
        let place = |namespace: &str| (namespace <= self.last.as_str(), namespace.to_owned());
        let is_sooner = |namespace: &str| place(namespace) < place(&key.namespace);
        let others = self.waiting.iter().filter(|(namespace, _)| **namespace != key.namespace);
        let turns = others.map(|(namespace, names)| names.len().min(own + usize::from(is_sooner(namespace))));
        Some(own + turns.sum::<usize>())
    }

    /// Something was written for this Deployment. Tells whose turn has come.
    pub fn moved(&mut self, key: &Key, now: Instant) -> Vec<Key> {
        if let Some(until) = self.moving.get_mut(key) {
            *until = now + STUCK_AFTER;
        }
        self.turns(now)
    }

    /// Its sets were seen to have all pods that they were asked for; see [`ReplicaSet::is_served`].
    pub fn served(&mut self, key: &Key, now: Instant) {
        if let Some(until) = self.moving.get_mut(key) {
            *until = (*until).min(now + STILL_AFTER);
        }
    }

    /// Its rollout is over, or it is gone. Tells whose turn has come.
    pub fn ended(&mut self, key: &Key, now: Instant) -> Vec<Key> {
        self.moving.remove(key);
        self.turns(now)
    }

    /// Those whose turn has come: wake them. They count as under way from here on.
    pub fn turns(&mut self, now: Instant) -> Vec<Key> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        if self.moving.len() >= self.limit {
            self.moving.retain(|_, until| *until > now);
        }
        let mut turns = Vec::new();
        while self.moving.len() < self.limit {
            let Some(key) = self.pop() else { break };
            self.moving.insert(key.clone(), now + STUCK_AFTER);
            turns.push(key);
        }
        turns
    }

    /// The first of the namespace after that whose turn was last.
    fn pop(&mut self) -> Option<Key> {
        let after = (Bound::Excluded(self.last.as_str()), Bound::Unbounded);
        let namespace = self.waiting.range::<str, _>(after).next().or_else(|| self.waiting.iter().next());
        let namespace = namespace.map(|(namespace, _)| namespace.clone())?;
        let names = self.waiting.get_mut(&namespace)?;
        let name = names.pop_front()?;
        if names.is_empty() {
            self.waiting.remove(&namespace);
        }
        self.last.clone_from(&namespace);
        let key = Key { namespace, name };
        self.is_waiting.remove(&key);
        Some(key)
    }
}

#[cfg(test)]
mod tests;
