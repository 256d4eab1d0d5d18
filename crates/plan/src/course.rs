//! What a rollout is doing: which ReplicaSet runs, how far it grows, and what the rollout waits for at a step.
//!
//! [`course`] is the only place that decides this. No later stage asks again.

pub(crate) mod advance;
pub(crate) mod checkpoints;
pub(crate) mod closing;
pub(crate) mod criteria;
pub(crate) mod fallback;
pub(crate) mod held;
pub(crate) mod judge;
pub(crate) mod kept;
pub(crate) mod marks;
pub(crate) mod memory;
pub(crate) mod process;
pub(crate) mod requests;
pub(crate) mod situation;
pub(crate) mod stage;
pub(crate) mod view;

use jiff::Timestamp;

use crate::course::advance::{Advanced, advance};
use crate::course::checkpoints::Jobs;
use crate::course::fallback::{first_run, pins};
use crate::course::held::{Held, Noted};
use crate::course::judge::{Failure, Judgment, judge};
use crate::course::memory::{Memory, Note, Proof, newer};
use crate::course::situation::Situation;
use crate::course::view::View;
use crate::model::keys::{HASH_LABEL, reason};
use crate::model::observed::ReplicaSet;
use crate::model::position::Fresh;
use crate::model::revision;
use crate::model::safeguards::FailureAction;
use crate::model::status::{BakeRecord, FallbackRecord};

/// What a rollout is doing, and what its ReplicaSets have to remember. No later stage changes it.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    pub(crate) situation: Situation,
    /// What comes before the rollout, if anything does. A pause is none of it: `decide/policy.rs` knows that.
    pub(crate) hold: Option<Hold>,
    /// Index of the ReplicaSet that a revert runs: the good one that ran last (FP-6).
    pub(crate) fallback: Option<usize>,
    /// Indices of ReplicaSets that get no more pods (FP-7, FP-10).
    pub(crate) bad: Vec<usize>,
    /// Indices of ReplicaSets that do not grow with R: they failed, or a user went back from them (FP-10).
    pub(crate) left: Vec<usize>,
    /// How the declared revision failed, by the verdict that is stored.
    pub(crate) failure: Failure,
    /// What the reconcile writes to ReplicaSets that exist.
    pub(crate) notes: Vec<Note>,
    /// What a revision remembers from the start that this reconcile declares.
    pub(crate) fresh: Fresh,
    /// Whether the planner needs the pods of the declared revision (FP-4).
    pub(crate) needs_evidence: bool,
    /// When the declared revision was retried last: a deadline from before does not count.
    pub(crate) retried: Option<Timestamp>,
    /// Since when the declared revision bakes (FP-1).
    pub(crate) bake: Option<BakeRecord>,
    /// When to look again, if nothing changes before.
    pub(crate) due: Option<Timestamp>,
    /// The Jobs of its gates and hooks (GA-1).
    pub(crate) jobs: Jobs,
}

/// What comes before the rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// A newer operator decided what runs, so sizes follow `spec.replicas`, and nothing else changes. The sentence
    /// names what that operator left, and the fix.
    NewerSpec(String),
    /// A verdict, a retry that voids one, or another epoch is written before anything moves (FP-2, FP-9, HO-1).
    Verdict,
    /// The server does not accept a Job of a revision that begins, for this reason (GA-5).
    JobRefused(String),
    /// The hook before the rollout has not passed (GA-1).
    Hook,
    /// Another operator, or this one before it started again, began the rollout (HO-2).
    Restart,
}

/// Decides what a rollout is doing.
pub(crate) fn course(view: View<'_>) -> Course {
    let newer = newer(view);
    let is_held = newer.is_none() && held::is_due(view);
    let mut jobs = if newer.is_some() { Jobs::default() } else { checkpoints::look(view, is_held) };
    let judgment = if newer.is_some() { Judgment::default() } else { judge(view, &jobs.runs) };
    let situation = situation(view, &judgment);
    let advanced = match newer {
        Some(_) => Advanced::remembered(view, &judgment, &situation),
        // GA-1: no step is left before the hook passes.
        None => advance(view, &judgment, &situation, is_held || jobs.awaits_before(view)),
    };
    let fresh_runs = newer.is_none().then(|| jobs.go_on(view, &judgment, &situation, &advanced)).flatten();
    let bad = bad(view, &judgment, &situation);
    let left = left(view, &judgment, &situation);
    let pins = pins(view, &judgment, &situation);
    let Judgment { inferred, fallback, ruling, .. } = judgment;
    let Advanced { fresh, stage, memory, due, .. } = advanced;
    let fresh = Fresh { runs: fresh_runs.unwrap_or_default(), epoch: held::fresh(view), ..fresh };
    // What the steps add to a verdict on the declared ReplicaSet is one write with it.
    let declared = memory.or_else(|| ruling.memory.map(|memory| Box::new((*memory, Vec::new()))));
    let mut declared = jobs.remembered(view, declared);
    let held = match newer {
        Some(_) => Held::default(),
        None => Held::decided(view, is_held, matches!(situation, Situation::Declared(_)), &mut declared),
    };
    // Nor does anything move by a verdict that a retry voids: no pod comes for a way back that is over.
    let has_verdict = declared.as_ref().is_some_and(|noted| noted.0.shown == Proof::Failed);
    let is_first = has_verdict || ruling.is_retried || held.begins;
    let is_verdict_due = is_first && view.workload().pin_in_force().is_none();
    let pins = pins.into_iter().chain(jobs.stray.take().map(|stray| *stray)).collect();
    Course {
        situation: situation.at(stage),
        hold: newer
            .map(Hold::NewerSpec)
            .or(is_verdict_due.then_some(Hold::Verdict))
            .or(held.is_held.then_some(Hold::Restart))
            .or(jobs.hold()),
        fallback,
        bad,
        left,
        failure: ruling.failure,
        notes: notes(view, inferred, pins, declared),
        fresh,
        needs_evidence: ruling.needs_evidence,
        retried: ruling.retried,
        bake: ruling.bake,
        due: ruling.due.into_iter().chain(due).chain(jobs.due).min(),
        jobs,
    }
}

/// Each ReplicaSet has one note: what a pin adds to one that is inferred has all of that.
fn notes(view: View<'_>, inferred: Option<Box<Note>>, pins: Vec<Note>, declared: Option<Noted>) -> Vec<Note> {
    let inferred = inferred.filter(|note| pins.iter().all(|pin| pin.set != note.set));
    let declared = view.sets.declared.zip(declared).map(|(set, noted)| {
        let (memory, events) = *noted;
        Note { set, memory, events }
    });
    inferred.map(|note| *note).into_iter().chain(pins).chain(declared).collect()
}

/// The situation before anybody knows at which step a rollout is: the declared ReplicaSet runs, unless it failed
/// (FP-6), or another one is pinned (FP-11). One that is pinned is not judged.
fn situation(view: View<'_>, judgment: &Judgment) -> Situation {
    let (workload, sets) = (view.workload(), view.sets);
    if let Some(pin) = workload.pin_in_force() {
        return match sets.with_hash(&pin.pod_template_hash) {
            None => Situation::PinTargetMissing,
            Some(pinned) if Some(pinned) != sets.declared => Situation::Pinned(pinned),
            Some(_) => Situation::Declared(None),
        };
    }
    let failed = sets.declared.filter(|declared| judgment.of(*declared) == Proof::Failed);
    let Some(declared) = failed else { return Situation::Declared(None) };
    let failed = |reason| Situation::Failed { reason, stage: None };
    let action = workload.failure_policy.as_ref().map(|policy| policy.action);
    let reverts = judgment.ruling.failure.is_aborted || action == Some(FailureAction::Revert);
    match judgment.fallback {
        Some(fallback) if reverts => Situation::Reverted(fallback),
        None if reverts => failed(reason::NO_GOOD_REVISION),
        _ if action == Some(FailureAction::Stop) || judgment.has_failed_hook(declared) => {
            failed(reason::ROLLOUT_FAILED)
        }
        _ => Situation::Declared(None),
    }
}

/// On the way back, all that is not known to be good, and does not run (FP-7); where somebody has to act, the revision
/// that failed.
fn bad(view: View<'_>, judgment: &Judgment, situation: &Situation) -> Vec<usize> {
    match situation {
        Situation::Reverted(run) => {
            let is_bad = |index: &usize| judgment.of(*index) != Proof::Good && index != run;
            (0..view.sets.all.len()).filter(is_bad).collect()
        }
        Situation::Failed { .. } => view.sets.declared.into_iter().collect(),
        Situation::Declared(_) | Situation::Pinned(_) | Situation::PinTargetMissing => Vec::new(),
    }
}

/// What gets none of the pods that R gains: what failed, what a user put aside, and where he declares an earlier
/// revision again, what he goes back from, unless it is good.
fn left(view: View<'_>, judgment: &Judgment, situation: &Situation) -> Vec<usize> {
    let sets = view.sets;
    let Some(declared) = sets.declared().filter(|_| judgment.is_asked()) else { return Vec::new() };
    // One without a revision has not run before.
    let Some(first) = Some(first_run(declared)).filter(|first| *first > 0) else { return Vec::new() };
    let is_left = |(index, set): &(usize, &ReplicaSet)| {
        let is_behind = first < revision::of(set).or_zero() || judgment.is_aside(sets, *index, set);
        match judgment.of(*index) {
            Proof::Good => false,
            Proof::Failed => true,
            Proof::Unproven => is_behind,
        }
    };
    let is_way_back = matches!(situation, Situation::Declared(_));
    sets.olds().filter(|it| is_way_back && is_left(it)).map(|(index, _)| index).collect()
}

impl Course {
    /// The memory of a ReplicaSet once this reconcile is done.
    pub(crate) fn memory(&self, index: usize, set: &ReplicaSet) -> Memory {
        let noted = self.notes.iter().find(|note| note.set == index).map(|note| note.memory.clone());
        noted.unwrap_or_else(|| Memory::known(set))
    }

    /// Why another ReplicaSet runs than the declared one, for `status.target.reason`.
    pub(crate) fn because(&self) -> Option<&'static str> {
        match self.situation {
            Situation::Declared(_) | Situation::Failed { .. } => None,
            Situation::Pinned(_) => Some(reason::PINNED),
            Situation::PinTargetMissing => Some(reason::PIN_TARGET_MISSING),
            Situation::Reverted(_) if self.failure.is_aborted => Some(reason::ABORTED),
            Situation::Reverted(_) => Some(reason::REVERTED),
        }
    }

    /// `status.fallback`: where a revert would go.
    pub(crate) fn fallback_record(&self, view: View<'_>) -> Option<FallbackRecord> {
        let set = self.fallback.and_then(|index| view.sets.get(index))?;
        Some(FallbackRecord {
            revision: revision::of(set).number(),
            hash: set.labels.get(HASH_LABEL).cloned().unwrap_or_default(),
        })
    }
}
