//! What the connections and the owner of a proxy share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use crate::journal::Journal;
use crate::request::Request;
use crate::rule::{Fault, Match, Rule, StreamFault};

/// Names a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleId(pub(crate) u64);

struct Armed {
    id: RuleId,
    rule: Rule,
    seen: u32,
    met: u32,
}

struct LiveWatch {
    id: usize,
    request: Request,
    faults: UnboundedSender<StreamFault>,
}

#[derive(Default)]
pub(crate) struct Shared {
    rules: Mutex<Rules>,
    journal: Mutex<Journal>,
    watches: Mutex<Vec<LiveWatch>>,
}

#[derive(Default)]
struct Rules {
    next: u64,
    armed: Vec<Armed>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn journal(&self) -> MutexGuard<'_, Journal> {
        lock(&self.journal)
    }

    pub(crate) fn arm(&self, rule: Rule) -> RuleId {
        let mut rules = lock(&self.rules);
        let id = RuleId(rules.next);
        rules.next += 1;
        rules.armed.push(Armed { id, rule, seen: 0, met: 0 });
        id
    }

    pub(crate) fn disarm_all(&self) {
        lock(&self.rules).armed.clear();
    }

    /// How many requests met this rule's fault.
    pub(crate) fn met(&self, id: RuleId) -> u32 {
        lock(&self.rules).armed.iter().find(|armed| armed.id == id).map_or(0, |armed| armed.met)
    }

    /// The fault that this request meets; the rule that was armed first wins.
    pub(crate) fn fault(&self, request: &Request, body: &Value) -> Option<Fault> {
        let mut rules = lock(&self.rules);
        for armed in &mut rules.armed {
            if !armed.rule.select.selects(request, body) {
                continue;
            }
            armed.seen = armed.seen.saturating_add(1);
            if armed.rule.meets(armed.seen) && armed.met < armed.rule.times {
                armed.met += 1;
                return Some(armed.rule.fault);
            }
        }
        None
    }

    pub(crate) fn open(&self, id: usize, request: Request, faults: UnboundedSender<StreamFault>) {
        lock(&self.watches).push(LiveWatch { id, request, faults });
    }

    pub(crate) fn close(&self, id: usize) {
        lock(&self.watches).retain(|watch| watch.id != id);
    }

    /// Does this to all watches that match; returns to how many.
    pub(crate) fn strike(&self, select: &Match, fault: StreamFault) -> u32 {
        let watches = lock(&self.watches);
        let matching = watches.iter().filter(|watch| select.selects(&watch.request, &Value::Null));
        matching.map(|watch| u32::from(watch.faults.send(fault).is_ok())).sum()
    }
}
