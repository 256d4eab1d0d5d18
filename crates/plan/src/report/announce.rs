//! What the status reports about the declared ReplicaSet, once it is found or created (S4.4, S4.15, S5.6).

use jiff::Timestamp;

use crate::course::view::View;
use crate::decide::creation::Creation;
use crate::decide::upkeep::Upkeep;
use crate::model::conditions::{Condition, Edit, has_condition};
use crate::model::keys::{REVISION, REVISION_HISTORY, condition, reason};
use crate::model::observed::{Observed, ReplicaSet, Workload};
use crate::model::revision::Revision;
use crate::model::status::Status;
use crate::moves::aim::Aim;

/// Events to report.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Announcement {
    /// apps/v1: the revision annotation, where it is another one.
    pub(crate) revision: Option<String>,
    pub(crate) edit: Option<Edit>,
    /// Whether to report it before anything else is done to ReplicaSets.
    pub(crate) is_early: bool,
}

/// The declared ReplicaSet was found. In reconciles that look only once, the planner reports nothing about a ReplicaSet
/// that was out of step (S4.3): upstream leaves that to the next one. `status` is that in hand.
pub(crate) fn found(
    view: View<'_>,
    status: &Status,
    aim: &Aim,
    upkeep: &Upkeep,
    set: &ReplicaSet,
) -> Announcement {
    let View { observed, now, .. } = view;
    if aim.looks_once() && upkeep.is_needed() {
        return Announcement::default();
    }
    let revision = annotated(observed, || upkeep.revision(set).unwrap_or_default());
    let has_deadline = observed.workload.progress_deadline_seconds.is_some();
    let is_first = status.condition(condition::PROGRESSING).is_none();
    // On rollwright.dev: the time of the rollout before does not count for this one.
    if !has_deadline || !(is_first || is_another(observed, set, upkeep)) {
        let is_early = revision.is_some();
        return Announcement { revision, edit: None, is_early };
    }
    let condition = if was_created(observed, set, upkeep) {
        progressing(reason::NEW_REPLICA_SET_CREATED, created_message(&set.name), now)
    } else {
        let message = format!("Found new replica set \"{}\"", set.name);
        progressing(reason::FOUND_NEW_REPLICA_SET, message, now)
    };
    let is_early = is_first || revision.is_some();
    let edit = if is_first { Edit::Set(condition) } else { Edit::Renew(condition) };
    Announcement { revision, edit: Some(edit), is_early }
}

/// The declared ReplicaSet is created.
pub(crate) fn created(
    observed: &Observed,
    status: &Status,
    creation: &Creation,
    now: Timestamp,
) -> Announcement {
    let revision = annotated(observed, || creation.revision.to_string());
    let reason = reason::NEW_REPLICA_SET_CREATED;
    let is_said = has_condition(&status.conditions, condition::PROGRESSING, "True", reason);
    // On rollwright.dev: a ReplicaSet before this one that nobody has seen moving yet has left the same reason.
    let is_renewed = status.condition(condition::PROGRESSING).is_some_and(|known| known.reason == reason)
        && observed.flavour.has_status_extras();
    let has_deadline = observed.workload.progress_deadline_seconds.is_some();
    let edit = (has_deadline && (is_renewed || !is_said)).then(|| {
        let condition = progressing(reason, created_message(&creation.set.name), now);
        if is_renewed { Edit::Renew(condition) } else { Edit::Set(condition) }
    });
    let is_early = revision.is_some() || edit.is_some();
    Announcement { revision, edit, is_early }
}

fn progressing(reason: &str, message: String, now: Timestamp) -> Box<Condition> {
    Box::new(Condition::new(condition::PROGRESSING, "True", reason, message, now))
}

/// On rollwright.dev the revision is a field of the status.
fn annotated<T: AsRef<str> + Into<String>>(
    observed: &Observed,
    revision: impl FnOnce() -> T,
) -> Option<String> {
    if !observed.flavour.goes_by_annotations() {
        return None;
    }
    let stored = observed.workload.annotations.get(REVISION).map_or("", String::as_str);
    let revision = revision();
    (stored != revision.as_ref()).then(|| revision.into())
}

/// Whether the status was last written when another ReplicaSet, or none, was the declared one (rollwright.dev, which
/// keeps its revision there; a ReplicaSet gets a higher one when it becomes the declared one).
fn is_another(observed: &Observed, set: &ReplicaSet, upkeep: &Upkeep) -> bool {
    let Workload { deleting, status, .. } = &observed.workload;
    !deleting && status.ours.revision.is_some() && is_unreported(status, set, upkeep)
}

/// Whether the status lacks the revision of this ReplicaSet (rollwright.dev).
fn is_unreported(status: &Status, set: &ReplicaSet, upkeep: &Upkeep) -> bool {
    let revision = Revision::read(upkeep.revision(set)).or_zero();
    status.ours.revision.is_none_or(|reported| revision > reported)
}

/// Whether a reconcile before this one created the ReplicaSet for this template, and its report did not reach
/// the status: it was left to this reconcile (`pace.rs`), or refused (rollwright.dev).
///
/// A ReplicaSet that is older than the Deployment, that somebody else made, or that had another revision
/// before was found.
fn was_created(observed: &Observed, set: &ReplicaSet, upkeep: &Upkeep) -> bool {
    let workload = &observed.workload;
    observed.flavour.marks_sets()
        && is_unreported(&workload.status, set, upkeep)
        && set.created >= workload.created
        && set.carries(&workload.template.fingerprint)
        && set.annotations.contains_key(REVISION)
        && upkeep.annotation(set, REVISION_HISTORY).is_none()
}

fn created_message(name: &str) -> String {
    format!("Created new replica set \"{name}\"")
}
