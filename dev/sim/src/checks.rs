//! What must hold after every write, whatever goes wrong. The names are those of
//! docs/internals/invariants.md; each is one function, in a file by family.
//!
//! Nothing in here asks the planner's code how many pods there may be: a mistake there would
//! excuse itself.

mod availability;
mod history;
pub(crate) mod identity;
mod kstatus;
pub(crate) mod liveness;
pub(crate) mod news;
mod ownership;
mod pause;
pub(crate) mod progress;
pub(crate) mod records;
mod recreate;
pub(crate) mod requests;
mod scaling;
pub(crate) mod slots;
mod status;
mod surge;
pub(crate) mod waits;

use std::collections::{BTreeMap, BTreeSet};

use plan::Flavour;
use world::Object;

use crate::actor::Actor;
use crate::history::History;
use crate::link::{Decided, Decision, Request};
use crate::subject::Subject;
use crate::truth::Truth;
use crate::view::View;

pub(crate) use availability::Floor;
use requests::Requests;

/// What a check says: nothing, or what is wrong.
pub(crate) type Verdict = Result<(), String>;

/// A check that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Its name.
    pub check: &'static str,
    /// What was found.
    pub text: String,
}

/// A write of an operator that the server accepted.
pub(crate) struct Accepted<'a> {
    pub(crate) request: &'a Request,
    pub(crate) decision: &'a Decision,
    /// The object that it changed, before.
    pub(crate) before: Option<&'a Object>,
    /// The same, after.
    pub(crate) after: Option<&'a Object>,
    /// Sizes together, before.
    pub(crate) total_before: i64,
    pub(crate) truth: &'a Truth,
    /// Whether nobody else has changed sizes since the run began.
    pub(crate) is_alone: bool,
    /// Whether the operator that sent it has died since.
    pub(crate) is_late: bool,
    pub(crate) flavour: Flavour,
}

impl Accepted<'_> {
    pub(crate) fn view(&self) -> &View {
        &self.decision.view
    }

    pub(crate) fn action(&self) -> Option<&plan::Action> {
        match &self.decision.why {
            Decided::Act(action) => Some(action),
            _ => None,
        }
    }
}

type Check = fn(&Accepted<'_>) -> Verdict;

/// Everything that looks at one write.
const ON_WRITE: [(&str, Check); 21] = [
    ("AV-1", availability::decided),
    ("AV-1", availability::waits_for_status),
    ("AV-3", availability::new_set_stays),
    ("AV-4", recreate::no_overlap),
    ("WA-1", progress::old_sets_shrink),
    ("SU-1", surge::decided),
    ("SU-1", surge::in_truth),
    ("UN-1", identity::unique),
    ("NS-2", identity::bounded),
    ("RV-1", history::revision_grows),
    ("HC-1", history::only_idle_sets),
    ("HC-2", history::lowest_first),
    ("PD-1", progress::starts_anew),
    ("OW-1", ownership::known_shapes),
    ("OW-2", ownership::preconditions),
    ("OW-3", ownership::own_objects),
    ("OW-4", ownership::foreign_fields),
    ("PA-1", pause::nothing_rolls),
    ("ST-1", status::makes_sense),
    ("KS-1", kstatus::is_true),
    ("HI-1", records::each_rollout_once),
];

/// What is remembered from write to write.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    pub(crate) found: Vec<Violation>,
    pub(crate) requests: Requests,
    /// How often each check had something to look at.
    pub(crate) writes: u64,
}

/// What is remembered of one Deployment.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    pub(crate) floor: Floor,
    creations: BTreeMap<(String, String), i64>,
    /// Names of sets that were to be created and were there already.
    pub(crate) taken: BTreeSet<String>,
    deletions: i64,
}

impl Checks {
    pub(crate) fn fail(&mut self, check: &'static str, verdict: Verdict) {
        if let Err(text) = verdict {
            self.found.push(Violation { check, text });
        }
    }

    /// An operator's write was accepted.
    pub(crate) fn write(&mut self, write: &Accepted<'_>, marks: &mut Marks, history: &History) {
        self.writes += 1;
        for (name, check) in ON_WRITE {
            self.fail(name, check(write));
        }
        marks.floor.decided(write, history);
        self.fail("NS-1", marks.count_creations(write));
    }

    /// Something was written, by whomever.
    pub(crate) fn change(&mut self, subject: &mut Subject<'_>, is_set_deleted: bool, actor: Actor) {
        let Subject { truth, marks, .. } = subject;
        // What operators delete themselves excuses no further creation.
        marks.deletions += i64::from(is_set_deleted && !actor.is_operator());
        self.fail("AV-2", marks.floor.check(truth));
    }

    /// A reconcile ended without an error.
    pub(crate) fn reconciled(&mut self, view: &View) {
        self.fail("SC-1", scaling::shares(view));
    }
}

impl Marks {
    fn count_creations(&mut self, write: &Accepted<'_>) -> Verdict {
        // Upstream has no such bound.
        let Some(plan::Action::CreateReplicaSet(_)) =
            write.action().filter(|_| write.flavour == Flavour::Rollwright)
        else {
            return Ok(());
        };
        let workload = &write.view().workload;
        let key = (workload.uid.clone(), workload.template.fingerprint.as_str().to_owned());
        let count = self.creations.entry(key).or_default();
        *count += 1;
        identity::not_again_and_again(*count, self.deletions)
    }
}
