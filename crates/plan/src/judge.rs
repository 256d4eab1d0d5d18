//! What each ReplicaSet has shown (FP-1 to FP-5). Without a failure policy, and without a request to abort, none is
//! judged: each is unproven.

use jiff::{SignedDuration, Timestamp};

use crate::blocker::Blocker;
use crate::conditions::{Condition, whole_seconds};
use crate::intstr::Round;
use crate::keys::{ABORT, HASH_LABEL, RETRY, condition};
use crate::memory::{Memory, Shown, newer};
use crate::observed::{FailureAction, FailurePolicy, Observed, ReplicaSet, Workload};
use crate::requests::asked;
use crate::revision::{self, Revision};
use crate::sets::Sets;
use crate::status::{BakeRecord, FallbackRecord, Marks};

/// Causes that no time mends.
const STUCK: [&str; 3] = ["ImagePull", "ContainerConfig", "CrashLoop"];

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
}

/// The verdicts of a reconcile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rulings {
    /// That on each of the owned sets, in their order.
    pub(crate) proofs: Vec<Proof>,
    pub(crate) notes: Vec<Note>,
    /// Index of the set that a revert runs: the newest good one that is not declared.
    pub(crate) fallback: Option<usize>,
    /// Whether somebody asked to abort the declared revision, which failed by that.
    pub(crate) is_aborted: bool,
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
    let none = || Rulings { proofs: vec![Proof::Unproven; sets.all.len()], ..Rulings::default() };
    let is_asked = workload.failure_policy.is_some() || workload.annotations.contains_key(ABORT);
    if !observed.flavour.has_safeguards() || !is_asked || workload.deleting || newer(observed, sets).is_some()
    {
        return none();
    }
    // FP-1: one that is declared anew gets another revision by this reconcile, and only Good survives.
    let next = revision::next_of(sets).number;
    let is_renumbered = sets.declared().is_some_and(|set| revision::of(set).or_zero() < next);
    let survives = |index: usize, memory: &Memory| {
        !is_renumbered || Some(index) != sets.declared || memory.shown == Some(Shown::Good)
    };
    let memory = |(index, set): (usize, &&ReplicaSet)| Memory::valid(set).filter(|it| survives(index, it));
    let memories: Vec<Option<Memory>> = sets.all.iter().enumerate().map(memory).collect();
    let mut rulings = Rulings { proofs: memories.iter().map(|it| proof(it.as_ref())).collect(), ..none() };
    if memories.iter().flatten().all(|memory| memory.shown.is_none()) {
        rulings.infer(sets);
    }
    rulings.fallback = newest_good(sets, &rulings);
    if let (Some(index), Some(set), false) = (sets.declared, sets.declared(), is_renumbered) {
        let memory = memories.get(index).cloned().flatten();
        rulings.judge_declared(workload, sets, (index, set, memory), now);
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
        workload: &Workload,
        sets: &Sets<'_>,
        (index, set, memory): (usize, &ReplicaSet, Option<Memory>),
        now: Timestamp,
    ) {
        let Revision::Number(revision) = revision::of(set) else { return };
        let memory = memory.unwrap_or(Memory { revision, ..Memory::default() });
        let failed = self.of(index) == Proof::Failed;
        let asked = |key: &str| asked(workload, key, revision);
        let abort = asked(ABORT).filter(|text| memory.abort.as_ref() != Some(text));
        let is_retried = asked(RETRY).is_some_and(|text| memory.retry.as_ref() != Some(&text));
        let retry = asked(RETRY).or(memory.retry.clone());
        if let Some(abort) = abort {
            let (shown, abort) = (Some(Shown::Failed), Some(abort));
            self.write(index, Memory { shown, is_aborted: true, abort, retry, ..memory });
            return;
        }
        self.retried = memory.retried;
        if failed {
            self.is_aborted = memory.is_aborted;
            if is_retried {
                let retried = Some(whole_seconds(now));
                self.write(index, Memory { shown: None, is_aborted: false, retry, retried, ..memory });
            }
            return;
        }
        let Some(policy) = workload.failure_policy.as_ref().filter(|_| self.of(index) != Proof::Good) else {
            return;
        };
        let memory = Memory { is_aborted: false, ..memory };
        let (is_judged, stuck) =
            (is_judged(workload, revision), stuck_at(workload, policy, (set, memory.retried)));
        let is_stuck = stuck.is_some_and(|at| at <= now);
        if is_judged
            && policy.action != FailureAction::Stay
            && (policy.deadline && is_late(workload, (set, &memory), now) || is_stuck)
            && !self.is_shared(sets, index)
        {
            self.write(index, Memory { shown: Some(Shown::Failed), ..memory });
            return;
        }
        self.due = stuck.filter(|_| is_judged && !is_stuck);
        self.bake((workload, policy), sets, (index, memory), now);
    }

    /// A verdict is written first, and acted on once it is stored.
    fn write(&mut self, set: usize, memory: Memory) {
        self.notes.retain(|note| note.set != set);
        self.notes.push(Note { set, memory });
    }

    /// FP-5: the pods of the fallback do no better, so the cause is not the revision.
    fn is_shared(&self, sets: &Sets<'_>, declared: usize) -> bool {
        let counted = |index: usize| sets.counted.get(index).copied().unwrap_or_default();
        let (Some(fallback), declared) = (self.fallback.map(counted), counted(declared)) else {
            return false;
        };
        // Shares without division: a/b ≤ c/d.
        fallback.is_active()
            && fallback.available.saturating_mul(declared.size)
                <= declared.available.saturating_mul(fallback.size)
    }

    /// FP-1: complete, and then never below the minimum for as long as it bakes.
    fn bake(
        &mut self,
        (workload, policy): (&Workload, &FailurePolicy),
        sets: &Sets<'_>,
        (index, memory): (usize, Memory),
        now: Timestamp,
    ) {
        let total: i64 = sets.counted.iter().map(|set| set.size).sum();
        let available = sets.counted.get(index).map_or(0, |set| set.available);
        let (replicas, revision) = (workload.replicas, memory.revision);
        let is_whole =
            sets.counted.get(index).is_some_and(|it| it.size == replicas && it.available == replicas);
        let is_complete = is_whole && total == replicas && replicas > 0;
        let floor = replicas.saturating_sub(workload.strategy.max_unavailable(replicas));
        // A time in the future means that the clock was set back.
        let is_known = |bake: &&BakeRecord| bake.revision == revision && bake.since <= now;
        let known = workload.status.ours.bake.as_ref().filter(is_known);
        let since = match known {
            Some(bake) if replicas > 0 && available >= floor => bake.since,
            _ if is_complete => whole_seconds(now),
            _ => return,
        };
        self.bake = Some(BakeRecord { revision, since });
        let end = since.checked_add(SignedDuration::from_secs(policy.bake_seconds)).unwrap_or(Timestamp::MAX);
        if replicas > 0 && end <= now {
            self.write(index, Memory { shown: Some(Shown::Good), ..memory });
            self.bake = None;
        } else {
            self.due = self.due.into_iter().chain([end]).min();
        }
    }
}

/// FP-2: whether the declared revision runs, not frozen, and the status is about it.
fn is_judged(workload: &Workload, revision: i64) -> bool {
    !workload.paused
        && workload.replicas > 0
        && workload.pin_in_force().is_none()
        && workload.status.ours.target.is_none()
        && workload.status.ours.revision == Some(revision)
}

/// FP-2: whether its deadline has passed, which began anew when it was retried. Progress that no status reports yet,
/// because the operator was down, counts (FP-3).
fn is_late(workload: &Workload, (set, memory): (&ReplicaSet, &Memory), now: Timestamp) -> bool {
    let progressing = workload.status.condition(condition::PROGRESSING);
    let progressing = progressing.filter(|known| !is_before(known, memory.retried));
    let is_past = |deadline| progressing.is_some_and(|known| known.is_timed_out(deadline, now));
    let marks = workload.status.ours.marks.as_ref();
    let raised = |known| Marks::raised(Some(known), set, (memory.revision, workload.replicas));
    let has_progressed = || marks.is_some_and(|known| raised(known).improve(Some(known)));
    workload.progress_deadline_seconds.is_some_and(is_past) && !has_progressed()
}

/// FP-9: whether a condition is from before a retry.
pub(crate) fn is_before(known: &Condition, retried: Option<Timestamp>) -> bool {
    retried.is_some_and(|retried| known.last_update_time.is_none_or(|time| time < retried))
}

/// FP-2: when its pods have been stuck for long enough, by what was found out about them (FP-4). What nobody could
/// read is no evidence.
fn stuck_at(
    workload: &Workload,
    policy: &FailurePolicy,
    (set, retried): (&ReplicaSet, Option<Timestamp>),
) -> Option<Timestamp> {
    let seconds = SignedDuration::from_secs(policy.stuck_seconds?);
    let least = policy.min_pods.of(set.status.replicas, Round::Up).unwrap_or(1).max(1);
    // A revision that was complete does not fail by itself any more.
    let marks = workload.status.ours.marks.as_ref();
    if marks.is_some_and(|marks| revision::of(set).number() == Some(marks.revision) && marks.is_full()) {
        return None;
    }
    let counts = |blocker: &&Blocker| STUCK.contains(&blocker.cause.as_str()) && blocker.pods >= least;
    let since = workload.status.ours.blockers.iter().filter(counts).filter_map(|blocker| blocker.since);
    // FP-9: a retry gives them the same time once more.
    since.min()?.max(retried.unwrap_or(Timestamp::MIN)).checked_add(seconds).ok()
}

/// `status.fallback`: where a revert would go.
pub(crate) fn fallback(sets: &Sets<'_>, rulings: &Rulings) -> Option<FallbackRecord> {
    let set = rulings.fallback.and_then(|index| sets.get(index))?;
    Some(FallbackRecord {
        revision: revision::of(set).number(),
        hash: set.labels.get(HASH_LABEL).cloned().unwrap_or_default(),
    })
}
