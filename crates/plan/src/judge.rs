//! What each ReplicaSet has shown (FP-1 to FP-5). Without a failure policy, and without a request to abort, none is
//! judged: each is unproven.

use jiff::{SignedDuration, Timestamp};

use crate::action::Event;
use crate::conditions::whole_seconds;
use crate::criteria::Case;
use crate::intstr::IntOrPercent;
use crate::keys::{ABORT, HASH_LABEL, RETRY};
use crate::memory::{Memory, Shown, newer};
use crate::observed::{FailureAction, FailurePolicy, Observed, ReplicaSet, Workload};
use crate::position::{Fresh, Walk};
use crate::requests::asked;
use crate::revision::{self, Revision};
use crate::sets::{Counted, Sets, total};
use crate::status::{BakeRecord, FallbackRecord};

/// What holds without one: nothing fails.
const NO_POLICY: FailurePolicy = FailurePolicy {
    action: FailureAction::Stay,
    deadline: false,
    restarts: None,
    stuck_seconds: None,
    min_pods: IntOrPercent::Int(1),
    bake_seconds: 0,
};

/// What a set has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// Nothing yet, good or bad.
    Unproven,
    /// That it serves.
    Good,
    /// That it does not.
    Failed,
}

/// Memory that is to be written to a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    /// Index of the set.
    pub(crate) set: usize,
    pub(crate) memory: Memory,
    /// What is said once it is written.
    pub(crate) events: Vec<Event>,
}

/// The verdicts of a reconcile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rulings {
    /// That on each of the owned sets, in their order; those that are missing are unproven.
    proofs: Vec<Proof>,
    /// What is to be written to sets.
    pub(crate) notes: Vec<Note>,
    /// Index of the set that a revert runs: the newest good one that is not declared.
    pub(crate) fallback: Option<usize>,
    /// Whether somebody asked to abort the declared revision, which failed by that.
    pub(crate) is_aborted: bool,
    /// Why the declared revision failed otherwise, in words.
    pub(crate) cause: Option<String>,
    /// Whether its pods are to be read (FP-4).
    pub(crate) reads: bool,
    /// Whether it is retried by this reconcile.
    pub(crate) is_retried: bool,
    /// When the declared revision was retried last: a deadline from before does not count.
    pub(crate) retried: Option<Timestamp>,
    /// Since when the declared revision bakes (FP-1).
    pub(crate) bake: Option<BakeRecord>,
    /// When to judge again, if nothing changes before.
    pub(crate) due: Option<Timestamp>,
}

impl Rulings {
    /// That on a set.
    pub(crate) fn of(&self, set: usize) -> Proof {
        self.proofs.get(set).copied().unwrap_or(Proof::Unproven)
    }

    /// Whether a verdict on the declared set is to be written before anything moves (FP-2).
    pub(crate) fn is_new_failure(&self) -> bool {
        self.notes.iter().any(|note| note.memory.shown == Some(Shown::Failed))
    }
}

/// What each of the owned sets has shown, in their order.
pub(crate) fn judge(observed: &Observed, sets: &Sets<'_>, now: Timestamp) -> Rulings {
    let workload = &observed.workload;
    let has_rules = workload.failure_policy.is_some() || !workload.steps.is_empty();
    let is_asked = has_rules || workload.annotations.contains_key(ABORT);
    if !observed.flavour.has_safeguards() || !is_asked || workload.deleting || newer(observed, sets).is_some()
    {
        return Rulings::default();
    }
    // FP-1: one that is declared anew gets another revision by this reconcile, and only Good survives.
    let next = revision::next_of(sets).number;
    let is_renumbered = sets.declared().is_some_and(|set| revision::of(set).or_zero() < next);
    let survives = |index: usize, memory: &Memory| {
        !is_renumbered || Some(index) != sets.declared || memory.shown == Some(Shown::Good)
    };
    let memory = |(index, set): (usize, &&ReplicaSet)| Memory::valid(set).filter(|it| survives(index, it));
    let memories: Vec<Option<Memory>> = sets.all.iter().enumerate().map(memory).collect();
    let mut rulings =
        Rulings { proofs: memories.iter().map(|it| proof(it.as_ref())).collect(), ..Rulings::default() };
    if memories.iter().flatten().all(|memory| memory.shown.is_none()) {
        rulings.infer(sets);
    }
    rulings.fallback = newest_good(sets, &rulings);
    if let (Some(index), Some(set), false) = (sets.declared, sets.declared(), is_renumbered) {
        let memory = memories.get(index).cloned().flatten();
        rulings.judge_declared(observed, sets, (index, set, memory), now);
    }
    rulings
}

fn proof(memory: Option<&Memory>) -> Proof {
    match memory.and_then(|memory| memory.shown) {
        None => Proof::Unproven,
        Some(Shown::Good) => Proof::Good,
        Some(Shown::Failed) => Proof::Failed,
    }
}

/// The good set with the highest revision, the declared one aside.
fn newest_good(sets: &Sets<'_>, rulings: &Rulings) -> Option<usize> {
    let good = sets.olds().filter(|(index, set)| rulings.of(*index) == Proof::Good && !set.deleting);
    good.max_by_key(|(index, set)| (revision::of(set).or_zero(), *index)).map(|(index, _)| index)
}

impl Rulings {
    /// FP-1, where no set has memory: the policy is new, or the annotations are lost.
    fn infer(&mut self, sets: &Sets<'_>) {
        let active: Vec<usize> = (0..sets.counted.len())
            .filter(|index| sets.counted.get(*index).is_some_and(|it| it.size > 0))
            .collect();
        let is_whole = |index: &usize| sets.counted.get(*index).is_some_and(|it| it.available >= it.size);
        let size = |index: &usize| sets.counted.get(*index).map_or(0, |it| it.size);
        let good = match active.as_slice() {
            // The declared one bakes.
            [only] => Some(*only).filter(is_whole).filter(|only| Some(*only) != sets.declared),
            several => {
                let olds = several.iter().copied().filter(|index| Some(*index) != sets.declared);
                olds.filter(is_whole).max_by_key(|index| (size(index), *index))
            }
        };
        let Some(index) = good else { return };
        let Some(revision) = sets.get(index).and_then(|set| revision::of(set).number()) else { return };
        if let Some(proof) = self.proofs.get_mut(index) {
            *proof = Proof::Good;
        }
        self.write(index, Memory { revision, shown: Some(Shown::Good), ..Memory::default() });
    }

    fn judge_declared(
        &mut self,
        observed: &Observed,
        sets: &Sets<'_>,
        (index, set, memory): (usize, &ReplicaSet, Option<Memory>),
        now: Timestamp,
    ) {
        let workload = &observed.workload;
        let Revision::Number(revision) = revision::of(set) else { return };
        let known = memory.unwrap_or(Memory { revision, ..Memory::default() });
        let asked = |key: &str| asked(workload, key, revision);
        let abort = asked(ABORT).filter(|text| known.abort.as_ref() != Some(text));
        let is_retried = asked(RETRY).is_some_and(|text| known.retry.as_ref() != Some(&text));
        let retry = asked(RETRY).or(known.retry.clone());
        if self.of(index) == Proof::Failed {
            // What follows in this reconcile has the reason that is stored, even if somebody aborts it only now.
            (self.is_aborted, self.cause) = (known.is_aborted, known.cause.clone());
        }
        if let Some(abort) = abort {
            let (shown, abort) = (Some(Shown::Failed), Some(abort));
            self.write(index, Memory { shown, cause: None, is_aborted: true, abort, retry, ..known });
            return;
        }
        self.retried = known.retried;
        // SP-10: steps alone find out what is good.
        let has_steps = !workload.steps.is_empty();
        let policy = workload.failure_policy.as_ref().or(has_steps.then_some(&NO_POLICY));
        match (self.of(index), policy) {
            (Proof::Failed, _) => {
                if is_retried {
                    let (abort, promote, retried) = (known.abort, known.promote, Some(whole_seconds(now)));
                    let fresh = Memory::fresh(workload, revision, &Fresh::default(), now);
                    self.is_retried = true;
                    self.write(index, Memory { abort, retry, promote, retried, ..fresh });
                }
            }
            (Proof::Unproven, Some(policy)) => {
                let memory = Memory { retry, ..known.clone() }.dated(workload, now);
                let counted = |index: usize| sets.counted.get(index).copied().unwrap_or_default();
                let fallback = self.fallback.and_then(|it| Some((*sets.all.get(it)?, counted(it))));
                let (counted, memory) = (counted(index), &memory);
                let case = Case { observed, policy, set, counted, memory, fallback, now };
                self.decide(&case, sets, (index, known));
            }
            (Proof::Good | Proof::Unproven, _) => {}
        }
    }

    /// Failed, good, or neither yet.
    fn decide(&mut self, case: &Case<'_>, sets: &Sets<'_>, (index, known): (usize, Memory)) {
        let memory = case.remembered();
        let is_judged = is_judged(&case.observed.workload, memory.revision);
        if is_judged {
            if let Some(cause) = case.failure() {
                self.write(index, Memory { shown: Some(Shown::Failed), cause: Some(cause), ..memory });
                return;
            }
            (self.due, self.reads) = (case.due(), case.needs_evidence());
        }
        self.bake(case, sets);
        let end = self.bake.as_ref().map(|bake| baked_at(bake, case.policy));
        let is_read = |end| {
            case.policy.restarts.is_none() || !is_judged || case.evidence().is_some_and(|it| it.read >= end)
        };
        match end {
            Some(end) if end > case.now => self.due = self.due.into_iter().chain([end]).min(),
            Some(end) if case.has_enough() && is_read(end) => {
                self.write(index, Memory { shown: Some(Shown::Good), ..memory });
                self.bake = None;
                return;
            }
            _ => {}
        }
        // A request to retry what has not failed means nothing: it is remembered with the verdict.
        let memory = Memory { retry: known.retry.clone(), ..memory };
        if memory != known {
            self.write(index, memory);
        }
    }

    /// A verdict is written first, and acted on once it is stored.
    fn write(&mut self, set: usize, memory: Memory) {
        self.remember(set, memory, Vec::new());
    }

    /// Memory that is to be written to a set, in the place of what was to be written to it.
    pub(crate) fn remember(&mut self, set: usize, memory: Memory, events: Vec<Event>) {
        self.notes.retain(|note| note.set != set);
        self.notes.push(Note { set, memory, events });
    }

    /// The memory of a set once this is done.
    pub(crate) fn memory(&self, index: usize, set: &ReplicaSet) -> Memory {
        let noted = self.notes.iter().find(|note| note.set == index).map(|note| note.memory.clone());
        let revision = revision::of(set).or_zero();
        noted.or_else(|| Memory::valid(set)).unwrap_or(Memory { revision, ..Memory::default() })
    }

    /// A revision that is retried begins anew among its steps (SP-9).
    pub(crate) fn begin(&mut self, declared: Option<usize>, walk: Option<&Walk>) {
        let note = self.notes.iter_mut().find(|note| Some(note.set) == declared);
        if let Some(note) = note.filter(|_| self.is_retried) {
            note.memory.walk = walk.cloned();
        }
    }

    /// FP-1: complete, and then never below the minimum for as long as it bakes.
    fn bake(&mut self, case: &Case<'_>, sets: &Sets<'_>) {
        let (workload, revision, now) = (&case.observed.workload, case.memory.revision, case.now);
        let (replicas, Counted { size, available, .. }) = (workload.replicas, case.counted);
        let is_complete =
            replicas > 0 && [total(&sets.counted), size, available].iter().all(|count| *count == replicas);
        // A time in the future means that the clock was set back.
        let is_known = |bake: &&BakeRecord| bake.revision == revision && bake.since <= now;
        let since = match workload.status.ours.bake.as_ref().filter(is_known) {
            Some(bake) if replicas > 0 && available >= case.floor() => Some(bake.since),
            _ => is_complete.then(|| whole_seconds(now)),
        };
        self.bake = since.map(|since| BakeRecord { revision, since });
    }
}

fn baked_at(bake: &BakeRecord, policy: &FailurePolicy) -> Timestamp {
    bake.since.checked_add(SignedDuration::from_secs(policy.bake_seconds)).unwrap_or(Timestamp::MAX)
}

/// FP-2: whether the declared revision runs, not frozen, and the status is about it.
fn is_judged(workload: &Workload, revision: i64) -> bool {
    workload.may_fail()
        && !workload.paused
        && workload.replicas > 0
        && workload.pin_in_force().is_none()
        && workload.status.ours.target.is_none()
        && workload.status.ours.revision == Some(revision)
}

/// `status.fallback`: where a revert would go.
pub(crate) fn fallback(sets: &Sets<'_>, rulings: &Rulings) -> Option<FallbackRecord> {
    let set = rulings.fallback.and_then(|index| sets.get(index))?;
    Some(FallbackRecord {
        revision: revision::of(set).number(),
        hash: set.labels.get(HASH_LABEL).cloned().unwrap_or_default(),
    })
}
