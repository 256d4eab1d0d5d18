//! Which Deployment is reconciled when, from what, and by which requests.
//!
//! Cache, queue, ledger and memory of the operator, and the one ladder from a key to its requests
//! ([`Engine::attempt`]). There is no runtime, no client and no clock in here: whoever runs it brings the
//! world as a [`port::Port`], and says what time it is. So the operator and the simulator run the same
//! code, and the same replies lead to the same requests.

mod attempt;
mod feed;
pub mod index;
pub mod ledger;
pub mod memory;
pub mod namespaces;
pub mod next;
pub mod packed;
pub mod pass;
pub mod patience;
pub mod port;
pub mod queue;
pub mod rivalry;
pub mod starts;
mod state;
pub mod territory;
mod uid;
pub mod waits;

use jiff::Timestamp;
use plan::{Answers, Flavour, Observed, Options, Pace, ReplicaSet, Workload};

use pass::Outcome;
pub use state::{Adoption, Engine, Settings, State};

use index::Key;
use memory::Memory;

/// What a pass starts from.
#[must_use]
pub(crate) fn observed(
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
pub(crate) fn note(memory: &mut Memory, key: &Key, uid: &str, outcome: &Outcome, now: Timestamp) {
    if outcome.wrote_status {
        memory.note_status_written(key, uid, now);
    }
}

/// Whether the pods of the Deployment need not be watched any more.
#[must_use]
pub(crate) fn is_through_with_pods(outcome: &Outcome) -> bool {
    outcome.why.as_ref().map(plan::Why::itself) != Some(&plan::Why::WaitingForTermination)
}
