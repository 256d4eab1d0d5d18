//! Selects the rollouts that have waited long enough for a slot to report it in their status, a few at a
//! time.

use std::time::Instant;

use crate::durations::{QUEUED_TELLING_INTERVAL, QUEUED_TOLD_AFTER};

/// When the next status has to report that its rollout waits.
#[derive(Default)]
pub(crate) struct Queued {
    /// When the next one that comes may be reported.
    next: Option<Instant>,
    /// When the last one was.
    last: Option<Instant>,
}

/// How far the status of one that waits is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Telling {
    /// The rollout has not waited long enough before then.
    Early(Instant),
    /// The rollout has waited long enough; this is its place among those that are reported one by one.
    Due(Instant),
    /// Its status reports it.
    Told,
}

impl Queued {
    /// The rollout waits. Returns when its status may be written, which may be now: then it counts as written, whatever
    /// the outcome. `None` if that has been done.
    pub(crate) fn waits(&mut self, telling: &mut Option<Telling>, now: Instant) -> Option<Instant> {
        let telling = telling.get_or_insert(Telling::Early(now + QUEUED_TOLD_AFTER));
        if let Telling::Early(time) = *telling
            && time <= now
        {
            let place = self.next.map_or(now, |next| next.max(now));
            self.next = Some(place + QUEUED_TELLING_INTERVAL);
            *telling = Telling::Due(place);
        }
        let time = match *telling {
            Telling::Told => return None,
            Telling::Early(time) => return Some(time),
            // A rollout that comes late must not meet the next one.
            Telling::Due(place) => self.last.map_or(place, |last| place.max(last + QUEUED_TELLING_INTERVAL)),
        };
        if time <= now {
            self.last = Some(now);
            // Should the write fail, it gets another place.
            *telling = Telling::Early(now);
        }
        Some(time)
    }
}

#[cfg(test)]
mod tests;
