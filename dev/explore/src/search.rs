//! Breadth first through all states, so that the first violation found is a shortest one.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::{Duration, Instant};

use crate::fair::Fair;
use crate::label;
use crate::scope::Scope;
use crate::state::State;
use crate::steps::{Model, Step};

/// How much of a way to rest a trace shows.
const UNREST_SHOWN: usize = 60;

/// 64 bits of a state: what is kept of those that were visited. Two states of one fingerprint
/// count as one, which among ten million happens once in 400,000 searches.
pub(crate) fn fingerprint(state: &State) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}

/// How much was seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Different states.
    pub states: usize,
    /// Steps from one to another, to known ones too.
    pub steps: usize,
    /// Steps from the first state to the farthest.
    pub depth: usize,
    /// Snapshots that a reconcile was planned from.
    pub views: usize,
    /// Writes by kind of outcome: accepted, conflict, taken or gone.
    pub writes: [usize; 3],
    /// Cuts that counted on a report of an earlier size; AV-2 does not cover what follows them.
    pub trusting_cuts: usize,
    /// Status writes that were the first to report another revision, and that none is good.
    pub reverts: [usize; 2],
    /// The longest way to rest that had to be walked.
    pub to_rest: usize,
    /// Whether all states were visited.
    pub is_complete: bool,
}

/// A rule that does not hold, and the way there.
#[derive(Clone, Debug)]
pub struct Violation {
    /// What is broken.
    pub rule: String,
    /// From the first state to the broken one, a step a line.
    pub trace: Vec<String>,
}

/// The outcome of a search.
#[derive(Clone, Debug)]
pub struct Report {
    /// How much was seen.
    pub counts: Counts,
    /// How long it took.
    pub time: Duration,
    /// The first violation.
    pub violation: Option<Violation>,
}

/// A search through all states of a scope.
#[derive(Debug)]
pub struct Search {
    model: Model,
    fair: Fair,
    /// Where a state was reached from.
    parents: HashMap<u64, u64>,
    counts: Counts,
    states_max: usize,
}

impl Search {
    /// A search that gives up after this many states.
    #[must_use]
    pub fn new(scope: Scope, states_max: usize) -> Self {
        let (fair, parents, counts) = (Fair::default(), HashMap::new(), Counts::default());
        Self { model: Model::new(scope), fair, parents, counts, states_max }
    }

    /// Visits every state, up to the first violation.
    #[must_use]
    pub fn run(mut self) -> Report {
        let start = Instant::now();
        let violation = self.visit();
        self.counts.states = self.parents.len();
        self.counts.views = self.model.reconciles.views();
        (self.counts.trusting_cuts, self.counts.reverts) = (self.model.trusting_cuts, self.model.reverts);
        self.counts.to_rest = self.fair.longest;
        Report { counts: self.counts, time: start.elapsed(), violation }
    }

    fn visit(&mut self) -> Option<Violation> {
        let first = self.model.first();
        self.parents.insert(fingerprint(&first), 0);
        if let Some((rule, way)) = self.fair.broken(&mut self.model, &first) {
            return Some(self.unrest(rule, &first, &way));
        }
        let mut frontier = vec![first];
        while !frontier.is_empty() {
            let mut next = Vec::new();
            for state in &frontier {
                if let Some(violation) = self.expand(state, &mut next) {
                    return Some(violation);
                }
            }
            if next.is_empty() {
                self.counts.is_complete = true;
                return None;
            }
            self.counts.depth += 1;
            if self.parents.len() > self.states_max {
                return None;
            }
            frontier = next;
        }
        None
    }

    fn expand(&mut self, state: &State, next: &mut Vec<State>) -> Option<Violation> {
        let from = fingerprint(state);
        for step in self.model.steps(state) {
            let Some(outcome) = self.model.take(state, step) else { continue };
            self.counts.steps += 1;
            if let Some((_, reply)) = &outcome.write {
                let kind = label::kind(reply);
                self.counts.writes.iter_mut().skip(kind).take(1).for_each(|count| *count += 1);
            }
            let to = fingerprint(&outcome.state);
            if let Some(rule) = outcome.broken {
                let mut trace = self.trace(from);
                trace.extend(label::line(&self.model, step, &outcome.state, outcome.write.as_ref()));
                return Some(Violation { rule, trace });
            }
            if self.parents.contains_key(&to) {
                continue;
            }
            self.parents.insert(to, from);
            if let Some((rule, way)) = self.fair.broken(&mut self.model, &outcome.state) {
                return Some(self.unrest(rule, &outcome.state, &way));
            }
            next.push(outcome.state);
        }
        None
    }

    /// The way to a state, and on from there without faults. A way without an end is cut.
    fn unrest(&mut self, rule: String, from: &State, way: &[Step]) -> Violation {
        let mut trace = self.trace(fingerprint(from));
        trace.push("- - -     from here on nothing goes wrong".to_owned());
        let mut state = from.clone();
        for step in way.iter().copied().take(UNREST_SHOWN) {
            let (next, write) = if step == Step::EditPause {
                (self.model.resumed(&state), None)
            } else {
                let Some(outcome) = self.model.take(&state, step) else { break };
                (outcome.state, outcome.write)
            };
            trace.extend(label::line(&self.model, step, &next, write.as_ref()));
            state = next;
        }
        Violation { rule, trace }
    }

    /// The way to a state, walked again from the first.
    fn trace(&mut self, to: u64) -> Vec<String> {
        let mut way = vec![to];
        while let Some(parent) = way.last().and_then(|last| self.parents.get(last)).filter(|it| **it != 0) {
            way.push(*parent);
        }
        way.reverse();
        let mut state = self.model.first();
        let mut trace = label::state(&self.model, &state);
        for wanted in way.into_iter().skip(1) {
            for step in self.model.steps(&state) {
                let Some(outcome) = self.model.take(&state, step) else { continue };
                if fingerprint(&outcome.state) == wanted {
                    trace.extend(label::line(&self.model, step, &outcome.state, outcome.write.as_ref()));
                    state = outcome.state;
                    break;
                }
            }
        }
        trace
    }
}
