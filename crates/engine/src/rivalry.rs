//! Two controllers on one Deployment: which one keeps undoing the operator's status, and when to yield.
//!
//! Counters follow from the ReplicaSets, so two controllers that compute them differently would overwrite
//! each other forever. The operator repairs a single foreign write silently. But if one manager undoes
//! three of its writes within a minute, the operator leaves the Deployment to that manager until it has
//! been silent for a minute. Only writes of this process count, so a restart forgets.

mod writer;

use std::time::Instant;

use plan::{Status, Workload};

use crate::durations::{RIVAL_SILENCE, RIVAL_WINDOW};

pub use writer::{FIELD_MANAGER, ManagedFields, Writer};

/// How many of the operator's writes one manager may undo within [`RIVAL_WINDOW`] until it counts as a competing
/// controller.
const UNDONE_MAX: usize = 3;

/// Reason of the event on the Deployment, and of the refusal that ends the reconcile.
pub const RIVAL_CONTROLLER: &str = "RivalController";

/// What controllers fight about: the numbers, not the conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counters([i64; 5], Option<i64>);

impl Counters {
    pub(crate) fn of(status: &Status) -> Self {
        let pods = [
            status.replicas,
            status.updated_replicas,
            status.ready_replicas,
            status.available_replicas,
            status.unavailable_replicas,
        ];
        Self(pods, status.terminating_replicas)
    }
}

/// A Deployment as the watch shows it.
#[derive(Clone, Debug)]
pub struct Sighting {
    pub(crate) uid: String,
    pub(crate) version: u64,
    pub(crate) counters: Counters,
    pub(crate) writer: Option<Writer>,
}

impl Sighting {
    /// From a Deployment, and who wrote its status last.
    #[must_use]
    pub fn new(workload: &Workload, writer: Option<Writer>) -> Self {
        Self {
            uid: workload.uid.clone(),
            // What cannot be compared is not newer than anything.
            version: workload.resource_version.parse().unwrap_or(0),
            counters: Counters::of(&workload.status),
            writer,
        }
    }
}

/// The manager that a Deployment is left to, and when its last write was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    /// As it calls itself in `metadata.managedFields`.
    pub manager: String,
    heard: Instant,
}

/// One Deployment, once the operator has written its status.
#[derive(Default)]
pub(crate) struct Rivalry(pub(crate) Option<Box<Known>>);

/// What is known since the operator's first write.
#[derive(Default)]
pub(crate) struct Known {
    /// Version of the operator's last write, and its content; `None` once it counts as undone.
    written: Option<(u64, Counters)>,
    seen: Option<Sighting>,
    /// Who undid a write of the operator, and when.
    undone: Vec<(String, Instant)>,
    rival: Option<Rival>,
}

impl Rivalry {
    /// The operator's status was accepted, and became this version.
    pub(crate) fn wrote(&mut self, version: u64, counters: Counters) {
        self.0.get_or_insert_default().written = Some((version, counters));
    }

    /// The watch shows this.
    pub(crate) fn saw(&mut self, sighting: Sighting, now: Instant) {
        if let Some(entry) = &mut self.0 {
            entry.saw(sighting, now);
        }
    }

    /// Counters are about to be written. If that would be one repair too many, returns the manager to give way to from
    /// now on.
    pub(crate) fn objection(&mut self, counters: &Counters, now: Instant) -> Option<Rival> {
        let entry = self.0.as_mut()?;
        let manager = entry.undone_by(counters)?;
        entry.written = None;
        entry.undone.push((manager.clone(), now));
        entry.undone.retain(|(_, at)| now.duration_since(*at) < RIVAL_WINDOW);
        if entry.undone.iter().filter(|(by, _)| *by == manager).count() < UNDONE_MAX {
            return None;
        }
        let rival = Rival { manager, heard: now };
        entry.rival = Some(rival.clone());
        Some(rival)
    }

    /// Until when the Deployment is left to a competing controller, if it is. When that has been silent for long
    /// enough, the operator tries again; undone once more within a minute, it gives way immediately.
    pub(crate) fn yields_until(&mut self, now: Instant) -> Option<Instant> {
        let entry = self.0.as_mut()?;
        let rival = entry.rival.take()?;
        let until = rival.heard + RIVAL_SILENCE;
        if now < until {
            entry.rival = Some(rival);
            return Some(until);
        }
        entry.undone = vec![(rival.manager, now); UNDONE_MAX - 1];
        None
    }
}

impl Known {
    fn saw(&mut self, sighting: Sighting, now: Instant) {
        let is_news = self.seen.as_ref().is_none_or(|seen| {
            seen.version < sighting.version
                && (seen.writer != sighting.writer || seen.counters != sighting.counters)
        });
        if let Some(rival) = &mut self.rival
            && is_news
            && sighting.writer.as_ref().is_some_and(|writer| writer.manager == rival.manager)
        {
            rival.heard = now;
        }
        self.seen = Some(sighting);
    }

    /// Who replaced what the operator wrote last, if these counters would only restore it.
    fn undone_by(&self, planned: &Counters) -> Option<String> {
        let ((version, written), seen) = (self.written.as_ref()?, self.seen.as_ref()?);
        let writer = seen.writer.as_ref().filter(|writer| writer.is_foreign())?;
        let is_undone = seen.version > *version && seen.counters != *written && written == planned;
        is_undone.then(|| writer.manager.clone())
    }
}

#[cfg(test)]
pub(crate) mod tests;
