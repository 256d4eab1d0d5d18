//! Going back to an earlier revision (S10).

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::action::{Action, Ask, Event, RollBack, Target};
use crate::bug::{Bug, has};
use crate::conditions::{Condition, drop_condition, set_condition, whole_seconds};
use crate::draft::Draft;
use crate::keys::{CHANGE_CAUSE, FINGERPRINTS, condition, is_never_copied, reason};
use crate::new_set;
use crate::observed::Map;
use crate::revision;
use crate::rolling;
use crate::status::{RecentRollback, RollbackRecord};
use crate::template::without_hash_label;
use crate::why::Why;

/// How many rollbacks are carried out within [`REPEAT_WINDOW_SECONDS`] when nobody writes a
/// template that was not there before; then a `rollbackTo` was left in a repository.
const REPEATS_MAX: usize = 3;
const REPEAT_WINDOW_SECONDS: i64 = 600;

/// What came of a request.
enum Outcome {
    Done { revision: i64, template: Box<serde_json::Value>, target: Target },
    NotFound(&'static str),
    Unchanged { revision: i64 },
}

/// One rollback pass: nothing is scaled in it (S10.3–S10.9).
pub(crate) fn roll_back(draft: &mut Draft<'_>, requested: i64) -> Result<(), Ask> {
    new_set::find_once(draft)?;
    // S10.9: on our kind this pass makes no pods either (AV-4).
    let is_empty = draft.observed.flavour.has_safeguards();
    new_set::ensure(draft, if is_empty { 0 } else { rolling::initial_size(draft) })?;
    let outcome = choose(draft, requested)?;
    draft.why = Why::RollingBack;
    if draft.observed.flavour.has_status_extras() {
        carry_out(draft, &outcome);
        record(draft, requested, &outcome);
        let status = draft.status.clone();
        draft.status_at = None;
        draft.write_status(status);
    } else {
        let status = draft.status.clone();
        draft.write_status(status);
        carry_out(draft, &outcome);
    }
    Ok(())
}

/// The revision that a request means.
pub(crate) fn wanted(draft: &mut Draft<'_>, requested: i64) -> Option<i64> {
    // S10.4, with S5.7 mended: never the current one.
    if requested == 0 { revision::previous(draft) } else { Some(requested) }
}

fn choose(draft: &mut Draft<'_>, requested: i64) -> Result<Outcome, Ask> {
    let Some(wanted) = wanted(draft, requested) else {
        return Ok(Outcome::NotFound("Unable to find last revision."));
    };
    // S10.5: old sets first, then the new one.
    let found = draft.olds().chain(draft.new).find(|index| {
        draft.sets.get(*index).is_some_and(|set| match revision::of(set) {
            revision::Revision::Garbage => false,
            other => other.or_zero() == wanted,
        })
    });
    let Some(index) = found else {
        let is_created = draft.created.as_ref().is_some_and(|created| created.revision == wanted);
        return Ok(if is_created {
            Outcome::Unchanged { revision: wanted }
        } else {
            Outcome::NotFound("Unable to find the revision to rollback to.")
        });
    };
    let Some(set) = draft.sets.get(index) else { return Ok(Outcome::NotFound("")) };
    // S10.6
    if Some(index) == draft.new || set.seen.carries(&draft.workload.template.fingerprint) {
        return Ok(Outcome::Unchanged { revision: wanted });
    }
    match &draft.observed.answers.set_template {
        Some((uid, template)) if *uid == set.seen.uid => Ok(Outcome::Done {
            revision: wanted,
            template: Box::new(without_hash_label(template)),
            target: set.target(),
        }),
        _ => Err(Ask::SetTemplate { name: set.seen.name.clone(), uid: set.seen.uid.clone() }),
    }
}

/// Writes the outcome to the Deployment itself: one write clears the request (S10.6–S10.8).
fn carry_out(draft: &mut Draft<'_>, outcome: &Outcome) {
    let name = &draft.workload.name;
    match outcome {
        Outcome::NotFound(message) => {
            let event = Event::warning(reason::ROLLBACK_REVISION_NOT_FOUND, (*message).to_owned());
            clear(draft, event);
        }
        Outcome::Unchanged { .. } => {
            let message =
                format!("The rollback revision contains the same template as current deployment \"{name}\"");
            clear(draft, Event::warning(reason::ROLLBACK_TEMPLATE_UNCHANGED, message));
        }
        Outcome::Done { revision, template, target } => {
            let event = Event::normal(
                reason::ROLLBACK,
                format!("Rolled back deployment \"{name}\" to revision {revision}"),
            );
            let index = draft.sets.iter().position(|set| set.seen.uid == target.uid);
            if let Some(index) = index {
                mark(draft, index, template);
            }
            let annotations = index.map_or_else(BTreeMap::new, |index| annotations(draft, index));
            let write = RollBack { template: Some((**template).clone()), annotations };
            draft.push(Action::RollBack(Box::new(write)), vec![event]);
        }
    }
}

/// The warning goes out before the write that clears, as upstream's does (S10.6), and only once
/// the writes before it are done: after a refused one, upstream has not looked for the revision yet.
fn clear(draft: &mut Draft<'_>, event: Event) {
    match draft.actions.last_mut() {
        Some(before) => before.events.push(event),
        None => draft.events.push(event),
    }
    let write = RollBack { template: None, annotations: BTreeMap::new() };
    draft.push(Action::RollBack(Box::new(write)), Vec::new());
}

/// The target set gets the fingerprint of the template that is about to be written, so that
/// it is found again whatever the server made of that template.
fn mark(draft: &mut Draft<'_>, index: usize, template: &serde_json::Value) {
    let flavour = draft.observed.flavour;
    let fingerprint = flavour.fingerprint(template);
    let Some(set) = draft.sets.get(index) else { return };
    if flavour.marks_sets() && !set.seen.carries(&fingerprint) {
        let list = fingerprint.appended_to(&set.seen.fingerprints);
        draft.annotate_set(index, Map::from([(FINGERPRINTS.to_owned(), list)]));
    }
}

/// The Deployment's annotations after the rollback (S10.7): those of the set come back. On our
/// kind only the change-cause does.
fn annotations(draft: &Draft<'_>, index: usize) -> BTreeMap<String, Option<String>> {
    let Some(set) = draft.sets.get(index) else { return BTreeMap::new() };
    let mut changes = BTreeMap::new();
    if draft.observed.flavour.goes_by_annotations() || has(Bug::RollbackDropsAnnotations) {
        for key in draft.workload.annotations.keys().filter(|key| !is_never_copied(key)) {
            changes.insert(key.clone(), None);
        }
        for (key, value) in set.seen.annotations.iter().filter(|(key, _)| !is_never_copied(key)) {
            changes.insert(key.clone(), Some(value.clone()));
        }
    } else {
        changes.insert(CHANGE_CAUSE.to_owned(), set.annotation(CHANGE_CAUSE).map(str::to_owned));
    }
    changes.retain(|key, value| draft.workload.annotations.get(key) != value.as_ref());
    changes
}

/// `status.rollback` (our kind).
fn record(draft: &mut Draft<'_>, requested: i64, outcome: &Outcome) {
    let time = whole_seconds(draft.now).to_string();
    let mut recent = recent(draft);
    let (revision, result) = match outcome {
        Outcome::NotFound(_) => (0, "RevisionNotFound"),
        Outcome::Unchanged { revision } => (*revision, "TemplateUnchanged"),
        Outcome::Done { revision, template, .. } => {
            recent.push(RecentRollback {
                time: time.clone(),
                from: draft.workload.template.fingerprint.as_str().to_owned(),
                to: draft.observed.flavour.fingerprint(template).as_str().to_owned(),
            });
            (*revision, "RolledBack")
        }
    };
    draft.status.to_mut().ours.rollback = Some(RollbackRecord {
        requested,
        revision,
        result: result.to_owned(),
        time,
        recent,
        ..RollbackRecord::default()
    });
}

/// The rollbacks that count against the limit: of the last ten minutes, and none once a
/// template is there that no recent rollback replaced or put back.
fn recent(draft: &Draft<'_>) -> Vec<RecentRollback> {
    let Some(record) = &draft.status.ours.rollback else { return Vec::new() };
    if !record.recent.iter().any(|entry| concerns_current(draft, entry)) {
        return Vec::new();
    }
    let is_recent = |entry: &&RecentRollback| {
        let age = entry.time.parse::<Timestamp>().map(|time| draft.now.duration_since(time));
        age.is_ok_and(|age| age < SignedDuration::from_secs(REPEAT_WINDOW_SECONDS))
    };
    record.recent.iter().filter(is_recent).cloned().collect()
}

/// Whether a rollback replaced or put back the current template, or one that differs in its text
/// only: a rollback puts back what the server stored, defaults included, and applying the
/// manifest again leaves those in place; the ReplicaSet stands for all these texts.
fn concerns_current(draft: &Draft<'_>, entry: &RecentRollback) -> bool {
    let current = &draft.workload.template.fingerprint;
    let is = |text: &str| entry.from == text || entry.to == text;
    let set = draft.sets.iter().find(|set| set.seen.carries(current)).or_else(|| draft.new_set());
    is(current.as_str())
        || set.is_some_and(|set| set.seen.fingerprints.iter().any(|other| is(other.as_str())))
}

/// Whether the request is refused: the same templates went back and forth three times within
/// ten minutes, or the request was refused before and still stands there.
///
/// A condition says so and the request stays untouched; the rollout goes on without it.
pub(crate) fn is_refused(draft: &mut Draft<'_>, requested: i64) -> bool {
    if !draft.observed.flavour.has_status_extras() {
        return false;
    }
    let still = draft.status.ours.rollback.as_ref().is_some_and(|record| {
        // The condition goes away with the request, and with it the refusal.
        record.result == "Refused"
            && draft.status.condition(condition::ROLLBACK_REFUSED).is_some()
            && record.requested == requested
            && record.recent.iter().any(|entry| concerns_current(draft, entry))
    });
    let recent = recent(draft);
    if !still && recent.len() < REPEATS_MAX {
        return false;
    }
    let message = format!(
        "spec.rollbackTo was carried out {REPEATS_MAX} times within {} minutes while the same templates came \
         back each time; remove spec.rollbackTo from the manifest, or apply a new spec.template",
        REPEAT_WINDOW_SECONDS / 60
    );
    if !still {
        draft.events.push(Event::warning(reason::ROLLBACK_REPEATED, message.clone()));
        let time = whole_seconds(draft.now).to_string();
        let result = "Refused".to_owned();
        draft.status.to_mut().ours.rollback =
            Some(RollbackRecord { requested, result, time, recent, ..RollbackRecord::default() });
    }
    let refusal =
        Condition::new(condition::ROLLBACK_REFUSED, "True", reason::ROLLBACK_REPEATED, message, draft.now);
    set_condition(&mut draft.status.to_mut().conditions, refusal);
    true
}

/// The refusal is over once the request is gone.
pub(crate) fn forget_refusal(draft: &mut Draft<'_>) {
    drop_condition(&mut draft.status, condition::ROLLBACK_REFUSED);
}
