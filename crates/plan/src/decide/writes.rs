//! One write for each existing ReplicaSet, whatever a reconcile does to it (S4.3, S4.14, S8.9).

use crate::course::memory::Note;
use crate::course::view::View;
use crate::decide::creation::counts;
use crate::decide::upkeep::Upkeep;
use crate::model::action::{Event, Purpose, Target, UpdateReplicaSet};
use crate::model::keys::{ROLLOUT, reason};
use crate::model::labels::Map;
use crate::model::observed::ReplicaSet;
use crate::model::sets::Sets;
use crate::model::written::reads;
use crate::moves::sizes::{Moves, Resize};

/// The write to a ReplicaSet, and the event once it is done.
#[derive(Clone, Debug)]
pub(crate) struct SetWrite {
    /// Index of the ReplicaSet.
    pub(crate) set: usize,
    pub(crate) update: UpdateReplicaSet,
    /// Whether a cut or a share of R is in it.
    pub(crate) is_scaled: bool,
    pub(crate) events: Vec<Event>,
}

/// The writes in the order in which upkeep and moves first come to the ReplicaSets.
pub(crate) fn writes(view: View<'_>, upkeep: &Upkeep, moves: &Moves, notes: &[Note]) -> Vec<SetWrite> {
    let sets = view.sets;
    let mut writes = sized(view, upkeep, moves);
    for Note { set: index, memory, events } in notes {
        let annotation = (ROLLOUT.to_owned(), memory.text());
        if let Some(write) = writes.iter_mut().find(|write| write.set == *index) {
            write.update.annotations.extend([annotation]);
            // SP-5: what explains a size comes before it.
            write.events.splice(0..0, events.iter().cloned());
        } else if let Some(set) = sets.get(*index) {
            let update = update(set, Map::from([annotation]));
            writes.push(SetWrite { set: *index, update, is_scaled: false, events: events.clone() });
        }
    }
    writes
}

/// What upkeep and moves write.
fn sized(view: View<'_>, upkeep: &Upkeep, moves: &Moves) -> Vec<SetWrite> {
    let sets = view.sets;
    let mut writes = Vec::new();
    if upkeep.is_needed()
        && let (Some(index), Some(set)) = (sets.declared, sets.declared())
    {
        let update = UpdateReplicaSet {
            min_ready_seconds: upkeep.min_ready_seconds,
            ..update(set, upkeep.annotations.clone())
        };
        writes.push(SetWrite { set: index, update, is_scaled: false, events: Vec::new() });
    }
    if let Some((index, min_ready_seconds)) = upkeep.instead
        && let Some(set) = sets.get(index)
    {
        let update =
            UpdateReplicaSet { min_ready_seconds: Some(min_ready_seconds), ..update(set, Map::new()) };
        writes.push(SetWrite { set: index, update, is_scaled: false, events: Vec::new() });
    }
    if moves.is_empty() {
        return writes;
    }
    let counts = counts(view.workload());
    for step in moves.ups().chain(moves.ups_again()) {
        join(&mut writes, counts, sets, step, Purpose::Scale);
    }
    let shares = moves.shares.iter().map(|share| (share, Purpose::Scale));
    let cuts = moves.cuts.iter().map(|cut| (cut, Purpose::ScaleDownOld));
    for (step, purpose) in shares.chain(cuts) {
        if let Some(write) = join(&mut writes, counts, sets, *step, purpose) {
            write.is_scaled = true;
        }
    }
    writes
}

/// A write that changes annotations alone.
pub(crate) fn update(set: &ReplicaSet, annotations: Map) -> UpdateReplicaSet {
    UpdateReplicaSet {
        target: Target::of(set),
        size_from: set.size,
        size_to: set.size,
        min_ready_seconds: None,
        annotations,
        ends_tracking: set.is_tracked,
        purpose: Purpose::Sync,
    }
}

/// Joins a step of sizes to the write of its ReplicaSet. Nothing, if size and annotations are right (S8.9).
fn join<'a>(
    writes: &'a mut Vec<SetWrite>,
    counts: [(&'static str, i64); 2],
    sets: &Sets<'_>,
    step: Resize,
    purpose: Purpose,
) -> Option<&'a mut SetWrite> {
    let set = sets.get(step.set)?;
    let stale = stale(counts, set);
    if !step.is_change() && stale.is_empty() {
        return None;
    }
    let index = writes.iter().position(|write| write.set == step.set).unwrap_or_else(|| {
        let update = update(set, Map::new());
        writes.push(SetWrite { set: step.set, update, is_scaled: false, events: Vec::new() });
        writes.len() - 1
    });
    let write = writes.get_mut(index)?;
    write.update.purpose = purpose;
    write.update.size_to = step.to;
    write.update.annotations.extend(stale);
    if step.is_change() {
        write.events.push(scaled(&set.name, step.from, step.to));
    }
    Some(write)
}

/// The replicas annotations that a ReplicaSet does not have as they should be (S4.14); in the middle of a
/// rollout mostly none.
fn stale(counts: [(&'static str, i64); 2], set: &ReplicaSet) -> Map {
    let is_stale = |(key, count): &(&'static str, i64)| {
        !set.annotations.get(*key).is_some_and(|text| reads(text, count))
    };
    // To collect nothing into a map takes a vector and a sort.
    let mut stale = Map::new();
    counts
        .into_iter()
        .filter(is_stale)
        .for_each(|(key, count)| _ = stale.insert(key.to_owned(), count.to_string()));
    stale
}

/// S12.
pub(crate) fn scaled(name: &str, from: i64, to: i64) -> Event {
    let direction = if to > from { "up" } else { "down" };
    Event::normal(
        reason::SCALING_REPLICA_SET,
        format!("Scaled {direction} replica set {name} from {from} to {to}"),
    )
}
