//! What an operator did with its keys, as anybody could see from outside: who was taken when, how each
//! attempt ended, what the watches had brought by then.
//!
//! From this alone the checks compute who holds a slot and who waits for what. They ask none of the
//! engine's own records, since a mistake in those would excuse itself.

mod news;
mod seen;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ::engine::durations::{STILL_AFTER, STUCK_AFTER};
use ::engine::waits::Reason;
use plan::{ReplicaSet, Workload};

use crate::engine::{Time, nanoseconds};
use crate::subject::Which;
use crate::truth::owns;
use crate::verdict::{self, Running};
pub(crate) use seen::Told;

/// A key that has failed so often heeds news later.
pub(crate) const FAILURES_MANY: u32 = 8;

/// What is known of one Deployment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// Whether an attempt runs.
    pub(crate) is_in_work: bool,
    /// What its last attempt left it waiting for, until when, and since when.
    pub(crate) wait: Option<Waiting>,
    /// Since when it waits for a slot, whatever else it waits for besides.
    pub(crate) queued: Option<Time>,
    /// Until when it holds a slot.
    pub(crate) slot: Option<Time>,
    /// Whether it is the pods, all there, that end its slot.
    pub(crate) is_served: bool,
    /// Whether a ReplicaSet was written since it began. Before that, the pods that are there are the old template's.
    pub(crate) has_written: bool,
    /// Whether it has waited for something else since it last waited for a slot: it may have got that meanwhile.
    pub(crate) is_detained: bool,
    /// Whether something happened since its last attempt that may have requeued it, whatever it was.
    pub(crate) is_stirred: bool,
    /// Until when it surely has the slot that was granted to it, unless it is edited, fails, or writes a ReplicaSet.
    pub(crate) granted: Option<Time>,
    /// When the watches brought bad news that no attempt has begun with, and whether one that runs has some to report.
    pub(crate) bad: Option<Time>,
    pub(crate) tells_bad: bool,
    /// How often in a row its attempts failed.
    pub(crate) failures: u32,
    /// When its last attempt ended, and its last one with a write.
    pub(crate) ended: Time,
    pub(crate) wrote: Time,
    /// When the watches brought something that no attempt has seen yet.
    pub(crate) news: Option<Time>,
    /// Whether it had failed often then, so that it heeds them later.
    pub(crate) is_slow: bool,
    /// The versions of Deployments and ReplicaSets that it has to be shown: what it wrote or looked at.
    pub(crate) known: (u64, u64),
    /// The ReplicaSets of writes with an unknown outcome, and by which attempt they were.
    pub(crate) doubts: BTreeMap<String, u64>,
    /// For how long the server asked to be spared, of the attempt that runs; and until when, of the last.
    pub(crate) asking: Option<Time>,
    pub(crate) asked: Time,
    /// Whether no retry would help.
    pub(crate) has_given_up: bool,
    /// When a competing controller last wrote, or was given way to.
    pub(crate) heard: Time,
}

/// What an attempt left a key waiting for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) reason: Reason,
    pub(crate) since: Time,
    pub(crate) until: Time,
}

/// A rollout was let begin that had waited for a slot, which came at this time at the earliest.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub(crate) at: Time,
    pub(crate) namespace: String,
}

/// What one operator did.
#[derive(Debug, Default)]
pub(crate) struct Conduct {
    pub(crate) keys: BTreeMap<Which, Known>,
    pub(crate) grants: Vec<Grant>,
    /// Since when a worker is free and the caches are filled; `None` while not.
    pub(crate) able: Option<Time>,
    /// When slots were last granted, who waited then, and for how many of them there was room.
    pub(crate) told: Time,
    pub(crate) waited: BTreeSet<Which>,
    pub(crate) room: usize,
    /// When a namespace last may have got a slot.
    pub(crate) used: BTreeMap<String, Time>,
    /// Versions of ReplicaSets, by uid, that it read before the watch showed them, and the Deployment that they belong
    /// to.
    pub(crate) ahead: BTreeMap<String, (Which, u64)>,
    /// The ReplicaSets that its watch has shown.
    pub(crate) sets: BTreeMap<String, Arc<ReplicaSet>>,
    pub(crate) is_ticking: bool,
}

/// Whether a reconcile from here begins a rollout for which it has to wait for a slot: there are pods, and its
/// template is another one than that of any. Neither a pin nor a revert waits for one, and what is held begins
/// nothing (FP-6, FP-10, FP-11).
pub(crate) fn is_start(workload: &Workload, sets: &[ReplicaSet]) -> bool {
    let template = &workload.template.fingerprint;
    let is_wanted = workload.replicas > 0 && !workload.paused && !workload.deleting;
    let is_news = workload.status.observed_generation < workload.generation;
    is_news
        && is_wanted
        && workload.rollback_to.is_none()
        && verdict::pin(workload).is_none()
        && !has_failed(workload, sets)
        && sets.iter().any(|set| set.size > 0)
        && sets.iter().all(|set| set.size == 0 || !set.carries(template))
}

/// Whether another ReplicaSet runs because the declared one failed, or none moves.
fn has_failed(workload: &Workload, sets: &[ReplicaSet]) -> bool {
    let sets = || sets.iter().filter(|set| owns(workload, set));
    let declared = sets().filter(|set| set.carries(&workload.template.fingerprint));
    let declared = declared.min_by(|a, b| a.age_order(b));
    declared.is_some_and(|declared| {
        let running = verdict::running(workload, sets(), declared);
        !matches!(running, Running::Set(set) if set.uid == declared.uid)
    })
}

/// Whether a ReplicaSet has all pods that it was asked for, or will not get them.
pub(crate) fn has_pods(set: &ReplicaSet) -> bool {
    let is_refused = set.status.failure.as_ref().is_some_and(|failure| failure.status == "True");
    set.status.observed_generation >= set.generation && (set.status.replicas == set.size || is_refused)
}

impl Known {
    /// Whether it waits for a slot, and for nothing else. One that has failed often is slow to use its slot.
    pub(crate) fn waits_for_slot(&self) -> bool {
        let is_quick = self.failures < FAILURES_MANY;
        !self.is_in_work && self.queued.is_some() && is_quick && self.is_waiting_for(Reason::Queued)
    }

    fn is_waiting_for(&self, reason: Reason) -> bool {
        self.wait.is_some_and(|wait| wait.reason == reason)
    }

    /// An attempt begins. Who waits for a slot, and for nothing else, is taken before the end of its wait only
    /// if something has happened, or if it got a slot.
    pub(crate) fn taken(&mut self, now: Time) {
        let waits = self.wait.filter(|wait| wait.reason == Reason::Queued && now < wait.until);
        if let Some(wait) = waits.filter(|_| !self.is_stirred) {
            // The slot came after that, and is over when it was not used for so long.
            self.granted = Some(wait.since + nanoseconds(STUCK_AFTER));
        }
        (self.is_in_work, self.is_stirred) = (true, false);
        (self.wait, self.news) = (None, None);
        self.tells_bad |= self.bad.take().is_some();
    }

    /// A watch brought something.
    pub(crate) fn hears(&mut self, now: Time) {
        self.is_stirred = true;
        if self.news.is_none() {
            self.news = Some(now);
            self.is_slow = false;
        }
        self.is_slow |= self.failures >= FAILURES_MANY;
    }

    /// The news is bad. One that has failed often heeds it later.
    pub(crate) fn hears_bad(&mut self, now: Time) {
        if self.failures < FAILURES_MANY {
            self.bad = self.bad.or(Some(now));
        }
    }

    /// A rollout begins: it holds a slot from here on.
    pub(crate) fn begins(&mut self, now: Time) {
        self.slot = Some(now + nanoseconds(STUCK_AFTER));
        (self.is_served, self.has_written, self.granted) = (false, false, None);
    }

    /// An attempt saw that all its pods are there.
    pub(crate) fn served(&mut self, now: Time) {
        if let Some(until) = self.slot.as_mut().filter(|_| self.has_written)
            && *until > now + nanoseconds(STILL_AFTER)
        {
            *until = now + nanoseconds(STILL_AFTER);
            self.is_served = true;
        }
    }

    /// A reconcile ended that wrote a ReplicaSet.
    pub(crate) fn moved(&mut self, now: Time) {
        self.has_written = true;
        if let Some(until) = &mut self.slot {
            *until = now + nanoseconds(STUCK_AFTER);
            self.is_served = false;
        }
    }
}

impl Conduct {
    pub(crate) fn of(&mut self, which: Which) -> &mut Known {
        self.keys.entry(which).or_default()
    }

    /// A worker is free, or not.
    pub(crate) fn is_able(&mut self, is_able: bool, now: Time) {
        self.able = if is_able { self.able.or(Some(now)) } else { None };
    }

    /// How many hold a slot, and how many may: who waits for a slot and now for something else
    /// may have been given one meanwhile.
    pub(crate) fn holders(&self, now: Time) -> usize {
        let holds = |known: &&Known| {
            known.slot.is_some_and(|until| until > now) || (known.queued.is_some() && !known.waits_for_slot())
        };
        self.keys.values().filter(holds).count()
    }

    /// Those that are past their time.
    pub(crate) fn overdue(&self, now: Time) -> Option<(Which, &Known)> {
        let is_over = |known: &Known| known.slot.is_some_and(|until| until <= now);
        self.keys.iter().find(|(_, known)| is_over(known)).map(|(which, known)| (*which, known))
    }

    /// Places that were past their time when slots were last granted are others' now, if somebody has waited since: a
    /// rollout that writes again does so without one.
    pub(crate) fn give_away(&mut self) {
        let is_able = self.able.is_some_and(|since| since <= self.told);
        if is_able && self.queued().intersection(&self.waited).next().is_some() {
            let told = self.told;
            let slots = self.keys.values_mut().map(|known| &mut known.slot);
            slots.filter(|slot| slot.is_some_and(|until| until <= told)).for_each(|slot| *slot = None);
        }
    }

    /// An attempt begins that may use up the slot of its namespace.
    pub(crate) fn may_use(&mut self, which: Which, namespace: &str, now: Time) {
        if self.of(which).queued.is_some() {
            self.used.insert(namespace.to_owned(), now);
        }
    }

    /// Those who wait for a slot and for nothing else.
    pub(crate) fn queued(&self) -> BTreeSet<Which> {
        self.keys.iter().filter(|(_, known)| known.waits_for_slot()).map(|(which, _)| *which).collect()
    }

    /// Whether the ReplicaSets of a Deployment have all their pods, as far as its watch has shown up to a version. Not
    /// if it has read one of them since: then it knows better.
    pub(crate) fn shows_pods(&self, which: Which, uid: &str, through: u64) -> bool {
        if self.ahead.values().any(|(of, version)| *of == which && *version > through) {
            return false;
        }
        let mut owned = self.sets.values().filter(|set| set.controller_uid.as_deref() == Some(uid));
        owned.all(|set| has_pods(set))
    }
}
