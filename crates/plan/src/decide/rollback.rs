//! Going back to an earlier revision (S10).

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::course::view::View;
use crate::model::action::{Ask, Event, RollBack};
use crate::model::conditions::{Condition, Edit, whole_seconds};
use crate::model::durations::ROLLBACK_REPEATED_WITHIN;
use crate::model::keys::{CHANGE_CAUSE, CHANGED_BY, FINGERPRINTS, condition, is_never_copied, reason};
use crate::model::labels::Map;
use crate::model::observed::{Observed, ReplicaSet, Workload};
use crate::model::record::Author;
use crate::model::revision::{self, Revision, Wanted};
use crate::model::sets::Sets;
use crate::model::status::{RecentRollback, RollbackRecord};
use crate::model::template::Template;
use crate::moves::aim::{Aim, Because};

/// How many rollbacks are carried out within [`ROLLBACK_REPEATED_WITHIN`] when nobody writes a
/// template that was not there before; then a `rollbackTo` was left in a repository.
const REPEATS_MAX: usize = 3;

/// The outcome of `spec.rollbackTo`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    /// Nobody asks for anything.
    None,
    /// The rollback is carried out; 0 is the previous revision.
    Granted(i64),
    /// The request stays untouched, and the rollout continues without it.
    Refused(Box<Refusal>),
}

/// A request that is not carried out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) condition: Condition,
    /// The record and the event that report a new refusal; a refusal that stands was reported before.
    pub(crate) news: Option<(RollbackRecord, Event)>,
}

/// Whether the request is refused (rollwright.dev): the same templates went back and forth three times within
/// ten minutes, or the request was refused before and still stands there.
pub(crate) fn request(view: View<'_>) -> Request {
    let View { observed, sets, now } = view;
    let workload = &observed.workload;
    let Some(requested) = workload.rollback_to else { return Request::None };
    if !observed.flavour.has_status_extras() {
        return Request::Granted(requested);
    }
    let set = sets.all.iter().find(|set| set.carries(&workload.template.fingerprint)).copied();
    let still = workload.status.ours.rollback.as_ref().is_some_and(|record| {
        // The condition goes away with the request, and with it the refusal.
        record.result == "Refused"
            && workload.status.condition(condition::ROLLBACK_REFUSED).is_some()
            && record.requested == requested
            && record.recent.iter().any(|entry| concerns_current(workload, set, entry))
    });
    let recent = recent(workload, set, now);
    if !still && recent.len() < REPEATS_MAX {
        return Request::Granted(requested);
    }
    let message = format!(
        "spec.rollbackTo was carried out {REPEATS_MAX} times within {} minutes while the same templates came \
         back each time; remove spec.rollbackTo from the manifest, or apply a new spec.template",
        ROLLBACK_REPEATED_WITHIN.as_secs() / 60
    );
    let news = (!still).then(|| {
        let (time, result) = (whole_seconds(now).to_string(), "Refused".to_owned());
        let record = RollbackRecord { requested, result, time, recent, ..RollbackRecord::default() };
        (record, Event::warning(reason::ROLLBACK_REPEATED, message.clone()))
    });
    let condition =
        Condition::new(condition::ROLLBACK_REFUSED, "True", reason::ROLLBACK_REPEATED, message, now);
    Request::Refused(Box::new(Refusal { condition, news }))
}

impl Request {
    /// A refusal lasts as long as the request.
    pub(crate) fn edit(&self) -> Option<Edit> {
        match self {
            Self::None => Some(Edit::Drop(condition::ROLLBACK_REFUSED)),
            Self::Granted(_) => None,
            Self::Refused(refusal) => Some(Edit::Set(Box::new(refusal.condition.clone()))),
        }
    }
}

/// The rollbacks that count against the limit: of the last ten minutes, and none once a template is there that no
/// recent rollback replaced or restored. `set` is that of the current template.
fn recent(workload: &Workload, set: Option<&ReplicaSet>, now: Timestamp) -> Vec<RecentRollback> {
    let Some(record) = &workload.status.ours.rollback else { return Vec::new() };
    if !record.recent.iter().any(|entry| concerns_current(workload, set, entry)) {
        return Vec::new();
    }
    let is_recent = |entry: &&RecentRollback| {
        let end = entry.time.parse::<Timestamp>().and_then(|time| time.checked_add(ROLLBACK_REPEATED_WITHIN));
        end.is_ok_and(|end| now < end)
    };
    record.recent.iter().filter(is_recent).cloned().collect()
}

/// Whether a rollback replaced or restored the current template, or one that differs in its text only. A rollback
/// restores what the server stored, defaults included, and applying the manifest again leaves those in place. The
/// ReplicaSet stands for all these texts.
fn concerns_current(workload: &Workload, set: Option<&ReplicaSet>, entry: &RecentRollback) -> bool {
    let is = |text: &str| entry.from == text || entry.to == text;
    is(workload.template.fingerprint.as_str())
        || set.is_some_and(|set| set.fingerprints.iter().any(|other| is(other.as_str())))
}

/// A request that is carried out: one write clears it (S10.6–S10.8).
#[derive(Clone, Debug)]
pub(crate) struct Rollback {
    pub(crate) write: RollBack,
    /// The event once the template is restored.
    pub(crate) done: Option<Event>,
    /// The event where nothing is restored: before the write, as upstream does (S10.6).
    pub(crate) warning: Option<Event>,
    /// Index of the target, and annotations that it gets.
    pub(crate) mark: Option<(usize, Map)>,
    /// `status.rollback` (rollwright.dev).
    pub(crate) record: Option<RollbackRecord>,
    pub(crate) deviation: Option<&'static str>,
}

/// The outcome of a request.
enum RollbackOutcome<'a> {
    Done { revision: i64, index: usize, set: &'a ReplicaSet, template: Template },
    NotFound(&'static str),
    Unchanged { revision: i64 },
}

/// A request is carried out (S10.3–S10.9), where the aim is that. `declared` is the revision of the declared
/// ReplicaSet, there or to be created.
///
/// # Errors
/// With the question for the template to restore.
pub(crate) fn rollback(
    view: View<'_>,
    aim: &Aim,
    declared: impl FnOnce() -> Option<Revision>,
) -> Result<Option<Box<Rollback>>, Ask> {
    let View { observed, sets, .. } = view;
    let Because::RollingBack(requested) = aim.because else { return Ok(None) };
    let declared = declared();
    let Wanted { number, deviation } = revision::wanted(requested, sets, declared.map(Revision::or_zero));
    let outcome = match number {
        Some(wanted) => choose(observed, sets, declared, wanted)?,
        None => RollbackOutcome::NotFound("Unable to find last revision."),
    };
    let record = observed.flavour.has_status_extras().then(|| record(view, requested, &outcome));
    let name = &observed.workload.name;
    Ok(Some(Box::new(match outcome {
        RollbackOutcome::NotFound(message) => {
            let warning = Event::warning(reason::ROLLBACK_REVISION_NOT_FOUND, message.to_owned());
            Rollback { record, deviation, ..Rollback::cleared(warning) }
        }
        RollbackOutcome::Unchanged { .. } => {
            let message =
                format!("The rollback revision contains the same template as current deployment \"{name}\"");
            let warning = Event::warning(reason::ROLLBACK_TEMPLATE_UNCHANGED, message);
            Rollback { record, deviation, ..Rollback::cleared(warning) }
        }
        RollbackOutcome::Done { revision, index, set, template } => {
            let message = format!("Rolled back deployment \"{name}\" to revision {revision}");
            Rollback {
                mark: mark(observed, set, &template).map(|annotations| (index, annotations)),
                write: RollBack { template: Some(template), annotations: annotations(observed, set) },
                done: Some(Event::normal(reason::ROLLBACK, message)),
                warning: None,
                record,
                deviation,
            }
        }
    })))
}

impl Rollback {
    /// The operator restores nothing (S10.8).
    fn cleared(warning: Event) -> Self {
        Self {
            write: RollBack { template: None, annotations: BTreeMap::new() },
            done: None,
            warning: Some(warning),
            mark: None,
            record: None,
            deviation: None,
        }
    }
}

/// S10.5, S10.6.
fn choose<'a>(
    observed: &Observed,
    sets: &Sets<'a>,
    declared: Option<Revision>,
    wanted: i64,
) -> Result<RollbackOutcome<'a>, Ask> {
    let is_wanted = |revision: Revision| revision != Revision::Garbage && revision.or_zero() == wanted;
    // Old ReplicaSets first, then the declared one.
    let Some((index, set)) = sets.olds().find(|(_, set)| is_wanted(revision::of(set))) else {
        return Ok(if declared.is_some_and(is_wanted) {
            RollbackOutcome::Unchanged { revision: wanted }
        } else {
            RollbackOutcome::NotFound("Unable to find the revision to rollback to.")
        });
    };
    if set.carries(&observed.workload.template.fingerprint) {
        return Ok(RollbackOutcome::Unchanged { revision: wanted });
    }
    match &observed.answers.set_template {
        Some((uid, template)) if *uid == set.uid => Ok(RollbackOutcome::Done {
            revision: wanted,
            index,
            set,
            template: template.without_hash_label(),
        }),
        _ => Err(Ask::SetTemplate { name: set.name.clone(), uid: set.uid.clone() }),
    }
}

/// The target ReplicaSet gets the fingerprint of the template that is about to be written, so that
/// it is found again whatever the server made of that template.
fn mark(observed: &Observed, set: &ReplicaSet, template: &Template) -> Option<Map> {
    let fingerprint = observed.flavour.fingerprint(template);
    let is_missing = observed.flavour.marks_sets() && !set.carries(&fingerprint);
    is_missing.then(|| Map::from([(FINGERPRINTS.to_owned(), fingerprint.appended_to(&set.fingerprints))]))
}

/// The Deployment's annotations after the rollback (S10.7): the operator restores those of the ReplicaSet, except for
/// the author, which is the user who asked for the rollback. On rollwright.dev it restores only the change-cause.
fn annotations(observed: &Observed, set: &ReplicaSet) -> BTreeMap<String, Option<String>> {
    let present = &observed.workload.annotations;
    let mut changes = BTreeMap::new();
    if observed.flavour.goes_by_annotations() {
        let comes_back = |key: &str| !is_never_copied(key) && key != CHANGED_BY;
        for key in present.keys().filter(|key| comes_back(key)) {
            changes.insert(key.clone(), None);
        }
        for (key, value) in set.annotations.iter().filter(|(key, _)| comes_back(key)) {
            changes.insert(key.clone(), Some(value.clone()));
        }
    } else {
        changes.insert(CHANGE_CAUSE.to_owned(), set.annotations.get(CHANGE_CAUSE).cloned());
    }
    changes.retain(|key, value| present.get(key) != value.as_ref());
    changes
}

/// `status.rollback` (rollwright.dev).
fn record(view: View<'_>, requested: i64, outcome: &RollbackOutcome<'_>) -> RollbackRecord {
    let View { observed, sets, now } = view;
    let workload = &observed.workload;
    let time = whole_seconds(now).to_string();
    let carries = sets.all.iter().find(|set| set.carries(&workload.template.fingerprint)).copied();
    let mut recent = recent(workload, carries.or_else(|| sets.declared()), now);
    let (revision, result) = match outcome {
        RollbackOutcome::NotFound(_) => (0, "RevisionNotFound"),
        RollbackOutcome::Unchanged { revision } => (*revision, "TemplateUnchanged"),
        RollbackOutcome::Done { revision, template, .. } => {
            recent.push(RecentRollback {
                time: time.clone(),
                from: workload.template.fingerprint.as_str().to_owned(),
                to: observed.flavour.fingerprint(template).as_str().to_owned(),
            });
            (*revision, "RolledBack")
        }
    };
    let author = Author::with_user(workload.authors.rollback.clone(), workload.annotations.get(CHANGED_BY));
    RollbackRecord { requested, revision, result: result.to_owned(), time, author, recent, message: None }
}
