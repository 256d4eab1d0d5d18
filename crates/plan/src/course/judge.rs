//! What each ReplicaSet has shown (FP-1 to FP-5). Without a failure policy, steps, or a request to abort, none is
//! judged: each is unproven.

use jiff::{SignedDuration, Timestamp};

use crate::course::criteria::Case;
use crate::course::held;
use crate::course::memory::{Memory, Note, Proof};
use crate::course::requests::asked;
use crate::course::view::View;
use crate::model::conditions::whole_seconds;
use crate::model::intstr::IntOrPercent;
use crate::model::keys::{ABORT, PROMOTE, RETRY};
use crate::model::observed::{ReplicaSet, Workload};
use crate::model::position::Fresh;
use crate::model::revision;
use crate::model::runs::Runs;
use crate::model::safeguards::{FailureAction, FailurePolicy};
use crate::model::sets::{Counted, Sets, total};
use crate::model::status::BakeRecord;

/// What holds without one: nothing fails.
const NO_POLICY: FailurePolicy = FailurePolicy {
    action: FailureAction::Continue,
    deadline: false,
    restarts: None,
    stuck_seconds: None,
    min_pods: IntOrPercent::Int(1),
    bake_seconds: 0,
};

/// The verdicts of a reconcile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Judgment {
    /// What each of the owned ReplicaSets remembers, in their order; those that are missing are unproven.
    memories: Vec<Option<Memory>>,
    /// Memory of a ReplicaSet that is good by what runs. What is large and rare has a box: each plan moves these values.
    pub(crate) inferred: Option<Box<Note>>,
    /// Index of the good ReplicaSet that ran last, the declared one aside.
    pub(crate) fallback: Option<usize>,
    /// The ruling on the declared ReplicaSet.
    pub(crate) ruling: Ruling,
}

/// The verdict on the declared ReplicaSet, or what is known on the way to one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ruling {
    /// What the ReplicaSet has to remember, if that is news.
    pub(crate) memory: Option<Box<Memory>>,
    /// How it failed, by the verdict that is stored.
    pub(crate) failure: Failure,
    /// Whether it is retried by this reconcile.
    pub(crate) is_retried: bool,
    /// When it was retried last.
    pub(crate) retried: Option<Timestamp>,
    /// Whether the planner needs a reading of its pods (FP-4).
    pub(crate) needs_evidence: bool,
    /// Since when it bakes (FP-1).
    pub(crate) bake: Option<BakeRecord>,
    /// When to judge again, if nothing changes before.
    pub(crate) due: Option<Timestamp>,
}

/// How a revision failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Whether somebody asked to abort it.
    pub(crate) is_aborted: bool,
    /// The criterion of the policy otherwise, in words.
    pub(crate) cause: Option<String>,
}

impl Ruling {
    /// Whether the reconcile has to write a failure.
    pub(crate) fn is_failure(&self) -> bool {
        self.memory.as_ref().is_some_and(|memory| memory.shown == Proof::Failed)
    }
}

impl Judgment {
    /// What a ReplicaSet has shown.
    pub(crate) fn of(&self, set: usize) -> Proof {
        self.memory(set).map_or(Proof::Unproven, |memory| memory.shown)
    }

    /// What a ReplicaSet remembers, as far as it counts.
    pub(crate) fn memory(&self, set: usize) -> Option<&Memory> {
        self.memories.get(set)?.as_ref()
    }

    /// The same, and if there is none, what is known of a ReplicaSet without memory.
    pub(crate) fn known(&self, index: usize, set: &ReplicaSet) -> Memory {
        self.memory(index).cloned().unwrap_or_else(|| Memory::known(set))
    }

    /// Whether a hook of a ReplicaSet failed (GA-7).
    pub(crate) fn has_failed_hook(&self, set: usize) -> bool {
        self.memory(set).is_some_and(|memory| memory.runs.has_failed_hook())
    }

    /// Whether anything is judged.
    pub(crate) fn is_asked(&self) -> bool {
        !self.memories.is_empty()
    }
}

/// What each of the owned ReplicaSets has shown. The caller asks only where no newer operator was.
pub(crate) fn judge(view: View<'_>, runs: &Runs) -> Judgment {
    let (workload, sets) = (view.workload(), view.sets);
    let has_rules = workload.failure_policy.is_some() || workload.has_hooks() || !workload.steps.is_empty();
    let is_asked = has_rules || workload.annotations.contains_key(ABORT);
    if !view.observed.flavour.has_safeguards() || !is_asked || workload.deleting {
        return Judgment::default();
    }
    // FP-1: one that is declared again gets another revision by this reconcile, and only Good survives.
    let is_renumbered = sets.declared.is_some() && view.begun().is_none();
    let survives = |index: usize, memory: &Memory| {
        !is_renumbered || Some(index) != sets.declared || memory.shown == Proof::Good
    };
    let memory = |(index, set): (usize, &&ReplicaSet)| Memory::valid(set).filter(|it| survives(index, it));
    let memories = sets.all.iter().enumerate().map(memory).collect();
    let mut judgment = Judgment { memories, ..Judgment::default() };
    let declared = sets.declared.and_then(|declared| judgment.memories.get_mut(declared)?.as_mut());
    // What this reconcile saw of its Job counts.
    if let Some(memory) = declared {
        memory.runs.clone_from(runs);
    }
    if (0..sets.all.len()).all(|set| judgment.of(set) == Proof::Unproven) {
        judgment.inferred = infer(sets, &judgment).map(Box::new);
    }
    if let Some(note) = &judgment.inferred
        && let Some(memory) = judgment.memories.get_mut(note.set)
    {
        *memory = Some(note.memory.clone());
    }
    judgment.fallback = judgment.find_fallback(sets);
    let declared = sets.declared.filter(|_| !is_renumbered);
    let ruling = declared.and_then(|declared| ruling(view, declared, &judgment));
    Judgment { ruling: ruling.unwrap_or_default(), ..judgment }
}

/// FP-1, where no ReplicaSet has memory: the policy is new, or the annotations are lost.
fn infer(sets: &Sets<'_>, judgment: &Judgment) -> Option<Note> {
    let counted = |index: usize| sets.counted.get(index).copied().unwrap_or_default();
    let active: Vec<usize> = (0..sets.counted.len()).filter(|index| counted(*index).size > 0).collect();
    // One that never left its steps has not served.
    let has_left = |index: usize| judgment.memory(index).is_none_or(|known| !known.is_on_its_way());
    let is_whole = |index: &usize| counted(*index).available >= counted(*index).size && has_left(*index);
    let good = match active.as_slice() {
        // The declared one bakes.
        [only] => Some(*only).filter(is_whole).filter(|only| Some(*only) != sets.declared),
        several => {
            let olds = several.iter().copied().filter(|index| Some(*index) != sets.declared);
            let revision = |index| sets.get(index).map_or(0, |set| revision::of(set).or_zero());
            olds.filter(is_whole).max_by_key(|index| (counted(*index).size, revision(*index), *index))
        }
    };
    let index = good?;
    let set = sets.get(index)?;
    revision::of(set).number()?;
    let memory = Memory { shown: Proof::Good, ..judgment.known(index, set) };
    Some(Note { set: index, memory, events: Vec::new() })
}

/// The verdict on the declared ReplicaSet; `None` if its revision is no number. A verdict is written first, and acted
/// on once it is stored.
fn ruling(view: View<'_>, declared: usize, judgment: &Judgment) -> Option<Ruling> {
    let (workload, set) = (view.workload(), view.sets.get(declared)?);
    let revision = revision::of(set).number()?;
    let known = judgment.memory(declared).cloned().unwrap_or(Memory { revision, ..Memory::default() });
    let asked = |key: &str| asked(workload, key, revision);
    let abort = asked(ABORT).filter(|text| known.abort.as_ref() != Some(text));
    let is_retried = asked(RETRY).is_some_and(|text| known.retry.as_ref() != Some(&text));
    let retry = asked(RETRY).or(known.retry.clone());
    // What follows in this reconcile has the reason that is stored, even if somebody aborts it only now.
    let failure = match known.shown {
        Proof::Failed => Failure { is_aborted: known.is_aborted, cause: known.cause.clone() },
        Proof::Good | Proof::Unproven => Failure::default(),
    };
    if let Some(abort) = abort {
        let (shown, abort) = (Proof::Failed, Some(abort));
        let memory = Memory { shown, cause: None, is_aborted: true, abort, retry, ..known };
        return Some(Ruling { failure, memory: Some(Box::new(memory)), ..Ruling::default() });
    }
    // A time in the future means that the clock was set back.
    let retried = known.retried.filter(|retried| *retried <= view.now);
    let ruling = Ruling { failure, retried, ..Ruling::default() };
    // SP-10: steps and hooks alone find out what is good.
    let has_rules = !workload.steps.is_empty() || workload.has_hooks();
    let policy = workload.failure_policy.as_ref().or(has_rules.then_some(&NO_POLICY));
    Some(match (known.shown, policy) {
        (Proof::Failed, _) if is_retried => {
            // A promotion from before the retry is older than it (SP-6).
            let promote = asked(PROMOTE).or(known.promote);
            let (abort, retried) = (known.abort, Some(whole_seconds(view.now)));
            let fresh = Memory::fresh(workload, revision, &Fresh::default(), view.now);
            let memory = Some(Box::new(Memory { abort, retry, promote, retried, ..fresh }));
            Ruling { is_retried, memory, ..ruling }
        }
        // GA-7: a good revision that has steps, and so hooks, fails by them, too.
        (Proof::Good, Some(_)) => {
            let cause = by_job(workload, &known.runs, is_judged(workload, known.revision));
            let failed = |cause| Box::new(Memory { shown: Proof::Failed, cause: Some(cause), ..known });
            Ruling { memory: cause.map(failed), ..ruling }
        }
        (Proof::Unproven, Some(policy)) => {
            let memory = Memory { retry, ..known.clone() }.dated(workload, view.now);
            let counted = |index: usize| view.sets.counted.get(index).copied().unwrap_or_default();
            let fallback = judgment.fallback.and_then(|it| Some((view.sets.get(it)?, counted(it))));
            let (counted, memory, now) = (counted(declared), &memory, view.now);
            let case = Case { observed: view.observed, policy, set, counted, memory, fallback, now };
            decided(&case, view.sets, &known, ruling)
        }
        (Proof::Failed | Proof::Good | Proof::Unproven, _) => ruling,
    })
}

/// GA-7: how a Job fails the revision: by a gate only where a policy judges it.
fn by_job(workload: &Workload, runs: &Runs, is_judged: bool) -> Option<String> {
    runs.failure(is_judged).filter(|_| !workload.paused)
}

/// Failed, good, or neither yet.
fn decided(case: &Case<'_>, sets: &Sets<'_>, known: &Memory, ruling: Ruling) -> Ruling {
    let memory = case.remembered();
    let is_held = held::is_due(View { observed: case.observed, sets, now: case.now });
    let is_judged = is_judged(&case.observed.workload, memory.revision) && !is_held;
    let has_outage = is_judged && case.has_outage();
    if memory.has_outage && !has_outage {
        // FP-5: the deadline begins again, and so does the time of pods that are stuck.
        let retried = Some(whole_seconds(case.now));
        // So do restarts: those of the outage do not count.
        let since = memory.since.and(retried);
        let memory = Memory { has_outage, retried, since, restarts_before: None, ..memory };
        return Ruling { memory: Some(Box::new(memory)), retried, ..ruling };
    }
    let memory = Memory { has_outage, ..memory };
    // GA-7: a Job that failed is no matter of pods, so no outage excuses it.
    let by_job = by_job(&case.observed.workload, &memory.runs, is_judged);
    let by_pods = || if is_judged && !has_outage { case.failure() } else { None };
    if let Some(cause) = by_job.or_else(by_pods) {
        let memory = Memory { shown: Proof::Failed, cause: Some(cause), ..memory };
        return Ruling { memory: Some(Box::new(memory)), ..ruling };
    }
    let due = if is_judged { case.due() } else { None };
    let needs_evidence = is_judged && case.needs_evidence();
    let bake = bake(case, sets);
    let is_read = |end| {
        case.policy.restarts.is_none() || !is_judged || case.evidence().is_some_and(|it| it.read >= end)
    };
    let end = bake.as_ref().map(|bake| baked_at(bake, case.policy));
    let has_served = case.has_enough() && memory.runs.has_served(&case.observed.workload);
    if end.is_some_and(|end| end <= case.now && has_served && is_read(end)) {
        let memory = Some(Box::new(Memory { shown: Proof::Good, ..memory }));
        return Ruling { memory, needs_evidence, due, ..ruling };
    }
    let due = due.into_iter().chain(end.filter(|end| *end > case.now)).min();
    // A request to retry what has not failed means nothing: it is remembered with the verdict.
    let memory = Memory { retry: known.retry.clone(), ..memory };
    let memory = (memory != *known).then(|| Box::new(memory));
    Ruling { memory, needs_evidence, bake, due, ..ruling }
}

/// FP-1: complete, and then never below the minimum for as long as it bakes.
fn bake(case: &Case<'_>, sets: &Sets<'_>) -> Option<BakeRecord> {
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
    // CU-3: whatever the deployment process allows, the rollout is not complete before it ends.
    let is_driven = workload.is_custom() && case.memory.is_on_its_way();
    since.filter(|_| !is_driven).map(|since| BakeRecord { revision, since })
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
