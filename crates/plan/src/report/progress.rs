//! How the rollout goes: complete, progressing, or past its deadline (S9.9–S9.16).

use jiff::{SignedDuration, Timestamp};

use crate::course::Course;
use crate::course::criteria::is_before;
use crate::decide::decisions::Decisions;
use crate::model::action::Requeue;
use crate::model::conditions::{Condition, Edit};
use crate::model::durations::DEADLINE_MARGIN;
use crate::model::keys::{condition, reason};
use crate::model::observed::Workload;
use crate::model::status::Status;

/// The condition Progressing of a reconcile of a strategy (S9.9, S9.11). `old` is the status in hand, `new` the same
/// with counters.
pub(crate) fn estimated(decisions: &Decisions<'_>, old: &Status, new: &Status) -> Option<Edit> {
    let (workload, now) = (decisions.view.workload(), decisions.view.now);
    let Some(deadline) = workload.progress_deadline_seconds else {
        return Some(Edit::Drop(condition::PROGRESSING));
    };
    let known = old.condition(condition::PROGRESSING);
    let was_done = known.is_some_and(|known| known.reason == reason::NEW_REPLICA_SET_AVAILABLE);
    let is_another = known.is_some_and(|known| is_about_another(decisions, known));
    if was_done && !is_another && !decisions.has_step_ahead() && new.replicas == new.updated_replicas {
        return None;
    }
    let condition = |status: &str, reason: &str, message: &str| {
        let message = match decisions.declared_name() {
            Some(set) => format!("ReplicaSet \"{set}\" {message}"),
            None => format!("Deployment \"{}\" {message}", workload.name),
        };
        Box::new(Condition::new(condition::PROGRESSING, status, reason, message, now))
    };
    // SP-8: the deadline starts again after a wait at a step, and for a rollout that was complete and has a step ahead
    // again.
    let begins =
        is_another || known.is_some_and(Condition::stands_still) || was_done && decisions.has_step_ahead();
    if decisions.is_complete(new) {
        let reason = reason::NEW_REPLICA_SET_AVAILABLE;
        Some(Edit::Set(condition("True", reason, "has successfully progressed.")))
    } else if is_progress(workload, old, new) || begins {
        let mut moving = condition("True", reason::REPLICA_SET_UPDATED, "is progressing.");
        // S9.11b: replaced even when the reason is the same, so that its time moves on.
        if let Some(known) = known.filter(|known| known.status == "True") {
            moving.last_transition_time = known.last_transition_time;
        }
        Some(Edit::Renew(moving))
    } else if known.is_some_and(|known| known.is_timed_out(deadline, now)) {
        let reason = reason::PROGRESS_DEADLINE_EXCEEDED;
        Some(Edit::Set(condition("False", reason, "has timed out progressing.")))
    } else {
        None
    }
}

/// S9.14: whether the report names a ReplicaSet while the declared one does not exist yet, because under Recreate old pods
/// end first (rollwright.dev).
fn is_about_another(decisions: &Decisions<'_>, known: &Condition) -> bool {
    let names_a_set = || ["ReplicaSet \"", "replica set \""].iter().any(|text| known.message.contains(text));
    // To search a text costs the most.
    decisions.view.observed.flavour.has_status_extras()
        && decisions.declared_name().is_none()
        && names_a_set()
}

/// When to look whether the deadline has passed (S9.15). What is pinned does not become late (FP-11), nor what was
/// complete (S9.11): it must not hide the end of a bake.
pub(crate) fn requeue(decisions: &Decisions<'_>, status: &Status) -> Requeue {
    let workload = decisions.view.workload();
    let is_timed = status.awaits_deadline() || decisions.course.due.is_none();
    let is_timed = is_timed && decisions.course.situation.is_declared();
    let deadline = workload.progress_deadline_seconds.filter(|_| is_timed && !decisions.is_complete(status));
    deadline.map_or(Requeue::OnChange, |deadline| status.requeue_after(deadline, decisions.view.now))
}

/// FP-9, FP-5: the deadline of a retried revision restarts, also after an outage.
pub(crate) fn retried(status: &Status, course: &Course) -> Option<Edit> {
    let known = status.condition(condition::PROGRESSING)?;
    let is_timed = known.reason == reason::PROGRESS_DEADLINE_EXCEEDED || known.status == "True";
    let counts = known.reason != reason::NEW_REPLICA_SET_AVAILABLE;
    (is_timed && counts && is_before(known, course.retried)).then_some(Edit::Drop(condition::PROGRESSING))
}

/// S9.11b; under a failure policy, only what there never was before is progress (FP-3).
fn is_progress(workload: &Workload, old: &Status, new: &Status) -> bool {
    match (&new.ours.marks, &old.ours.marks) {
        (Some(marks), Some(known)) if workload.failure_policy.is_some() => marks.improve(Some(known)),
        _ => new.is_better_than(old),
    }
}

impl Condition {
    /// Whether the rollout waits at a step, or is held, this being Progressing. Once it continues, the deadline restarts
    /// (SP-8, HO-3).
    fn stands_still(&self) -> bool {
        reason::RESTING.contains(&self.reason.as_str())
    }

    /// Whether the deadline has passed without progress, this being Progressing (S9.12).
    #[must_use]
    pub fn is_timed_out(&self, deadline: i64, now: Timestamp) -> bool {
        match self.reason.as_str() {
            reason::NEW_REPLICA_SET_AVAILABLE => false,
            _ if self.stands_still() => false,
            held if reason::NOT_ROLLED_OUT.contains(&held) => false,
            reason::PROGRESS_DEADLINE_EXCEEDED => true,
            _ => after_deadline(self, deadline).is_some_and(|end| end < now),
        }
    }
}

/// When the deadline passes that began with a condition's last update.
///
/// A condition without a readable time is as old as time itself, as upstream's zero time.
fn after_deadline(condition: &Condition, deadline: i64) -> Option<Timestamp> {
    let began = condition.last_update_time.unwrap_or(Timestamp::MIN);
    began.checked_add(SignedDuration::from_secs(deadline)).ok()
}

impl Status {
    /// Whether something got better since an earlier status (S9.11b).
    #[must_use]
    pub fn is_better_than(&self, old: &Self) -> bool {
        self.updated_replicas > old.updated_replicas
            || self.replicas - self.updated_replicas < old.replicas - old.updated_replicas
            || self.ready_replicas > old.ready_replicas
            || self.available_replicas > old.available_replicas
    }

    /// Whether a rollout can become late: one that was complete does not (S9.11), however long a pod of it is missing.
    #[must_use]
    pub fn awaits_deadline(&self) -> bool {
        let progressing = self.condition(condition::PROGRESSING);
        progressing.is_none_or(|known| known.reason != reason::NEW_REPLICA_SET_AVAILABLE)
    }

    /// When to look again although nothing changes: just after the deadline of a rollout that is not complete (S9.15).
    #[must_use]
    pub fn requeue_after(&self, deadline: i64, now: Timestamp) -> Requeue {
        let Some(condition) = self.condition(condition::PROGRESSING) else { return Requeue::OnChange };
        let is_late = condition.reason == reason::PROGRESS_DEADLINE_EXCEEDED;
        if is_late || condition.stands_still() {
            return Requeue::OnChange;
        }
        let Some(end) = after_deadline(condition, deadline) else { return Requeue::OnChange };
        if !end.checked_sub(DEADLINE_MARGIN).is_ok_and(|last| now <= last) {
            return Requeue::Again;
        }
        end.checked_add(DEADLINE_MARGIN).map_or(Requeue::OnChange, Requeue::Deadline)
    }
}
