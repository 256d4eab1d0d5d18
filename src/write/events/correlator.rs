//! Which events are worth a write (S12.2): the same one again is counted, many similar ones
//! become one, and each object has a budget. Numbers are client-go's.

use std::collections::{HashMap, HashSet};

use jiff::{SignedDuration, Timestamp};
use plan::{EventKind, Flavour};

use super::{About, Recorded, event_name};

/// From this many different messages on, messages of one reason are merged.
const SIMILAR_MAX: usize = 10;
/// Messages further apart than this have nothing to do with each other.
const SIMILAR_WITHIN: SignedDuration = SignedDuration::from_secs(600);
/// Events per object: 25 together, then one in five minutes.
const BURST: f64 = 25.0;
const REFILL_SECONDS: f64 = 300.0;
/// Objects and messages remembered; what is forgotten is written as new.
const REMEMBERED_MAX: usize = 4096;

/// Remembers what was recorded.
#[derive(Default)]
pub(crate) struct Correlator {
    similar: HashMap<Group, Similar>,
    written: HashMap<(Group, String), Written>,
    budgets: HashMap<(Flavour, String, EventKind), Budget>,
}

/// What to do with an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing: the object has used up its budget.
    Drop,
    /// Write a new one.
    Create { name: String, message: String },
    /// Count an earlier one up.
    Repeat { name: String, message: String, count: u32 },
}

/// What makes two events similar.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Group {
    flavour: Flavour,
    uid: String,
    kind: EventKind,
    reason: &'static str,
}

struct Similar {
    messages: HashSet<String>,
    last: Timestamp,
}

struct Written {
    name: String,
    count: u32,
}

struct Budget {
    tokens: f64,
    at: Timestamp,
}

impl Correlator {
    /// Decides about an event, and remembers it.
    pub(crate) fn consider(&mut self, recorded: &Recorded, now: Timestamp) -> Verdict {
        self.make_room(now);
        let group = Group {
            flavour: recorded.about.flavour,
            uid: recorded.about.uid.clone(),
            kind: recorded.event.kind,
            reason: recorded.event.reason,
        };
        let message = recorded.event.message.clone();
        let is_merged = self.is_one_of_many(&group, &message, now);
        let (key, message) = if is_merged {
            ((group, String::new()), format!("(combined from similar events): {message}"))
        } else {
            ((group, message.clone()), message)
        };
        let verdict = match self.written.get_mut(&key) {
            Some(written) => {
                written.count = written.count.saturating_add(1);
                Verdict::Repeat { name: written.name.clone(), message, count: written.count }
            }
            None => {
                let name = event_name(&recorded.about.name, now);
                self.written.insert(key, Written { name: name.clone(), count: 1 });
                Verdict::Create { name, message }
            }
        };
        if self.draw(recorded, now) { verdict } else { Verdict::Drop }
    }

    fn is_one_of_many(&mut self, group: &Group, message: &str, now: Timestamp) -> bool {
        let fresh = || Similar { messages: HashSet::new(), last: now };
        let similar = self.similar.entry(group.clone()).or_insert_with(fresh);
        if now.duration_since(similar.last) > SIMILAR_WITHIN {
            similar.messages.clear();
        }
        similar.last = now;
        similar.messages.insert(message.to_owned());
        if similar.messages.len() < SIMILAR_MAX {
            return false;
        }
        similar.messages.remove(message);
        true
    }

    fn draw(&mut self, recorded: &Recorded, now: Timestamp) -> bool {
        let full = || Budget { tokens: BURST, at: now };
        let About { flavour, uid, .. } = &recorded.about;
        // On rollwright.dev, the many steps of a rollout take nothing from its failure.
        let kind = if flavour.is_custom_resource() { recorded.event.kind } else { EventKind::Normal };
        let budget = self.budgets.entry((*flavour, uid.clone(), kind)).or_insert_with(full);
        let gained = now.duration_since(budget.at).as_secs_f64() / REFILL_SECONDS;
        budget.tokens = (budget.tokens + gained).min(BURST);
        budget.at = now;
        if budget.tokens < 1.0 {
            return false;
        }
        budget.tokens -= 1.0;
        true
    }

    fn make_room(&mut self, now: Timestamp) {
        if self.written.len() >= REMEMBERED_MAX {
            self.written.clear();
        }
        if self.similar.len() >= REMEMBERED_MAX {
            self.similar.retain(|_, similar| now.duration_since(similar.last) <= SIMILAR_WITHIN);
            if self.similar.len() >= REMEMBERED_MAX {
                self.similar.clear();
            }
        }
        if self.budgets.len() >= REMEMBERED_MAX {
            let full_after = SignedDuration::from_secs(7500);
            self.budgets.retain(|_, budget| now.duration_since(budget.at) <= full_after);
            if self.budgets.len() >= REMEMBERED_MAX {
                self.budgets.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests;
