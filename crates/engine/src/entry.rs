//! What the engine knows of one Deployment beside the cache (`index.rs`), the queue (`queue.rs`: waits, failures, and
//! the cooldown), and the slots (`starts.rs`). Losing it costs requests and time. `State::forget` drops it once the
//! Deployment is gone.

use std::time::Instant;

use crate::changed::Pauses;
use crate::ledger::Ledger;
use crate::looks::Look;
use crate::memory::Memory;
use crate::patience::Patience;
use crate::queued::Telling;
use crate::rivalry::{Rivalry, Sighting};
use crate::uid::Uid;

/// One Deployment. What most Deployments lack is boxed.
#[derive(Default)]
pub(crate) struct Entry {
    /// Of the object that `memory`, `rivalry` and `look` are about.
    uid: Option<Uid>,
    /// What is remembered from one reconcile to the next.
    pub(crate) memory: Memory,
    /// Who else writes its status.
    pub(crate) rivalry: Rivalry,
    /// Whether its ReplicaSets are changed while they are created.
    pub(crate) pauses: Pauses,
    /// What blocks its rollout, if that does not move.
    pub(crate) look: Option<Box<Look>>,
    /// What was written and the cache may not show yet.
    pub(crate) ledger: Ledger,
    /// Whether its status reports that it waits for a rollout slot, if it does.
    pub(crate) queued: Option<Telling>,
    /// Whether the server has asked it to come later.
    pub(crate) patience: Patience,
}

impl Entry {
    /// The entry is for this very object; one that was deleted and created again starts with an empty entry. What
    /// concerns requests stays: their answers may yet come.
    pub(crate) fn of(&mut self, uid: &str) -> &mut Self {
        let uid = Some(Uid::from(uid));
        if self.uid != uid {
            let Self { ledger, queued, patience, .. } = std::mem::take(self);
            *self = Self { uid, ledger, queued, patience, ..Self::default() };
        }
        self
    }

    /// The watch shows its status.
    pub(crate) fn saw(&mut self, sighting: Sighting, now: Instant) {
        if self.uid == Some(Uid::from(&*sighting.uid)) {
            self.rivalry.saw(sighting, now);
        } else {
            self.rivalry = Rivalry::default();
        }
    }

    /// The watches are about to list everything again, and others may have acted since: see the parts.
    pub(crate) fn start_over(&mut self) {
        self.ledger.start_over();
        self.memory.start_over();
        self.look = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivalry::tests::sighting;

    #[test]
    fn an_object_created_anew_starts_afresh() {
        let (mut entry, now) = (Entry::default(), Instant::now());
        assert!(entry.of("w").memory.note_why("converged"));
        entry.memory.note_scouted(vec!["orphan".to_owned()]);
        entry.ledger.wrote_workload("20", now);
        assert!(!entry.of("w").memory.note_why("converged") && entry.memory.has_scouted());
        assert!(!entry.of("v").memory.has_scouted() && entry.memory.note_why("converged"));
        assert!(entry.ledger.waits().is_some(), "the cache has yet to show the write");
    }

    #[test]
    fn another_object_of_that_name_has_no_rival() {
        let (mut entry, now) = (Entry::default(), Instant::now());
        entry.of("w").rivalry.wrote(1, sighting(1, 3, "").counters);
        entry.saw(sighting(2, 77, "other"), now);
        assert!(entry.rivalry.0.is_some());
        entry.saw(Sighting { uid: "v".to_owned(), ..sighting(3, 77, "other") }, now);
        assert!(entry.rivalry.0.is_none());
    }
}
