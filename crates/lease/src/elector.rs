//! The state machine: what to send next, and whether this replica holds the lease.
//!
//! It works as client-go's `LeaderElector` (`tryAcquireOrRenew`), with two differences:
//!
//! - The time of a renewal is when its request was *sent*, not when the answer came. Others see the
//!   new record after that moment, never before, so a holder's leadership ends before any other replica's wait
//!   does, however slow the server is.
//! - A candidate also checks when the lease expires, and not only when a jittered retry period is
//!   over; and the caller may pass it what a watch shows ([`Elector::observe`]). Both only make it earlier.

use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::record::{Record, micro_time};
use crate::timings::{JITTER_FACTOR, Timings};

/// A released lease lasts a second, as client-go's does.
const RELEASED_SECONDS: i64 = 1;

/// What the caller does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Todo {
    /// Send this, and report the outcome by [`Elector::answered`].
    Send(Request),
    /// Nothing before this time.
    Sleep(Instant),
    /// Nothing any more: this candidate has resigned.
    Done,
}

/// A request about the Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Read it.
    Read,
    /// Create it.
    Create(Record),
    /// Replace its spec if it still is in this version.
    Replace {
        /// `metadata.resourceVersion` that the replacement is made for.
        version: String,
        /// The new spec.
        record: Record,
    },
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The Lease as it is now: read, or as it was written.
    Lease {
        /// `metadata.resourceVersion`.
        version: String,
        /// Its spec.
        record: Record,
    },
    /// There is none.
    Missing,
    /// Refused, or nobody knows: no answer, a conflict, an error.
    Failed,
}

/// This candidate holds the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lead {
    /// Counts the terms of this candidate, from 1. Another number means that somebody else may have held the lease
    /// between.
    pub term: u64,
    /// Until then this candidate may write: the renew deadline after the last renewal.
    pub until: Instant,
    /// Until then nobody else takes it.
    pub expires: Instant,
}

/// The Lease as last seen to change, and when.
#[derive(Clone, Debug)]
struct Seen {
    version: String,
    record: Record,
    at: Instant,
}

/// What the last request was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Nothing is under way; the next attempt is due at the time that is noted.
    Idle,
    /// A holder renews by the version that it knows.
    Renew,
    /// Read the Lease.
    Look,
    /// Take or renew the Lease, which has been read.
    Take,
    /// Create the Lease, which does not exist.
    Make,
}

/// A candidate, or the holder.
#[derive(Clone, Debug)]
pub struct Elector {
    identity: String,
    timings: Timings,
    seen: Option<Seen>,
    /// When the request of the last renewal was sent, while this candidate holds the lease.
    renewed: Option<Instant>,
    term: u64,
    step: Step,
    is_waiting: bool,
    is_resigning: bool,
    due: Option<Instant>,
}

impl Elector {
    /// A candidate with a name that no other has, not even after a restart.
    #[must_use]
    pub fn new(identity: String, timings: Timings) -> Self {
        Self {
            identity,
            timings,
            seen: None,
            renewed: None,
            term: 0,
            step: Step::Idle,
            is_waiting: false,
            is_resigning: false,
            due: None,
        }
    }

    /// Who holds the lease, if this candidate knows; `None` for nobody.
    #[must_use]
    pub fn holder(&self) -> Option<&str> {
        self.seen.as_ref().map(|seen| seen.record.holder.as_str()).filter(|holder| !holder.is_empty())
    }

    /// The lead of this candidate, if it holds the lease at this time.
    #[must_use]
    pub fn lead(&self, now: Instant) -> Option<Lead> {
        let renewed = self.renewed?;
        let (until, expires) = (renewed + self.timings.renew(), renewed + self.timings.lease());
        (now < until).then_some(Lead { term: self.term, until, expires })
    }

    /// What to do now. `wall` is what goes into the Lease; `chance`, from 0 to 1, is where in the
    /// jitter a candidate's next attempt falls.
    pub fn next(&mut self, now: Instant, wall: Timestamp, chance: f64) -> Todo {
        if self.is_resigning {
            return self.next_of_resignation(wall);
        }
        if self.renewed.is_some() && self.lead(now).is_none() {
            // Nobody knows the outcome of the last attempts: the next one has to read who leads.
            self.renewed = None;
        }
        if self.step == Step::Idle {
            if let Some(due) = self.due.filter(|due| now < *due) {
                let lapse = self.lead(now).map(|lead| lead.until);
                return Todo::Sleep(lapse.map_or(due, |lapse| due.min(lapse)));
            }
            self.step = if self.renewed.is_some() { Step::Renew } else { Step::Look };
        }
        self.due = Some(now + self.pause(chance));
        self.is_waiting = true;
        Todo::Send(self.request(wall))
    }

    /// Time until the next attempt: a holder's is steady, a candidate's is spread.
    fn pause(&self, chance: f64) -> Duration {
        let retry = self.timings.retry();
        if self.renewed.is_some() {
            retry
        } else {
            retry.mul_f64(1.0 + JITTER_FACTOR * chance.clamp(0.0, 1.0))
        }
    }

    fn request(&mut self, wall: Timestamp) -> Request {
        match (self.step, &self.seen) {
            (Step::Renew | Step::Take, Some(seen)) => {
                Request::Replace { version: seen.version.clone(), record: self.successor(&seen.record, wall) }
            }
            (Step::Make, _) => Request::Create(self.successor(&Record::default(), wall)),
            _ => {
                self.step = Step::Look;
                Request::Read
            }
        }
    }

    /// The record with this candidate as holder.
    fn successor(&self, old: &Record, wall: Timestamp) -> Record {
        let now = Some(micro_time(wall));
        let is_ours = old.holder == self.identity;
        let is_new = self.step == Step::Make;
        Record {
            holder: self.identity.clone(),
            duration_seconds: i64::try_from(self.timings.lease().as_secs()).unwrap_or(i64::MAX),
            acquired: if is_ours { old.acquired.clone() } else { now.clone() },
            renewed: now,
            transitions: if is_ours || is_new { old.transitions } else { old.transitions.saturating_add(1) },
        }
    }

    /// Takes the outcome of the request that was sent at `sent`; it is `now`.
    pub fn answered(&mut self, sent: Instant, now: Instant, reply: Reply) {
        self.is_waiting = false;
        let step = std::mem::replace(&mut self.step, Step::Idle);
        match (step, reply) {
            (Step::Look, Reply::Lease { version, record }) => self.looked(version, record, now),
            (Step::Look, Reply::Missing) => {
                self.seen = None;
                self.step = if self.is_resigning { Step::Idle } else { Step::Make };
            }
            (Step::Renew | Step::Take | Step::Make, Reply::Lease { version, record }) => {
                self.wrote(version, record, sent, now);
            }
            // As client-go: the next step, within the same attempt, reads again what the holder believed to know.
            (Step::Renew, Reply::Missing | Reply::Failed) => self.step = Step::Look,
            (Step::Take, Reply::Missing | Reply::Failed) if self.is_resigning => self.step = Step::Look,
            _ => {}
        }
    }

    fn looked(&mut self, version: String, record: Record, now: Instant) {
        let is_ours = record.holder == self.identity;
        let expiry = self.note(version, record, now);
        if !is_ours {
            // Somebody has taken the lease.
            self.renewed = None;
        }
        if is_ours || (now >= expiry && !self.is_resigning) {
            self.step = Step::Take;
        } else {
            self.due = self.due.map(|due| due.min(expiry));
        }
    }

    /// Remembers the Lease as it was seen; returns when it is free.
    fn note(&mut self, version: String, record: Record, now: Instant) -> Instant {
        // Only a changed record is a sign of life, not a changed label.
        let at = match &self.seen {
            Some(seen) if seen.record == record => seen.at,
            _ => now,
        };
        let expiry = if record.holder.is_empty() { now } else { at + record.duration() };
        self.seen = Some(Seen { version, record, at });
        expiry
    }

    /// A watch has shown this at the given time. It may lag, and leave things out: all that follows
    /// is when the next attempt is due. To be called between two attempts.
    pub fn observe(&mut self, at: Instant, shown: Reply) {
        match shown {
            Reply::Lease { record, .. } if record.holder == self.identity => {}
            Reply::Lease { version, record } if self.renewed.is_none() && self.step == Step::Idle => {
                let expiry = self.note(version, record, at);
                self.due = self.due.map(|due| due.min(expiry));
            }
            // The lease was taken by somebody else, or is gone.
            Reply::Lease { .. } | Reply::Missing => self.due = None,
            Reply::Failed => {}
        }
    }

    fn wrote(&mut self, version: String, record: Record, sent: Instant, now: Instant) {
        if record.holder == self.identity {
            if self.renewed.is_none() {
                self.term += 1;
            }
            self.renewed = Some(sent);
        } else {
            self.renewed = None;
        }
        self.seen = Some(Seen { version, record, at: now });
    }

    /// Gives the lease back if this candidate has it. To be called when nothing is done under it any more; the
    /// candidate does not lead from now on. An unanswered request is as if it had never been sent: [`Self::next`]
    /// returns what follows.
    pub fn resign(&mut self) {
        let is_ours = self.renewed.is_some() || self.holder() == Some(self.identity.as_str());
        self.is_resigning = true;
        self.renewed = None;
        // What an unanswered request came to has to be read.
        self.step = if is_ours || self.is_waiting { Step::Look } else { Step::Idle };
    }

    fn next_of_resignation(&mut self, wall: Timestamp) -> Todo {
        match (self.step, &self.seen) {
            (Step::Look, _) => Todo::Send(Request::Read),
            (Step::Take, Some(seen)) if seen.record.holder == self.identity => {
                let now = Some(micro_time(wall));
                let record = Record {
                    holder: String::new(),
                    duration_seconds: RELEASED_SECONDS,
                    acquired: now.clone(),
                    renewed: now,
                    transitions: seen.record.transitions,
                };
                Todo::Send(Request::Replace { version: seen.version.clone(), record })
            }
            _ => Todo::Done,
        }
    }
}

#[cfg(test)]
mod tests;
