//! Why a rollout is where it is, in the words of [`Why`]: for log, metric, condition, and command line.

use crate::decide::decisions::Decisions;
use crate::model::action::Event;
use crate::model::conditions::{Condition, Edit, has_condition};
use crate::model::keys::{condition, reason};
use crate::model::observed::Workload;
use crate::model::revision::Revision;
use crate::model::status::Status;
use crate::model::why::Why;
use crate::moves::aim::{Because, Manner};
use crate::report::resting;

/// Why the rollout is where it is.
pub(crate) fn explained(decisions: &Decisions<'_>, status: &Status) -> Why {
    let Decisions { aim, moves, .. } = decisions;
    let replicas = decisions.view.workload().replicas;
    match aim.because {
        Because::OldPodsRun => return Why::WaitingForTermination,
        Because::NamesTaken(_) => {
            return Why::Blocked("the names for the new ReplicaSet are taken by others".to_owned());
        }
        _ if !moves.shares.is_empty() => return Why::Stepping,
        _ if aim.manner == Manner::Rolling && (moves.is_up() || moves.is_down()) => return Why::Stepping,
        _ => {}
    }
    if let Some(words) = resting::words(decisions) {
        return Why::Resting(words);
    }
    if decisions.awaits_hook_after(status) {
        return Why::Resting(resting::after(decisions));
    }
    // At a step, the ReplicaSet that is kept has pods of its own (SP-3).
    let desired = if aim.is_partial() { aim.ceiling } else { replicas };
    let others = replicas - desired;
    let (available, running) =
        decisions.running().map_or((0, 0), |set| (set.status.available, set.status.replicas));
    let kept = || aim.keep.and_then(|keep| decisions.view.sets.get(keep));
    let failure = status.condition(condition::REPLICA_FAILURE).filter(|failure| failure.status == "True");
    if decisions.is_complete(status) {
        Why::Converged
    } else if let Some(failure) = failure {
        Why::Blocked(format!("{}: {}", failure.reason, failure.message))
    } else if decisions.creation.is_some() {
        Why::Stepping
    } else if status.replicas - others > running && available >= desired {
        Why::WaitingForOldPods { old: status.replicas - others - running }
    } else if let Some(kept) = kept().filter(|kept| available >= desired && kept.status.available < others) {
        Why::WaitingForAvailable { set: kept.name.clone(), available: kept.status.available, desired: others }
    } else {
        let set = decisions.running_name().unwrap_or("the new ReplicaSet").to_owned();
        Why::WaitingForAvailable { set, available, desired }
    }
}

/// Reports that the declared revision failed, and what to do (FP-6).
pub(crate) fn failed(decisions: &Decisions<'_>, reason: &str) -> String {
    let number = decisions.revision().and_then(Revision::number);
    let revision = number.map_or_else(String::new, |number| format!(" {number}"));
    let Workload { namespace, name, .. } = decisions.view.workload();
    let cause =
        decisions.course.failure.cause.as_ref().map_or_else(String::new, |cause| format!(" ({cause})"));
    let what =
        if reason == reason::NO_GOOD_REVISION { ", and no other revision is known to be good" } else { "" };
    let declared = if decisions.course.failure.is_aborted {
        format!("somebody aborted the declared revision{revision}")
    } else {
        format!("the declared revision{revision} failed{cause}")
    };
    format!(
        "{declared}{what}: apply another template, or try this one again with \
         `kubectl rollwright retry deployment.rollwright.dev/{name} -n {namespace}`"
    )
}

/// The same as the condition Progressing (S9.9, FP-6).
pub(crate) fn stands_still(decisions: &Decisions<'_>, reason: &str, words: String) -> Option<Edit> {
    decisions.view.workload().progress_deadline_seconds?;
    let condition = Condition::new(condition::PROGRESSING, "False", reason, words, decisions.view.now);
    Some(Edit::Set(Box::new(condition)))
}

/// The event that somebody has to act, if the status did not report it before.
pub(crate) fn event(before: &Status, after: &Status) -> Option<Event> {
    let stalled = after.condition(condition::STALLED)?;
    let reasons = reason::HELD.into_iter().chain([reason::HELD_AFTER_RESTART]);
    let reason = { reasons }.find(|reason| *reason == stalled.reason)?;
    let is_known = has_condition(&before.conditions, condition::STALLED, "True", reason);
    (!is_known).then(|| Event::warning(reason, stalled.message.clone()))
}
