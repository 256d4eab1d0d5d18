//! GA-1 to GA-9: no pod without the Job that has to succeed before it, no Job twice, and none that nobody asked for.
//! By what users read about gates and hooks, and by the Jobs as the world has them.

use plan::keys::{ABORT, PROMOTE, RESUME, RETRY, ROLLOUT, condition, reason};
use plan::{Action, Checkpoint, FailureAction, ReplicaSet, Status};

use crate::checks::steps::resized;
use crate::checks::{Accepted, Verdict, held};
use crate::jobs::JobTruth;
use crate::shown::after;
use crate::truth::Truth;
use crate::verdict::{pin, says};
use crate::walk;

/// The declared ReplicaSet as the reconcile saw it, if it began with such a hook, and runs Jobs.
fn hooked<'a>(write: &'a Accepted<'_>, at: Checkpoint) -> Option<&'a ReplicaSet> {
    let new = write.view().new_set().map(|new| &*new.set).filter(|_| !write.is_late)?;
    write.view().workload.job_at(at).filter(|_| pin(&write.view().workload).is_none())?;
    let era = write.truth.era(&new.uid).filter(|era| era.runs == Some(true))?;
    let [before, after] = era.hooks;
    (if at == Checkpoint::Before { before } else { after }).then_some(new)
}

/// GA-1: no pod of a revision comes before its hook has succeeded.
pub(super) fn hook_comes_first(write: &Accepted<'_>) -> Option<Verdict> {
    let (uid, from, to) = resized(write).filter(|(_, from, to)| to > from)?;
    let new = hooked(write, Checkpoint::Before).filter(|new| new.uid == uid)?;
    Some(if write.truth.has_passed(&uid, Checkpoint::Before) {
        Ok(())
    } else {
        Err(format!("{} grew from {from} to {to}, and no hook before it has succeeded", new.name))
    })
}

/// GA-1: a rollout passes a gate. The check of steps computes whether it may (SP-1).
pub(super) fn gate_opens(write: &Accepted<'_>) -> Option<Verdict> {
    let (uid, from, to) = resized(write)?;
    let view = write.view();
    let steps = walk::steps(&view.workload).filter(|_| view.new_set().is_some_and(|it| it.set.uid == uid))?;
    let gated = (0..walk::end(steps)).filter(|step| steps.get(*step).is_some_and(|it| it.gate.is_some()));
    let most = gated.map(|step| (step, walk::ceiling(steps, step, view.workload.replicas)));
    let mut passed = most.filter(|(_, most)| from <= *most && to > *most);
    passed.any(|(step, _)| write.truth.has_passed(&uid, Checkpoint::Step(step))).then_some(Ok(()))
}

/// GA-1: before its hook after it has succeeded, no rollout is complete, and no revision good.
pub(super) fn hook_comes_last(write: &Accepted<'_>) -> Option<Verdict> {
    let new = hooked(write, Checkpoint::After)?;
    let is_complete = match write.action()? {
        Action::WriteStatus(status) => {
            let ready = status.status.condition(condition::READY);
            let is_its = status.status.ours.revision == crate::verdict::revision(new);
            is_its && ready.is_some_and(|it| it.status == "True")
        }
        Action::UpdateReplicaSet(update) if update.target.uid == new.uid => {
            let memory = update.annotations.get(ROLLOUT);
            !says(new, "Good") && memory.is_some_and(|text| text.contains("\"Good\""))
        }
        _ => false,
    };
    let replicas = write.view().workload.replicas;
    is_complete.then_some(if replicas == 0 || write.truth.has_passed(&new.uid, Checkpoint::After) {
        Ok(())
    } else {
        Err(format!("{} is complete, and no hook after it has succeeded", new.name))
    })
}

/// The Job that an operator has just created.
fn created<'a>(write: &'a Accepted<'_>) -> Option<&'a JobTruth> {
    let Some(Action::CreateJob(new)) = write.action() else { return None };
    write.truth.jobs.all.iter().rfind(|job| job.name == new.name && !write.is_late)
}

/// GA-2, GA-3: a Job that has ended does not run again, and one that somebody deletes is created again once.
pub(super) fn runs_once(write: &Accepted<'_>) -> Option<Verdict> {
    let job = created(write).filter(|_| write.is_alone)?;
    let is_hook = !matches!(job.at, Checkpoint::Step(_));
    let is_passed = |one: &JobTruth| one.end.is_some_and(|(is_good, _)| is_good);
    let is_same = |one: &&JobTruth| {
        // One that nobody has seen succeed may run with another template.
        let is_known = is_hook && is_passed(one) && !one.had_strayed;
        let is_its = one.digest == job.digest || is_known;
        one.name != job.name && one.at == job.at && is_its && (is_hook || one.list == job.list)
    };
    let earlier: Vec<_> = write.truth.jobs_of(&job.set).filter(is_same).collect();
    let has_ended = |one: &&&JobTruth| {
        // Nobody may have seen how it ended.
        let is_lost = one.is_taken || one.had_strayed;
        (one.end.is_some() || one.is_gone && !one.had_strayed) && !is_lost
    };
    // Once its template was another one, it begins anew.
    let last = write.truth.jobs_of(&job.set).filter(|one| one.at == job.at && one.name != job.name);
    let last = last
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .take_while(|one| one.digest == job.digest && one.list == job.list);
    let counts = |one: &&JobTruth| one.is_taken && one.is_known && one.born > write.truth.jobs.pinned;
    let taken = last.filter(counts).count();
    Some(match earlier.iter().find(has_ended) {
        Some(one) => Err(format!("{} runs after {}, which has ended", job.name, one.name)),
        None if taken > 1 => Err(format!("{} is created, and {taken} of before were deleted", job.name)),
        None => Ok(()),
    })
}

/// GA-6, GA-9, HO-3: a Job begins in a rollout of the declared revision alone.
pub(super) fn begins_in_a_rollout(write: &Accepted<'_>) -> Option<Verdict> {
    let (job, view) = (created(write)?, write.view());
    let workload = &*view.workload;
    let new = view.new_set().map(|new| &*new.set);
    let era = write.truth.era(&job.set);
    // A retry is stored after that.
    let era = era.filter(|_| !workload.annotations.contains_key(RETRY));
    let is_new = era.is_some_and(|era| match job.at {
        Checkpoint::Before => !era.hooks[0],
        Checkpoint::After => !era.hooks[1],
        Checkpoint::Step(_) | Checkpoint::Process => false,
    });
    let is_asked = [PROMOTE, RESUME].iter().any(|key| workload.annotations.contains_key(*key));
    let is_refused = workload.status.ours.rollback.as_ref().is_some_and(|known| known.recent.len() >= 3);
    let excuses = [
        (workload.paused, "the Deployment is paused"),
        (workload.deleting, "it is being deleted"),
        (pin(workload).is_some(), "a pin is in force"),
        (workload.rollback_to.is_some() && !is_refused, "a rollback is due"),
        (workload.replicas == 0, "it has no pods"),
        (view.is_held() || view.is_reverted(), "its revision failed"),
        (new.is_none_or(|new| new.uid != job.set), "its ReplicaSet is not the declared one"),
        (era.is_some_and(|era| era.runs == Some(false)), "somebody rolled back, or it is good"),
        (is_new, "its revision began without this hook"),
        (held::is_elsewhere(view) && !is_asked, "it waits for a word"),
        (write.truth.jobs.lacks_jobs, "the operator runs no Jobs"),
    ];
    let why = excuses.into_iter().find(|(is_so, _)| *is_so);
    Some(why.map_or(Ok(()), |(_, why)| Err(format!("{} begins, and {why}", job.name))))
}

/// GA-9: no Job is deleted that somebody asks for, and that has time left.
pub(super) fn ends_with_a_reason(write: &Accepted<'_>) -> Option<Verdict> {
    let (Some(Action::DeleteJob { name, .. }), view) = (write.action(), write.view()) else { return None };
    let job = write.truth.jobs.all.iter().rfind(|job| job.name == *name)?;
    let workload = &*view.workload;
    let new = view.new_set().map(|new| &*new.set).filter(|new| new.uid == job.set);
    let Some((new, spec)) = new.zip(workload.job_at(job.at).filter(|spec| spec.digest == job.digest)) else {
        return Some(Ok(()));
    };
    let is_behind = match (job.at, walk::steps(workload)) {
        (Checkpoint::Step(step), Some(steps)) => {
            walk::list(steps) != job.list || walk::step_of(new, steps).is_none_or(|at| at != step)
        }
        (Checkpoint::Step(_), None) => true,
        _ => false,
    };
    let is_asked = [ABORT, RETRY, PROMOTE].iter().any(|key| workload.annotations.contains_key(*key));
    // A failure is stored with the writes that follow.
    let is_judged = workload.failure_policy.as_ref().is_some_and(|it| it.action != FailureAction::Continue);
    let is_other =
        is_judged || pin(workload).is_some() || view.is_held() || view.is_reverted() || says(new, "Failed");
    let is_late = job.running.is_some_and(|since| after(since, spec.timeout_seconds) <= after(write.now, 1));
    let is_certain = write.is_clock_right && write.is_alone && !write.is_late && !view.is_judged;
    let is_excused = is_behind || is_asked || is_other || is_late || !is_certain;
    Some(if is_excused { Ok(()) } else { Err(format!("{name} was deleted, and nobody asked for that")) })
}

/// GA-7: whether a revision failed by a Job that did.
pub(super) fn it_failed(truth: &Truth, set: &str) -> Verdict {
    let has_failed = |job: &JobTruth| match job.end {
        Some((false, _)) => true,
        _ => job.is_gone && job.running.is_some(),
    };
    // One that took too long is deleted after the failure is stored.
    let is_long = |job: &JobTruth| job.is_open() && job.running.is_some();
    let is_so = truth.jobs_of(set).any(|job| has_failed(job) || is_long(job));
    if is_so { Ok(()) } else { Err("no Job of it did".to_owned()) }
}

/// Whether a status reports that a Job has to succeed, or one has to be accepted, first.
pub(crate) fn waits(status: &Status) -> bool {
    let ready = status.condition(condition::READY).map(|it| it.reason.as_str());
    ready.is_some_and(|it| [reason::AWAITING_HOOK, reason::GATE_FAILED, reason::JOB_REFUSED].contains(&it))
}

/// LV-1 where a Job has to succeed first: it cannot by itself.
pub(super) fn rests(truth: &Truth) -> Option<Verdict> {
    let workload = truth.workload.as_deref()?;
    let said = |kind: &str| workload.status.condition(kind).map(|it| it.reason.as_str());
    if said(condition::STALLED) == Some(reason::JOB_REFUSED) {
        let is_true = truth.jobs.lacks_jobs && workload.checkpoints().next().is_some();
        return Some(if is_true { Ok(()) } else { Err("Jobs run, and Stalled is JobRefused".to_owned()) });
    }
    let new = &truth.new_set()?.set;
    let strays = truth.jobs.all.iter().find(|job| job.is_open() && job.set != new.uid);
    if let Some(job) = strays {
        return Some(Err(format!("Job {} is left of an earlier revision", job.name)));
    }
    let waits = said(condition::READY) == Some(reason::AWAITING_HOOK);
    let is_stuck = |at: Checkpoint| truth.is_stuck(&new.uid, at);
    waits.then(|| {
        let is_true = is_stuck(Checkpoint::Before) || is_stuck(Checkpoint::After);
        if is_true { Ok(()) } else { Err("it waits for a hook, and nothing is in its way".to_owned()) }
    })
}
