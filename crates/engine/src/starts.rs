//! Rollout slots. When hundreds of rollouts are requested together, running all of them together finishes no sooner
//! than one after the other, and none finishes early. So the operator finishes those under way first.
//!
//! Only a rollout that keeps the cluster's controllers busy holds a slot. One with all its pods, ready or not, frees
//! it: half a second later, or immediately where pods have been observed to take longer than that. So a stuck rollout
//! delays no other, and many with slow pods run side by side. One with pods still to be created or deleted waits for a
//! busy server, and starting more would keep it waiting longer. The number of slots follows from the load (`limit.rs`).
//! Namespaces share the slots.

mod limit;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use plan::{Observed, ReplicaSet};

use crate::durations::{STILL_AFTER, STUCK_AFTER};
use crate::index::Key;
use crate::rotation::Rotation;
pub(crate) use limit::Limit;

/// Who is under way, and who waits.
pub struct Starts {
    limit: Limit,
    /// For how long a rollout with all its pods is waited for: not at all, once pods turn out to be slow.
    still_after: Duration,
    moving: HashMap<Key, Moving>,
    waiting: Rotation,
}

/// A rollout that has begun.
struct Moving {
    /// Until when it counts as under way.
    until: Instant,
    /// Whether a ReplicaSet was written for it. Before that, the slot is unused, and the pods that are there are those
    /// of the template that it replaces: they mean nothing for it.
    wrote: bool,
    /// When it began, until its pods are there for the first time.
    begun: Option<Instant>,
    /// Since when its ReplicaSets have had all pods that they were asked for.
    served: Option<Instant>,
}

impl Moving {
    fn from(now: Instant) -> Self {
        Self { until: now + STUCK_AFTER, wrote: false, begun: Some(now), served: None }
    }

    /// Whether its pods may still turn out to be quick.
    fn is_watched(&self, now: Instant) -> bool {
        self.served.is_some_and(|since| now < since + STILL_AFTER)
    }
}

/// Whether a rollout may begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Whether this one may.
    pub is_now: bool,
    /// Others that got a slot: requeue them.
    pub others: Vec<Key>,
}

/// Whether a reconcile over this Deployment would begin a rollout: its template is new, or was restored, no pod of it
/// was asked for yet, and pods of another template have to go. A change of size waits for nobody, and neither does a
/// Deployment without pods: it disturbs none. Pins and reverts do not wait, either: they are for emergencies, and the
/// template gets no pods (FP-10, FP-11).
#[must_use]
pub fn is_start(observed: &Observed, now: Timestamp) -> bool {
    let Observed { workload, sets, .. } = observed;
    let template = &workload.template.fingerprint;
    workload.status.observed_generation < workload.generation
        && workload.replicas > 0
        && !workload.deleting
        && !workload.paused
        && workload.rollback_to.is_none()
        && sets.iter().any(ReplicaSet::is_active)
        && !sets.iter().any(|set| set.is_active() && set.carries(template))
        && observed.runs_declared(now)
}

impl Starts {
    /// Nobody is under way yet.
    pub(crate) fn new(limit: Limit) -> Self {
        Self { limit, still_after: STILL_AFTER, moving: HashMap::new(), waiting: Rotation::default() }
    }

    /// A rollout is about to begin. If it has to wait for a slot, it gets one by [`Grant::others`] of
    /// another call, or comes when it asks again after [`ASK_AGAIN`](crate::durations::ASK_AGAIN).
    pub fn ask(&mut self, key: &Key, now: Instant) -> Grant {
        if !self.is_under_way(key, now) {
            self.waiting.enter(key);
        }
        let mut others = self.grant(now);
        others.retain(|other| other != key);
        let begins = self.moving.get_mut(key).filter(|moving| moving.until > now);
        let is_now = begins.is_some();
        if let Some(moving) = begins {
            *moving = Moving::from(now);
        }
        Grant { is_now, others }
    }

    /// The Deployment begins no rollout anymore: for example, it was paused, or its template was restored. So it waits
    /// no longer, and hands its slot on if it got one. Returns the keys that get a slot by that.
    pub fn declines(&mut self, key: &Key, now: Instant) -> Vec<Key> {
        self.waiting.leave(key);
        self.hands_on(key, now)
    }

    /// An attempt failed. A rollout that has written no ReplicaSet hands its slot on, and asks again.
    pub fn failed(&mut self, key: &Key, now: Instant) -> Vec<Key> {
        self.hands_on(key, now)
    }

    fn hands_on(&mut self, key: &Key, now: Instant) -> Vec<Key> {
        let is_unused = self.moving.get(key).is_some_and(|moving| !moving.wrote);
        if is_unused { self.ended(key, now) } else { Vec::new() }
    }

    fn is_under_way(&self, key: &Key, now: Instant) -> bool {
        self.moving.get(key).is_some_and(|moving| moving.until > now)
    }

    /// Whether a rollout waits for a slot.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// How many others are under way.
    #[must_use]
    pub fn others(&self, key: &Key, now: Instant) -> usize {
        self.moving.iter().filter(|(other, moving)| *other != key && moving.until > now).count()
    }

    /// How many rollouts begin before that of a key that waits, if nobody else comes: those of its
    /// namespace that came sooner, and those of other namespaces, which get slots in rotation. `None` if it
    /// does not wait.
    #[must_use]
    pub fn before(&self, key: &Key) -> Option<usize> {
        self.waiting.before(key)
    }

    /// A ReplicaSet was written for this Deployment. Returns those that get a slot.
    pub fn moved(&mut self, key: &Key, now: Instant) -> Vec<Key> {
        if let Some(moving) = self.moving.get_mut(key) {
            moving.wrote = true;
            let is_quick = moving.is_watched(now);
            let was_served = moving.served.take().is_some();
            if moving.until > now {
                moving.until = now + STUCK_AFTER;
            }
            if was_served {
                self.learn(is_quick);
            }
        }
        self.grant(now)
    }

    /// Its ReplicaSets were seen to have all pods that they were asked for; see [`ReplicaSet::is_served`]. Returns
    /// those that get a slot.
    pub fn served(&mut self, key: &Key, now: Instant) -> Vec<Key> {
        let is_reached = !self.waiting.is_empty();
        let Some(moving) = self.moving.get_mut(key).filter(|moving| moving.wrote) else { return Vec::new() };
        if let Some(begun) = moving.begun.take() {
            self.limit.served(begun, now, is_reached);
        }
        let since = *moving.served.get_or_insert(now);
        moving.until = moving.until.min(since + self.still_after);
        self.grant(now)
    }

    /// The server refused a request for being busy.
    pub fn refused(&mut self, now: Instant) {
        self.limit.refused(now);
    }

    /// Its rollout is over, or it is gone. Returns those that get a slot.
    pub fn ended(&mut self, key: &Key, now: Instant) -> Vec<Key> {
        self.waiting.leave(key);
        if let Some(moving) = self.moving.remove(key)
            && moving.served.is_some()
        {
            self.learn(moving.is_watched(now));
        }
        self.grant(now)
    }

    /// Pods that were waited for came soon, or not. Where they do, a rollout that gives its slot away immediately soon
    /// has more to do, beside the one that got it.
    fn learn(&mut self, is_quick: bool) {
        self.still_after = if is_quick { STILL_AFTER } else { self.still_after / 2 };
    }

    /// Gives free slots to those that wait: requeue them. They count as under way from here on.
    pub fn grant(&mut self, now: Instant) -> Vec<Key> {
        let slow = |moving: &Moving| moving.until <= now && !moving.is_watched(now);
        let gone = self.moving.extract_if(|_, moving| slow(moving));
        let were_served = gone.filter(|(_, moving)| moving.served.is_some()).count();
        (0..were_served).for_each(|_| self.learn(false));
        let under_way = self.moving.values().filter(|moving| moving.until > now).count();
        let mut granted = Vec::new();
        while under_way + granted.len() < self.limit.rollouts()
            && let Some(next) = self.waiting.pop()
        {
            self.moving.insert(next.clone(), Moving::from(now));
            granted.push(next);
        }
        granted
    }
}

#[cfg(test)]
mod tests;
