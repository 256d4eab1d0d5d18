//! A list of steps: how many pods each step allows, and how long it waits.

use plan::intstr::IntOrPercent;
use plan::{Strategy, Until, UpdateStep, Workload};

/// How long the wait at a step takes, if time alone ends it.
pub(crate) fn seconds(step: &UpdateStep) -> Option<i64> {
    longest(step.until.iter())
}

/// The same beside a gate.
pub(crate) fn time(step: &UpdateStep) -> Option<i64> {
    longest(step.until.iter().filter(|until| **until != Until::Gate))
}

fn longest<'a>(until: impl Iterator<Item = &'a Until>) -> Option<i64> {
    let seconds = |until: &Until| match until {
        Until::Seconds(seconds) => Some(*seconds),
        Until::Promoted | Until::Gate | Until::Process | Until::Replicas => None,
    };
    until.map(seconds).collect::<Option<Vec<_>>>()?.into_iter().max()
}

/// The steps of a Deployment, if it has any.
pub(crate) fn steps(workload: &Workload) -> Option<&[UpdateStep]> {
    let is_rolling = matches!(workload.strategy, Strategy::RollingUpdate { .. });
    let has_steps = is_rolling && !workload.deleting && !workload.steps.is_empty();
    has_steps.then_some(&*workload.steps)
}

fn percent(updated: &IntOrPercent) -> Option<i64> {
    match updated {
        IntOrPercent::Int(_) => None,
        IntOrPercent::Text(text) => text.strip_suffix('%')?.parse().ok(),
    }
}

fn pods(updated: &IntOrPercent, replicas: i64) -> i64 {
    match (updated, percent(updated)) {
        (IntOrPercent::Int(pods), _) => *pods,
        (_, percent) => percent.unwrap_or(0).saturating_mul(replicas).saturating_add(99).div_euclid(100),
    }
}

/// The step that ends a rollout, counted from 0: one of 100 %, or the implied one.
pub(crate) fn end(steps: &[UpdateStep]) -> usize {
    let all = steps.iter().position(|step| percent(&step.updated).is_some_and(|all| all >= 100));
    all.unwrap_or(steps.len())
}

/// How many pods of the running ReplicaSet a step allows.
pub(crate) fn ceiling(steps: &[UpdateStep], step: usize, replicas: i64) -> i64 {
    if step >= end(steps) {
        return replicas;
    }
    let all_but_one = (replicas - 1).max(0);
    let until_then = steps.iter().take(step + 1);
    until_then.map(|step| pods(&step.updated, replicas).clamp(0, all_but_one)).max().unwrap_or(0)
}

/// The first step with room for these pods.
pub(crate) fn first_with(steps: &[UpdateStep], size: i64, replicas: i64) -> usize {
    (0..end(steps)).find(|step| ceiling(steps, *step, replicas) >= size).unwrap_or(end(steps))
}

/// The step that a promotion names.
pub(super) fn named(steps: &[UpdateStep], text: &str, replicas: i64) -> Option<usize> {
    let name = text.split('/').nth(1)?;
    if name == "all" {
        return Some(end(steps));
    }
    let updated = name.parse().map_or_else(|_| IntOrPercent::Text(name.to_owned()), IntOrPercent::Int);
    let (listed, pods) = (steps.iter().position(|step| step.updated == updated), pods(&updated, replicas));
    match percent(&updated) {
        _ if listed.is_some() => listed.map(|step| step.min(end(steps))),
        Some(100) => Some(end(steps)),
        Some(101..) => None,
        _ => (pods <= replicas).then(|| first_with(steps, pods, replicas)),
    }
}

/// What a list of steps is recognized by.
pub(crate) fn list(steps: &[UpdateStep]) -> Vec<IntOrPercent> {
    steps.iter().map(|step| step.updated.clone()).collect()
}
