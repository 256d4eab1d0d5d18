//! Conditions and their setter (S9.7, S9.8).

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::model::keys::{condition, reason};
use crate::model::status::InHand;

/// One entry of `status.conditions`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Condition {
    /// What it is about.
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// One word for machines; foreign conditions may have none.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
    /// When it was last looked at with a result; absent in foreign conditions.
    pub last_update_time: Option<Timestamp>,
    /// When `status` last changed.
    pub last_transition_time: Option<Timestamp>,
    /// Fields of foreign conditions that the operator does not know.
    pub extra: Map<String, Value>,
}

impl Condition {
    /// A condition as of now, in whole seconds as the API stores times.
    #[must_use]
    pub fn new(kind: &str, status: &str, reason: &str, message: String, now: Timestamp) -> Self {
        let now = whole_seconds(now);
        Self {
            kind: kind.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message,
            last_update_time: Some(now),
            last_transition_time: Some(now),
            extra: Map::new(),
        }
    }

    /// Sets this condition: nothing happens when status and reason are as they were; a changed one
    /// moves to the end and keeps its transition time when the status is the same (S9.7).
    pub fn set_in(mut self, conditions: &mut Vec<Self>) {
        if has_condition(conditions, &self.kind, &self.status, &self.reason) {
            return;
        }
        let old = conditions.iter().find(|old| old.kind == self.kind);
        if let Some(old) = old.filter(|old| old.status == self.status) {
            self.last_transition_time = old.last_transition_time;
        }
        conditions.retain(|old| old.kind != self.kind);
        conditions.push(self);
    }

    /// The same, except that a condition that reports this already gets this message. Its times and its place stay.
    pub(crate) fn say_in(self, conditions: &mut Vec<Self>) {
        let is_it =
            |old: &&mut Self| old.kind == self.kind && old.status == self.status && old.reason == self.reason;
        match conditions.iter_mut().find(is_it) {
            Some(old) => old.message = self.message,
            None => self.set_in(conditions),
        }
    }
}

/// Whether the condition of a type has this status and reason already; its message may be another one.
pub(crate) fn has_condition(conditions: &[Condition], kind: &str, status: &str, reason: &str) -> bool {
    let old = conditions.iter().find(|old| old.kind == kind);
    old.is_some_and(|old| old.status == status && old.reason == reason)
}

/// What a rule does to the conditions. The order of edits shows in the status, so they are folded in
/// one place (`report.rs`).
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Edit {
    /// As [`Condition::set_in`] does it.
    Set(Box<Condition>),
    /// As [`Condition::say_in`] does it.
    Say(Box<Condition>),
    /// As of now, even if it repeats what it reported before.
    Renew(Box<Condition>),
    /// The condition of this type goes.
    Drop(&'static str),
}

impl Edit {
    /// Only a status that changes is copied.
    pub(crate) fn apply(self, status: &mut InHand<'_>) {
        match self {
            Self::Set(new) if has_condition(&status.conditions, &new.kind, &new.status, &new.reason) => {}
            Self::Set(new) => new.set_in(&mut status.edit().conditions),
            Self::Say(new)
                if has_condition(&status.conditions, &new.kind, &new.status, &new.reason)
                    && status.condition(&new.kind).is_some_and(|old| old.message == new.message) => {}
            Self::Say(new) => new.say_in(&mut status.edit().conditions),
            Self::Renew(new) => {
                let conditions = &mut status.edit().conditions;
                conditions.retain(|old| old.kind != new.kind);
                conditions.push(*new);
            }
            Self::Drop(kind) => drop_condition(status, kind),
        }
    }
}

/// Takes a condition out, if it is there: only then is the status copied.
pub(crate) fn drop_condition(status: &mut InHand<'_>, kind: &str) {
    if status.condition(kind).is_some() {
        status.edit().conditions.retain(|entry| entry.kind != kind);
    }
}

/// Available, always present after a status was computed (S9.8).
pub(crate) fn refresh_available(status: &mut InHand<'_>, available: bool, now: Timestamp) {
    let (value, reason, message) = if available {
        ("True", reason::MINIMUM_REPLICAS_AVAILABLE, "Deployment has minimum availability.")
    } else {
        ("False", reason::MINIMUM_REPLICAS_UNAVAILABLE, "Deployment does not have minimum availability.")
    };
    // Most reconciles change nothing: then nothing is made.
    if !has_condition(&status.conditions, condition::AVAILABLE, value, reason) {
        let new = Condition::new(condition::AVAILABLE, value, reason, message.to_owned(), now);
        new.set_in(&mut status.edit().conditions);
    }
}

/// The time without its fraction, as `metav1.Time` stores it.
#[must_use]
pub(crate) fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}
