//! The steps of a Deployment for those who show them, and for those who name one (SP-1, SP-6, SP-8; rollwright.dev
//! only). Steps are counted from 0.

use crate::model::observed::Workload;
use crate::model::steps::Steps;
use crate::model::until::Until;

impl Workload {
    /// How many pods each step updates, the end included; empty without steps (SP-1).
    #[must_use]
    pub fn step_sizes(&self) -> Vec<i64> {
        let steps = Steps(&self.steps);
        let all = if self.steps.is_empty() { 0..0 } else { 0..steps.end().saturating_add(1) };
        all.map(|step| steps.ceiling(step, self.replicas)).collect()
    }

    /// How far the deployment process lets the rollout go, as the request has it (CU-2).
    pub(crate) fn allowed(&self) -> Option<String> {
        self.steps.first().filter(|_| self.is_custom()).map(|step| step.updated.to_string())
    }

    /// The step that a promotion names; `None` if it is none (SP-6).
    #[must_use]
    pub fn step_named(&self, name: &str) -> Option<usize> {
        Steps(&self.steps).named(name, self.replicas)
    }

    /// Whether the rollout waits at a step until somebody promotes it, as far as the status reports (SP-8).
    #[must_use]
    pub fn awaits_promotion(&self) -> bool {
        let rollout = self.status.ours.rollout.as_ref().filter(|record| record.rest_start_time.is_some());
        let step = rollout.and_then(|record| usize::try_from(record.step?.checked_sub(1)?).ok());
        let listed = step.and_then(|step| Steps(&self.steps).get(step));
        self.replicas > 0 && listed.is_some_and(|step| step.until.contains(&Until::Promoted))
    }
}
