//! What the declared ReplicaSet takes over from the Deployment: revision, annotations, `minReadySeconds`
//! (S4.3, S4.13, S5.3–S5.5).

use crate::course::Course;
use crate::course::memory::Memory;
use crate::course::view::View;
use crate::model::flavour::Flavour;
use crate::model::keys::{CHANGED_BY, FINGERPRINTS, REVISION, REVISION_HISTORY, ROLLOUT, is_never_copied};
use crate::model::labels::Map;
use crate::model::observed::{ReplicaSet, Workload};
use crate::model::revision::{self, HISTORY_LENGTH_MAX, Next, Revision};
use crate::moves::aim::{Aim, Because};

/// What the API server lets all annotations of an object come to, in bytes of keys and values.
const ANNOTATIONS_MAX: usize = 256 * 1024;
/// What of it stays free for the annotations that the operator adds to a ReplicaSet: revision, history, sizes and
/// fingerprints.
const ROOM_FOR_OURS: usize = 8 * 1024;

/// What of the declared ReplicaSet is not as it should be, sizes aside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Upkeep {
    /// Annotations to set.
    pub(crate) annotations: Map,
    /// `minReadySeconds` from and to.
    pub(crate) min_ready_seconds: Option<(i64, i64)>,
    /// Index of the ReplicaSet that runs in the place of the declared one, and its `minReadySeconds` from and to
    /// (FP-11).
    pub(crate) instead: Option<(usize, (i64, i64))>,
    /// Rules from which it deviates on purpose.
    pub(crate) deviations: Vec<&'static str>,
}

impl Upkeep {
    /// Whether the ReplicaSet is out of step.
    pub(crate) fn is_needed(&self) -> bool {
        !self.annotations.is_empty() || self.min_ready_seconds.is_some()
    }

    /// An annotation of the declared ReplicaSet once this is done.
    pub(crate) fn annotation<'a>(&'a self, declared: &'a ReplicaSet, key: &str) -> Option<&'a str> {
        self.annotations.get(key).or_else(|| declared.annotations.get(key)).map(String::as_str)
    }

    /// Its revision annotation.
    pub(crate) fn revision<'a>(&'a self, declared: &'a ReplicaSet) -> Option<&'a str> {
        self.annotation(declared, REVISION)
    }
}

/// S4.3: nothing, if the declared ReplicaSet is not there.
pub(crate) fn upkeep(view: View<'_>, course: &Course, aim: &Aim) -> Upkeep {
    let instead = instead(view, course, aim);
    Upkeep { instead, ..of_declared(view, course, aim) }
}

/// Pods of the ReplicaSet that runs become available as the Deployment asks, whichever ReplicaSet that is (FP-11).
fn instead(view: View<'_>, course: &Course, aim: &Aim) -> Option<(usize, (i64, i64))> {
    let is_any = !course.situation.is_declared() && aim.is_known();
    let index = aim.run.filter(|_| is_any)?;
    let (from, to) = (view.sets.get(index)?.min_ready_seconds, view.workload().min_ready_seconds);
    (from != to).then_some((index, (from, to)))
}

fn of_declared(view: View<'_>, course: &Course, aim: &Aim) -> Upkeep {
    // GA-5: a revision with a Job that the server refuses does not begin.
    let is_known = !matches!(aim.because, Because::NewerSpec(_) | Because::JobRefused(_));
    let Some(set) = view.sets.declared().filter(|_| is_known) else { return Upkeep::default() };
    let wanted = view.workload().min_ready_seconds;
    let upkeep = Upkeep {
        min_ready_seconds: (set.min_ready_seconds != wanted).then_some((set.min_ready_seconds, wanted)),
        ..annotations(view, course, set)
    };
    if matches!(aim.because, Because::Deleting) {
        // S3.5: upstream writes to the ReplicaSet all the same.
        let deviations = upkeep.deviations.iter().copied().chain(upkeep.is_needed().then_some("S3.5"));
        return Upkeep { deviations: deviations.collect(), ..Upkeep::default() };
    }
    upkeep
}

/// The annotations of the declared ReplicaSet that are not as they should be (S4.13, S5.3–S5.5).
fn annotations(view: View<'_>, course: &Course, set: &ReplicaSet) -> Upkeep {
    let View { observed, sets, now } = view;
    let Next { number: next, deviation } = revision::next_of(sets);
    let annotation = |key: &str| set.annotations.get(key).map(String::as_str);
    let current = annotation(REVISION);
    let parsed = Revision::read(current);
    let mut wanted = copied(observed.flavour, &observed.workload, &set.annotations);
    // S5.4
    if parsed.or_zero() < next {
        wanted.insert(REVISION.to_owned(), next.to_string());
        // S5.5
        let earlier = current.filter(|_| parsed != Revision::Garbage);
        let known = annotation(REVISION_HISTORY);
        let history =
            earlier.and_then(|entry| Revision::with_history_entry(HISTORY_LENGTH_MAX, known, entry));
        wanted.extend(history.map(|history| (REVISION_HISTORY.to_owned(), history)));
        // FP-1: renumbering and fresh memory are one write.
        if observed.flavour.has_safeguards() {
            let fresh = Memory::fresh(&observed.workload, next, &course.fresh, now);
            let memory = match Memory::of(set) {
                Some(_) => Some(fresh.survived(Memory::valid(set))),
                None => Some(fresh).filter(Memory::is_needed),
            };
            wanted.extend(memory.map(|memory| (ROLLOUT.to_owned(), memory.text())));
        }
    }
    let fingerprint = &observed.workload.template.fingerprint;
    if observed.flavour.marks_sets() && !set.carries(fingerprint) {
        wanted.insert(FINGERPRINTS.to_owned(), fingerprint.appended_to(&set.fingerprints));
    }
    wanted.retain(|key, value| annotation(key) != Some(value));
    // Upstream stops over a revision that is no number.
    let garbage = (parsed == Revision::Garbage).then_some("S5.3");
    let deviations = deviation.into_iter().chain(garbage).collect();
    Upkeep { annotations: wanted, deviations, ..Upkeep::default() }
}

/// What of the Deployment's annotations its ReplicaSet gets, beside those that it has (S4.13), without
/// what is settled already: most reconciles copy nothing. On rollwright.dev, what has no room there is left
/// out: a rollout does not fail for want of a copy.
pub(crate) fn copied(flavour: Flavour, workload: &Workload, present: &Map) -> Map {
    // S4.13: until a rollback is carried out, the person is the one who asked for it, not the one of this ReplicaSet.
    let is_of_another = |key: &str| key == CHANGED_BY && workload.rollback_to.is_some();
    // What is there as it should be takes no more room.
    let is_left = |(key, value): &(&String, &String)| {
        present.get(*key) != Some(*value) && !is_never_copied(key) && !is_of_another(key)
    };
    let mut copied = Map::new();
    let left = workload.annotations.iter().filter(is_left);
    left.for_each(|(key, value)| _ = copied.insert(key.clone(), value.clone()));
    if copied.is_empty() || !flavour.has_safeguards() {
        return copied;
    }
    let length = |key: &str, value: &str| key.len().saturating_add(value.len());
    // Nothing is removed from a ReplicaSet, so what it has counts until it is overwritten.
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
