//! SP-1 to SP-9: what runs stays within the steps, by the words of users. A rollout that waits at a step has the sizes
//! of the step, and nothing is written. Only a good ReplicaSet is kept while there is one.

use plan::keys::{PROMOTE, REVISION, condition, reason};
use plan::{Action, Checkpoint, Purpose, ReplicaSet, UpdateReplicaSet, UpdateStep, Workload};

use crate::checks::verdicts::Said;
use crate::checks::{Accepted, Verdict};
use crate::shown::after;
use crate::truth::Truth;
use crate::verdict;
use crate::view::{SetView, View};
use crate::walk::{self, ceiling, end, first_with, is_first, is_skipped, remembered, step_of, steps, word};

/// Times are whole seconds, and of two clocks that are read one after the other.
const SLACK: i64 = 2;
/// Seconds after the last change, when all writes about it have been sent.
const SETTLED: i64 = 30;

/// A ReplicaSet that gets another size, or is created: uid, from, to.
pub(super) fn resized(write: &Accepted<'_>) -> Option<(String, i64, i64)> {
    match write.action()? {
        Action::CreateReplicaSet(set) => Some((write.after?.uid().to_owned(), 0, set.size)),
        Action::UpdateReplicaSet(update) if update.size_to != update.size_from => {
            Some((update.target.uid.clone(), update.size_from, update.size_to))
        }
        _ => None,
    }
}

/// The steps, and the declared ReplicaSet as it is now, while that should run.
pub(super) fn stepped<'a>(write: &'a Accepted<'_>) -> Option<(&'a [UpdateStep], &'a ReplicaSet)> {
    let view = write.view();
    let steps = steps(&view.workload)?;
    let new = &*write.truth.new_set()?.set;
    // Without a ReplicaSet in its view it created one, and a late write created that of an older template.
    let is_it = view.new_set().map_or(!write.is_late, |known| known.set.uid == new.uid);
    let runs = view.running_set().is_none_or(|running| running.set.uid == new.uid);
    (is_it && runs && !view.is_held() && !view.lacks_pinned() && !view.workload.deleting)
        .then_some((steps, new))
}

/// Whether the reconcile knew what its user wants.
pub(super) fn is_current(view: &View, truth: &Truth) -> bool {
    truth.workload.as_ref().is_some_and(|now| {
        let asked = |workload: &Workload| workload.annotations.get(PROMOTE).cloned();
        now.uid == view.workload.uid
            && now.generation == view.workload.generation
            && asked(now) == asked(&view.workload)
    })
}

/// SP-1, SP-2, SP-5, SP-6: what runs does not grow beyond the step at which it may be.
pub(super) fn grows_within(write: &Accepted<'_>) -> Option<Verdict> {
    let (steps, new) = stepped(write)?;
    let (uid, from, to) = resized(write).filter(|(_, from, to)| to > from)?;
    let is_certain = write.is_alone && !write.is_late && is_current(write.view(), write.truth);
    let bound = write.truth.bounds.bound.as_ref().filter(|_| is_certain && uid == new.uid)?;
    let keeps_nothing = || {
        let mut others = write.view().owned().filter(|other| other.set.uid != new.uid);
        remembered(new).is_none() && !others.any(|other| other.set.is_active())
    };
    if is_first(new) || is_skipped(&write.view().workload, new) || keeps_nothing() {
        return None;
    }
    let step = bound.before.max(bound.step);
    let replicas = write.view().workload.replicas;
    let most = ceiling(steps, step, replicas);
    if most == replicas && write.view().is_scaling() {
        // At the end, sizes follow R as without steps.
        return None;
    }
    Some(if to > most {
        let name = &new.name;
        Err(format!("{name} grew from {from} to {to}, and step {} of it allows {most}", step + 1))
    } else {
        Ok(())
    })
}

/// The steps, and the ReplicaSet that the reconcile took for the declared one, as it is now.
fn known<'a>(write: &'a Accepted<'_>) -> Option<(&'a [UpdateStep], &'a ReplicaSet)> {
    let (steps, view) = (steps(&write.view().workload)?, write.view());
    let new = view.new_set().filter(|new| view.running_set().is_some_and(|it| it.set.uid == new.set.uid))?;
    Some((steps, write.truth.sets.get(&new.set.uid).map_or(&*new.set, |now| &*now.set)))
}

/// SP-2: what runs loses no pod that its step allows. Without memory, it is at a step that allows what it has.
pub(super) fn shrinks_to_its_step(write: &Accepted<'_>, update: &UpdateReplicaSet) -> Verdict {
    let Some((steps, new)) = known(write).filter(|(_, new)| new.uid == update.target.uid) else {
        return Err("not by its steps".to_owned());
    };
    let replicas = write.view().workload.replicas;
    match step_of(new, steps).map(|step| ceiling(steps, step, replicas)) {
        Some(least) if update.size_to >= least => Ok(()),
        least => Err(format!("its step allows {least:?}")),
    }
}

/// SP-3: whether a ReplicaSet that does not run may grow: it is kept, and has less than the step leaves.
pub(super) fn may_grow(write: &Accepted<'_>, update: &UpdateReplicaSet) -> bool {
    let Some((steps, now)) = known(write) else { return false };
    let view = write.view().new_set().map(|new| &*new.set);
    let replicas = write.view().workload.replicas;
    view.into_iter().chain([now]).any(|new| {
        let known = step_of(new, steps);
        // Without memory, or if somebody deleted it, what is kept is noted after this.
        let kept = word(new, "kept");
        let sets: Vec<_> = write.view().owned().map(|view| &*view.set).collect();
        // Nor does one keep that was put aside and has no pods left.
        let keeps = |set: &&&ReplicaSet| {
            let has_pods = set.size > 0 || set.status.replicas > 0;
            Some(&set.name) == kept.as_ref() && (has_pods || !verdict::is_aside(&sets, set, Some(&new.uid)))
        };
        let is_gone = !sets.iter().any(|set| keeps(&set));
        let is_kept = known.is_none() || is_gone || kept.as_ref() == Some(&update.target.name);
        // SP-2: once the list was edited, one without pods is at the first step.
        let room = known.filter(|_| new.size > 0);
        let step = room.unwrap_or_else(|| first_with(steps, new.size, replicas));
        is_kept && update.size_to <= replicas - ceiling(steps, step, replicas)
    })
}

/// SP-4: a ReplicaSet has no steps if no other one had pods when it was declared, or if it is good or serves, and none
/// of those is good.
pub(super) fn first_is_alone(write: &Accepted<'_>) -> Option<Verdict> {
    let (_, new) = stepped(write)?;
    let view = write.view();
    let was = view.new_set().is_some_and(|known| known.set.uid == new.uid && is_first(&known.set));
    // Another write may have been sent for an older template.
    let is_stored = write.after.is_some_and(|after| after.uid() == new.uid);
    if was || !is_stored || !is_first(new) || !write.is_alone {
        return None;
    }
    let mut others = view.owned().filter(|other| other.set.uid != new.uid);
    // A way back to it gives nothing more to those that it goes away from.
    let serves = ran_before(view, new);
    // Nor does one that is good wait for those that do not serve.
    let is_good = verdict::says(new, "Good");
    let sets: Vec<_> = view.owned().map(|view| &*view.set).collect();
    let is_aside = |set: &ReplicaSet| verdict::is_aside(&sets, set, Some(&new.uid));
    // While there are no replicas, pods that are about to end count for nothing: what they are of gets pods again later,
    // unless it never served, or a user does not want it.
    let is_idle = view.workload.replicas == 0 && !serves;
    let has_run = |set: &ReplicaSet| {
        !set.deleting && !verdict::says(set, "Failed") && !verdict::is_on_its_way(set) && !is_aside(set)
    };
    let counts = |other: &SetView| {
        let (set, status) = (&other.set, &other.set.status);
        if is_idle {
            let is_proven = verdict::says(set, "Good");
            return if is_good { is_proven && !is_aside(set) } else { is_proven || has_run(set) };
        }
        let is_enough = !verdict::is_first_choice(&sets, new) || verdict::says(set, "Good");
        (set.size > 0 || status.replicas > 0) && is_enough
    };
    let other = others.find(|other| counts(other));
    Some(other.map_or(Ok(()), |other| {
        Err(format!("{} has no steps, and {} could keep pods", new.name, other.set.name))
    }))
}

/// Whether a ReplicaSet served before it was declared.
fn ran_before(view: &View, set: &ReplicaSet) -> bool {
    let sets: Vec<_> = view.owned().map(|view| &*view.set).collect();
    verdict::serves(&sets, set)
}

/// SP-9: a revision that is declared again begins at the first step, unless it serves: then it loses nothing.
pub(super) fn begins_anew(write: &Accepted<'_>) -> Option<Verdict> {
    let Some(Action::UpdateReplicaSet(update)) = write.action() else { return None };
    let number: i64 = update.annotations.get(REVISION)?.parse().ok()?;
    let (steps, new) = stepped(write).filter(|(_, new)| new.uid == update.target.uid)?;
    let step = step_of(new, steps).filter(|_| !is_skipped(&write.view().workload, new))?;
    let asked = write.view().workload.annotations.get(PROMOTE);
    let is_promoted = asked.is_some_and(|text| text.starts_with(&format!("{number}/")));
    let serves = ran_before(write.view(), new);
    Some(if step == 0 || is_promoted || serves {
        Ok(())
    } else {
        Err(format!("revision {number} was declared again, and begins at step {}", step + 1))
    })
}

/// SP-3: what is kept is not deleted, unless a user put it aside.
pub(super) fn kept_stays(write: &Accepted<'_>) -> Option<Verdict> {
    let Some(Action::DeleteReplicaSet(target)) = write.action() else { return None };
    let (_, new) = stepped(write)?;
    let kept = word(new, "kept").filter(|_| !is_first(new) && !is_skipped(&write.view().workload, new))?;
    let sets = write.view().with_deleted();
    let is_aside = |set: &ReplicaSet| verdict::is_aside(&sets, set, Some(&new.uid));
    if sets.iter().any(|set| set.name == kept && is_aside(set)) {
        return None;
    }
    Some(if kept == target.name { Err(format!("{kept} was deleted, and is kept")) } else { Ok(()) })
}

/// SP-3: what is kept does not lose what its step leaves it.
pub(super) fn kept_keeps(write: &Accepted<'_>) -> Option<Verdict> {
    let Some(Action::UpdateReplicaSet(update)) = write.action() else { return None };
    let is_cut = update.purpose == Purpose::ScaleDownOld && update.size_to < update.size_from;
    let (steps, new) = stepped(write).filter(|_| is_cut && write.is_alone)?;
    let bound = write.truth.bounds.bound.as_ref().filter(|bound| bound.uid == new.uid)?;
    let is_kept = word(new, "kept").as_ref() == Some(&update.target.name);
    let (view, replicas) = (&write.view().workload, write.view().workload.replicas);
    if !is_kept || is_first(new) || is_skipped(view, new) || !is_current(write.view(), write.truth) {
        return None;
    }
    let left = replicas - ceiling(steps, bound.before.max(bound.step), replicas);
    Some(if update.size_to >= left {
        Ok(())
    } else {
        Err(format!("{} is kept, and loses pods: {} are left of {left}", update.target.name, update.size_to))
    })
}

/// Whether a status reports that the rollout waits at a step.
pub(crate) fn says_resting(status: &plan::Status) -> bool {
    says(status, condition::RECONCILING)
}

/// Whether the clock of the deadline stands still because of that.
pub(crate) fn stops_clock(status: &plan::Status) -> bool {
    let progressing = status.condition(condition::PROGRESSING);
    progressing.is_some_and(|it| [reason::RESTING_AT_STEP, reason::AWAITING_HOOK].contains(&&*it.reason))
}

fn says(status: &plan::Status, kind: &str) -> bool {
    status.condition(kind).is_some_and(|known| known.reason == reason::RESTING_AT_STEP)
}

/// Whether sizes are those of a step: of the declared ReplicaSet, and of the others. Only one of those has pods.
pub(super) fn has_sizes(sizes: impl Iterator<Item = (bool, i64)>, ceiling: i64, replicas: i64) -> bool {
    let sizes: Vec<_> = sizes.filter(|(_, size)| *size > 0).collect();
    let of = |is_new: bool| sizes.iter().filter(move |(is, _)| *is == is_new).map(|(_, size)| *size);
    of(true).sum::<i64>() == ceiling && of(false).sum::<i64>() == replicas - ceiling && of(false).count() <= 1
}

fn view_sizes<'a>(view: &'a View, new: &'a ReplicaSet) -> impl Iterator<Item = (bool, i64)> + 'a {
    view.owned().map(|set| (set.set.uid == new.uid, set.size))
}

/// SP-3, SP-5, SP-8: a status that reports a rest is true: the sizes are those of the step, which waits, and what
/// runs is available.
pub(super) fn rest_is_true(write: &Accepted<'_>) -> Option<Verdict> {
    let Some(Action::WriteStatus(status)) = write.action() else { return None };
    let view = write.view();
    let is_certain = write.is_alone && !write.is_late && is_current(view, write.truth);
    if !says_resting(&status.status) || write.before.is_none() || !is_certain {
        return None;
    }
    let Some((steps, new)) = stepped(write) else {
        return Some(Err("at rest, and there are no steps".to_owned()));
    };
    if is_skipped(&view.workload, new) {
        return Some(Err("at rest, and it is known to be good".to_owned()));
    }
    let replicas = view.workload.replicas;
    // The record of a rollout that was late is closed.
    let record = status.status.ours.rollout.as_ref().filter(|record| record.step.is_some());
    // What the ReplicaSet remembers may be written after the status.
    let reported = record.and_then(|record| usize::try_from(record.step? - 1).ok());
    let Some(step) = reported.or_else(|| step_of(new, steps)) else {
        return Some(Err("at rest, and it remembers no step".to_owned()));
    };
    let number = i64::try_from(step + 1).unwrap_or(0);
    let most = ceiling(steps, step, replicas);
    let known = view.find(&new.uid).map_or(0, |known| known.set.status.available);
    let until = steps.get(step).map_or_else(Vec::new, |step| step.until.clone());
    let sizes: Vec<_> = view_sizes(view, new).collect();
    // Nothing takes the place of a kept ReplicaSet that is gone.
    let is_alone = sizes.iter().all(|(is_new, size)| *size == if *is_new { most } else { 0 });
    let text = format!("at rest at step {number} with {most} of {replicas} pods");
    Some(if record.is_some_and(|record| record.target_pods != Some(most)) {
        Err(format!("{text}, and {:?} are wanted", record.and_then(|record| record.target_pods)))
    } else if !has_sizes(sizes.iter().copied(), most, replicas) && !is_alone {
        Err(format!("{text}, and sizes are {sizes:?}"))
    } else if replicas > 0 && (until.is_empty() || known < most) {
        Err(format!("{text}, {known} of them available, until {until:?}"))
    } else {
        Ok(())
    })
}

/// SP-8: where nothing goes wrong and nothing happens, nothing is written at a rest before its time.
pub(super) fn rest_is_silent(write: &Accepted<'_>) -> Option<Verdict> {
    write.action()?;
    let (steps, _) = stepped(write).filter(|_| write.is_quiet && write.is_alone)?;
    let status = &write.view().workload.status;
    if !says_resting(status) || !is_current(write.view(), write.truth) {
        return None;
    }
    let record = status.ours.rollout.as_ref()?;
    let step = usize::try_from(record.step? - 1).ok()?;
    let is_over = match (walk::time(steps.get(step)?), record.rest_start_time) {
        (Some(seconds), Some(since)) => after(since, seconds) <= after(write.now, SLACK),
        _ => false,
    };
    let is_settled = after(write.truth.bounds.stirred, SETTLED) < write.now;
    let fails = Said::of(write).is_some_and(|said| said.is("Failed"));
    Some(if is_settled && !is_over && !fails {
        Err(format!("a write at rest: nothing has happened since {}", write.truth.bounds.stirred))
    } else {
        Ok(())
    })
}

/// Whether the declared revision fails where it rested, with the sizes of that step.
pub(super) fn fails_at_rest(write: &Accepted<'_>) -> bool {
    let Some(said) = Said::of(write).filter(|said| said.is("Failed") && !said.was("Failed")) else {
        return false;
    };
    let view = write.view();
    let Some(steps) = steps(&view.workload) else { return false };
    let replicas = view.workload.replicas;
    let rested = write.truth.bounds.bound.as_ref().and_then(|bound| bound.rested);
    let Some(step) = step_of(said.set, steps).filter(|step| Some(*step) == rested) else { return false };
    let sizes = view_sizes(view, said.set);
    step < end(steps) && replicas > 0 && has_sizes(sizes, ceiling(steps, step, replicas), replicas)
}

/// SP-7: a change of R at a rest gives both ReplicaSets their sizes in one reconcile. Nothing, if it was none.
pub(super) fn scaled_at_rest(view: &View, truth: &Truth) -> Option<Verdict> {
    let workload = &*view.workload;
    let (steps, new) = (steps(workload)?, view.new_set()?);
    let now = truth.sets.get(&new.set.uid).map(|truth| &*truth.set)?;
    let step = step_of(&new.set, steps)?;
    let is_same = step_of(now, steps) == Some(step) && word(now, "list") == word(&new.set, "list");
    let is_ours =
        truth.bounds.bound.as_ref().is_some_and(|bound| bound.uid == new.set.uid && bound.is_of(steps));
    let is_stored_first = view.is_judged || view.is_recorded;
    let is_free = !view.is_held() && !view.is_reverted() && !view.lacks_pinned() && !view.is_rolled_back;
    let runs = view.running_set().is_some_and(|running| running.set.uid == new.set.uid);
    // GA-1: no pod comes before the hook.
    let is_held_up = view.owned().all(|set| set.set.size == 0)
        || !truth.has_passed(&now.uid, Checkpoint::Before)
        || !verdict::is_highest(view.owned().map(|it| &*it.set), &new.set);
    let is_barred = workload.before_hook.is_some() && is_held_up;
    let is_known =
        !is_barred && is_same && is_ours && is_free && runs && !is_stored_first && is_current(view, truth);
    if !is_known || is_skipped(workload, &new.set) || step >= end(steps) || workload.deleting {
        return None;
    }
    let kept = word(&new.set, "kept");
    let is_kept = |set: &SetView| Some(&set.set.name) == kept.as_ref();
    if view.owned().any(|set| set.set.is_active() && set.set.uid != new.set.uid && !is_kept(set)) {
        return None;
    }
    let before = view.owned().filter(|set| set.set.is_active()).map(SetView::desired);
    let before: Vec<i64> = before.map(|desired| desired.unwrap_or(-1)).collect();
    let from = before.first().copied().unwrap_or(0);
    let replicas = workload.replicas;
    let sizes = |size: fn(&SetView) -> i64| {
        let uid = new.set.uid.clone();
        view.owned().map(move |set| (set.set.uid == uid, size(set)))
    };
    let was_at_rest = has_sizes(sizes(|set| set.set.size), ceiling(steps, step, from), from);
    if from == replicas || from < 0 || before.iter().any(|desired| *desired != from) || !was_at_rest {
        return None;
    }
    let most = ceiling(steps, step, replicas);
    Some(if has_sizes(sizes(|set| set.size), most, replicas) {
        Ok(())
    } else {
        let sizes: Vec<_> = sizes(|set| set.size).collect();
        Err(format!("at rest with {from} pods, scaled to {replicas}, {most} of them new: {sizes:?}"))
    })
}
