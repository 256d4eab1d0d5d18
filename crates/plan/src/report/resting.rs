//! What the status reports of a rollout that has steps: at which it is, and what it waits for there (SP-8;
//! rollwright.dev only). Nothing here decides anything.

use jiff::Timestamp;

use crate::decide::decisions::Decisions;
use crate::model::checkpoint::{Checkpoint, Outlook};
use crate::model::conditions::{Condition, Edit, has_condition};
use crate::model::keys::{condition, reason};
use crate::model::record::Record;
use crate::model::revision::Revision;
use crate::model::status::{InHand, Status};
use crate::model::until::Until;

/// The record of the rollout with its step.
pub(crate) fn at_step(decisions: &Decisions<'_>, status: &Status, record: Record) -> Record {
    // Without a ReplicaSet of the template, the record is that of what ran before.
    let stage = decisions.stage().filter(|_| decisions.revision().is_some());
    let Some(stage) = stage else { return record.without_step() };
    let number = |step: usize| i64::try_from(step.saturating_add(1)).ok();
    Record {
        step: number(stage.step),
        steps: number(stage.end),
        updated: Some(status.updated_replicas),
        target_pods: Some(stage.ceiling),
        allowed: decisions.view.workload().allowed().filter(|_| stage.step < stage.end),
        rest_start_time: decisions.resting().and_then(|rest| rest.since),
        ..record
    }
}

/// The status with the step in the record of its rollout.
pub(crate) fn note<'a>(decisions: &Decisions<'_>, mut status: InHand<'a>) -> InHand<'a> {
    let Some(known) = status.ours.rollout.as_deref() else { return status };
    if known.step.is_some() || decisions.stage().is_some() {
        let next = at_step(decisions, &status, known.clone());
        if *known != next {
            status.edit().ours.rollout = Some(Box::new(next));
        }
    }
    status
}

/// What the rollout waits for at a step, in a sentence without its end. It changes only with what it reports, so that a
/// rollout that waits causes no writes.
pub(crate) fn words(decisions: &Decisions<'_>) -> Option<String> {
    let (stage, wait) = (decisions.stage()?, decisions.resting()?);
    let workload = decisions.view.workload();
    let replicas = workload.replicas;
    let ends = wait.until.iter().map(|until| match until {
        Until::Gate | Until::Process => job(decisions, workload.checkpoint(stage.step)),
        until => until.words(wait.since),
    });
    let ends: Vec<String> = ends.collect();
    let end = ends.join(" and ");
    let updated = decisions.running().map_or(0, |set| set.size);
    let none = if updated == 0 && replicas > 0 && !workload.is_custom() {
        "; steps with waitSeconds alone do not wait, because no pod is updated"
    } else {
        ""
    };
    if let Some(allowed) = workload.allowed() {
        return Some(format!("{updated} of {replicas} updated, {allowed} allowed, rests {end}"));
    }
    let (step, of) = (stage.step + 1, stage.end + 1);
    Some(format!("step {step} of {of}: {updated} of {replicas} updated, rests {end}{none}"))
}

/// What of the Job at a checkpoint has to come, as the end of "it rests".
fn job(decisions: &Decisions<'_>, at: Checkpoint) -> String {
    let revision = decisions.revision().and_then(Revision::number).unwrap_or_default();
    let jobs = &decisions.course.jobs;
    let has_begun = jobs.runs.open.as_ref().is_some_and(|open| open.at == at) || decisions.failed_gate();
    if !has_begun {
        let why = match &jobs.outlook {
            Outlook::Unknown(why) => format!(" (unknown: {why})"),
            _ => String::new(),
        };
        return format!("until {} passes{why}", at.words());
    }
    jobs.outlook.words(&jobs.runs.name(&decisions.view.workload().name, revision, at), at)
}

/// What the rollout waits for before its first pod, in a sentence without its end (GA-1).
pub(crate) fn before(decisions: &Decisions<'_>) -> String {
    let at = Checkpoint::Before;
    if decisions.view.sets.declared.is_none() {
        return format!("no pod is updated yet: it waits for {}", at.words());
    }
    format!("no pod is updated yet: it rests {}", job(decisions, at))
}

/// What a rollout with all its pods waits for, in a sentence without its end (GA-1).
pub(crate) fn after(decisions: &Decisions<'_>) -> String {
    format!("all pods are updated: it rests {}", job(decisions, Checkpoint::After))
}

impl Until {
    /// The end of "it rests". A time has its date unless that is the one of the beginning.
    fn words(&self, since: Option<Timestamp>) -> String {
        match self {
            Self::Promoted => "until somebody promotes it".to_owned(),
            Self::Gate => "until its gate passes".to_owned(),
            Self::Process => "until its deployment process allows more".to_owned(),
            Self::Replicas => "while there are no replicas".to_owned(),
            Self::Seconds(seconds) => match since.zip(self.time(since)) {
                Some((since, until)) => {
                    let (since, until) = (since.to_string(), until.to_string());
                    let (day, time) = until.split_once('T').unwrap_or_default();
                    format!("until {}", if since.starts_with(day) { time } else { &until })
                }
                None => format!("for {seconds} s"),
            },
        }
    }
}

/// The condition Progressing at a step: the deadline's clock stands still (S9.9, SP-8).
pub(crate) fn progressing(decisions: &Decisions<'_>, status: &Status) -> Option<Edit> {
    stands_still(decisions, status, reason::RESTING_AT_STEP, words(decisions)?)
}

/// The same for one of the reasons [`reason::RESTING`], with these words.
pub(crate) fn stands_still(
    decisions: &Decisions<'_>,
    status: &Status,
    reason: &'static str,
    words: String,
) -> Option<Edit> {
    let kind = condition::PROGRESSING;
    if decisions.view.workload().progress_deadline_seconds.is_none() {
        return Some(Edit::Drop(kind));
    }
    let is_said = has_condition(&status.conditions, kind, "Unknown", reason);
    if is_said && status.condition(kind).is_some_and(|known| known.message == words) {
        return None;
    }
    let mut new = Condition::new(kind, "Unknown", reason, words, decisions.view.now);
    if let Some(known) = status.condition(kind).filter(|known| known.status == new.status) {
        new.last_transition_time = known.last_transition_time;
    }
    Some(Edit::Renew(Box::new(new)))
}
