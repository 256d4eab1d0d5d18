//! What must hold after every write, whatever goes wrong. The names are those of
//! docs/internals/invariants.md; each is one function, in a file by family.
//!
//! Nothing in here asks the planner's code how many pods there may be: a mistake there would
//! excuse itself.

mod availability;
pub(crate) mod evidence;
pub(crate) mod held;
mod history;
pub(crate) mod identity;
mod jobs;
mod kept;
mod kstatus;
pub(crate) mod liveness;
pub(crate) mod meant;
pub(crate) mod news;
mod ownership;
mod pause;
mod premises;
pub(crate) mod progress;
pub(crate) mod promises;
pub(crate) mod records;
mod recreate;
pub(crate) mod requests;
mod resting;
mod scaling;
pub(crate) mod slots;
mod status;
pub(crate) mod steps;
mod surge;
mod verdicts;
pub(crate) mod waits;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use plan::Flavour;
use witness::{Finding, Version, Witness};
use world::Object;

use crate::actor::Actor;
use crate::history::History;
use crate::link::{Decided, Decision, Request};
use crate::record::Coverage;
use crate::signs::Window;
use crate::subject::Subject;
use crate::truth::Truth;
use crate::view::View;

pub(crate) use availability::Floor;
use meant::Meant;
use requests::Requests;

/// The result of a check: nothing, or what is wrong.
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
    /// The server's time, and whether it is that of operators, too.
    pub(crate) now: Timestamp,
    pub(crate) is_clock_right: bool,
    /// Whether nothing goes wrong in this run.
    pub(crate) is_quiet: bool,
    /// When its sender began its last look at all pods, and when that was over.
    pub(crate) looked: Option<Window>,
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
/// A check of what seldom happens: nothing, if its premise does not hold.
type Rule = fn(&Accepted<'_>) -> Option<Verdict>;

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

/// Everything that looks at one write of a Deployment with a pin or verdicts, and its premise, which is counted.
const ON_RULED_WRITE: [(&str, &str, Rule); 30] = [
    ("FP-1", "FP-1: a revision becomes good", verdicts::good_is_true),
    ("FP-1", "FP-1: a revision becomes good by a reading", evidence::good_is_read),
    ("FP-2", "FP-2: a write of a reconcile that stores a failure", verdicts::stored_first),
    ("FP-2", "FP-2: a revision fails by itself", verdicts::failure_is_true),
    ("FP-2", "FP-2: a revision fails by restarts", evidence::it_restarted),
    ("FP-2", "FP-2: a revision fails, since its pods are stuck", evidence::it_is_stuck),
    ("FP-4", "FP-4: a revision fails by its pods, and nothing goes wrong", evidence::failed_in_time),
    ("FP-5", "FP-5: a revision fails, and another one may be good", verdicts::cause_is_its_own),
    ("FP-5", "FP-5: a revision fails by its pods, and another one is good", evidence::symptom_is_its_own),
    ("FP-9", "FP-9: a request to retry or abort is heard", verdicts::asked_for),
    ("FP-9", "FP-9: a ReplicaSet is deleted, and one is protected", history::protected),
    ("FP-10", "FP-10: sizes change while a failure is held", progress::failed_set_yields),
    ("FP-10", "FP-10: sizes change on the way back", progress::only_one_grows),
    ("SP-1", "SP-1: what has steps grows", steps::grows_within),
    ("SP-3", "SP-3: a ReplicaSet is kept from now on", kept::best_is_kept),
    ("SP-3", "SP-3: a ReplicaSet is deleted, and one is kept", steps::kept_stays),
    ("SP-3", "SP-3: a ReplicaSet is cut that is kept", steps::kept_keeps),
    ("SP-4", "SP-4: a first rollout has no steps", steps::first_is_alone),
    ("SP-8", "SP-8: a status reports a rest", steps::rest_is_true),
    ("SP-8", "SP-8: a write at a rest, and nothing goes wrong", steps::rest_is_silent),
    ("SP-9", "SP-9: a revision is declared again under steps", steps::begins_anew),
    ("FP-11", "FP-11: a write while the pinned ReplicaSet is missing", pause::nothing_replaces),
    ("HO-2", "HO-2: a size changes that a crash could have held", held::moves_in_its_epoch),
    ("HO-5", "HO-5: a rollout continues in another epoch", held::ends_by_a_word),
    ("GA-1", "GA-1: a pod comes after a hook", jobs::hook_comes_first),
    ("GA-1", "GA-1: a rollout goes on past a gate", jobs::gate_opens),
    ("GA-1", "GA-1: a rollout is complete after a hook", jobs::hook_comes_last),
    ("GA-2", "GA-2: a Job begins, and nobody is in its way", jobs::runs_once),
    ("GA-6", "GA-6: a Job begins", jobs::begins_in_a_rollout),
    ("GA-9", "GA-9: a Job is deleted", jobs::ends_with_a_reason),
];

/// What is remembered from write to write.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    pub(crate) found: Vec<Violation>,
    /// Whether nobody looks: two runs are compared.
    pub(crate) is_mute: bool,
    /// How often premises held.
    pub(crate) premises: Coverage,
    pub(crate) requests: Requests,
    /// How often each check had something to look at.
    pub(crate) writes: u64,
}

/// What is remembered of one Deployment.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    pub(crate) floor: Floor,
    meant: Meant,
    witness: Witness,
    creations: BTreeMap<(String, String), i64>,
    /// Names of ReplicaSets that the operator wanted to create, and that were there already.
    pub(crate) taken: BTreeSet<String>,
    deletions: i64,
    /// The revisions with a failure that was withheld.
    withheld: BTreeSet<(String, i64)>,
    /// Those with a failure that was withheld because pods of the fallback show the same.
    shared: BTreeSet<(String, i64)>,
}

impl Checks {
    pub(crate) fn fail(&mut self, check: &'static str, verdict: Verdict) {
        if let Err(text) = verdict
            && !self.is_mute
        {
            self.found.push(Violation { check, text });
        }
    }

    /// An operator's write was accepted.
    pub(crate) fn write(&mut self, write: &Accepted<'_>, marks: &mut Marks, history: &History) {
        self.writes += 1;
        for (name, check) in ON_WRITE {
            self.fail(name, check(write));
        }
        if write.view().is_ruled() {
            for (name, premise, rule) in ON_RULED_WRITE {
                let Some(verdict) = rule(write) else { continue };
                self.premises.hit(premise);
                self.fail(name, verdict);
            }
            let meant = &marks.meant;
            for (name, premise, verdict) in [
                ("UM-1", "UM-1, UM-2, UM-9: a ReplicaSet grows after a way back", meant.grows(write)),
                ("UM-4", "UM-4: a canary that was declared at R = 0 grows", meant.canary_grows(write)),
                ("UM-9", "UM-9: a status names a fallback, and something is aside", meant.names(write)),
            ] {
                let Some(verdict) = verdict else { continue };
                self.premises.hit(premise);
                self.fail(name, verdict);
            }
            premises::count(write, marks, &mut self.premises);
        }
        marks.floor.decided(write, history);
        self.fail("NS-1", marks.count_creations(write));
    }

    /// A Deployment or a ReplicaSet was written: what would a user who watches both object to?
    pub(crate) fn watch(&mut self, marks: &mut Marks, version: &Version<'_>) {
        for Finding { name, premise, broken } in marks.witness.see(version) {
            self.premises.hit(premise);
            self.fail(name, broken.map_or(Ok(()), Err));
        }
    }

    /// Something was written, by whomever.
    pub(crate) fn change(&mut self, subject: &mut Subject<'_>, is_set_deleted: bool, actor: Actor) {
        let Subject { truth, marks, is_alone, .. } = subject;
        // What operators delete themselves excuses no further creation.
        marks.deletions += i64::from(is_set_deleted && !actor.is_operator());
        marks.meant.change(truth, actor);
        if let Some(verdict) = marks.meant.recorded(truth) {
            self.premises.hit("UM-20: a record begins, and the one before is of the same revision");
            // A second operator may have seen an earlier state.
            self.fail("UM-20", if *is_alone { verdict } else { Ok(()) });
        }
        self.fail("AV-2", marks.floor.check(truth));
    }

    /// A reconcile ended without an error.
    pub(crate) fn reconciled(&mut self, view: &View, truth: &Truth, is_alone: bool) {
        self.fail("SC-1", scaling::shares(view));
        if let Some(verdict) = steps::scaled_at_rest(view, truth).filter(|_| is_alone) {
            self.premises.hit("SP-7: R changes at a rest");
            self.fail("SP-7", verdict);
        }
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
