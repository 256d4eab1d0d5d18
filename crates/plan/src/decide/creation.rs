//! Creates the declared ReplicaSet if it does not exist yet (S4.6–S4.14).

use crate::course::Course;
use crate::course::memory::Memory;
use crate::course::view::View;
use crate::decide::collision::{self, Names};
use crate::decide::upkeep::{Upkeep, copied};
use crate::model::action::{Ask, NewReplicaSet};
use crate::model::keys::{DESIRED_REPLICAS, FINGERPRINTS, HASH_LABEL, MAX_REPLICAS, REVISION, ROLLOUT};
use crate::model::labels::Map;
use crate::model::observed::{Observed, Workload};
use crate::model::revision::{self, Next, Revision};
use crate::model::sets::Sets;
use crate::model::template::pod_template_hash;
use crate::moves::aim::Aim;
use crate::moves::sizes::Moves;

/// A ReplicaSet that is created, and what of it is read elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Creation {
    pub(crate) set: NewReplicaSet,
    pub(crate) revision: i64,
    /// The rule from which the revision deviates.
    pub(crate) deviation: Option<&'static str>,
}

/// The ReplicaSet that is created: where the moves want one, and there is a name for it (S4.6, NS-1). While another
/// ReplicaSet runs, it is created without pods, so that the template has its revision (FP-11).
///
/// # Errors
/// With the question for the template.
pub(crate) fn creation(
    view: View<'_>,
    course: &Course,
    aim: &Aim,
    moves: &Moves,
) -> Result<Option<Box<Creation>>, Ask> {
    let View { observed, sets, now } = view;
    let beside = (!course.situation.is_declared() && aim.needs_declared(moves)).then_some(0);
    let Some(size) = moves.created.or(beside).filter(|_| sets.declared.is_none()) else { return Ok(None) };
    // S10.3: a rollback that replaces a template needs no ReplicaSet that the server refuses.
    if observed.answers.refuses_creation || matches!(collision::names(observed, now), Names::Held(_)) {
        return Ok(None);
    }
    // S4.12
    let Next { number: revision, deviation } = revision::next_of(sets);
    let mut set = describe(observed, size, revision)?;
    if observed.flavour.has_safeguards() {
        let memory = Memory::fresh(&observed.workload, revision, &course.fresh, now);
        if memory.is_needed() {
            set.annotations.insert(ROLLOUT.to_owned(), memory.text());
        }
    }
    Ok(Some(Box::new(Creation { set, revision, deviation })))
}

/// The ReplicaSet that would be created (S4.7–S4.14).
///
/// # Errors
/// With the question for the template.
pub(crate) fn describe(observed: &Observed, size: i64, revision: i64) -> Result<NewReplicaSet, Ask> {
    let workload = &observed.workload;
    let template = observed.answers.template.as_ref().ok_or(Ask::Template)?;
    let hash = pod_template_hash(template, workload.status.collision_count);
    let mut labels = workload.template.labels.clone();
    labels.insert(HASH_LABEL.to_owned(), hash.clone());
    if let Some((key, value)) = observed.flavour.set_labels() {
        labels.insert(key.to_owned(), value.to_owned());
    }
    let mut selector = workload.selector.clone().unwrap_or_default();
    selector.match_labels.insert(HASH_LABEL.to_owned(), hash.clone());
    let mut annotations = copied(observed.flavour, workload, &Map::new());
    annotations.insert(REVISION.to_owned(), revision.to_string());
    annotations.extend(counts(workload).map(|(key, count)| (key.to_owned(), count.to_string())));
    if observed.flavour.marks_sets() {
        annotations.insert(FINGERPRINTS.to_owned(), workload.template.fingerprint.appended_to(&[]));
    }
    Ok(NewReplicaSet {
        name: set_name(&workload.name, &hash),
        template: template.with_hash_label(&hash),
        hash,
        labels,
        annotations,
        size,
        min_ready_seconds: workload.min_ready_seconds,
        selector,
    })
}

/// `desired-replicas` and `max-replicas` as of now (S4.14).
pub(crate) fn counts(workload: &Workload) -> [(&'static str, i64); 2] {
    let surge = workload.strategy.max_surge(workload.replicas);
    // Within what a size can be (S8.7 without its overflow).
    let most = workload.replicas.saturating_add(surge).min(i64::from(i32::MAX));
    [(DESIRED_REPLICAS, workload.replicas), (MAX_REPLICAS, most)]
}

/// `<deployment>-<hash>`, the first part cut so that the whole is a legal name (S4.8).
#[must_use]
pub fn set_name(deployment: &str, hash: &str) -> String {
    const NAME_LENGTH_MAX: usize = 253;
    let room = NAME_LENGTH_MAX.saturating_sub(1).saturating_sub(hash.len());
    let cut = if room > 0 { deployment.get(..room).unwrap_or(deployment) } else { deployment };
    format!("{cut}-{hash}")
}

/// The revision of the declared ReplicaSet, there or to be created, once its upkeep is done.
pub(crate) fn revision(sets: &Sets<'_>, upkeep: &Upkeep, creation: Option<&Creation>) -> Option<Revision> {
    let created = creation.map(|creation| Revision::Number(creation.revision));
    created.or_else(|| sets.declared().map(|set| Revision::read(upkeep.revision(set))))
}
