//! Ready, Reconciling, and Stalled: the rollout in the three conditions that `kstatus` reads, and with it
//! Helm, Flux, and kpt (rollwright.dev only).
//!
//! Exactly one of the three is True. Ready is always present. The other two are present only while they
//! hold, as kstatus expects of conditions that report a problem. They follow from the rest of the status
//! and never cause a write: they are part of the writes that happen anyway.

use std::fmt;

use jiff::Timestamp;

use crate::course::situation::Situation;
use crate::model::conditions::{Condition, drop_condition, has_condition};
use crate::model::keys::{condition, reason};
use crate::model::observed::Workload;
use crate::model::status::{InHand, Status};

/// Where the rollout stands, with the words for it.
pub(crate) struct Standing<'a> {
    kind: Kind,
    reason: &'static str,
    message: Message<'a>,
}

/// The server's refusal of a ReplicaSet.
#[derive(Clone, Copy)]
pub(crate) struct Refused<'a> {
    /// What is reported of it.
    pub(crate) text: &'a str,
    /// Whether it stands for as long as the ReplicaSet is described like this.
    pub(crate) is_final: bool,
}

/// Text that is made when somebody needs it: mostly the status has it already.
enum Message<'a> {
    Written(String),
    Of(&'a dyn fmt::Display),
}

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Written(text) => f.write_str(text),
            Self::Of(other) => other.fmt(f),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// All pods are of the current template, and available.
    Ready,
    /// On the way there, or paused: more will come of it, now or once somebody resumes.
    Reconciling,
    /// Nothing more will come of it before somebody changes something.
    Stalled,
}

const COMPLETE: &str = "All pods are of the current template, and available.";

/// The conditions that hold while somebody has to do something, whatever the pods are like.
const OBSTACLES: [&str; 2] = [condition::COLLISION_LIMIT_REACHED, condition::ROLLBACK_REFUSED];

impl<'a> Standing<'a> {
    /// What a reconcile makes of the status that it is about to write. `is_complete` is whether the rollout of the
    /// template is; `why` is what the reconcile waits for.
    pub(crate) fn of(
        status: &Status,
        workload: &Workload,
        is_complete: bool,
        why: &'a dyn fmt::Display,
    ) -> Self {
        match obstacle(status) {
            // The user who paused it knows; a paused rollout has not failed.
            _ if workload.paused && !is_complete => {
                return Self::reconciling(reason::DEPLOYMENT_PAUSED, why);
            }
            Some((reason, message)) if !workload.paused => {
                return Self::stalled(reason, Message::Written(message));
            }
            _ => {}
        }
        if is_complete {
            return Self {
                kind: Kind::Ready,
                reason: reason::ROLLOUT_COMPLETE,
                message: Message::Of(&COMPLETE),
            };
        }
        let progressing = status.condition(condition::PROGRESSING);
        match progressing.filter(|known| known.reason == reason::PROGRESS_DEADLINE_EXCEEDED) {
            Some(late) => {
                let message = format!("{} Since then: {why}.", late.message);
                Self::stalled(reason::PROGRESS_DEADLINE_EXCEEDED, Message::Written(message))
            }
            None => Self::reconciling(reason::ROLLOUT_IN_PROGRESS, why),
        }
    }

    /// The rollout waits for a rollout slot.
    pub(crate) fn queued(words: &'a dyn fmt::Display) -> Self {
        Self::reconciling(reason::QUEUED, words)
    }

    /// Whether somebody has to act, whatever the pods are like.
    pub(crate) fn is_blocked(status: &Status) -> bool {
        obstacle(status).is_some()
    }

    /// The rollout waits, for one of the reasons [`reason::RESTING`] (SP-8, GA-4).
    pub(crate) fn resting(reason: &'static str, words: &'a dyn fmt::Display) -> Self {
        Self::reconciling(reason, words)
    }

    /// Nothing is done about a Deployment without a selector.
    pub(crate) fn selecting_all(why: &'a dyn fmt::Display) -> Self {
        Self::stalled(reason::SELECTING_ALL, Message::Of(why))
    }

    /// Another revision runs than the declared one (FP-12).
    pub(crate) fn diverged(
        situation: &Situation,
        is_paused: bool,
        why: &'a dyn fmt::Display,
    ) -> Option<Self> {
        let reason = situation.reason()?;
        Some(match situation {
            Situation::Pinned(_) | Situation::Reverted(_) if is_paused => {
                Self::reconciling(reason::DEPLOYMENT_PAUSED, why)
            }
            _ => Self::stalled(reason, Message::Of(why)),
        })
    }

    /// The declared revision, or the gate at its step, failed, and somebody has to act (FP-6, GA-7).
    pub(crate) fn failed(reason: &'static str, why: &'a dyn fmt::Display) -> Self {
        Self::stalled(reason, Message::Of(why))
    }

    /// A newer operator decided what runs.
    pub(crate) fn newer_spec(why: &'a dyn fmt::Display) -> Self {
        Self::stalled(reason::NEWER_SPEC, Message::Of(why))
    }

    /// The server refused the new ReplicaSet. It may take it later, unless that is final; after the deadline
    /// nobody expects that any more.
    pub(crate) fn of_refusal(
        status: &Status,
        workload: &Workload,
        refusal: &'a Refused<'_>,
        now: Timestamp,
    ) -> Self {
        let progressing = status.condition(condition::PROGRESSING);
        let is_late = |deadline| progressing.is_some_and(|known| known.is_timed_out(deadline, now));
        if refusal.is_final || workload.progress_deadline_seconds.is_some_and(is_late) {
            return Self::stalled(reason::REPLICA_SET_CREATE_ERROR, Message::Of(&refusal.text));
        }
        Self::of(status, workload, false, &refusal.text)
    }

    fn reconciling(reason: &'static str, why: &'a dyn fmt::Display) -> Self {
        Self { kind: Kind::Reconciling, reason, message: Message::Of(why) }
    }

    fn stalled(reason: &'static str, message: Message<'a>) -> Self {
        Self { kind: Kind::Stalled, reason, message }
    }

    /// Sets the conditions. Where status and reason stay, so does the message: another one is no
    /// reason to write.
    pub(crate) fn note(&self, of: &mut InHand<'_>, now: Timestamp) {
        self.put(of, condition::READY, self.kind == Kind::Ready, now);
        for (name, kind) in [(condition::RECONCILING, Kind::Reconciling), (condition::STALLED, Kind::Stalled)]
        {
            if self.kind == kind {
                self.put(of, name, true, now);
            } else {
                drop_condition(of, name);
            }
        }
    }

    /// In its old place, so that the order of conditions stays as it was.
    fn put(&self, of: &mut InHand<'_>, kind: &str, holds: bool, now: Timestamp) {
        let status = if holds { "True" } else { "False" };
        if has_condition(&of.conditions, kind, status, self.reason) {
            return;
        }
        let conditions = &mut of.edit().conditions;
        let mut new = Condition::new(kind, status, self.reason, self.message.to_string(), now);
        match conditions.iter_mut().find(|entry| entry.kind == kind) {
            Some(old) => {
                if old.status == new.status {
                    new.last_transition_time = old.last_transition_time;
                }
                *old = new;
            }
            None => conditions.push(new),
        }
    }

    /// Brings the messages up to date, in a status that is written anyway.
    pub(crate) fn reword(&self, conditions: &mut [Condition]) {
        let ours = [condition::READY, condition::RECONCILING, condition::STALLED];
        for entry in conditions.iter_mut().filter(|entry| ours.contains(&entry.kind.as_str())) {
            entry.message = self.message.to_string();
        }
    }
}

/// A condition that asks for an action, and the action.
fn obstacle(status: &Status) -> Option<(&'static str, String)> {
    let stands = |kind: &&str| status.condition(kind).filter(|entry| entry.status == "True");
    let entry = OBSTACLES.iter().find_map(stands)?;
    let reason = if entry.kind == condition::ROLLBACK_REFUSED {
        reason::ROLLBACK_REPEATED
    } else {
        reason::HASH_COLLISION
    };
    Some((reason, entry.message.clone()))
}
