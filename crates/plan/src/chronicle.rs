//! When the record of a rollout opens and closes (our kind).
//!
//! A record opens in the status write that reports a new revision, and closes in the one that reports the end.
//! Neither causes a write: what is noted here joins a status that is written anyway. So a record is there
//! exactly if its write succeeded, whichever process restarted in between. No decision reads it.

use jiff::Timestamp;

use crate::blocked;
use crate::conditions::whole_seconds;
use crate::decisions::Decisions;
use crate::keys::{CHANGE_CAUSE, CHANGED_BY, HASH_LABEL, condition, reason};
use crate::observed::Workload;
use crate::record::{Author, ID_MAX, LastScale, Outcome, RECORDS_MAX, Record, Scaler};
use crate::revision::Revision;
use crate::status::Status;
use crate::trigger::Trigger;
use crate::why::Why;

/// What a status write adds beside the status.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    /// Records that close, oldest first.
    pub(crate) ended: Vec<Record>,
    pub(crate) last_scale: Option<LastScale>,
}

/// Brings a status that is about to be written up to date.
pub(crate) fn note(decisions: &Decisions<'_>, why: &Why, status: &mut Status) -> Noted {
    let workload = &decisions.observed.workload;
    let now = whole_seconds(decisions.now);
    let mut ended = Vec::new();
    let before = workload.status.ours.revision;
    let opened = status.ours.revision.filter(|revision| before.is_none_or(|before| *revision > before));
    if let Some(revision) = opened {
        let next = opening(decisions, revision, status, now);
        if let Some(running) = status.ours.rollout.take() {
            let is_rollback = next.trigger == Some(Trigger::Rollback);
            let outcome = if is_rollback { Outcome::Cancelled } else { Outcome::Superseded };
            ended.push(running.ended(now, outcome, None));
        }
        status.ours.rollout = Some(Box::new(next));
    }
    let counts = (status.available_replicas, status.replicas);
    if let Some(running) = &mut status.ours.rollout {
        running.tally(counts.0, counts.1);
    }
    if let Some(outcome) = outcome(decisions, status, opened.is_some())
        && let Some(running) = status.ours.rollout.take()
    {
        let late = || (reason::PROGRESS_DEADLINE_EXCEEDED, why.to_string());
        let failed = (outcome == Outcome::Failed)
            .then(|| blocked::heaviest(&status.ours.blockers).unwrap_or_else(late));
        ended.push(running.ended(now, outcome, failed));
    }
    head(status, &ended);
    Noted { last_scale: scaled(workload, status, now), ended }
}

/// The record of a rollout that begins.
fn opening(decisions: &Decisions<'_>, revision: i64, status: &Status, now: Timestamp) -> Record {
    let workload = &decisions.observed.workload;
    let (history, running) = (&status.ours.history, status.ours.rollout.as_deref());
    let trigger = trigger(decisions, status);
    let author = if trigger == Trigger::Rollback {
        status.ours.rollback.as_ref().and_then(|record| record.author.clone())
    } else {
        Author::with_user(workload.authors.template.clone(), workload.annotations.get(CHANGED_BY))
    };
    let declared = decisions.sets.declared().and_then(|set| set.labels.get(HASH_LABEL));
    let created = decisions.creation.as_ref().map(|creation| &creation.set.hash);
    let last = running.map_or(0, |record| record.id).max(history.id).min(ID_MAX - 1);
    let record = Record {
        id: last + 1,
        revision,
        hash: declared.or(created).cloned().unwrap_or_default(),
        from: workload.status.ours.revision,
        trigger: Some(trigger),
        author,
        cause: workload.annotations.get(CHANGE_CAUSE).cloned(),
        started: Some(now),
        lowest_available: status.available_replicas,
        highest_pods: status.replicas,
        outline: Some(workload.template.outline),
        ..Record::default()
    };
    record.with_images(&workload.template.containers, &workload.template.images).bounded()
}

fn trigger(decisions: &Decisions<'_>, status: &Status) -> Trigger {
    let (history, running) = (&status.ours.history, status.ours.rollout.as_deref());
    let last_start = running.map_or(history.started, |record| record.started);
    if is_rollback(decisions, status, last_start) {
        return Trigger::Rollback;
    }
    let last = running.map_or(history.outline, |record| record.outline);
    let outline = decisions.observed.workload.template.outline;
    last.map_or(Trigger::TemplateChanged, |last| Trigger::between(last, outline))
}

/// Whether a rollback put the template here, after the last rollout began.
fn is_rollback(decisions: &Decisions<'_>, status: &Status, last_start: Option<Timestamp>) -> bool {
    let Some(record) = &status.ours.rollback else { return false };
    let Some(last) = record.recent.last().filter(|_| record.result == "RolledBack") else { return false };
    let is_after = |last_start| record.time.parse::<Timestamp>().is_ok_and(|time| time >= last_start);
    let declared = decisions.sets.declared();
    let carries =
        || declared.is_some_and(|set| set.fingerprints.iter().any(|known| known.as_str() == last.to));
    last_start.is_none_or(is_after)
        && (decisions.observed.workload.template.fingerprint.as_str() == last.to || carries())
}

/// How the running rollout ends with this status, if it does.
fn outcome(decisions: &Decisions<'_>, status: &Status, is_new: bool) -> Option<Outcome> {
    status.ours.rollout.as_ref()?;
    let Workload { replicas, generation, .. } = decisions.observed.workload;
    // The status is about the declared ReplicaSet. That may have a lower revision than what began, if somebody
    // deleted one.
    let declared = decisions.revision().and_then(Revision::number);
    if declared.is_some() && declared == status.ours.revision && status.is_complete(replicas, generation) {
        return Some(Outcome::Succeeded);
    }
    let progressing = status.condition(condition::PROGRESSING);
    let is_late = progressing.is_some_and(|known| known.reason == reason::PROGRESS_DEADLINE_EXCEEDED);
    (is_late && !is_new).then_some(Outcome::Failed)
}

/// What is kept of the history, once these are added.
fn head(status: &mut Status, ended: &[Record]) {
    let history = &mut status.ours.history;
    history.length = (history.records() + ended.len()).min(RECORDS_MAX);
    history.odd.clear();
    if let Some(newest) = ended.last() {
        (history.id, history.outline, history.started) = (newest.id, newest.outline, newest.started);
    }
}

/// A change of `spec.replicas` that this status is the first to report. The number before stands in the column
/// READY, which is written with every count.
fn scaled(workload: &Workload, status: &Status, now: Timestamp) -> Option<LastScale> {
    let desired = |status: &Status| status.ours.ready.as_deref()?.split_once('/')?.1.parse::<i64>().ok();
    let (from, to) = (desired(&workload.status)?, desired(status)?);
    let by = workload.authors.replicas.clone().unwrap_or_default();
    (from != to).then(|| LastScale { from, to, by: Scaler { at: by.at.or(Some(now)), ..by } })
}
