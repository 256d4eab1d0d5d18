//! The steps to which a rollout can go (SP-6; rollwright.dev only). The planner decides which step a name means.

use plan::Workload;
use plan::intstr::{IntOrPercent, Round};

use crate::table::counted;

/// The name of the end.
pub(crate) const ALL: &str = "all";

/// A step that is named, counted from 0.
pub(crate) struct Goal {
    pub(crate) step: usize,
    /// As the request has it.
    pub(crate) name: String,
}

/// The end of the rollout.
fn all(workload: &Workload) -> Goal {
    Goal { step: workload.step_named(ALL).unwrap_or(0), name: ALL.to_owned() }
}

/// The step after this one.
pub(crate) fn next(workload: &Workload, at: usize) -> Goal {
    let end = all(workload);
    // A step may have the number of one before it. Then the name is of that one.
    let listed = workload.steps.iter().map(|step| step.updated.to_string()).enumerate();
    let ahead = listed.take(end.step).skip(at + 1);
    let mut named = ahead.map(|(step, name)| Goal { step, name });
    named.find(|goal| workload.step_named(&goal.name) == Some(goal.step)).unwrap_or(end)
}

impl Goal {
    /// In words.
    pub(crate) fn place(&self, workload: &Workload) -> String {
        let end = all(workload).step;
        if workload.is_custom() && self.step < end {
            return format!("{} of its pods", self.name);
        }
        match workload.steps.get(self.step).filter(|_| self.step < end) {
            Some(listed) => format!("step {} of {} ({})", self.step + 1, end + 1, listed.updated),
            None => "all pods".to_owned(),
        }
    }

    /// Why it is this step where none has the number of pods that was named; empty if one has.
    pub(crate) fn between(&self, workload: &Workload) -> String {
        let text = || IntOrPercent::Text(self.name.clone());
        let named = self.name.parse().map_or_else(|_| text(), IntOrPercent::Int);
        let pods = named.of(workload.replicas, Round::Up).ok().filter(|pods| {
            let is_listed = workload.steps.iter().any(|step| step.updated == named) || workload.is_custom();
            !is_listed && workload.step_sizes().get(self.step) != Some(pods)
        });
        pods.map_or_else(String::new, |pods| {
            format!(": no step has {}, and this is the first one with more", counted(pods, "pod"))
        })
    }
}
