//! `spec.strategy.rollingUpdate.steps`: how many pods of the running ReplicaSet there may be at each step (SP-1,
//! rollwright.dev only). Numbers alone; `advance.rs` decides at which step a rollout is.

use std::hash::Hasher;

use fnv::FnvHasher;

use crate::model::checkpoint::JobSpec;
use crate::model::intstr::{IntOrPercent, Round};
use crate::model::until::Until;

/// What a promotion may name, in words (SP-6).
pub const STEP_NAMES: &str =
    "a listed step, a number of pods up to replicas, a percentage up to 100%, or all";

/// One step of `spec.strategy.rollingUpdate.steps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateStep {
    /// How many pods the step updates: a number, or a percentage of `replicas`, rounded up.
    pub updated: IntOrPercent,
    /// What it then waits for.
    pub until: Vec<Until>,
    /// The Job that has to succeed there.
    pub gate: Option<JobSpec>,
}

/// The steps of a rollout, as the spec lists them. A last one of 100 % is implied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Steps<'a>(pub(crate) &'a [UpdateStep]);

impl<'a> Steps<'a> {
    /// How many there are, the one that is implied with them. Steps are counted from 0; this one is the end.
    pub(crate) fn end(self) -> usize {
        self.0.iter().position(UpdateStep::is_all).unwrap_or(self.0.len())
    }

    /// A step that is not the end.
    pub(crate) fn get(self, step: usize) -> Option<&'a UpdateStep> {
        self.0.get(step).filter(|_| step < self.end())
    }

    /// How many pods of the running ReplicaSet there may be at a step: the most of it and all before. Only the end
    /// takes the last pod of the ReplicaSet that is kept.
    pub(crate) fn ceiling(self, step: usize, replicas: i64) -> i64 {
        if step >= self.end() {
            return replicas;
        }
        let until_then = self.0.iter().take(step.saturating_add(1));
        until_then.map(|step| step.ceiling(replicas)).max().unwrap_or(0)
    }

    /// The first step that has room for this number of pods (SP-2).
    pub(crate) fn first_with(self, pods: i64, replicas: i64) -> usize {
        if self.is_custom() {
            return if pods < replicas { 0 } else { self.end() };
        }
        (0..self.end()).find(|step| self.ceiling(*step, replicas) >= pods).unwrap_or(self.end())
    }

    /// The step that a promotion names: `all`, or as the list has it, or a number or percentage of pods (SP-6). `None`
    /// if it is none of these: see [`STEP_NAMES`].
    pub(crate) fn named(self, name: &str, replicas: i64) -> Option<usize> {
        if name == "all" {
            return Some(self.end());
        }
        if self.is_custom() {
            return IntOrPercent::share(name).map(|_| 0);
        }
        let number = || name.parse().ok().map(IntOrPercent::Int);
        let updated = number().unwrap_or_else(|| IntOrPercent::Text(name.to_owned()));
        let pods = updated.of(replicas, Round::Up).ok().filter(|pods| *pods >= 0)?;
        if let Some(listed) = self.0.iter().position(|step| step.updated == updated) {
            return Some(listed.min(self.end()));
        }
        let percent = match &updated {
            IntOrPercent::Text(_) => updated.of(100, Round::Up).ok(),
            IntOrPercent::Int(_) => None,
        };
        if pods > replicas || percent.is_some_and(|percent| percent > 100) {
            return None;
        }
        Some(if percent == Some(100) { self.end() } else { self.first_with(pods, replicas) })
    }

    /// Whether a deployment process has the place of listed steps (CU-1).
    pub(crate) fn is_custom(self) -> bool {
        self.0.first().is_some_and(UpdateStep::is_process)
    }

    /// By what an edited list is recognized. The waits are no part of it, nor is what a process allows.
    pub(crate) fn digest(self) -> String {
        if self.is_custom() {
            return "custom".to_owned();
        }
        let mut hasher = FnvHasher::default();
        for step in self.0 {
            hasher.write(step.updated.to_string().as_bytes());
            hasher.write_u8(b',');
        }
        format!("{:016x}", hasher.finish())
    }
}

impl UpdateStep {
    /// Whether it lasts as long as the deployment process.
    pub(crate) fn is_process(&self) -> bool {
        self.until.contains(&Until::Process)
    }

    /// Whether it is written as 100 %.
    fn is_all(&self) -> bool {
        !self.is_process()
            && matches!(&self.updated, IntOrPercent::Text(_))
            && self.updated.of(100, Round::Up).is_ok_and(|all| all >= 100)
    }

    /// Its own number of pods, at most all but one. A process sees all before it ends.
    fn ceiling(&self, replicas: i64) -> i64 {
        let most = if self.is_process() { replicas } else { replicas - 1 };
        self.updated.of(replicas, Round::Up).unwrap_or(0).min(most).max(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(updated: &[&str]) -> Vec<UpdateStep> {
        let value = |text: &str| text.parse().map_or(IntOrPercent::Text(text.to_owned()), IntOrPercent::Int);
        let step = |text: &&str| UpdateStep { updated: value(text), until: Vec::new(), gate: None };
        updated.iter().map(step).collect()
    }

    /// The ceilings of all steps, the end with them.
    fn ceilings(updated: &[&str], replicas: i64) -> Vec<i64> {
        let list = steps(updated);
        let steps = Steps(&list);
        (0..=steps.end()).map(|step| steps.ceiling(step, replicas)).collect()
    }

    #[test]
    fn a_ceiling_is_a_number_or_a_percentage_rounded_up_and_never_falls() {
        assert_eq!(ceilings(&["1", "25%", "50%"], 10), [1, 3, 5, 10]);
        assert_eq!(ceilings(&["10%"], 3), [1, 3], "a third");
        assert_eq!(ceilings(&["5", "20%", "60%"], 10), [5, 5, 6, 10], "a list that falls");
        assert_eq!(ceilings(&["1%", "99%"], 1_000_000), [10_000, 990_000, 1_000_000]);
        assert_eq!(ceilings(&[], 10), [10]);
    }

    #[test]
    fn only_a_written_100_percent_takes_the_last_pod_that_is_kept() {
        assert_eq!(ceilings(&["7", "20", "99%"], 7), [6, 6, 6, 7]);
        assert_eq!(ceilings(&["100%", "1"], 7), [7], "the end");
        assert_eq!(ceilings(&["1", "0100%"], 7), [1, 7]);
        assert_eq!(ceilings(&["100"], 100), [99, 100], "a number is no percentage");
        assert_eq!(ceilings(&["1", "25%", "99%"], 2), [1, 1, 1, 2]);
        assert_eq!(ceilings(&["1", "25%", "99%"], 1), [0, 0, 0, 1]);
        assert_eq!(ceilings(&["1", "25%", "99%"], 0), [0, 0, 0, 0]);
    }

    #[test]
    fn a_rollout_goes_on_at_the_first_step_that_has_room_for_what_runs() {
        let steps = steps(&["1", "30%", "50%"]);
        let at = |pods| Steps(&steps).first_with(pods, 10);
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 10].map(at), [0, 0, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn a_promotion_names_a_step_as_the_list_does_or_a_number_of_pods() {
        let steps = steps(&["1", "10%", "30%", "50%"]);
        let named = |name| Steps(&steps).named(name, 10);
        assert_eq!(["1", "10%", "30%", "50%", "all", "100%"].map(named), [0, 1, 2, 3, 4, 4].map(Some));
        // Not listed: the first that has room for them.
        assert_eq!(["2", "3", "25%", "40%", "51%", "10"].map(named), [2, 2, 2, 3, 4, 4].map(Some));
        assert_eq!(["", "some", "-1", "-10%", "30 %", "3.5", "11", "101%"].map(named), [None; 8]);
    }

    #[test]
    fn a_list_is_known_by_what_is_updated_and_not_by_its_waits() {
        let digest = |list: &[UpdateStep]| Steps(list).digest();
        let paused = |mut steps: Vec<UpdateStep>| {
            steps.iter_mut().for_each(|step| step.until = vec![Until::Promoted]);
            steps
        };
        assert_eq!(digest(&steps(&["1", "30%"])), digest(&paused(steps(&["1", "30%"]))));
        let lists = [vec![], vec!["1"], vec!["1", "30%"], vec!["130%"], vec!["30%", "1"]];
        let digests: std::collections::BTreeSet<_> = lists.iter().map(|list| digest(&steps(list))).collect();
        assert_eq!(digests.len(), lists.len());
    }
}
