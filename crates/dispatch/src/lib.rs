//! Which Deployment is looked at when, and from what.
//!
//! Cache, queue, ledger and memory of the operator, and the decision when a key comes again.
//! There is no runtime, no client and no clock in here: who calls says what time it is. So the
//! operator and a simulator run the same code, and the same calls give the same answers.

pub mod index;
pub mod ledger;
pub mod memory;
pub mod namespaces;
pub mod next;
pub mod packed;
pub mod queue;
pub mod starts;
pub mod territory;
mod uid;

use jiff::Timestamp;
use pass::Outcome;
use plan::{Answers, Flavour, Observed, Options, Pace, ReplicaSet, Workload};

use index::{Index, Key, Snapshot};
use memory::Memory;

/// What the cache shows of a Deployment and its candidate sets; `None` when it is gone.
#[must_use]
pub fn from_cache(index: &Index, key: &Key) -> Option<(Workload, Vec<ReplicaSet>)> {
    let Snapshot { workload, sets } = index.snapshot(key)?;
    Some((workload, sets))
}

/// What a pass starts from.
#[must_use]
pub fn observed(
    flavour: Flavour,
    memory: &mut Memory,
    key: &Key,
    workload: Workload,
    sets: Vec<ReplicaSet>,
) -> Observed {
    // One that was labelled meanwhile is no orphan any more.
    let mut orphans = memory.orphans(key, &workload.uid);
    orphans.retain(|name| sets.iter().all(|set| set.name != *name));
    let answers = Answers { orphans, ..Answers::default() };
    let status_written = memory.status_written(key, &workload.uid);
    let options = Options::new(true, Pace::Resting { flavour, written: status_written });
    Observed { flavour, workload, sets, answers, options }
}

/// Remembers what matters to the next pass. `now` is when the pass began.
pub fn note(memory: &mut Memory, key: &Key, uid: &str, outcome: &Outcome, now: Timestamp) {
    if outcome.wrote_status {
        memory.note_status_written(key, uid, now);
    }
}

/// Whether the pods of the Deployment need not be watched any more.
#[must_use]
pub fn is_through_with_pods(outcome: &Outcome) -> bool {
    outcome.why.as_ref().map(plan::Why::itself) != Some(&plan::Why::WaitingForTermination)
}
