//! A failing scenario made small: fewer steps and faults, then smaller numbers.

use crate::fleet::Fleet;
use crate::scenario::{Fault, Scenario};
use crate::{Settings, play};

/// Whether a scenario fails the same check.
fn fails(scenario: &Scenario, check: &str) -> bool {
    play(scenario, &Settings::default()).violation.is_some_and(|violation| violation.check == check)
}

/// The smallest scenario that this module finds that still fails the same check.
#[must_use]
pub fn shrink(scenario: &Scenario, check: &str) -> Scenario {
    let mut best = scenario.clone();
    let mut attempts = 600;
    loop {
        let before = best.clone();
        for candidate in smaller(&best) {
            if attempts == 0 {
                return best;
            }
            attempts -= 1;
            if fails(&candidate, check) {
                best = candidate;
                break;
            }
        }
        if best == before {
            return best;
        }
    }
}

/// Scenarios that are a little smaller: halves first, then single parts, then numbers.
fn smaller(scenario: &Scenario) -> Vec<Scenario> {
    let mut all = fewer_others(scenario);
    let (steps, faults) = (scenario.steps.len(), scenario.faults.len());
    let mut size = steps.max(faults).next_power_of_two();
    while size >= 1 {
        for start in (0..faults).step_by(size) {
            let mut candidate = scenario.clone();
            candidate.faults.drain(start..(start + size).min(faults));
            all.push(candidate);
        }
        for start in (0..steps).step_by(size) {
            let mut candidate = scenario.clone();
            candidate.steps.drain(start..(start + size).min(steps));
            all.push(candidate);
        }
        size /= 2;
    }
    all.extend(smaller_numbers(scenario));
    all
}

/// The same with fewer Deployments, or with fewer steps of the others.
fn fewer_others(scenario: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    let count = scenario.others().len();
    let mut with = |change: &dyn Fn(&mut Fleet)| {
        let mut candidate = scenario.clone();
        candidate.fleet.iter_mut().for_each(change);
        all.push(candidate);
    };
    let mut size = count.next_power_of_two();
    while size >= 1 && count > 0 {
        for start in (0..count).step_by(size) {
            with(&|fleet| _ = fleet.others.drain(start..(start + size).min(count)));
        }
        size /= 2;
    }
    for index in 0..count {
        let steps = scenario.others().get(index).map_or(0, |member| member.steps.len());
        for step in 0..steps {
            with(&|fleet| {
                if let Some(member) = fleet.others.get_mut(index) {
                    member.steps.remove(step);
                }
            });
        }
    }
    all
}

fn smaller_numbers(scenario: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Scenario)| {
        let mut candidate = scenario.clone();
        change(&mut candidate);
        if candidate != *scenario {
            all.push(candidate);
        }
    };
    with(&|it| it.start.replicas = it.start.replicas.min(1));
    with(&|it| it.start.replicas = (it.start.replicas - 1).max(1));
    with(&|it| it.start.min_ready_seconds = 0);
    with(&|it| it.start.history_limit = 10);
    with(&|it| it.start.deadline_seconds = 600);
    with(&|it| it.pods.flaky_percent = 0);
    with(&|it| it.pods.gone_max = 0);
    with(&|it| it.pods.ready_max = 200);
    for index in 0..scenario.faults.len() {
        with(&|it| {
            if let Some(Fault::During(_, duration, _)) = it.faults.get_mut(index) {
                *duration /= 2;
            }
        });
    }
    all
}
