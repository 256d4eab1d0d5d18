//! What follows from a refused action (S4.15, S6.13, S11.6, S14).

pub(crate) mod not_running;

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::decide::collision;
use crate::model::action::{Action, Event, Plan, Planned, Purpose, RollBack, StatusWrite};
use crate::model::conditions::Condition;
use crate::model::keys::{condition, reason};
use crate::model::observed::{Observed, ReplicaSet, Workload};
use crate::model::status::{InHand, Status};
use crate::refused::not_running::after_create_not_running;
use crate::report::kstatus::{Refused, Standing};

/// Why an action was refused.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The name is taken; by this ReplicaSet, as a live read shows, or by none any more.
    NameTaken(Option<Box<ReplicaSet>>),
    /// The namespace is going away: nothing can be created, and nobody needs it (S14.3).
    NamespaceTerminating(String),
    /// The object is gone.
    NotFound(String),
    /// The server does not accept the object as it would become, in its words.
    Invalid(String),
    /// The object is not as it was seen.
    Conflict(String),
    /// Nobody knows: the server did not answer in time. The text states for how long.
    Unanswered(String),
    /// Anything else, in the server's words.
    Refused(String),
}

/// What to do about it.
#[derive(Clone, Debug)]
pub struct Aftermath {
    /// To be carried out, whatever comes of it; failures are ignored (S14.7).
    pub actions: Vec<Planned>,
    /// To be recorded.
    pub events: Vec<Event>,
    /// How the reconcile continues.
    pub verdict: Verdict,
    /// A rule from which this branch deviates on purpose.
    pub deviation: Option<&'static str>,
}

/// How the reconcile continues after a refused action.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// As if nothing had happened.
    Continue,
    /// The reconcile ends here, and all is well.
    End,
    /// The reconcile plans again from the start, with this ReplicaSet in the snapshot.
    PlanAgain(Box<ReplicaSet>),
    /// The reconcile plans again from the start, with [`crate::Answers::refuses_cuts`]; then it ends with this error,
    /// and is tried again with backoff.
    PlanWithoutCuts(String),
    /// The same with [`crate::Answers::refuses_creation`].
    PlanWithoutCreation(String),
    /// The same with [`crate::Answers::job_refused`].
    PlanWithoutJob(String),
    /// The reconcile ends with an error, and is tried again with backoff.
    Retry(String),
    /// The reconcile ends with an error that no retry would mend.
    GiveUp(String),
}

/// Decides what follows from the refusal of `plan.actions[index]`.
#[must_use]
pub fn after_failure(
    observed: &Observed,
    plan: &Plan,
    index: usize,
    failure: &Failure,
    now: Timestamp,
) -> Aftermath {
    let Some(planned) = plan.actions.get(index) else {
        return Aftermath::end(Verdict::Retry("no such action".to_owned()));
    };
    match (&planned.action, failure) {
        (Action::DeleteReplicaSet(_), Failure::NotFound(_)) => {
            // Upstream's second status write of the reconcile conflicts with its first; the operator's is left to the
            // next reconcile.
            let is_report_split = plan.actions.iter().take(index).any(|planned| is_status(&planned.action));
            Aftermath { deviation: is_report_split.then_some("S4.5"), ..Aftermath::end(Verdict::Continue) }
        }
        (Action::CreateJob(_) | Action::DeleteJob { .. }, failure) => after_job(&planned.action, failure),
        // NS-2: a ReplicaSet that had to make room stays; the new one is created all the same.
        (Action::DeleteReplicaSet(_), _) if is_followed_by_create(plan, index) => {
            Aftermath::end(Verdict::Continue)
        }
        (Action::CreateReplicaSet(set), Failure::Invalid(text) | Failure::Refused(text))
            if observed.flavour.has_status_extras() && rolls_back(plan) =>
        {
            let message = not_created(&set.name, text);
            let events = vec![Event::warning(reason::REPLICA_SET_CREATE_ERROR, message)];
            Aftermath { events, ..Aftermath::end(Verdict::PlanWithoutCreation(text.clone())) }
        }
        (Action::CreateReplicaSet(set), failure) => match plan.if_create_refused.as_deref() {
            Some(refused) => after_create(observed, refused, &set.name, failure, now),
            None => after_create_not_running(observed, plan, index, &set.name, failure, now),
        },
        (Action::UpdateReplicaSet(update), failure) if update.purpose == Purpose::ScaleDownOld => {
            Aftermath { deviation: Some("S6.13"), ..after_cut(plan, index, failure) }
        }
        (Action::UpdateReplicaSet(_), failure) if plan.actions.iter().take(index).any(is_cut) => {
            Aftermath { deviation: Some("S6.5"), ..after_growth(observed, plan, index, failure) }
        }
        (Action::WriteStatus(_), failure) if plan.size_before_step.is_some() => {
            Aftermath { deviation: Some("S6.5"), ..Aftermath::end(Verdict::Retry(failure.to_string())) }
        }
        (Action::RollBack(write), Failure::Invalid(text)) if write.template.is_some() => {
            after_invalid_rollback(observed, plan, text)
        }
        (_, failure) => Aftermath::end(Verdict::Retry(failure.to_string())),
    }
}

/// GA-3: the next reconcile reads a Job that is there already, and one that is gone need not be deleted.
fn after_job(action: &Action, failure: &Failure) -> Aftermath {
    Aftermath::end(match (action, failure) {
        (Action::CreateJob(_), Failure::NameTaken(_)) | (Action::DeleteJob { .. }, Failure::NotFound(_)) => {
            Verdict::Continue
        }
        (Action::CreateJob(_), Failure::Invalid(text) | Failure::Refused(text) | Failure::NotFound(text)) => {
            Verdict::PlanWithoutJob(text.clone())
        }
        (_, failure) => Verdict::Retry(failure.to_string()),
    })
}

/// S6.13: upstream swallows this; here the reconcile is tried again. The status is still true.
fn after_cut(plan: &Plan, index: usize, failure: &Failure) -> Aftermath {
    let text = failure.to_string();
    let rest = plan.actions.iter().skip(index + 1);
    // The growth counts on the room that the cut would have made, and the status on both.
    let grows = rest.clone().any(is_growth);
    // A ReplicaSet that the plan has created is not in the snapshot, and would be created once more.
    let creates = || plan.actions.iter().take(index).any(is_creation);
    let is_stale = matches!(failure, Failure::Conflict(_)) || creates();
    if grows {
        let verdict = if is_stale { Verdict::Retry(text) } else { Verdict::PlanWithoutCuts(text) };
        return Aftermath::end(verdict);
    }
    Aftermath {
        actions: rest.filter(|planned| is_status(&planned.action)).cloned().collect(),
        ..Aftermath::end(Verdict::Retry(text))
    }
}

/// S6.5: upstream's reconcile ends with the cut and its status, and the new ReplicaSet grows in the next one. A refusal
/// here must not keep the operator from reporting the status of the cut.
fn after_growth(observed: &Observed, plan: &Plan, index: usize, failure: &Failure) -> Aftermath {
    let end = Aftermath::end(Verdict::Retry(failure.to_string()));
    if matches!(failure, Failure::Conflict(_)) {
        return end;
    }
    let statuses = plan.actions.iter().skip(index + 1).filter_map(|planned| {
        let Action::WriteStatus(write) = &planned.action else { return None };
        let mut write = write.clone();
        if let Some(size) = plan.size_before_step {
            let available = write.status.available_replicas;
            write.status.unavailable_replicas = size.saturating_sub(available).max(0);
        }
        let is_news = write.status != observed.workload.status || write.revision_annotation.is_some();
        is_news.then(|| Planned { action: Action::WriteStatus(write), events: planned.events.clone() })
    });
    Aftermath { actions: statuses.collect(), ..end }
}

/// The server does not take the old template: it never will, so the request is cleared, and the record shows why. On
/// apps/v1 there is no record, and the annotation stays, as upstream's.
fn after_invalid_rollback(observed: &Observed, plan: &Plan, text: &str) -> Aftermath {
    let planned = plan.actions.iter().find_map(|planned| match &planned.action {
        Action::WriteStatus(write) => {
            write.status.ours.rollback.clone().map(|record| (StatusWrite::clone(write), record))
        }
        _ => None,
    });
    let Some((mut report, mut record)) = planned.filter(|_| observed.flavour.has_status_extras()) else {
        return Aftermath::end(Verdict::Retry(text.to_owned()));
    };
    let message = format!("Revision {} cannot be put back: {text}", record.revision);
    record.result = "Invalid".to_owned();
    record.message = Some(message.clone());
    record.recent.pop();
    report.status.ours.rollback = Some(record);
    let report = Planned { action: Action::WriteStatus(Box::new(report)), events: Vec::new() };
    let clear = RollBack { template: None, annotations: BTreeMap::new() };
    let clear = Planned { action: Action::RollBack(Box::new(clear)), events: Vec::new() };
    let events = vec![Event::warning(reason::ROLLBACK_INVALID, message)];
    Aftermath { actions: vec![clear, report], events, verdict: Verdict::End, deviation: None }
}

impl Aftermath {
    pub(crate) fn end(verdict: Verdict) -> Self {
        Self { actions: Vec::new(), events: Vec::new(), verdict, deviation: None }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NameTaken(_) => f.write_str("a ReplicaSet of that name exists already"),
            Self::NamespaceTerminating(text)
            | Self::NotFound(text)
            | Self::Invalid(text)
            | Self::Conflict(text)
            | Self::Unanswered(text)
            | Self::Refused(text) => f.write_str(text),
        }
    }
}

fn is_followed_by_create(plan: &Plan, index: usize) -> bool {
    plan.actions.iter().skip(index).any(|planned| matches!(planned.action, Action::CreateReplicaSet(_)))
}

/// Whether a ReplicaSet that is there gets more pods.
fn is_growth(planned: &Planned) -> bool {
    matches!(&planned.action, Action::UpdateReplicaSet(update) if update.size_to > update.size_from)
}

/// Whether the template of the Deployment is about to be replaced.
fn rolls_back(plan: &Plan) -> bool {
    let replaces = |action: &Action| matches!(action, Action::RollBack(write) if write.template.is_some());
    plan.actions.iter().any(|planned| replaces(&planned.action))
}

fn is_creation(planned: &Planned) -> bool {
    matches!(&planned.action, Action::CreateReplicaSet(_))
}

fn is_cut(planned: &Planned) -> bool {
    matches!(&planned.action, Action::UpdateReplicaSet(update) if update.purpose == Purpose::ScaleDownOld)
}

fn is_status(action: &Action) -> bool {
    matches!(action, Action::WriteStatus(_))
}

fn after_create(
    observed: &Observed,
    refused: &Status,
    name: &str,
    failure: &Failure,
    now: Timestamp,
) -> Aftermath {
    match failure {
        Failure::NamespaceTerminating(text) => Aftermath::end(Verdict::GiveUp(text.clone())),
        Failure::NameTaken(Some(set)) => {
            Aftermath { deviation: Some("S4.15"), ..after_taken(observed, refused, name, set, now) }
        }
        Failure::NameTaken(None) => {
            let verdict = Verdict::Retry(format!("{failure}: {name}"));
            Aftermath { deviation: Some("S4.15"), ..Aftermath::end(verdict) }
        }
        // Upstream waits for the server's words, and keeps the first ones that it reports (S9.7).
        Failure::Unanswered(text) if !observed.flavour.has_status_extras() => {
            Aftermath::end(Verdict::Retry(text.clone()))
        }
        Failure::Unanswered(text)
        | Failure::NotFound(text)
        | Failure::Invalid(text)
        | Failure::Conflict(text)
        | Failure::Refused(text) => {
            let is_final = matches!(failure, Failure::Invalid(_));
            after_refused_create(observed, refused, name, Refused { text, is_final }, now)
        }
    }
}

/// Whether a ReplicaSet that has the name is the Deployment's own, for its template.
pub(crate) fn is_of_template(set: &ReplicaSet, workload: &Workload) -> bool {
    set.controller_uid.as_ref() == Some(&workload.uid) && set.carries(&workload.template.fingerprint)
}

/// What is reported of a refused creation.
pub(crate) fn not_created(name: &str, text: &str) -> String {
    format!("Failed to create new replica set \"{name}\": {text}")
}

/// Settled by a live read, not by the cache (deviation from S4.15).
fn after_taken(
    observed: &Observed,
    refused: &Status,
    name: &str,
    set: &ReplicaSet,
    now: Timestamp,
) -> Aftermath {
    if is_of_template(set, &observed.workload) {
        return Aftermath::end(Verdict::PlanAgain(Box::new(set.clone())));
    }
    let mut status = refused.clone();
    let events = collision::note(observed, &mut status, name, now);
    let text = format!("{}: {name}", Failure::NameTaken(None));
    let actions = vec![write(stands(observed, &status, Refused { text: &text, is_final: false }, now))];
    Aftermath { actions, events, ..Aftermath::end(Verdict::Retry(text)) }
}

/// The server's words go into condition and event.
fn after_refused_create(
    observed: &Observed,
    refused: &Status,
    name: &str,
    refusal: Refused<'_>,
    now: Timestamp,
) -> Aftermath {
    let workload = &observed.workload;
    let message = not_created(name, refusal.text);
    let mut status = refused.clone();
    if workload.progress_deadline_seconds.is_some() {
        let reason = reason::REPLICA_SET_CREATE_ERROR;
        let failed = Condition::new(condition::PROGRESSING, "False", reason, message.clone(), now);
        if observed.flavour.has_status_extras() {
            // The deviation from S9.1: the newest words of the server count.
            forget_other(&mut status, name);
            failed.say_in(&mut status.conditions);
        } else {
            failed.set_in(&mut status.conditions);
        }
    }
    let status = stands(observed, &status, Refused { text: &message, ..refusal }, now);
    let actions = if status == workload.status { Vec::new() } else { vec![write(status)] };
    let events = vec![Event::warning(reason::REPLICA_SET_CREATE_ERROR, message)];
    Aftermath { actions, events, ..Aftermath::end(Verdict::Retry(refusal.text.to_owned())) }
}

/// The refusal of another ReplicaSet, for an earlier template, is over: its time does not count for
/// this one.
fn forget_other(status: &mut Status, name: &str) {
    let about = format!("\"{name}\"");
    let is_other = |entry: &Condition| {
        entry.kind == condition::PROGRESSING
            && entry.reason == reason::REPLICA_SET_CREATE_ERROR
            && !entry.message.contains(&about)
    };
    status.conditions.retain(|entry| !is_other(entry));
}

/// The status with what it reports of the rollout as a whole (rollwright.dev), after the server refused the new
/// ReplicaSet.
fn stands(observed: &Observed, status: &Status, refusal: Refused<'_>, now: Timestamp) -> Status {
    let mut in_hand = InHand::new(status);
    if observed.flavour.has_status_extras() {
        let standing = Standing::of_refusal(status, &observed.workload, &refusal, now);
        standing.note(&mut in_hand, now);
        if *in_hand != observed.workload.status {
            standing.reword(&mut in_hand.edit().conditions);
        }
    }
    *in_hand.into_box()
}

/// A status write in the place of the one that was planned; the revision stays as it is.
fn write(status: Status) -> Planned {
    let write = StatusWrite { status, ..StatusWrite::default() };
    Planned { action: Action::WriteStatus(Box::new(write)), events: Vec::new() }
}
