//! Where a rollout is among its steps, and what it waits for there (SP-3, SP-5, SP-7). `advance.rs` decides how far it
//! advances.

use jiff::Timestamp;

use crate::course::judge::Judgment;
use crate::course::memory::Proof;
use crate::course::view::View;
use crate::model::observed::{Strategy, Workload};
use crate::model::position::{Position, Rest};
use crate::model::runs::Runs;
use crate::model::sets::Counted;
use crate::model::steps::Steps;
use crate::model::until::Until;

/// A rollout at a step, or on its way there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stage {
    /// The step, from 0.
    pub(crate) step: usize,
    /// The step that ends the rollout.
    pub(crate) end: usize,
    /// How many pods of the running ReplicaSet there may be.
    pub(crate) ceiling: i64,
    /// Index of the ReplicaSet that keeps the others; `None` if that one is gone.
    pub(crate) keep: Option<usize>,
    /// Indices of all other ReplicaSets in the order in which they lose pods (SP-3).
    pub(crate) order: Vec<usize>,
    /// Whether the sizes are those of the step, at R or at the R of before (SP-7).
    pub(crate) is_at_rest: bool,
    /// What it waits for, once the step is reached.
    pub(crate) wait: Option<Wait>,
}

/// The wait at a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wait {
    /// Since when; `None` if the step was not reached before.
    pub(crate) since: Option<Timestamp>,
    /// All of this has to come.
    pub(crate) until: Vec<Until>,
}

impl Wait {
    /// When it ends by itself.
    pub(crate) fn end(&self) -> Option<Timestamp> {
        Until::end(&self.until, self.since)
    }
}

/// A rollout that has steps, as it was judged.
#[derive(Clone, Copy)]
pub(crate) struct Rollout<'a> {
    pub(crate) view: View<'a>,
    /// The Deployment of the view.
    pub(crate) workload: &'a Workload,
    pub(crate) steps: Steps<'a>,
    pub(crate) judgment: &'a Judgment,
}

impl<'a> Rollout<'a> {
    /// `None` where steps mean nothing.
    pub(crate) fn new(view: View<'a>, judgment: &'a Judgment) -> Option<Self> {
        let workload = view.workload();
        let is_rolling = matches!(workload.strategy, Strategy::RollingUpdate { .. });
        let is_known = is_rolling && view.observed.flavour.has_safeguards() && !workload.deleting;
        let steps = Steps(&workload.steps);
        (is_known && !workload.steps.is_empty()).then_some(Self { view, workload, steps, judgment })
    }

    pub(crate) fn counted(&self, index: usize) -> Counted {
        self.view.sets.counted.get(index).copied().unwrap_or_default()
    }

    /// The numbers of the declared ReplicaSet.
    pub(crate) fn run(&self) -> Counted {
        self.view.sets.declared.map_or_else(Counted::default, |index| self.counted(index))
    }

    /// Index of the ReplicaSet that is kept.
    pub(crate) fn kept(&self, position: &Position) -> Option<usize> {
        self.view
            .sets
            .olds()
            .find(|(_, set)| set.name == position.kept && !set.deleting)
            .map(|(index, _)| index)
    }

    pub(crate) fn step(&self, position: &Position) -> usize {
        position.step.unwrap_or(self.steps.end()).min(self.steps.end())
    }

    pub(crate) fn ceiling(&self, step: usize) -> i64 {
        self.steps.ceiling(step, self.workload.replicas)
    }

    pub(crate) fn stage(&self, position: &Position) -> Stage {
        let (step, end, keep) = (self.step(position), self.steps.end(), self.kept(position));
        let rank = |index: &usize| match self.judgment.of(*index) {
            Proof::Failed => 0,
            Proof::Unproven => 1,
            Proof::Good => 2,
        };
        let mut order: Vec<usize> =
            self.view.sets.olds().map(|(index, _)| index).filter(|it| Some(*it) != keep).collect();
        order.sort_by_key(rank);
        let is_reached = self.is_reached(step, keep) && !self.workload.paused;
        let wait = position.rest.filter(|_| is_reached).and_then(|rest| self.wait(step, rest));
        let since = position.rest.map(|rest| rest.since);
        let is_idle = self.workload.replicas == 0 && step < end;
        let wait = wait.or_else(|| is_idle.then(|| Wait { since, until: vec![Until::Replicas] }));
        let is_at_rest = self.is_at_rest(step, keep);
        Stage { step, end, ceiling: self.ceiling(step), keep, order, is_at_rest, wait }
    }

    /// The wait at a step that was reached; `None` where the step waits for nothing.
    pub(crate) fn wait(&self, step: usize, Rest { since, .. }: Rest) -> Option<Wait> {
        let until = self.steps.get(step)?.until.iter().copied();
        let is_job = |it: &Until| matches!(it, Until::Gate | Until::Process);
        let until: Vec<Until> = until.filter(|it| !is_job(it) || self.awaits_gate(step)).collect();
        (!until.is_empty()).then_some(Wait { since: Some(since), until })
    }

    /// Whether the gate of a step has to pass (GA-1), or the deployment process has not ended (CU-3): not for a pin (GA-6).
    pub(crate) fn awaits_gate(&self, step: usize) -> bool {
        let gate = self.steps.get(step).and_then(|of| of.gate.as_ref());
        let Some(gate) = gate.filter(|_| self.workload.pin_in_force().is_none()) else { return false };
        let runs =
            self.view.sets.declared.and_then(|set| self.judgment.memory(set)).map(|memory| &memory.runs);
        let passed = |runs: &Runs| {
            runs.ended(self.workload.checkpoint(step), &gate.digest).is_some_and(|it| it.cause.is_none())
        };
        !runs.is_some_and(|runs| runs.skips || passed(runs))
    }

    /// SP-5: the sizes are those of the step, their pods are there, and the statuses show it.
    pub(crate) fn is_reached(&self, step: usize, keep: Option<usize>) -> bool {
        let (ceiling, run) = (self.ceiling(step), self.run());
        let kept = keep.map(|keep| self.counted(keep).size);
        let left = self.workload.replicas - ceiling;
        // At a step that waits for nothing, the kept ReplicaSet may have been cut for the next step already, by a
        // reconcile that ended before this ReplicaSet grew. What runs may have more than its step allows, as a revision
        // that is declared again: where the step waits, its time does not run yet.
        let waits = self.steps.get(step).is_some_and(|of| !of.until.is_empty());
        let is_cut = kept.is_some_and(|kept| kept < left) && !waits;
        let mut others = self.view.sets.olds().filter(|(index, _)| Some(*index) != keep);
        let mut sets = self.view.sets.all.iter().enumerate();
        self.workload.replicas > 0
            && step < self.steps.end()
            && run.available >= ceiling
            && (run.size == ceiling || run.size > ceiling && !waits)
            && (kept.is_none_or(|kept| kept == left) || is_cut)
            && others.all(|(_, set)| set.size == 0 && set.status.replicas == 0)
            && sets.all(|(index, set)| Some(index) == keep && is_cut || set.is_served())
    }

    /// SP-7. Each ReplicaSet is compared with the R that it was last scaled for: a reconcile may have ended between
    /// two.
    fn is_at_rest(&self, step: usize, keep: Option<usize>) -> bool {
        let (kept, run) = (keep.map_or_else(Counted::default, |keep| self.counted(keep)), self.run());
        let replicas = |set: Counted| set.desired.unwrap_or(self.workload.replicas);
        let left = |replicas: i64| replicas - self.steps.ceiling(step, replicas);
        let mut others = self.view.sets.olds().filter(|(index, _)| Some(*index) != keep);
        // What has no pods was not scaled when R changed.
        let last = if run.size > 0 { run } else { kept };
        run.size == self.steps.ceiling(step, replicas(last))
            && (kept.size == 0 || kept.size == left(replicas(kept)))
            && others.all(|(_, set)| set.size == 0)
    }
}
