//! Which revision runs when it is not the declared one, and how the status reports it (FP-8, FP-11, FP-12;
//! rollwright.dev only).
//!
//! `course.rs` decides it. Nothing here does: this is what people and tools read.

use jiff::{SignedDuration, Timestamp};

use crate::course::Course;
use crate::course::situation::Situation;
use crate::decide::decisions::Decisions;
use crate::model::action::{Event, Requeue};
use crate::model::conditions::{Condition, Edit};
use crate::model::keys::{HASH_LABEL, condition, reason};
use crate::model::observed::Workload;
use crate::model::revision::{self, Revision};
use crate::model::status::{Status, TargetRecord};
use crate::moves::aim::{Aim, Because};

/// `status.target`, if another revision runs than the declared one.
pub(crate) fn record(decisions: &Decisions<'_>) -> Option<TargetRecord> {
    let reason = decisions.course.because()?;
    let running = decisions.running();
    let workload = decisions.view.workload();
    // A pause freezes what runs, so nothing has taken over yet.
    if workload.paused && running.is_some_and(|set| set.size == 0) {
        // A pin that named nothing is gone: another one took its place.
        let stored = workload.status.ours.target.clone();
        let mut record = stored.filter(|record| record.reason != reason::PIN_TARGET_MISSING)?;
        // Somebody may have aborted what had failed.
        if record.is_reverted() && reason::REVERTS.contains(&reason) {
            reason.clone_into(&mut record.reason);
        }
        return Some(record);
    }
    let hash = running.and_then(|set| set.labels.get(HASH_LABEL));
    let pin = decisions.view.workload().pin_in_force();
    Some(TargetRecord {
        revision: running.and_then(|set| revision::of(set).number()),
        hash: hash.or(pin.map(|pin| &pin.pod_template_hash)).cloned().unwrap_or_default(),
        reason: reason.to_owned(),
        declared_revision: decisions.revision().and_then(Revision::number),
    })
}

/// What runs, and why, in a sentence without its end.
pub(crate) fn words(decisions: &Decisions<'_>) -> Option<String> {
    record(decisions).map(|record| sentence(decisions.view.workload(), &record))
}

impl TargetRecord {
    /// What runs, and why, in a sentence without its end. The reason is that of the pin.
    #[must_use]
    pub fn sentence(&self, reason: Option<&str>) -> String {
        let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
        let hash = &self.hash;
        if self.reason == reason::PIN_TARGET_MISSING {
            return format!(
                "spec.pin.podTemplateHash {hash}{reason} matches no ReplicaSet of this Deployment: correct it, or \
                 remove spec.pin"
            );
        }
        let runs =
            self.revision.map_or_else(|| format!("ReplicaSet {hash}"), |number| format!("revision {number}"));
        let declared = self.declared_revision.map_or_else(String::new, |number| format!(" {number}"));
        let because = match self.reason.as_str() {
            reason::REVERTED => "which failed".to_owned(),
            reason::ABORTED => "which somebody aborted".to_owned(),
            _ => format!("because spec.pin names it{reason}"),
        };
        format!("{runs} runs instead of the declared revision{declared}, {because}")
    }

    /// Whether an earlier revision runs because the declared one failed, or because somebody aborted it.
    #[must_use]
    pub fn is_reverted(&self) -> bool {
        reason::REVERTS.contains(&self.reason.as_str())
    }

    /// Whether both report that the same ReplicaSet runs for the same reason. Who aborts what failed changes the words
    /// alone.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let is_why = self.reason == other.reason || self.is_reverted() && other.is_reverted();
        self.hash == other.hash && is_why
    }
}

fn sentence(workload: &Workload, record: &TargetRecord) -> String {
    record.sentence(workload.pin.as_ref().and_then(|pin| pin.reason.as_deref()))
}

/// The condition Progressing while another revision runs: the declared one makes no progress (S9.9, FP-12).
pub(crate) fn progressing(decisions: &Decisions<'_>, status: &Status) -> Option<Edit> {
    let situation = &decisions.course.situation;
    let (reason, words) = (situation.reason()?, words(decisions)?);
    if decisions.view.workload().progress_deadline_seconds.is_none() {
        return Some(Edit::Drop(condition::PROGRESSING));
    }
    let is_late = matches!(situation, Situation::Reverted(_)) && has_failed(decisions, status);
    let reason = if is_late { reason::REVERT_FAILED } else { reason };
    let mut new = Condition::new(condition::PROGRESSING, "False", reason, words, decisions.view.now);
    let known = status.condition(condition::PROGRESSING).filter(|known| known.reason == new.reason);
    match known {
        // What blocks it may stand behind the words.
        Some(known) if known.message.starts_with(&new.message) => None,
        Some(known) => {
            new.last_transition_time = known.last_transition_time;
            Some(Edit::Renew(Box::new(new)))
        }
        None => Some(Edit::Set(Box::new(new))),
    }
}

/// FP-8: whether the way back is not complete, although the deadline has passed since it began.
fn has_failed(decisions: &Decisions<'_>, status: &Status) -> bool {
    let known = status.condition(condition::PROGRESSING);
    let is_late = |known: &Condition| match known.reason.as_str() {
        reason::REVERT_FAILED => true,
        reason::ROLLED_BACK => {
            is_under_way(decisions) && late_at(decisions, known).is_some_and(|end| end <= decisions.view.now)
        }
        _ => false,
    };
    known.is_some_and(is_late) && !decisions.is_complete(status)
}

/// Whether the way back was not complete yet: a pod that is lost later is another matter.
fn is_under_way(decisions: &Decisions<'_>) -> bool {
    decisions.view.workload().status.ours.rollout.is_some()
}

fn late_at(decisions: &Decisions<'_>, progressing: &Condition) -> Option<Timestamp> {
    let deadline = decisions.view.workload().progress_deadline_seconds?;
    progressing.last_update_time?.checked_add(SignedDuration::from_secs(deadline)).ok()
}

/// When to look whether the way back has failed.
pub(crate) fn requeue(decisions: &Decisions<'_>, status: &Status) -> Requeue {
    let is_reverted = matches!(decisions.course.situation, Situation::Reverted(_))
        && is_under_way(decisions)
        && !decisions.is_complete(status);
    let known = status.condition(condition::PROGRESSING).filter(|known| known.reason == reason::ROLLED_BACK);
    let end = known.filter(|_| is_reverted).and_then(|known| late_at(decisions, known));
    end.map_or(Requeue::OnChange, Requeue::Deadline)
}

/// The declared revision runs again: its rollout begins without a condition, and so with a new deadline.
pub(crate) fn over(status: &Status, course: &Course, aim: &Aim) -> Option<Edit> {
    let known = status.condition(condition::PROGRESSING)?;
    let is_of_before = reason::NOT_ROLLED_OUT.contains(&known.reason.as_str());
    let is_held = matches!(aim.because, Because::Failed { .. } | Because::JobRefused(_));
    (is_of_before && course.situation.is_declared() && !is_held).then_some(Edit::Drop(condition::PROGRESSING))
}

/// What a status write reports of it, if that is new.
pub(crate) fn event(decisions: &Decisions<'_>, status: &Status) -> Option<Event> {
    let workload = decisions.view.workload();
    let cause =
        decisions.course.failure.cause.as_ref().map_or_else(String::new, |cause| format!(": {cause}"));
    let (before, after) = (workload.status.ours.target.as_ref(), status.ours.target.as_ref());
    let is_known = match (before, after) {
        (Some(before), Some(after)) => before.is_same(after),
        (before, after) => before.is_none() && after.is_none(),
    };
    if is_known {
        return revert_failed(workload, status);
    }
    Some(match after {
        Some(target) if target.reason == reason::PIN_TARGET_MISSING => {
            Event::warning(reason::PIN_TARGET_MISSING, sentence(workload, target))
        }
        Some(target) if target.is_reverted() => {
            let words = format!("{}{cause}{}", sentence(workload, target), unproven(decisions));
            Event::warning(reason::REVERTED, words)
        }
        Some(target) => Event::normal(reason::PINNED, sentence(workload, target)),
        // Another event reports that nothing is rolled out.
        None if decisions.is_held() => return None,
        None if before.is_some_and(TargetRecord::is_reverted) => {
            let message = "the revert has ended: the declared revision is rolled out".to_owned();
            Event::normal(reason::REVERT_ENDED, message)
        }
        None => {
            let message = "spec.pin is no longer in force: the declared revision is rolled out".to_owned();
            Event::normal(reason::PIN_RELEASED, message)
        }
    })
}

/// The newest revision that has pods, and does not run, since nobody knows that it is good.
fn unproven(decisions: &Decisions<'_>) -> String {
    let (course, sets) = (&decisions.course, decisions.view.sets);
    let has_pods = |index: &&usize| sets.counted.get(**index).is_some_and(|counted| counted.size > 0);
    let passed = course.bad.iter().filter(|index| Some(**index) != sets.declared).filter(has_pods);
    let numbers = passed.filter_map(|index| revision::of(sets.get(*index)?).number());
    numbers.max().map_or_else(String::new, |number| format!("; revision {number} is not known to be good"))
}

/// FP-8: the way back is late, and this status is the first to report it.
fn revert_failed(workload: &Workload, status: &Status) -> Option<Event> {
    let is_late = |status: &Status| {
        let progressing = status.condition(condition::PROGRESSING);
        progressing.is_some_and(|known| known.reason == reason::REVERT_FAILED)
    };
    let target = status.ours.target.as_ref().filter(|_| is_late(status) && !is_late(&workload.status))?;
    let seconds = workload.progress_deadline_seconds?;
    let message = format!(
        "{}; after {seconds} s (spec.progressDeadlineSeconds), not all of the pods that run instead are available",
        sentence(workload, target)
    );
    Some(Event::warning(reason::REVERT_FAILED, message))
}
