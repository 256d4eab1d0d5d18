//! What a reconcile reports: the status with its conditions, why the rollout is where it is, and when to
//! requeue (S4.4, S9, S13.1). All edits of conditions are folded here, since their order shows.

pub(crate) mod announce;
pub(crate) mod assemble;
pub(crate) mod awaited;
pub(crate) mod blocked;
pub(crate) mod counters;
pub(crate) mod explain;
pub(crate) mod held;
pub(crate) mod kstatus;
pub(crate) mod opening;
pub(crate) mod pace;
pub(crate) mod pause;
pub(crate) mod progress;
pub(crate) mod queued;
pub(crate) mod records;
pub(crate) mod requeue;
pub(crate) mod resting;
pub(crate) mod rollout;
pub(crate) mod target;

use crate::course::view::View;
use crate::decide::collision::{self, Names};
use crate::decide::decisions::Decisions;
use crate::decide::deletions::Deletions;
use crate::model::action::{Awaited, Event, Requeue, StatusWrite};
use crate::model::conditions::{Edit, has_condition};
use crate::model::keys::{condition, reason};
use crate::model::observed::Observed;
use crate::model::revision::Revision;
use crate::model::sets::total;
use crate::model::status::{InHand, Status};
use crate::model::why::Why;
use crate::moves::aim::Because;
use crate::report::assemble::is_followed;
use crate::report::awaited::awaited;
use crate::report::counters::Tally;
use crate::report::explain::explained;
use crate::report::kstatus::Standing;
use crate::report::opening::{Opening, fold};
use crate::report::records::Noted;

/// What a reconcile reports.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// The one status write of the reconcile, if anything changed.
    pub(crate) write: Option<Box<StatusWrite>>,
    /// Whether there is one that waits.
    pub(crate) status_waits: bool,
    /// The events once the write is made.
    pub(crate) news: Vec<Event>,
    /// When it is made.
    pub(crate) due: Due,
    /// The status in its place when the creation of a ReplicaSet is refused.
    pub(crate) if_create_refused: Option<Box<Status>>,
    pub(crate) why: Why,
    /// When a deadline asks for a reconcile. `requeue.rs` adds all other reasons.
    pub(crate) requeue: Requeue,
    /// What the rollout waits for, or is judged by.
    pub(crate) awaited: Option<Box<Awaited>>,
    pub(crate) error: Option<String>,
    /// Events that do not depend on a write.
    pub(crate) events: Vec<Event>,
    /// Whether `news` has the warning of the rollback. Otherwise it waits for whatever comes before that.
    pub(crate) is_warned: bool,
    pub(crate) deviation: Option<&'static str>,
}

/// When a status is written. A report that waits for nothing comes before the writes that can fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Due {
    /// Before anything else: the Deployment was paused or resumed (S13.1).
    AtOnce,
    /// Once the declared ReplicaSet is as the status reports it (S4.4).
    WithDeclared,
    /// After growth and before cuts, which may be refused.
    BeforeCuts,
    /// When all else is done.
    #[default]
    Last,
}

/// The report of a reconcile.
pub(crate) fn report(decisions: &Decisions<'_>, opening: Opening<'_>) -> Report {
    match &decisions.aim.because {
        Because::LacksSelector(_) => Report { why: Why::Stepping, ..Report::default() },
        Because::SelectsAll => selecting_all(decisions, opening),
        Because::Unfit(error) => {
            let (why, error, events) = (Why::Blocked(error.clone()), Some(error.clone()), opening.events);
            Report { why, error, events, ..Report::default() }
        }
        Because::RollingBack(_) => rolled_back(decisions, draft(decisions, opening)),
        Because::Deleting => counted(decisions, draft(decisions, opening), Why::Deleting, None),
        Because::NewerSpec(words) => {
            counted(decisions, draft(decisions, opening), Why::Blocked(words.clone()), None)
        }
        Because::PinTargetMissing => {
            let why = target::words(decisions).map_or_else(Why::default, Why::Blocked);
            let progressing = target::progressing(decisions, &opening.status);
            counted(decisions, draft(decisions, opening), why, progressing)
        }
        Because::Failed { reason } => {
            let words = explain::failed(decisions, reason);
            let progressing = explain::stands_still(decisions, reason, words.clone());
            counted(decisions, draft(decisions, opening), Why::Blocked(words), progressing)
        }
        Because::JobRefused(words) => {
            let progressing = explain::stands_still(decisions, reason::JOB_REFUSED, words.clone());
            counted(decisions, draft(decisions, opening), Why::Blocked(words.clone()), progressing)
        }
        Because::AwaitsHook => {
            let (words, draft) = (resting::before(decisions), draft(decisions, opening));
            let why = Why::Resting(words.clone());
            let edit = resting::stands_still(decisions, &draft.status, reason::AWAITING_HOOK, words);
            counted(decisions, draft, why, edit)
        }
        Because::Held => {
            let (words, draft) = (held::words(decisions), draft(decisions, opening));
            let why = Why::Blocked(words.clone());
            let edit = resting::stands_still(decisions, &draft.status, reason::HELD_AFTER_RESTART, words);
            counted(decisions, draft, why, edit)
        }
        Because::Paused => counted(decisions, draft(decisions, opening), Why::Paused, None),
        Because::Scaling => counted(decisions, draft(decisions, opening), Why::Stepping, None),
        Because::OldPodsRun | Because::NamesTaken(_) | Because::Judged | Because::RollingOut => {
            rolling_out(decisions, draft(decisions, opening))
        }
    }
}

/// The status in hand once the declared ReplicaSet is there, without counters.
struct Draft<'a> {
    status: InHand<'a>,
    revision: Option<String>,
    if_create_refused: Option<Box<Status>>,
    /// What the status has to come before, if it reports something early.
    due: Option<Due>,
    events: Vec<Event>,
    deviation: Option<&'static str>,
}

/// The opening, and what to report of names, of room, and of a ReplicaSet that is created.
fn draft<'a>(decisions: &Decisions<'_>, opening: Opening<'a>) -> Draft<'a> {
    let Decisions { view: View { observed, now, .. }, aim, creation, history, .. } = decisions;
    let Opening { mut status, mut revision, is_pause_reported, mut is_early, events } = opening;
    let names_are_over = Edit::Drop(condition::COLLISION_LIMIT_REACHED);
    let has_name = decisions.view.sets.declared.is_some() || collision::names(observed, *now) == Names::Free;
    if aim.needs_declared(decisions.moves) && has_name && observed.flavour.has_safeguards() {
        fold(&mut status, [names_are_over.clone()]);
    }
    let edit = |deletions: &Deletions| deletions.edit(*now);
    fold(&mut status, history.room.as_ref().map(edit));
    let mut if_create_refused = None;
    let mut deviation = None;
    if let Some(creation) = creation {
        let is_beside = !decisions.course.situation.is_declared();
        if_create_refused = (!is_beside).then(|| refused(decisions, &status));
        if observed.flavour.has_safeguards() {
            fold(&mut status, [names_are_over]);
        }
        if !is_beside {
            let created = announce::created(observed, &status, creation, *now);
            fold(&mut status, created.edit);
            revision = created.revision;
            is_early |= created.is_early;
        }
        // Upstream's second status write of the reconcile conflicts with its first.
        deviation = is_pause_reported.then_some("S4.5");
    }
    fold(&mut status, history.spare.as_ref().map(edit));
    // What the status reports about a created ReplicaSet is true only once the ReplicaSet exists.
    let early = if is_pause_reported && creation.is_none() { Due::AtOnce } else { Due::WithDeclared };
    Draft { status, revision, if_create_refused, due: is_early.then_some(early), events, deviation }
}

/// The status if the server refuses the ReplicaSet. On rollwright.dev it is about the current generation too: for a
/// reader of `observedGeneration`, an older one is never final.
fn refused(decisions: &Decisions<'_>, in_hand: &InHand<'_>) -> Box<Status> {
    if !decisions.view.observed.flavour.has_status_extras() {
        return in_hand.clone().into_box();
    }
    // Once the ReplicaSet exists, no other one runs instead of it.
    let (total, target) = (total(&decisions.view.sets.counted), in_hand.ours.target.clone());
    let tally = Tally { total, revision: None, target, ..tally(decisions) };
    let mut status = counters::calculate(&tally, in_hand);
    // The blockers were about the rollout before.
    blocked::note(&mut status, &[]);
    status.into_box()
}

fn tally<'a>(decisions: &'a Decisions<'_>) -> Tally<'a> {
    // On apps/v1 it is no part of the status.
    let extras = decisions.view.observed.flavour.has_status_extras();
    Tally {
        view: decisions.view,
        total: decisions.total_reported(),
        revision: if extras { decisions.revision().and_then(Revision::number) } else { None },
        target: target::record(decisions),
        course: decisions.course,
        floor: decisions.aim.floor,
    }
}

/// S2.10.
fn selecting_all(decisions: &Decisions<'_>, opening: Opening<'_>) -> Report {
    let message = "This deployment is selecting all pods. A non-empty selector is required.";
    let why = Why::Blocked("spec.selector is empty: name the labels of the pods".to_owned());
    let events = vec![Event::warning(reason::SELECTING_ALL, message.to_owned())];
    let generation = decisions.view.workload().generation;
    let mut status = opening.status;
    if status.observed_generation >= generation {
        return Report { why, events, ..Report::default() };
    }
    status.edit().observed_generation = generation;
    let (write, news) = written(decisions, status, None, &why);
    Report { write, news, why, events, ..Report::default() }
}

/// Nothing is counted in a reconcile that rolls back. On rollwright.dev the record is written after the template is
/// back; on apps/v1 the status comes before it.
fn rolled_back(decisions: &Decisions<'_>, draft: Draft<'_>) -> Report {
    let Draft { mut status, revision, if_create_refused, due, events, deviation } = draft;
    let why = Why::RollingBack;
    let Some(rollback) = &decisions.rollback else { return Report { why, events, ..Report::default() } };
    let mut due = due.unwrap_or(Due::WithDeclared);
    if let Some(record) = &rollback.record {
        status.edit().ours.rollback = Some(record.clone());
        due = Due::Last;
    }
    let (write, mut news) = written(decisions, status, revision, &why);
    // The warning goes out once all that comes before the rollback is done (S10.6): here this.
    let is_warned = write.is_some() && due != Due::Last && !is_followed(decisions, due);
    news.extend(rollback.warning.clone().filter(|_| is_warned));
    Report { write, news, due, if_create_refused, why, is_warned, events, deviation, ..Report::default() }
}

/// Counters and Available only (S9.16, S3.11): neither an estimate nor ReplicaFailure (S13.2).
fn counted(decisions: &Decisions<'_>, draft: Draft<'_>, why: Why, progressing: Option<Edit>) -> Report {
    let mut computed = counters::calculate(&tally(decisions), &draft.status);
    fold(&mut computed, progressing);
    finished(decisions, draft, computed, why, Requeue::OnChange)
}

/// The status of a reconcile of a strategy (S9.9–S9.15, S7.7).
fn rolling_out(decisions: &Decisions<'_>, draft: Draft<'_>) -> Report {
    let mut computed = counters::calculate(&tally(decisions), &draft.status);
    let progressing = if !decisions.course.situation.is_declared() {
        target::progressing(decisions, &computed)
    } else if decisions.resting().is_some() {
        resting::progressing(decisions, &computed)
    } else if decisions.awaits_hook_after(&computed) {
        resting::stands_still(decisions, &computed, reason::AWAITING_HOOK, resting::after(decisions))
    } else {
        progress::estimated(decisions, &draft.status, &computed)
    };
    fold(&mut computed, progressing);
    fold(&mut computed, [counters::replica_failure(decisions.view)]);
    let why = explained(decisions, &computed);
    let awaited = awaited(decisions, &why).map(Box::new);
    let blockers = blocked::current(decisions, &computed, &why);
    blocked::note(&mut computed, &blockers);
    let why = why.blocked_by(blocked::words(&blockers)).instead(target::words(decisions));
    let requeue = progress::requeue(decisions, &computed).earliest(target::requeue(decisions, &computed));
    Report { awaited, ..finished(decisions, draft, computed, why, requeue) }
}

/// The one status write: of what was computed, or of what to report before ReplicaSets are changed.
fn finished(
    decisions: &Decisions<'_>,
    draft: Draft<'_>,
    computed: InHand<'_>,
    why: Why,
    requeue: Requeue,
) -> Report {
    let Draft { status, revision, if_create_refused, due: early, events, mut deviation } = draft;
    if decisions.creation.is_some() && early.is_some() && *computed != *status {
        // Upstream writes twice from one copy of the object, and trips over itself.
        deviation = Some("S4.5");
    }
    let is_counted = !is_deferred(decisions, early) || !keeps_counters(decisions.view.observed, &status);
    let chosen = resting::note(decisions, if is_counted { computed } else { status });
    let moves = &decisions.moves;
    let is_between = moves.is_up() && moves.is_down() && !moves.is_up_again();
    // A cut may be refused, so the status reports the growth first.
    let due = early.unwrap_or(if is_between { Due::BeforeCuts } else { Due::Last });
    let (write, news) = written(decisions, chosen, revision, &why);
    Report { write, news, due, if_create_refused, why, requeue, events, deviation, ..Report::default() }
}

/// Whether ReplicaSets are changed after the status, so that its counters are left to the next reconcile, which sees
/// the outcome.
fn is_deferred(decisions: &Decisions<'_>, early: Option<Due>) -> bool {
    let Decisions { aim, moves, writes, history, .. } = decisions;
    let is_early = early.is_some();
    // The counters report growth.
    let scales = !moves.is_up() && writes.iter().any(|write| write.is_scaled);
    let syncs = matches!(aim.because, Because::Paused) && decisions.upkeep.is_needed();
    let deletes = !history.surplus.sets.is_empty();
    let makes_room = history.spare.as_ref().is_some_and(|spare| !spare.sets.is_empty());
    let is_between = moves.is_up() && moves.is_down() && !moves.is_up_again();
    (is_early && (scales || syncs || deletes)) || ((is_early || is_between) && makes_room)
}

/// Whether a status of before may keep its counters: on rollwright.dev, never those of this very generation, since
/// the ReplicaSets that they were counted from may be gone.
fn keeps_counters(observed: &Observed, in_hand: &Status) -> bool {
    let is_of_before = in_hand.observed_generation < observed.workload.generation;
    is_of_before || !observed.flavour.has_status_extras()
}

/// Where the rollout stands.
fn standing<'a>(decisions: &Decisions<'_>, status: &Status, is_complete: bool, why: &'a Why) -> Standing<'a> {
    let workload = decisions.view.workload();
    match &decisions.aim.because {
        Because::SelectsAll => Standing::selecting_all(why),
        Because::NewerSpec(_) => Standing::newer_spec(why),
        Because::Failed { reason } => Standing::failed(reason, why),
        Because::JobRefused(_) => Standing::failed(reason::JOB_REFUSED, why),
        Because::Held => Standing::failed(reason::HELD_AFTER_RESTART, why),
        Because::AwaitsHook => Standing::resting(reason::AWAITING_HOOK, why),
        _ if decisions.resting().is_some() && !Standing::is_blocked(status) => {
            if decisions.failed_gate() {
                return Standing::failed(reason::GATE_FAILED, why);
            }
            Standing::resting(reason::RESTING_AT_STEP, why)
        }
        _ if decisions.awaits_hook_after(status) && !workload.paused && !Standing::is_blocked(status) => {
            Standing::resting(reason::AWAITING_HOOK, why)
        }
        _ => Standing::diverged(&decisions.course.situation, workload.paused, why)
            .unwrap_or_else(|| Standing::of(status, workload, is_complete, why)),
    }
}

/// A status to write, and the events after that; nothing, if the stored one is the same.
fn written(
    decisions: &Decisions<'_>,
    mut status: InHand<'_>,
    revision: Option<String>,
    why: &Why,
) -> (Option<Box<StatusWrite>>, Vec<Event>) {
    let workload = decisions.view.workload();
    let is_complete = decisions.has_declared() && decisions.is_complete(&status);
    let has_extras = decisions.view.observed.flavour.has_status_extras();
    let standing = has_extras.then(|| standing(decisions, &status, is_complete, why));
    if let Some(standing) = &standing {
        standing.note(&mut status, decisions.view.now);
    }
    if status.is_stored() && revision.is_none() && !records::closes(decisions, &status) {
        return (None, Vec::new());
    }
    if let Some(standing) = standing {
        standing.reword(&mut status.edit().conditions);
        let current = blocked::current(decisions, &status, why);
        blocked::refresh(status.edit(), current);
    }
    let mut status = status.into_box();
    let Noted { ended, last_scale, is_failure } =
        if has_extras { records::note(decisions, why, &mut status) } else { Noted::default() };
    let write = StatusWrite { status: *status, revision_annotation: revision, ended, last_scale, is_failure };
    let mut news = Vec::new();
    if has_extras {
        let (before, after) = (&workload.status, &write.status);
        news = rollout::events(workload, &write, decisions.declared_name(), why);
        news.extend(blocked::event(before, after));
        news.extend(target::event(decisions, after).or_else(|| explain::event(before, after)));
    }
    if let Because::NewerSpec(newer) = &decisions.aim.because
        && !has_condition(&workload.status.conditions, condition::STALLED, "True", reason::NEWER_SPEC)
    {
        news.push(Event::warning(reason::NEWER_SPEC, newer.clone()));
    }
    (Some(Box::new(write)), news)
}
