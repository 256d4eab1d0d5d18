//! AV-1: no reconcile decides to go below the minimum. AV-2: availability never falls below what was
//! established by more than what others took away.

use std::collections::BTreeMap;

use plan::{Action, Purpose};

use crate::checks::{Accepted, Verdict, steps};
use crate::history::History;
use crate::truth::Truth;
use crate::view::floor;

/// AV-1: a cut of old ReplicaSets in a rolling update leaves the minimum, by what the ReplicaSets reported to
/// the reconcile that decided it.
pub(super) fn decided(write: &Accepted<'_>) -> Verdict {
    let Some(action @ Action::UpdateReplicaSet(update)) = write.action() else { return Ok(()) };
    let view = write.view();
    if update.size_to >= update.size_from || view.is_scaling() || !view.is_rolling() {
        return Ok(());
    }
    let mut after = view.clone();
    after.acted(action);
    let (lost, floor) = (after.lost(), view.floor());
    let left = view.available() - lost;
    if lost > view.lost() && left < floor {
        return Err(format!("{left} pods left of at least {floor}, by a cut of {}", update.target.name));
    }
    Ok(())
}

/// AV-1: pods are not counted twice. While an old ReplicaSet reports more available pods than it has room for, its
/// controller has not followed a cut, and nothing more is cut (S6.10). Where another old ReplicaSet has pods that are
/// not available, the rule lets those go first, and is not judged here.
pub(super) fn waits_for_status(write: &Accepted<'_>) -> Verdict {
    let Some(Action::UpdateReplicaSet(update)) = write.action() else { return Ok(()) };
    let view = write.view();
    let is_cut = update.purpose == Purpose::ScaleDownOld && update.size_to < update.size_from;
    if !is_cut || view.is_scaling() || !view.is_rolling() {
        return Ok(());
    }
    let new = view.running_set().map(|new| new.set.uid.as_str());
    let olds =
        || view.owned().map(|old| &old.set).filter(|set| set.size > 0 && Some(set.uid.as_str()) != new);
    if olds().any(|set| set.status.available < set.size) {
        return Ok(());
    }
    match olds().find(|set| set.status.available > set.size) {
        Some(late) => Err(format!(
            "{} from {} to {}, although {} still reports {} pods of {}",
            update.target.name, update.size_from, update.size_to, late.name, late.status.available, late.size
        )),
        None => Ok(()),
    }
}

/// AV-3: in a rollout the new ReplicaSet shrinks only when it is larger than wanted.
pub(super) fn new_set_stays(write: &Accepted<'_>) -> Verdict {
    let Some(Action::UpdateReplicaSet(update)) = write.action() else { return Ok(()) };
    let view = write.view();
    let is_new = view.running_set().is_some_and(|new| new.set.uid == update.target.uid);
    if !is_new || update.size_to >= update.size_from || view.is_scaling() {
        return Ok(());
    }
    if update.purpose != Purpose::ScaleDownOld && update.size_from > view.workload.replicas {
        return Ok(());
    }
    steps::shrinks_to_its_step(write, update).map_err(|text| {
        format!("new set {} from {} to {}, {text}", update.target.name, update.size_from, update.size_to)
    })
}

/// AV-2: the floor that was established, and what may be missing from it.
#[derive(Debug, Default)]
pub(crate) struct Floor {
    workload: String,
    established: i64,
    /// The pods that the oldest decision about a cut knew of, by ReplicaSet.
    bases: BTreeMap<String, u64>,
    /// Pods that a decision counted although the sizes had no room for them any more: what a ReplicaSet
    /// last reported counts (S6.10), before its controller has followed its size.
    overcounted: i64,
    /// How many losses were made good, by what the ReplicaSets report.
    healed: usize,
    /// The lowest that it ever was below the minimum by others' doing, for coverage.
    pub(crate) deepest: i64,
}

impl Floor {
    /// A cut was accepted: what its reconcile did not know of yet is not its fault.
    pub(super) fn decided(&mut self, write: &Accepted<'_>, history: &History) {
        let Some(Action::UpdateReplicaSet(update)) = write.action() else { return };
        if update.size_to >= update.size_from {
            return;
        }
        let view = write.view();
        for set in view.owned() {
            let basis = history.basis(&set.set.resource_version);
            let known = self.bases.entry(set.set.uid.clone()).or_insert(basis);
            *known = basis.min(*known);
        }
        let surplus = view.owned().map(|set| (set.set.status.available - set.set.size).max(0));
        self.overcounted = self.overcounted.max(surplus.sum());
        // The minimum that it went by may be an older one than that of the Deployment as it is: no precondition of a
        // ReplicaSet shows it.
        let is_rollout = view.is_rolling() && !view.is_scaling() && !write.is_late;
        self.established = self.established.min(if is_rollout { floor(&view.workload) } else { 0 });
    }

    /// Something was written.
    pub(super) fn check(&mut self, truth: &Truth) -> Verdict {
        let Some(workload) = truth.workload.as_deref() else {
            *self = Self::default();
            return Ok(());
        };
        if self.workload != workload.uid {
            let (workload, healed) = (workload.uid.clone(), truth.losses.len());
            *self = Self { workload, healed, ..Self::default() };
        }
        let floor = floor(workload);
        self.established = self.established.min(floor);
        let (available, condemned) = (truth.available(), truth.condemned());
        let confirmed = truth.confirmed() - condemned;
        if confirmed >= floor {
            self.established = floor;
        }
        if available - condemned >= self.established {
            // As with what is established: a pod that no ReplicaSet has reported yet makes nothing good,
            // since a cut cannot know of it.
            let open = (self.established - confirmed).max(0);
            if condemned == 0 {
                self.bases.clear();
                self.overcounted = self.overcounted.min(open);
            }
            let open = usize::try_from(open).unwrap_or(0);
            self.healed = self.healed.max(truth.losses.len().saturating_sub(open));
            return Ok(());
        }
        if available >= self.established {
            return Ok(());
        }
        let missing = self.established - available;
        let excused = truth.losses.iter().enumerate().filter(|(index, loss)| {
            *index >= self.healed || self.bases.get(&loss.set).is_some_and(|basis| loss.version > *basis)
        });
        let excused = i64::try_from(excused.count()).unwrap_or(i64::MAX).saturating_add(self.overcounted);
        self.deepest = self.deepest.max(missing);
        if missing > excused {
            let established = self.established;
            return Err(format!(
                "{available} pods available of {established} that were, and others took {excused} away"
            ));
        }
        Ok(())
    }
}
