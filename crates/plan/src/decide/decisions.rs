//! Everything that a reconcile does, before it is reported and put in order.

use crate::course::Course;
use crate::course::stage::{Stage, Wait};
use crate::course::view::View;
use crate::decide::creation::{self, Creation};
use crate::decide::deletions::History;
use crate::decide::rollback::Rollback;
use crate::decide::upkeep::Upkeep;
use crate::decide::writes::SetWrite;
use crate::model::checkpoint::Outlook;
use crate::model::observed::{ReplicaSet, Workload};
use crate::model::revision::Revision;
use crate::model::sets::total;
use crate::model::status::Status;
use crate::moves::aim::{Aim, Because};
use crate::moves::sizes::{Moves, Resize};

/// What the stages of a reconcile came to.
#[derive(Debug)]
pub(crate) struct Decisions<'a> {
    pub(crate) view: View<'a>,
    pub(crate) course: &'a Course,
    pub(crate) aim: &'a Aim,
    pub(crate) upkeep: &'a Upkeep,
    pub(crate) moves: &'a Moves,
    pub(crate) creation: Option<Box<Creation>>,
    pub(crate) rollback: Option<Box<Rollback>>,
    /// What upkeep and moves write to ReplicaSets.
    pub(crate) writes: Vec<SetWrite>,
    pub(crate) history: &'a History,
}

impl Decisions<'_> {
    /// Whether the template has its ReplicaSet once this is done.
    pub(crate) fn has_declared(&self) -> bool {
        self.declared_name().is_some()
    }

    /// The name of the declared ReplicaSet, there or to be created.
    pub(crate) fn declared_name(&self) -> Option<&str> {
        let found = self.view.sets.declared().map(|set| set.name.as_str());
        found.or_else(|| self.creation.as_ref().map(|creation| creation.set.name.as_str()))
    }

    /// The ReplicaSet that runs, if it is there.
    pub(crate) fn running(&self) -> Option<&ReplicaSet> {
        self.aim.run.and_then(|run| self.view.sets.get(run))
    }

    /// The name of the ReplicaSet that runs, there or to be created.
    pub(crate) fn running_name(&self) -> Option<&str> {
        if self.course.situation.is_declared() {
            return self.declared_name();
        }
        self.running().map(|set| set.name.as_str())
    }

    /// Where the rollout is among its steps, if it has any.
    pub(crate) fn stage(&self) -> Option<&Stage> {
        self.course.situation.stage()
    }

    /// Whether the rollout has yet to come to the end of its steps, also without replicas.
    pub(crate) fn has_step_ahead(&self) -> bool {
        self.stage().is_some_and(|stage| stage.step < stage.end)
    }

    /// The wait at a step, while nothing else is done.
    pub(crate) fn resting(&self) -> Option<&Wait> {
        let wait = self.stage().and_then(|stage| stage.wait.as_ref());
        wait.filter(|_| self.aim.is_rolling_out(self.moves) && self.moves.is_empty())
    }

    /// Whether the rollout has all its pods with this status, and waits for the hook after it (GA-1).
    pub(crate) fn awaits_hook_after(&self, status: &Status) -> bool {
        let Workload { replicas, generation, .. } = *self.view.workload();
        self.course.jobs.awaits_after && !self.has_step_ahead() && status.is_complete(replicas, generation)
    }

    /// Whether the rollout waits at a step with a gate that failed (GA-7).
    pub(crate) fn failed_gate(&self) -> bool {
        matches!(self.course.jobs.outlook, Outlook::Failed(_))
    }

    /// Whether what runs is all there with this status, and nothing else (S9.10). With a step ahead, a rollout is not
    /// complete, even if what runs has all pods, as after a retry (SP-8), nor before the hook after it passes (GA-1).
    pub(crate) fn is_complete(&self, status: &Status) -> bool {
        let Workload { replicas, generation, .. } = *self.view.workload();
        if self.course.situation.is_declared() {
            let is_done = status.is_complete(replicas, generation) && !self.course.jobs.awaits_after;
            return is_done && !self.has_step_ahead();
        }
        let has_all = self.running().is_some_and(|set| set.status.replicas == replicas);
        has_all && status.is_filled(replicas, generation)
    }

    /// Whether the declared revision failed, and somebody has to act (FP-6).
    pub(crate) fn is_held(&self) -> bool {
        matches!(self.aim.because, Because::Failed { .. })
    }

    /// The revision of the declared ReplicaSet, there or to be created.
    pub(crate) fn revision(&self) -> Option<Revision> {
        creation::revision(self.view.sets, self.upkeep, self.creation.as_deref())
    }

    /// The sum of sizes before any of them changes, if the running ReplicaSet does (S6.5).
    pub(crate) fn size_before_step(&self) -> Option<i64> {
        let grows = self.moves.is_up() || self.moves.is_up_again();
        grows.then(|| self.total())
    }

    /// The sum of sizes, that of a ReplicaSet that is created with it.
    fn total(&self) -> i64 {
        total(&self.view.sets.counted) + self.creation.as_ref().map_or(0, |creation| creation.set.size)
    }

    /// The sum of sizes that the status reports (S9.3). What a step changes is not folded into the status
    /// of the same step, so the last step of the reconcile does not count.
    pub(crate) fn total_reported(&self) -> i64 {
        let cuts: &[Resize] = if self.moves.is_up_again() { &self.moves.cuts } else { &[] };
        let change: i64 = self.moves.ups().chain(cuts.iter().copied()).map(Resize::difference).sum();
        self.total() + change
    }
}
