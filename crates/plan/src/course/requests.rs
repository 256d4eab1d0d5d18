//! What somebody asks of a revision by an annotation of the Deployment (FP-9, SP-6, rollwright.dev only):
//! [`RETRY`](crate::model::keys::RETRY) tries one that failed again, [`ABORT`](crate::model::keys::ABORT) gives one up,
//! and [`PROMOTE`](crate::model::keys::PROMOTE) takes one to another step. [`RESUME`](crate::model::keys::RESUME)
//! continues one after a restart (`held.rs`). This file reads the text; `advance.rs` takes the step.
//!
//! The text is `7`, or `7/` and anything, which makes it another request. That of a promotion is `7/` and the step. The
//! ReplicaSet remembers the last one, so that each is carried out once.

use crate::course::memory::{Memory, Proof};
use crate::model::keys::{ABORT, PROMOTE, RESUME, RETRY, condition, reason};
use crate::model::observed::{ReplicaSet, Workload};
use crate::model::revision;
use crate::model::status::Status;

/// How long a request may be: it is remembered.
const REQUEST_MAX: usize = 253;

/// The request about this revision.
pub(crate) fn asked(workload: &Workload, key: &str, revision: i64) -> Option<String> {
    let text = workload.annotations.get(key).filter(|text| text.len() <= REQUEST_MAX)?;
    let number = text.split_once('/').map_or(text.as_str(), |(number, _)| number);
    (number.parse() == Ok(revision)).then(|| text.clone())
}

impl Workload {
    /// Whether the status has yet to show the outcome of the request under this key of annotations,
    /// [`keys::RETRY`](crate::model::keys::RETRY), [`keys::ABORT`](crate::model::keys::ABORT),
    /// [`keys::PROMOTE`](crate::model::keys::PROMOTE), or [`keys::RESUME`](crate::model::keys::RESUME); `declared` is
    /// the declared ReplicaSet (FP-9, SP-6, HO-5). No request about another revision is due, nor one to retry what has
    /// not failed, to promote what is at no step, or to continue what is not held by the epoch that it names.
    #[must_use]
    pub fn is_request_due(&self, declared: &ReplicaSet, key: &str) -> bool {
        let Some(revision) = revision::of(declared).number() else { return false };
        let Some(text) = asked(self, key, revision) else { return false };
        let memory = Memory::valid(declared).unwrap_or_default();
        let has_failed = memory.shown == Proof::Failed;
        let reports_failure = self.status.reports_failure(revision);
        if key == ABORT {
            return memory.abort != Some(text) || memory.is_aborted && !reports_failure;
        }
        if key == PROMOTE {
            let running = self.status.ours.rollout.as_ref().filter(|record| record.revision == revision);
            let is_at_step = running.is_some_and(|record| record.step.is_some());
            return is_at_step && self.replicas > 0 && memory.promote != Some(text);
        }
        if key == RESUME {
            let stalled = self.status.condition(condition::STALLED);
            let is_held = stalled.is_some_and(|known| known.reason == reason::HELD_AFTER_RESTART);
            return is_held && declared.word_to_resume() == Some(text);
        }
        // Once the operator has handled the request, only another verdict ends the new try.
        reports_failure && !(has_failed && memory.retry == Some(text))
    }

    /// Whether there is a request about the declared revision, carried out or not (FP-9, SP-6).
    #[must_use]
    pub fn has_request(&self) -> bool {
        self.status.ours.revision.is_some_and(|it| {
            [ABORT, RETRY, PROMOTE, RESUME].iter().any(|key| asked(self, key, it).is_some())
        })
    }
}

impl Status {
    /// Whether it is reported that this revision, which is the declared one, failed (FP-6, FP-12).
    #[must_use]
    pub fn reports_failure(&self, revision: i64) -> bool {
        match &self.ours.target {
            Some(target) => target.is_reverted() && target.declared_revision == Some(revision),
            None => {
                let stalled = self.condition(condition::STALLED).filter(|stalled| stalled.status == "True");
                let is_held = stalled.is_some_and(|known| reason::HELD.contains(&known.reason.as_str()));
                is_held && self.ours.revision == Some(revision)
            }
        }
    }
}
