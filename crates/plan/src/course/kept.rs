//! Which ReplicaSet keeps the other pods while a step lasts (SP-3), and whether there are steps at all (SP-4).

use crate::course::memory::{Memory, Proof};
use crate::course::stage::Rollout;
use crate::model::observed::{ReplicaSet, Workload};
use crate::model::revision;

impl Rollout<'_> {
    /// The ReplicaSet that keeps the other pods: what ran and served last. `None` if the declared one is the first choice,
    /// and no other one is good: no pod of what a user goes back from is added for the sake of the steps (UM-1).
    pub(crate) fn keeper(&self) -> Option<usize> {
        let is_first = self.is_first_choice();
        // What a user goes back from while it bakes gets no pods for the sake of the steps, either.
        let is_proven =
            |(index, set): &(usize, &ReplicaSet)| self.is_good(*index) || !is_first && self.bakes(set);
        let by_run =
            |it: &(usize, &ReplicaSet)| (!self.is_aside(it), self.judgment.last_run(it.0, it.1), it.0);
        // One that failed is the last to be kept, and one that never left its steps the last but one.
        let largest = |(index, set): &(usize, &ReplicaSet)| {
            let has_failed = self.judgment.of(*index) == Proof::Failed;
            let has_run = !self.judgment.is_on_its_way(*index);
            (!has_failed, has_run, self.counted(*index).available, set.size, *index)
        };
        if self.workload.replicas == 0 && !self.serves() {
            // Without replicas, all pods are about to end: the last report of them decides nothing. A good one that was
            // put aside gets no pods, but the canary has steps.
            let put_aside = || self.olds().map(|(index, _)| index).find(|index| self.is_good(*index));
            let proven = self.last_run(|it| is_proven(it) && !self.is_aside(it));
            let others = || self.last_run_of_all().or_else(put_aside).filter(|_| !is_first);
            return proven.or_else(others);
        }
        let serving = || self.olds().filter(has_pods);
        let available = || serving().filter(|(index, _)| self.counted(*index).available > 0);
        if let Some((index, _)) = serving().filter(is_proven).max_by_key(by_run) {
            return Some(index);
        }
        if is_first {
            return None;
        }
        if let Some((index, _)) = available().max_by_key(largest) {
            return Some(index);
        }
        let last = serving().max_by_key(largest).map(|(index, _)| index);
        last.and_then(|last| self.last_good().or(Some(last)))
    }

    /// The good ReplicaSet that ran last, with pods or without.
    pub(crate) fn last_good(&self) -> Option<usize> {
        self.judgment.find_fallback(self.view.sets)
    }

    /// The ReplicaSet that ran last, where nobody knows a good one. One that never left its steps did not run.
    fn last_run_of_all(&self) -> Option<usize> {
        let ran = |it: &(usize, &ReplicaSet)| {
            self.judgment.of(it.0) != Proof::Failed
                && !self.is_aside(it)
                && !self.judgment.is_on_its_way(it.0)
        };
        self.last_run(ran)
    }

    /// Of those for which this holds, the one that ran last.
    fn last_run(&self, is_one: impl Fn(&(usize, &ReplicaSet)) -> bool) -> Option<usize> {
        let by_run = |it: &(usize, &ReplicaSet)| (self.judgment.last_run(it.0, it.1), it.0);
        self.olds().filter(is_one).max_by_key(by_run).map(|(index, _)| index)
    }

    fn olds(&self) -> impl Iterator<Item = (usize, &ReplicaSet)> {
        self.view.sets.olds().filter(|(_, set)| !set.deleting)
    }

    /// Whether a user put it aside (FP-6).
    fn is_aside(&self, (index, set): &(usize, &ReplicaSet)) -> bool {
        self.judgment.is_aside(self.view.sets, *index, set)
    }

    /// Whether a ReplicaSet may still keep the other pods: one that was put aside and has none left does not get them
    /// back.
    pub(crate) fn still_keeps(&self, index: usize) -> bool {
        let set = self.view.sets.get(index).map(|set| (index, set));
        set.is_some_and(|it| has_pods(&it) || !self.is_aside(&it))
    }

    /// Whether the declared ReplicaSet is good, or serves and is no canary itself: then none keeps pods beside it that is
    /// not good, and none that is idle gets any (SP-4).
    pub(crate) fn is_first_choice(&self) -> bool {
        let is_canary = self.view.sets.declared().is_some_and(|set| Memory::known(set).is_on_its_way());
        self.serves() && !is_canary || self.view.sets.declared.is_some_and(|index| self.is_good(index))
    }

    fn is_good(&self, index: usize) -> bool {
        self.judgment.of(index) == Proof::Good
    }

    /// Whether the declared ReplicaSet has pods that serve, from before it was declared: it is good, or a rollout that
    /// was not complete kept it.
    pub(crate) fn serves(&self) -> bool {
        let Some(index) = self.view.sets.declared.filter(|_| self.run().is_active()) else { return false };
        let name = self.view.sets.declared().map(|set| &set.name);
        let keeps = |(other, _): (usize, &ReplicaSet)| {
            let memory = self.judgment.memory(other).filter(|memory| memory.is_on_its_way());
            let walk = memory.and_then(|memory| memory.walk.as_ref()?.position());
            walk.is_some_and(|position| Some(&position.kept) == name)
        };
        self.is_good(index) || self.view.sets.olds().filter(has_pods).any(keeps)
    }

    /// Whether it was declared until now, complete, and baked without a break.
    fn bakes(&self, set: &ReplicaSet) -> bool {
        let Workload { replicas, strategy, status, .. } = self.workload;
        let bake = status.ours.bake.as_ref();
        bake.is_some_and(|bake| Some(bake.revision) == revision::of(set).number())
            && set.status.available >= strategy.floor((*replicas).min(set.size))
    }
}

/// Whether a ReplicaSet has pods, or is about to.
fn has_pods((_, set): &(usize, &ReplicaSet)) -> bool {
    set.is_active() || set.status.replicas > 0
}
