//! Which ReplicaSet should run, read from the Deployment and the memory of its ReplicaSets: computed here once more, so
//! that a mistake of the planner does not excuse itself (FP-1, FP-6, FP-11).

use plan::keys::{ABORT, HASH_LABEL, REVISION, REVISION_HISTORY, ROLLOUT};
use plan::{FailureAction, Pin, ReplicaSet, Workload};
use serde_json::Value;

use crate::walk::word;

/// What should run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Running<'a> {
    /// This ReplicaSet.
    Set(&'a ReplicaSet),
    /// Nobody knows: the pin names no ReplicaSet.
    Missing,
    /// What runs stays: the declared revision failed, and somebody has to act.
    Held,
}

/// The pin, if it is in force: `templateFingerprint` is the fingerprint of the template, or absent (FP-11).
pub(crate) fn pin(workload: &Workload) -> Option<&Pin> {
    let template = workload.template.fingerprint.as_str();
    workload
        .pin
        .as_ref()
        .filter(|pin| pin.template_fingerprint.as_deref().is_none_or(|wanted| wanted == template))
}

/// Its revision, if that is a number, and not the largest, which nobody gets (S5.2).
pub(crate) fn revision(set: &ReplicaSet) -> Option<i64> {
    set.annotations.get(REVISION)?.parse().ok().filter(|number| *number < i64::MAX)
}

/// The memory of a ReplicaSet that is about its revision.
pub(crate) fn memory(set: &ReplicaSet) -> Option<Value> {
    let memory: Value = serde_json::from_str(set.annotations.get(ROLLOUT)?).ok()?;
    (memory.get("revision")?.as_i64() == revision(set)).then_some(memory)
}

/// Whether the verdict on a ReplicaSet is this one.
pub(crate) fn says(set: &ReplicaSet, verdict: &str) -> bool {
    memory(set).is_some_and(|memory| memory.get("verdict").and_then(Value::as_str) == Some(verdict))
}

/// Whether verdicts count at all: without a policy and without steps, only where somebody asks to abort.
pub(crate) fn is_judged(workload: &Workload) -> bool {
    let has_jobs = workload.checkpoints().next().is_some();
    let has_rules = workload.failure_policy.is_some() || !workload.steps.is_empty() || has_jobs;
    has_rules || workload.annotations.contains_key(ABORT)
}

/// Whether all others of these ReplicaSets have a lower revision than this one: otherwise it is about to get another
/// one.
pub(crate) fn is_highest<'a>(sets: impl Iterator<Item = &'a ReplicaSet>, declared: &ReplicaSet) -> bool {
    let mut others = sets.filter(|set| set.uid != declared.uid);
    others.all(|set| revision(set) < revision(declared))
}

/// When a ReplicaSet ran last, in halves of revisions: its own, or just after the declared one that a pin ran it
/// instead of.
pub(crate) fn ran_last(set: &ReplicaSet) -> i64 {
    let own = revision(set).unwrap_or(0);
    let pinned = memory(set).and_then(|memory| memory.get("insteadOf")?.as_i64()).filter(|it| *it >= own);
    pinned.map_or(own * 2, |declared| declared * 2 + 1)
}

/// The first revision that a ReplicaSet had.
pub(crate) fn began(set: &ReplicaSet) -> i64 {
    let history = set.annotations.get(REVISION_HISTORY);
    history.and_then(|text| text.split(',').next()?.parse().ok()).or(revision(set)).unwrap_or(0)
}

/// Whether a rollout of this ReplicaSet is, or stopped, among its steps, and no pin ran it since.
pub(crate) fn is_on_its_way(set: &ReplicaSet) -> bool {
    let is_pinned = ran_last(set) % 2 == 1;
    !is_pinned && memory(set).is_some_and(|memory| memory.pointer("/steps/step").is_some())
}

/// Whether a user went back behind a ReplicaSet, to one that ran before it and after it, and is not known to be bad; if
/// that is declared, it is known to be good.
pub(crate) fn is_aside(sets: &[&ReplicaSet], set: &ReplicaSet, declared: Option<&str>) -> bool {
    let own = revision(set).unwrap_or(0);
    let is_declared = |by: &ReplicaSet| Some(by.uid.as_str()) == declared;
    let has_run = |by: &ReplicaSet| if is_declared(by) { says(by, "Good") } else { !is_on_its_way(by) };
    let counts = |by: &ReplicaSet| !says(by, "Failed") && has_run(by);
    let others = sets.iter().filter(|by| by.uid != set.uid && counts(by));
    others.into_iter().any(|by| began(by) < own && (is_declared(by) || ran_last(by) > own * 2))
}

/// What a revert would run of these ReplicaSets: the good one that ran last, the declared one and what was put aside
/// excepted.
pub(crate) fn fallback<'a>(
    workload: &Workload,
    sets: impl Iterator<Item = &'a ReplicaSet>,
    declared: Option<&ReplicaSet>,
) -> Option<&'a ReplicaSet> {
    let declared = declared.map(|set| set.uid.as_str());
    let sets: Vec<_> = sets.collect();
    let is_good = |set: &&&ReplicaSet| {
        let is_old = Some(set.uid.as_str()) != declared;
        !set.deleting && says(set, "Good") && is_old && !is_aside(&sets, set, declared)
    };
    let good = sets.iter().filter(is_good).max_by_key(|set| ran_last(set)).copied();
    good.filter(|_| is_judged(workload))
}

/// The old ReplicaSet that is good because no ReplicaSet has a verdict: the only one with pods, or the largest of those
/// with all pods available. Of two of the same size, it is the later one (FP-1). One with a revision that is no number
/// remembers no verdict, so nothing is good.
pub(crate) fn inferred<'a>(
    sets: impl Iterator<Item = &'a ReplicaSet>,
    declared: &ReplicaSet,
) -> Option<&'a ReplicaSet> {
    let sets: Vec<_> = sets.collect();
    let is_tried_again = !is_highest(sets.iter().copied(), declared);
    let is_void = |set: &ReplicaSet| is_tried_again && set.uid == declared.uid && says(set, "Failed");
    if sets.iter().any(|set| !is_void(set) && memory(set).is_some_and(|it| it.get("verdict").is_some())) {
        return None;
    }
    // One that never left its steps has not served.
    let is_whole =
        |set: &&ReplicaSet| set.size > 0 && set.status.available >= set.size && !is_on_its_way(set);
    let olds = sets.into_iter().filter(|set| set.uid != declared.uid);
    let largest = olds.filter(is_whole).max_by_key(|set| (set.size, revision(set)));
    largest.filter(|set| revision(set).is_some())
}

/// Whether the pods of the fallback do no better than those of the declared ReplicaSet (FP-5).
pub(crate) fn is_shared(fallback: &ReplicaSet, declared: &ReplicaSet) -> bool {
    let share = |one: &ReplicaSet, of: &ReplicaSet| one.status.available * of.size;
    share(fallback, declared) <= share(declared, fallback)
}

/// Whether somebody asked to abort the revision of this memory.
pub(crate) fn is_aborted(memory: &Value) -> bool {
    memory.get("aborted") == Some(&Value::Bool(true))
}

/// Which of these ReplicaSets should run; `declared` is the one of the template.
pub(crate) fn running<'a>(
    workload: &Workload,
    sets: impl Iterator<Item = &'a ReplicaSet>,
    declared: &'a ReplicaSet,
) -> Running<'a> {
    let sets: Vec<_> = sets.collect();
    if let Some(pin) = pin(workload) {
        let pinned = sets.into_iter().find(|set| set.labels.get(HASH_LABEL) == Some(&pin.pod_template_hash));
        return pinned.map_or(Running::Missing, Running::Set);
    }
    // One that is declared again is about to get another revision, and to be tried.
    let is_highest = is_highest(sets.iter().copied(), declared);
    let Some(memory) = memory(declared).filter(|_| is_highest && says(declared, "Failed")) else {
        return Running::Set(declared);
    };
    let action = workload.failure_policy.as_ref().map(|policy| policy.action);
    let is_aborted = is_aborted(&memory);
    let has_failed = |ended: &Value| {
        ended.get("cause").is_some() && ["before", "after"].iter().any(|at| ended["at"] == **at)
    };
    let ended = memory.pointer("/jobs/ended").and_then(Value::as_array);
    let by_hook = ended.into_iter().flatten().any(has_failed);
    let acts = is_aborted || by_hook || matches!(action, Some(FailureAction::Stop | FailureAction::Revert));
    if !is_judged(workload) || !acts {
        return Running::Set(declared);
    }
    match fallback(workload, sets.into_iter(), Some(declared)) {
        Some(good) if is_aborted || action == Some(FailureAction::Revert) => Running::Set(good),
        _ => Running::Held,
    }
}

/// Whether a ReplicaSet served before it was declared: it is good, or a rollout that did not end kept it.
pub(crate) fn serves(sets: &[&ReplicaSet], set: &ReplicaSet) -> bool {
    let has_pods = |other: &ReplicaSet| other.size > 0 || other.status.replicas > 0;
    let keeps_it = |other: &&ReplicaSet| {
        word(other, "kept").as_ref() == Some(&set.name) && is_on_its_way(other) && has_pods(other)
    };
    set.size > 0 && (says(set, "Good") || sets.iter().any(keeps_it))
}

/// Whether one that is declared is good, or served, and was no canary itself, by what was there before: what is not good
/// keeps no pods beside it (SP-4).
pub(crate) fn is_first_choice(sets: &[&ReplicaSet], set: &ReplicaSet) -> bool {
    let before = sets.iter().find(|known| known.uid == set.uid);
    before.is_some_and(|set| says(set, "Good") || serves(sets, set) && !is_on_its_way(set))
}
