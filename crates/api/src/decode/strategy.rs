//! `spec.strategy` as the planner reads it.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use plan::intstr::IntOrPercent;
use plan::{Flavour, JobSpec, Strategy, Until, UpdateStep};

use super::Defaults;
use crate::{SkipStepsFor, StrategyType};

/// What of it the planner has.
pub(super) struct Read {
    pub(super) strategy: Strategy,
    pub(super) steps: Vec<UpdateStep>,
    pub(super) good_skips_steps: bool,
    pub(super) before_hook: Option<JobSpec>,
    pub(super) after_hook: Option<JobSpec>,
}

/// Nothing but limits counts on apps/v1.
pub(super) fn read(flavour: Flavour, strategy: Option<crate::Strategy>, defaults: Defaults) -> Read {
    let strategy = strategy.unwrap_or_default();
    let has_extras = flavour.has_status_extras();
    let is_custom = has_extras && strategy.kind == Some(StrategyType::Custom);
    let custom = strategy.custom.as_ref().filter(|_| is_custom);
    let limits = strategy.rolling_update.as_ref().filter(|_| has_extras);
    let hooks = strategy.hooks.as_ref().filter(|_| has_extras);
    let listed = || limits.map(steps).unwrap_or_default();
    Read {
        steps: custom.map_or_else(listed, |custom| vec![process(custom)]),
        good_skips_steps: limits
            .is_none_or(|limits| matches!(limits.skip_steps_for, None | Some(SkipStepsFor::GoodRevisions))),
        before_hook: hooks.and_then(|hooks| hooks.before.as_ref()).map(crate::job::spec),
        after_hook: hooks.and_then(|hooks| hooks.after.as_ref()).map(crate::job::spec),
        strategy: match (strategy.kind.unwrap_or(StrategyType::Unset), defaults) {
            (StrategyType::RollingUpdate, _) | (StrategyType::Unset, Defaults::Apply) => {
                rolling(strategy.rolling_update, defaults)
            }
            (StrategyType::Custom, _) if custom.is_some() => rolling(strategy.rolling_update, defaults),
            (StrategyType::Recreate, _) => Strategy::Recreate,
            (other, _) => Strategy::Unknown(other.to_string()),
        },
    }
}

fn rolling(limits: Option<crate::RollingUpdate>, defaults: Defaults) -> Strategy {
    let limits = limits.unwrap_or_default();
    let share = |share: Option<IntOrString>| match share {
        Some(IntOrString::Int(number)) => Some(IntOrPercent::Int(number.into())),
        Some(IntOrString::String(text)) => Some(IntOrPercent::Text(text)),
        None => (defaults == Defaults::Apply).then(|| IntOrPercent::Text("25%".to_owned())),
    };
    Strategy::RollingUpdate {
        max_surge: share(limits.max_surge),
        max_unavailable: share(limits.max_unavailable),
    }
}

/// What a step waits for, once it is reached. Where a word is newer, the rollout waits for somebody.
pub fn until(step: &crate::UpdateStep) -> impl Iterator<Item = Until> {
    let seconds = step.wait_seconds.map(|seconds| Until::Seconds(seconds.into()));
    let gate = step.gate.as_ref().map(|_| Until::Gate);
    step.approval.as_ref().map(|_| Until::Promoted).into_iter().chain(seconds).chain(gate)
}

/// The only step of a rollout that a process drives. It begins with no pods (CU-1).
fn process(custom: &crate::Custom) -> UpdateStep {
    let gate = Some(crate::job::spec(&crate::job::process(custom)));
    UpdateStep { updated: IntOrPercent::Int(0), until: vec![Until::Process], gate }
}

/// The steps of rollouts.
fn steps(limits: &crate::RollingUpdate) -> Vec<UpdateStep> {
    let step = |step: &crate::UpdateStep| UpdateStep {
        updated: match &step.updated {
            IntOrString::Int(number) => IntOrPercent::Int((*number).into()),
            IntOrString::String(text) => IntOrPercent::Text(text.clone()),
        },
        until: until(step).collect(),
        gate: step.gate.as_ref().map(crate::job::spec),
    };
    limits.steps.iter().flatten().map(step).collect()
}
