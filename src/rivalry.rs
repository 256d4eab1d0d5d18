//! Two controllers on one Deployment: who undoes our status again and again, and when to give way.
//!
//! Counters follow from the ReplicaSets, so two controllers that compute them differently would
//! overwrite each other for ever. A single foreign write is repaired and no more is said. But
//! if one manager undoes three of our writes within a minute, the Deployment is left to it until
//! it has been silent for a minute. Only writes of this process count, so a restart forgets.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use pass::Refusal;
use plan::{Event, Status, Workload};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use tokio::time::Instant;
use tracing::warn;

use crate::controller::Controller;
use crate::events::About;
use crate::index::Key;
use crate::live::FIELD_MANAGER;

/// How many of our writes one manager may undo within [`WINDOW`] until it counts as a rival.
const UNDONE_MAX: usize = 3;
const WINDOW: Duration = Duration::from_secs(60);
/// How long a rival must have written nothing until we come back.
const SILENCE: Duration = Duration::from_secs(60);

/// Reason of the event on the Deployment.
const RIVAL_CONTROLLER: &str = "RivalController";

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

/// Who wrote a status last, and when, by `metadata.managedFields`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Writer {
    pub(crate) manager: String,
    /// As it stands there: whole seconds.
    time: String,
}

impl Writer {
    /// The last one that wrote the subresource `status`. Of two in the same second it is the
    /// other, since who asks knows its own writes by their versions.
    pub(crate) fn of_status(managed_fields: ManagedFields) -> Option<Self> {
        let entries = managed_fields.0.into_iter();
        let of_status = entries.filter(|entry| entry.subresource.as_deref() == Some("status"));
        let writers = of_status.map(|entry| Self {
            manager: entry.manager.unwrap_or_default(),
            time: entry.time.unwrap_or_default(),
        });
        writers.max_by(|a, b| (&a.time, a.is_foreign()).cmp(&(&b.time, b.is_foreign())))
    }

    fn is_foreign(&self) -> bool {
        self.manager != FIELD_MANAGER
    }
}

/// `metadata.managedFields`; empty if it is no list, since one odd object must not end a watch.
#[derive(Debug, Default)]
pub(crate) struct ManagedFields(Vec<Managed>);

impl<'de> Deserialize<'de> for ManagedFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ManagedFieldsVisitor)
    }
}

struct ManagedFieldsVisitor;

impl<'de> Visitor<'de> for ManagedFieldsVisitor {
    type Value = ManagedFields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("managed fields")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<ManagedFields, A::Error> {
        let mut managed = ManagedFields::default();
        while let Some(entry) = entries.next_element()? {
            managed.0.push(entry);
        }
        Ok(managed)
    }

    fn visit_unit<E>(self) -> Result<ManagedFields, E> {
        Ok(ManagedFields::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<ManagedFields, E> {
        Ok(ManagedFields::default())
    }
}

/// One entry of `metadata.managedFields`, without the fields that it is about.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Managed {
    manager: Option<String>,
    time: Option<String>,
    subresource: Option<String>,
}

/// A Deployment as the watch shows it.
#[derive(Clone, Debug)]
pub(crate) struct Sighting {
    pub(crate) uid: String,
    pub(crate) version: u64,
    pub(crate) counters: Counters,
    pub(crate) writer: Option<Writer>,
}

impl Sighting {
    pub(crate) fn new(workload: &Workload, writer: Option<Writer>) -> Self {
        Self {
            uid: workload.uid.clone(),
            // What cannot be compared is not newer than anything.
            version: workload.resource_version.parse().unwrap_or(0),
            counters: Counters::of(&workload.status),
            writer,
        }
    }
}

/// What is known of one Deployment since our first write of its status.
struct Entry {
    uid: String,
    /// Version that our last write came to, and what it said; `None` once it counts as undone.
    written: Option<(u64, Counters)>,
    seen: Option<Sighting>,
    /// Who undid a write of ours, and when.
    undone: Vec<(String, Instant)>,
    rival: Option<Rival>,
}

/// The manager that a Deployment is left to, and when it was last heard of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rival {
    pub(crate) manager: String,
    heard: Instant,
}

/// The Deployments whose status we have written.
#[derive(Default)]
pub(crate) struct Rivalry {
    entries: HashMap<Key, Entry>,
    /// `--force`: nobody is given way to.
    force: bool,
}

impl Rivalry {
    pub(crate) fn new(force: bool) -> Self {
        Self { entries: HashMap::new(), force }
    }

    /// Our status was accepted, and became this version.
    pub(crate) fn wrote(&mut self, key: &Key, uid: &str, version: u64, counters: Counters) {
        if self.force {
            return;
        }
        let entry = self.entries.entry(key.clone()).or_insert_with(|| Entry::new(uid));
        if entry.uid != uid {
            *entry = Entry::new(uid);
        }
        entry.written = Some((version, counters));
    }

    /// The watch shows this.
    pub(crate) fn saw(&mut self, key: &Key, sighting: Sighting) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        if entry.uid == sighting.uid {
            entry.saw(sighting);
        } else {
            self.entries.remove(key);
        }
    }

    /// Counters are about to be written. If that would be one repair too many, says who is given
    /// way to from now on.
    pub(crate) fn objection(&mut self, key: &Key, counters: &Counters) -> Option<Rival> {
        let entry = self.entries.get_mut(key)?;
        let manager = entry.undone_by(counters)?;
        entry.written = None;
        let now = Instant::now();
        entry.undone.push((manager.clone(), now));
        entry.undone.retain(|(_, at)| now.duration_since(*at) < WINDOW);
        if entry.undone.iter().filter(|(by, _)| *by == manager).count() < UNDONE_MAX {
            return None;
        }
        let rival = Rival { manager, heard: now };
        entry.rival = Some(rival.clone());
        Some(rival)
    }

    /// Until when the Deployment is left to a rival, if it is. When that has been silent for long
    /// enough we try again; undone once more within a minute, we give way at once.
    pub(crate) fn yields_until(&mut self, key: &Key) -> Option<Instant> {
        let entry = self.entries.get_mut(key)?;
        let rival = entry.rival.take()?;
        let (until, now) = (rival.heard + SILENCE, Instant::now());
        if now < until {
            entry.rival = Some(rival);
            return Some(until);
        }
        entry.undone = vec![(rival.manager, now); UNDONE_MAX - 1];
        None
    }

    /// The Deployment is gone.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.entries.remove(key);
    }
}

impl Entry {
    fn new(uid: &str) -> Self {
        Self { uid: uid.to_owned(), written: None, seen: None, undone: Vec::new(), rival: None }
    }

    fn saw(&mut self, sighting: Sighting) {
        let is_news = self.seen.as_ref().is_none_or(|seen| {
            seen.version < sighting.version
                && (seen.writer != sighting.writer || seen.counters != sighting.counters)
        });
        if let Some(rival) = &mut self.rival
            && is_news
            && sighting.writer.as_ref().is_some_and(|writer| writer.manager == rival.manager)
        {
            rival.heard = Instant::now();
        }
        self.seen = Some(sighting);
    }

    /// Who replaced what we wrote last, if these counters would only restore it.
    fn undone_by(&self, planned: &Counters) -> Option<String> {
        let ((version, written), seen) = (self.written.as_ref()?, self.seen.as_ref()?);
        let writer = seen.writer.as_ref().filter(|writer| writer.is_foreign())?;
        let is_undone = seen.version > *version && seen.counters != *written && written == planned;
        is_undone.then(|| writer.manager.clone())
    }
}

/// Says that we give way, and why the pass ends here.
pub(crate) fn give_way(controller: &Controller, key: &Key, workload: &Workload, rival: &Rival) -> Refusal {
    let (manager, seconds) = (&rival.manager, SILENCE.as_secs());
    let message = format!(
        "\"{manager}\" keeps undoing our status counters: this Deployment is left to it until it has \
         been silent for {seconds} s. Only one controller may run; with --force we give way to nobody"
    );
    warn!(%key, manager, message, "gives way to another controller");
    controller.metrics.rivalries.with_label_values(&[controller.flavour.api_version()]).inc();
    let about = About::workload(controller.flavour, workload);
    controller.events.record(about, Event::warning(RIVAL_CONTROLLER, message.clone()));
    Refusal { code: 0, reason: RIVAL_CONTROLLER.to_owned(), message, namespace_terminating: false }
}

#[cfg(test)]
mod tests;
