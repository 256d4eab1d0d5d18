//! Combines steps of one ReplicaSet that follow each other closely in one event. A rollout of a hundred
//! pods takes dozens of them, and each event is a write. People want to know the first and the last size.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use plan::keys::reason;

use super::Recorded;

/// A step is reported when no further one has followed for this long.
const PAUSE: Duration = Duration::from_secs(2);
/// No step waits longer than this, however many follow it.
const LATEST: Duration = Duration::from_secs(10);

/// Steps that wait for those which may follow, the oldest first.
#[derive(Default)]
pub(crate) struct Steps(VecDeque<Held>);

struct Held {
    recorded: Recorded,
    step: Step,
    since: Instant,
    last: Instant,
}

/// "Scaled up replica set web-5f9 from 3 to 5".
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    direction: String,
    set: String,
    from: String,
    to: String,
}

impl Step {
    fn read(recorded: &Recorded) -> Option<Self> {
        if recorded.event.reason != reason::SCALING_REPLICA_SET {
            return None;
        }
        let words: Vec<&str> = recorded.event.message.split(' ').collect();
        let ["Scaled", direction, "replica", "set", set, "from", from, "to", to] = words.as_slice() else {
            return None;
        };
        let [direction, set, from, to] = [direction, set, from, to].map(|word| (*word).to_owned());
        Some(Self { direction, set, from, to })
    }

    fn message(&self) -> String {
        let Self { direction, set, from, to } = self;
        format!("Scaled {direction} replica set {set} from {from} to {to}")
    }

    /// Whether `next` continues where this one ends.
    fn leads_to(&self, next: &Self) -> bool {
        (&self.direction, &self.set, &self.to) == (&next.direction, &next.set, &next.from)
    }
}

impl Steps {
    /// Takes an event on. Returns what to write now, in this order: what else is reported of a Deployment comes after
    /// the steps that led to it.
    pub(crate) fn take(&mut self, recorded: Recorded, now: Instant) -> Vec<Recorded> {
        let Some(step) = Step::read(&recorded) else {
            let uid = recorded.about.uid.clone();
            let mut told = self.release(|held| held.recorded.about.uid == uid);
            told.push(recorded);
            return told;
        };
        let is_same =
            |held: &Held| held.step.set == step.set && held.recorded.about.uid == recorded.about.uid;
        if let Some(held) = self.0.iter_mut().find(|held| is_same(held) && held.step.leads_to(&step)) {
            held.step.to = step.to;
            held.recorded.event.message = held.step.message();
            held.last = now;
            return Vec::new();
        }
        let told = self.release(is_same);
        self.0.push_back(Held { recorded, step, since: now, last: now });
        told
    }

    /// Those that have waited for long enough.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<Recorded> {
        self.release(|held| now >= held.last + PAUSE || now >= held.since + LATEST)
    }

    /// All of them.
    pub(crate) fn all(&mut self) -> Vec<Recorded> {
        self.release(|_| true)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn release(&mut self, is_told: impl Fn(&Held) -> bool) -> Vec<Recorded> {
        let (told, held) = std::mem::take(&mut self.0).into_iter().partition::<VecDeque<_>, _>(is_told);
        self.0 = held;
        told.into_iter().map(|held| held.recorded).collect()
    }
}

#[cfg(test)]
mod tests;
