//! The new ReplicaSet: found, kept in step with the Deployment, or created (S4).

use crate::action::{Ask, NewReplicaSet};
use crate::bug::{Bug, has};
use crate::conditions::{Condition, set_condition};
use crate::draft::{Draft, SetDraft};
use crate::keys::{FINGERPRINTS, HASH_LABEL, REVISION, REVISION_HISTORY, condition, is_never_copied, reason};
use crate::observed::{DryRun, Map};
use crate::revision::{self, Revision};
use crate::template::{Fingerprint, pod_template_hash, with_hash_label, without_hash_label};
use crate::{collision, history};

/// What the API server lets all annotations of an object come to, in bytes of keys and values.
const ANNOTATIONS_MAX: usize = 256 * 1024;
/// What of it is kept free for the annotations that we add to a set: revision, history, sizes and
/// fingerprints.
const ROOM_FOR_OURS: usize = 8 * 1024;

/// Finds the new set and keeps it in step (S4.1–S4.4).
pub(crate) fn find(draft: &mut Draft<'_>) -> Result<(), Ask> {
    look_up(draft)?;
    if let Some(index) = draft.new {
        if synchronise(draft, index) {
            // S4.5: upstream's pass conflicts with itself here, and the next one goes on: what this
            // pass has noted so far is told at its end, with the counters.
            draft.status_at = None;
        }
        note_found(draft, index);
    }
    Ok(())
}

/// As [`find`], but the Deployment takes nothing over from a set that was out of step (S4.3):
/// in passes that look only once, upstream leaves that to the next one.
pub(crate) fn find_once(draft: &mut Draft<'_>) -> Result<(), Ask> {
    look_up(draft)?;
    let Some(index) = draft.new else { return Ok(()) };
    if synchronise(draft, index) {
        draft.defer_report();
    } else {
        note_found(draft, index);
    }
    Ok(())
}

/// Finds the new set without writing to it: for a Deployment that is being deleted
/// (deviation from S3.5).
pub(crate) fn find_only(draft: &mut Draft<'_>) -> Result<(), Ask> {
    let fingerprint = &draft.workload.template.fingerprint;
    draft.new = draft.sets.iter().position(|set| set.seen.carries(fingerprint));
    if let Some(index) = draft.new {
        if !changes(draft, index).is_empty() || is_out_of_step(draft, index) {
            draft.deviate("S3.5");
        }
        note_found(draft, index);
    }
    Ok(())
}

/// The oldest set that carries the template (S4.1). On our kind, if none says so, the server
/// is asked which template it would store, and sets are compared with that.
fn look_up(draft: &mut Draft<'_>) -> Result<(), Ask> {
    let fingerprint = &draft.workload.template.fingerprint;
    draft.new = draft.sets.iter().position(|set| set.seen.carries(fingerprint));
    if has(Bug::TemplatesCompared) {
        let text = |set: &SetDraft<'_>| Fingerprint::from_digest(&set.seen.stored);
        draft.new = draft.sets.iter().position(|set| text(set) == *fingerprint);
        return Ok(());
    }
    if draft.new.is_some() || draft.sets.is_empty() || !draft.observed.flavour.marks_sets() {
        return Ok(());
    }
    match &draft.observed.answers.dry_run {
        None => Err(Ask::DryRun(Box::new(describe(draft, 0, 1)?))),
        Some(DryRun::Refused) => Ok(()),
        Some(DryRun::Stored(digest)) => {
            draft.new = draft.sets.iter().position(|set| set.seen.stored == *digest);
            Ok(())
        }
    }
}

fn is_out_of_step(draft: &Draft<'_>, index: usize) -> bool {
    draft.sets.get(index).is_some_and(|set| set.seen.min_ready_seconds != draft.workload.min_ready_seconds)
}

/// Annotations and `minReadySeconds` of an existing new set follow the Deployment (S4.3).
/// Returns whether it was out of step.
fn synchronise(draft: &mut Draft<'_>, index: usize) -> bool {
    let changes = changes(draft, index);
    let needed = !changes.is_empty() || is_out_of_step(draft, index);
    if needed {
        draft.sync_set(index, changes);
    }
    needed
}

/// The annotations of the new set that are not as they should be (S4.13, S5.3–S5.5).
fn changes(draft: &mut Draft<'_>, index: usize) -> Map {
    let next = revision::next_for(draft);
    let workload = draft.workload;
    let Some(set) = draft.sets.get(index) else { return Map::new() };
    let current = set.annotation(REVISION);
    let parsed = revision::parse(current);
    let mut wanted = copied(draft, &set.seen.annotations, |key, value| set.annotation(key) == Some(value));
    if parsed == Revision::Garbage && has(Bug::RevisionGarbageKept) {
        return Map::new();
    }
    if parsed.or_zero() < next && !(has(Bug::RevisionNotRaised) && parsed != Revision::Absent) {
        wanted.insert(REVISION.to_owned(), next.to_string());
        if let (Revision::Number(_), Some(current)) = (parsed, current)
            && let Some(history) = revision::with_history_entry(set.annotation(REVISION_HISTORY), current)
        {
            wanted.insert(REVISION_HISTORY.to_owned(), history);
        } else if let (Revision::Absent, Some("")) = (parsed, current) {
            let history = revision::with_history_entry(set.annotation(REVISION_HISTORY), "");
            wanted.extend(history.map(|history| (REVISION_HISTORY.to_owned(), history)));
        }
    }
    let fingerprint = &workload.template.fingerprint;
    if draft.observed.flavour.marks_sets() && !set.seen.carries(fingerprint) {
        wanted.insert(FINGERPRINTS.to_owned(), fingerprint.appended_to(&set.seen.fingerprints));
    }
    wanted.retain(|key, value| set.annotation(key) != Some(value));
    if parsed == Revision::Garbage {
        draft.deviate("S5.3");
    }
    wanted
}

/// What of the Deployment's annotations its new set gets, beside those that it has (S4.13), without
/// what is settled already: most passes copy nothing. On our kind, what has no room there is left
/// out: a rollout does not fail for want of a copy.
fn copied(draft: &Draft<'_>, present: &Map, is_settled: impl Fn(&str, &str) -> bool) -> Map {
    // What is there as it should be takes no more room.
    let is_left = |(key, value): &(&String, &String)| {
        let is_there = present.get(*key) == Some(*value) && is_settled(key, value);
        !is_there && !is_never_copied(key)
    };
    let copied = draft.workload.annotations.iter().filter(is_left);
    let copied: Map = copied.map(|(key, value)| (key.clone(), value.clone())).collect();
    if copied.is_empty() || !draft.observed.flavour.has_safeguards() {
        return copied;
    }
    let length = |key: &str, value: &str| key.len().saturating_add(value.len());
    // Nothing is removed from a set, so what it has counts until it is overwritten.
    let add = |used: usize, (key, value): (&String, &String)| used.saturating_add(length(key, value));
    let mut used = present.iter().fold(ROOM_FOR_OURS, add);
    let mut fitting = Map::new();
    for (key, value) in copied {
        let before = present.get(&key).map_or(0, |old| length(&key, old));
        let with_it = used.saturating_sub(before).saturating_add(length(&key, &value));
        if with_it <= ANNOTATIONS_MAX {
            used = with_it;
            fitting.insert(key, value);
        }
    }
    fitting
}

/// The Deployment takes over the set's revision, and says that it found it (S4.4).
fn note_found(draft: &mut Draft<'_>, index: usize) {
    let Some(set) = draft.sets.get(index) else { return };
    let name = &set.seen.name;
    if draft.observed.flavour.goes_by_annotations() {
        let revision = set.annotation(REVISION).unwrap_or_default().to_owned();
        note_revision(draft, revision);
    }
    if draft.workload.progress_deadline_seconds.is_none() {
        return;
    }
    let is_first = draft.status.condition(condition::PROGRESSING).is_none();
    // S4.4, on our kind: the time of the rollout before does not count for this one.
    let is_another = has_another_new(draft, index) && !has(Bug::DeadlineInherited);
    if !is_first && !is_another {
        return;
    }
    let (reason, message) = if was_created(draft, index) {
        (reason::NEW_REPLICA_SET_CREATED, created_message(name))
    } else {
        (reason::FOUND_NEW_REPLICA_SET, format!("Found new replica set \"{name}\""))
    };
    if is_first {
        note_progress(draft, reason, message);
    } else {
        start_anew(draft, reason, message);
    }
}

fn created_message(name: &str) -> String {
    format!("Created new replica set \"{name}\"")
}

/// Progressing as of now, even if its reason stays what it was.
fn start_anew(draft: &mut Draft<'_>, reason: &str, message: String) {
    let begun = Condition::new(condition::PROGRESSING, "True", reason, message, draft.now);
    let conditions = &mut draft.status.to_mut().conditions;
    conditions.retain(|entry| entry.kind != condition::PROGRESSING);
    conditions.push(begun);
}

/// Whether the status was last written when another set, or none, was the new one (our kind, which
/// keeps the new set's revision there; a set that becomes the new one gets a higher one).
fn has_another_new(draft: &Draft<'_>, index: usize) -> bool {
    !draft.workload.deleting && draft.status.ours.revision.is_some() && is_untold(draft, index)
}

/// Whether the status has not told the revision of this set yet (our kind).
fn is_untold(draft: &Draft<'_>, index: usize) -> bool {
    let Some(set) = draft.sets.get(index) else { return false };
    let revision = revision::parse(set.annotation(REVISION)).or_zero();
    draft.status.ours.revision.is_none_or(|told| revision > told)
}

/// Whether a pass before this one created the set for this template, and its report did not reach
/// the status: it was left to this pass ([`crate::pace`]), or refused (our kind).
///
/// A set that is older than the Deployment, that somebody else made, or that had another revision
/// before was found.
fn was_created(draft: &Draft<'_>, index: usize) -> bool {
    let Some(set) = draft.sets.get(index) else { return false };
    draft.observed.flavour.marks_sets()
        && is_untold(draft, index)
        && set.seen.created >= draft.workload.created
        && set.seen.carries(&draft.workload.template.fingerprint)
        && set.seen.annotations.contains_key(REVISION)
        && set.annotation(REVISION_HISTORY).is_none()
}

/// On our kind the revision is a field of the status.
fn note_revision(draft: &mut Draft<'_>, revision: String) {
    let stored = draft.workload.annotations.get(REVISION).map_or("", String::as_str);
    if stored != revision {
        draft.revision_annotation = Some(revision);
        draft.status_is_early();
    }
}

fn note_progress(draft: &mut Draft<'_>, reason: &str, message: String) {
    let known = draft.status.condition(condition::PROGRESSING);
    if known.is_some_and(|known| known.status == "True" && known.reason == reason) {
        return;
    }
    let condition = Condition::new(condition::PROGRESSING, "True", reason, message, draft.now);
    set_condition(&mut draft.status.to_mut().conditions, condition);
    draft.status_is_early();
}

/// Makes sure that there is a new set: plans its creation at this size if none was found
/// (S4.6–S4.15). There is still none when too many names were taken (NS-1).
pub(crate) fn ensure(draft: &mut Draft<'_>, size: i64) -> Result<(), Ask> {
    if draft.has_new() {
        collision::forget(draft);
        return Ok(());
    }
    if !collision::is_used_up(draft) {
        collision::forget(draft);
    } else if collision::is_held(draft) {
        return Ok(());
    }
    let revision = revision::next_for(draft);
    let set = describe(draft, size, revision)?;
    let name = set.name.clone();
    if draft.status_at.is_some() {
        // Upstream's second status write of the pass conflicts with its first.
        draft.deviate("S4.5");
    }
    history::make_room(draft, Some(size));
    draft.create(set, revision);
    collision::forget(draft);
    if draft.observed.flavour.goes_by_annotations() {
        note_revision(draft, revision.to_string());
    }
    if draft.workload.progress_deadline_seconds.is_some() && !has(Bug::DeadlineInherited) {
        if draft.observed.flavour.has_status_extras() {
            // S4.4: a set before this one that nobody has seen moving yet has left the same reason.
            draft.status.to_mut().conditions.retain(|entry| entry.reason != reason::NEW_REPLICA_SET_CREATED);
        }
        note_progress(draft, reason::NEW_REPLICA_SET_CREATED, created_message(&name));
    }
    Ok(())
}

/// The set that would be created (S4.7–S4.14).
fn describe(draft: &Draft<'_>, size: i64, revision: i64) -> Result<NewReplicaSet, Ask> {
    let workload = draft.workload;
    let template = draft.observed.answers.template.as_ref().ok_or(Ask::Template)?;
    let template = without_hash_label(template);
    let hash = pod_template_hash(&template, draft.status.collision_count);
    let name = if has(Bug::NameFromVersion) { &workload.resource_version } else { &hash };
    let mut labels = workload.template.labels.clone();
    labels.insert(HASH_LABEL.to_owned(), hash.clone());
    if let Some((key, value)) = draft.observed.flavour.set_labels() {
        labels.insert(key.to_owned(), value.to_owned());
    }
    let mut selector = workload.selector.clone().unwrap_or_default();
    selector.match_labels.insert(HASH_LABEL.to_owned(), hash.clone());
    let mut annotations = copied(draft, &Map::new(), |_, _| false);
    annotations.insert(REVISION.to_owned(), revision.to_string());
    annotations.extend(draft.replicas_annotations());
    if draft.observed.flavour.marks_sets() {
        let fingerprint: &Fingerprint = &workload.template.fingerprint;
        annotations.insert(FINGERPRINTS.to_owned(), fingerprint.appended_to(&[]));
    }
    Ok(NewReplicaSet {
        name: set_name(&workload.name, name),
        template: with_hash_label(&template, &hash),
        hash,
        labels,
        annotations,
        size,
        min_ready_seconds: workload.min_ready_seconds,
        selector,
    })
}

/// `<deployment>-<hash>`, the first part cut so that the whole is a legal name (S4.8).
#[must_use]
pub fn set_name(deployment: &str, hash: &str) -> String {
    const NAME_LENGTH_MAX: usize = 253;
    let room = NAME_LENGTH_MAX.saturating_sub(1).saturating_sub(hash.len());
    let cut = if room > 0 { deployment.get(..room).unwrap_or(deployment) } else { deployment };
    format!("{cut}-{hash}")
}
