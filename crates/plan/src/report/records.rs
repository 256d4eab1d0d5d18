//! When the record of a rollout opens and closes (rollwright.dev).
//!
//! A record opens in the status write that reports a new revision, and closes in the one that reports the end.
//! Neither causes a write, except the end of a revert or of a pin ([`closes`]): what is noted here joins a status that
//! is written anyway. So a record is there exactly if its write succeeded, whichever process restarted in between.
//! Decisions read whether a record is open (`target.rs`), and nothing else of it.

use jiff::Timestamp;

use crate::decide::decisions::Decisions;
use crate::model::conditions::whole_seconds;
use crate::model::keys::{CHANGE_CAUSE, CHANGED_BY, HASH_LABEL, condition, reason};
use crate::model::observed::{ReplicaSet, Workload};
use crate::model::record::{Author, HistoryHead, ID_MAX, LastScale, Outcome, RECORDS_MAX, Record, Scaler};
use crate::model::revision::{self, Revision};
use crate::model::status::{Ours, Status, TargetRecord};
use crate::model::trigger::Trigger;
use crate::model::why::Why;
use crate::report::blocked;
use crate::report::resting;

/// What a status write adds beside the status.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    /// Records that close, oldest first.
    pub(crate) ended: Vec<Record>,
    pub(crate) last_scale: Option<LastScale>,
    /// Whether it is the first to report a failure.
    pub(crate) is_failure: bool,
}

/// Brings a status that is about to be written up to date.
pub(crate) fn note(decisions: &Decisions<'_>, why: &Why, status: &mut Status) -> Noted {
    let workload = decisions.view.workload();
    let now = whole_seconds(decisions.view.now);
    let mut ended = Vec::new();
    if let Some(running) = &mut status.ours.rollout {
        remember(decisions, running, &workload.status.ours);
    }
    let begun = opened(decisions, status);
    let again = if begun.is_none() { reopened(decisions, status) } else { None };
    let opened = begun.or(again);
    if let Some(revision) = opened {
        // SP-8: a second record of the same rollout has the beginning of the first.
        let first = Some(&status.ours.history).filter(|first| again == Some(first.revision));
        let next = resting::at_step(decisions, status, opening(decisions, revision, status, first, now));
        if let Some(running) = status.ours.rollout.take() {
            ended.push(interrupted(decisions, *running, next.trigger, now));
        }
        status.ours.rollout = Some(Box::new(next));
    }
    let is_declared = opened.is_some() && status.ours.target.is_none();
    // The next trigger is found by what was declared, whether or not it ran.
    let is_news = is_declared || status.ours.revision != workload.status.ours.revision;
    status.ours.outline = Some(workload.template.outline).filter(|_| is_news).or(status.ours.outline);
    let counts = (status.available_replicas, status.replicas);
    if let Some(running) = &mut status.ours.rollout {
        running.tally(counts.0, counts.1);
    }
    if let Some(outcome) = outcome(decisions, status, opened.is_some())
        && let Some(running) = status.ours.rollout.take()
    {
        // A revision that failed before its deadline has a cause.
        let held = decisions.course.failure.cause.as_ref().filter(|_| decisions.is_held());
        let late = || match held {
            Some(cause) => (reason::ROLLOUT_FAILED, cause.clone()),
            None if !decisions.course.situation.is_declared() => (reason::REVERT_FAILED, why.to_string()),
            None => (reason::PROGRESS_DEADLINE_EXCEEDED, why.to_string()),
        };
        let failure = (outcome == Outcome::Failed)
            .then(|| blocked::heaviest(&status.ours.blockers).unwrap_or_else(late));
        ended.push(running.ended(now, outcome, failure));
    }
    head(status, &ended);
    Noted { last_scale: scaled(workload, status, now), is_failure: is_failure(decisions, status), ended }
}

/// Whether this status is the first to report that the declared revision failed by its policy. One that was late has
/// been reported, and a pin or a pause has only hidden the failure of before.
fn is_failure(decisions: &Decisions<'_>, status: &Status) -> bool {
    let stored = &decisions.view.workload().status;
    let Some(revision) = decisions.revision().and_then(Revision::number) else { return false };
    let known = stored.condition(condition::PROGRESSING).map(|known| known.reason.as_str());
    let is_known = stored.ours.target.is_some()
        || matches!(known, Some(reason::PROGRESS_DEADLINE_EXCEEDED | reason::DEPLOYMENT_PAUSED))
        || stored.reports_failure(revision);
    !is_known && status.reports_failure(revision) && decisions.course.failure.cause.is_some()
}

/// Whether the record of a revert, or of a pin, is still open although it is complete. If its last pods became
/// available during the write of the previous status, nothing else of the status changes.
pub(crate) fn closes(decisions: &Decisions<'_>, status: &Status) -> bool {
    let is_open = decisions.view.workload().status.ours.rollout.is_some();
    is_open && !decisions.course.situation.is_declared() && decisions.is_complete(status)
}

/// The record of a rollout that gives way to another one.
fn interrupted(decisions: &Decisions<'_>, running: Record, next: Option<Trigger>, now: Timestamp) -> Record {
    let failure = failure(decisions, next);
    let outcome = match next {
        _ if failure.is_some() => Outcome::Failed,
        Some(Trigger::Rollback | Trigger::Pin | Trigger::Revert) => Outcome::Cancelled,
        _ => Outcome::Superseded,
    };
    running.ended(now, outcome, failure)
}

/// Why a rollout failed that is reverted before its deadline; one that somebody gives up has not failed.
fn failure(decisions: &Decisions<'_>, trigger: Option<Trigger>) -> Option<(&'static str, String)> {
    let stored = &decisions.view.workload().status.ours;
    let begins = trigger == Some(Trigger::Revert)
        && !decisions.course.situation.is_declared()
        && stored.target.is_none();
    let words = || decisions.course.failure.cause.clone().or_else(|| blocked::words(&stored.blockers));
    (begins && !decisions.course.failure.is_aborted)
        .then(|| (reason::ROLLOUT_FAILED, words().unwrap_or_default()))
}

/// The revision of a rollout that begins with this status: a new one that is declared, one that is pinned, or the
/// declared one when the pin goes (FP-11).
fn opened(decisions: &Decisions<'_>, status: &Status) -> Option<i64> {
    let (stored, next) = (&decisions.view.workload().status.ours, &status.ours);
    let is_known = |target: &TargetRecord| stored.target.as_ref().is_some_and(|known| known.is_same(target));
    match &next.target {
        Some(target) => target.revision.filter(|_| !is_known(target)),
        // A pause that hides what a pin asks for begins nothing.
        None if stored.target.is_some() && decisions.course.situation.is_declared() => {
            let is_complete = decisions.is_complete(status);
            // A template that is declared again while its ReplicaSet runs is a rollout without work: what comes after
            // it is compared with it.
            let is_declared_again = next.revision > stored.revision;
            // HI-1: while a newly declared template has no ReplicaSet, the revision is that of the template before.
            let is_there = decisions.revision().is_some();
            let begins = is_there && (!is_complete || is_declared_again);
            next.revision.filter(|_| !decisions.is_held() && begins)
        }
        None => next.revision.filter(|next| stored.revision.is_none_or(|stored| *next > stored)),
    }
}

/// The declared revision, where it waits at a step although its record has ended, since it was late, or failed and is
/// retried: the step is shown there to those who promote it (SP-8).
fn reopened(decisions: &Decisions<'_>, status: &Status) -> Option<i64> {
    status.ours.revision.filter(|_| status.ours.rollout.is_none() && decisions.resting().is_some())
}

/// Copies to the record what its ReplicaSet remembers of promotions; if that was lost, the record keeps its own (SP-6).
/// The record is that of `status`: what runs instead of the declared revision remembers a rollout of before.
fn remember(decisions: &Decisions<'_>, record: &mut Record, status: &Ours) {
    let is_its = |(_, set): &(usize, &&ReplicaSet)| revision::of(set).number() == Some(record.revision);
    let found = decisions.view.sets.all.iter().enumerate().find(is_its);
    let Some((index, set)) = found.filter(|_| status.target.is_none()) else { return };
    let known = decisions.course.memory(index, set).promotions;
    if !known.is_empty() {
        record.promotions = known;
    }
}

/// The revision that ran before. A pause hides the target, and what was declared since may not have run.
fn before(status: &Ours) -> Option<i64> {
    let last = Some(status.history.revision).filter(|last| *last > 0);
    let ran = status.rollout.as_ref().map(|record| record.revision).or(last).or(status.revision);
    status.target.as_ref().map_or(ran, |target| target.revision)
}

/// The record of a rollout that begins.
fn opening(
    decisions: &Decisions<'_>,
    revision: i64,
    status: &Status,
    first: Option<&HistoryHead>,
    now: Timestamp,
) -> Record {
    let workload = decisions.view.workload();
    let (history, last) = (&status.ours.history, status.ours.rollout.as_deref());
    let trigger = first.and_then(|first| first.trigger).unwrap_or_else(|| trigger(decisions, status));
    let author = match trigger {
        Trigger::Rollback => status.ours.rollback.as_ref().and_then(|record| record.author.clone()),
        Trigger::Pin => workload.authors.pin.clone(),
        // Nobody asked for it.
        Trigger::Revert => None,
        _ => Author::with_user(workload.authors.template.clone(), workload.annotations.get(CHANGED_BY)),
    };
    let running = decisions.running().and_then(|set| set.labels.get(HASH_LABEL));
    let created = decisions.creation.as_ref().map(|creation| &creation.set.hash);
    let id = last.map_or(0, |record| record.id).max(history.id).min(ID_MAX - 1) + 1;
    let template = &workload.template;
    let (cause, containers, images) = if status.ours.target.is_some() {
        (workload.pin_in_force().and_then(|pin| pin.reason.clone()), "", "")
    } else {
        let cause = workload.annotations.get(CHANGE_CAUSE).cloned();
        (cause, &*template.containers, &*template.images)
    };
    let mut record = Record {
        id,
        revision,
        hash: running.or(created).cloned().unwrap_or_default(),
        from: first.map_or_else(
            || before(&workload.status.ours).filter(|from| *from != revision),
            |first| first.from,
        ),
        trigger: Some(trigger),
        author,
        cause,
        start_time: Some(now),
        lowest_available: status.available_replicas,
        highest_pods: status.replicas,
        ..Record::default()
    };
    remember(decisions, &mut record, &status.ours);
    record.with_images(containers, images).bounded()
}

fn trigger(decisions: &Decisions<'_>, status: &Status) -> Trigger {
    let stored = &decisions.view.workload().status.ours;
    let is_released = stored.target.is_some() && stored.revision == status.ours.revision;
    let changed = status.ours.target.as_ref().or(stored.target.as_ref().filter(|_| is_released));
    if let Some(target) = changed {
        return if target.is_reverted() { Trigger::Revert } else { Trigger::Pin };
    }
    let (history, running) = (&status.ours.history, status.ours.rollout.as_deref());
    let last_start = running.map_or(history.start_time, |record| record.start_time);
    if is_rollback(decisions, status, last_start) {
        return Trigger::Rollback;
    }
    let outline = decisions.view.workload().template.outline;
    status.ours.outline.map_or(Trigger::TemplateChanged, |last| Trigger::between(last, outline))
}

/// Whether a rollback put the template here, after the last rollout began.
fn is_rollback(decisions: &Decisions<'_>, status: &Status, last_start: Option<Timestamp>) -> bool {
    let Some(record) = &status.ours.rollback else { return false };
    let Some(last) = record.recent.last().filter(|_| record.result == "RolledBack") else { return false };
    let is_after = |last_start| record.time.parse::<Timestamp>().is_ok_and(|time| time >= last_start);
    let declared = decisions.view.sets.declared();
    let carries =
        || declared.is_some_and(|set| set.fingerprints.iter().any(|known| known.as_str() == last.to));
    last_start.is_none_or(is_after)
        && (decisions.view.workload().template.fingerprint.as_str() == last.to || carries())
}

/// How the running rollout ends with this status, if it does.
fn outcome(decisions: &Decisions<'_>, status: &Status, is_new: bool) -> Option<Outcome> {
    status.ours.rollout.as_ref()?;
    let progressing = status.condition(condition::PROGRESSING).map(|known| known.reason.as_str());
    if !decisions.course.situation.is_declared() {
        let is_late = progressing == Some(reason::REVERT_FAILED);
        let late = is_late.then_some(Outcome::Failed);
        return if decisions.is_complete(status) { Some(Outcome::Succeeded) } else { late };
    }
    // The status is about the declared ReplicaSet. That may have a lower revision than what began, if somebody
    // deleted one.
    let declared = decisions.revision().and_then(Revision::number);
    let is_complete = declared.is_some() && declared == status.ours.revision && decisions.is_complete(status);
    // FP-6: a verdict counts, although the last pods came up meanwhile.
    if is_complete && !decisions.is_held() {
        return Some(Outcome::Succeeded);
    }
    let is_late = progressing == Some(reason::PROGRESS_DEADLINE_EXCEEDED);
    // A rollout that is late at a step continues when its pods come, and its record with it.
    let has_failed = is_late && !is_new && !decisions.has_step_ahead() || decisions.is_held();
    let outcome = if decisions.course.failure.is_aborted { Outcome::Cancelled } else { Outcome::Failed };
    has_failed.then_some(outcome)
}

/// What is kept of the history, once these are added.
fn head(status: &mut Status, ended: &[Record]) {
    let history = &mut status.ours.history;
    history.length = (history.records() + ended.len()).min(RECORDS_MAX);
    history.odd.clear();
    if let Some(newest) = ended.last() {
        (history.id, history.start_time) = (newest.id, newest.start_time);
        (history.revision, history.from, history.trigger) = (newest.revision, newest.from, newest.trigger);
    }
}

/// A change of `spec.replicas` that this status is the first to report.
fn scaled(workload: &Workload, status: &Status, now: Timestamp) -> Option<LastScale> {
    let (from, to) = (workload.status.ours.replicas?, status.ours.replicas?);
    let by = workload.authors.replicas.clone().unwrap_or_default();
    (from != to).then(|| LastScale { from, to, by: Scaler { time: by.time.or(Some(now)), ..by } })
}
