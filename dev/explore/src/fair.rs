//! From every state, without faults and with everybody doing their part, the right state is
//! reached and nothing is written any more (LV-1).

use std::collections::HashSet;

use crate::rules;
use crate::search::fingerprint;
use crate::state::{Set, State, Verdict};
use crate::steps::{Model, Step};

/// More steps than any way to rest takes; beyond it there is none.
const STEPS_MAX: usize = 2000;

/// Two fixed orders in which everybody acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Schedule {
    /// The operator acts when all else is done.
    OperatorLast,
    /// The operator acts before the next pod becomes ready.
    PodsLast,
}

/// States that are known to settle.
#[derive(Debug, Default)]
pub(crate) struct Fair {
    known: [HashSet<u64>; 2],
    pub(crate) longest: usize,
}

impl Fair {
    /// Why a state does not settle, or not in the right way, and the steps that show it.
    pub(crate) fn broken(&mut self, model: &mut Model, state: &State) -> Option<(String, Vec<Step>)> {
        let [first, second] = &mut self.known;
        for (schedule, known) in [(Schedule::OperatorLast, first), (Schedule::PodsLast, second)] {
            let mut way = Vec::new();
            match run(model, state, schedule, known, &mut way) {
                Ok(steps) => self.longest = self.longest.max(steps),
                Err(broken) => return Some((broken, way)),
            }
        }
        None
    }
}

fn run(
    model: &mut Model,
    from: &State,
    schedule: Schedule,
    known: &mut HashSet<u64>,
    way: &mut Vec<Step>,
) -> Result<usize, String> {
    let mut state = from.clone();
    let mut visited = Vec::new();
    for steps in 0..STEPS_MAX {
        let print = fingerprint(&state);
        if known.contains(&print) {
            known.extend(visited);
            return Ok(steps);
        }
        visited.push(print);
        let mut options = Model::regular(&state);
        options.sort_by_key(|step| rank(*step, schedule));
        let next = options.into_iter().find_map(|step| Some((step, model.take(&state, step)?)));
        match next {
            Some((step, outcome)) => {
                way.push(step);
                // The search comes by here too, and by a shortest way; but it never resumes beyond
                // the budget.
                match outcome.broken {
                    Some(broken) if way.contains(&Step::EditPause) => {
                        return Err(format!("after resuming: {broken}"));
                    }
                    Some(_) => return Ok(steps),
                    None => {}
                }
                state = outcome.state;
            }
            None if state.deployment.paused => {
                way.push(Step::EditPause);
                state = model.resumed(&state);
            }
            None => {
                right(model, &state)?;
                known.extend(visited);
                return Ok(steps);
            }
        }
    }
    Err(format!("LV-1: no rest after {STEPS_MAX} steps: {state:?}"))
}

fn rank(step: Step, schedule: Schedule) -> u8 {
    match (step, schedule) {
        (Step::Write, _) => 0,
        (Step::DeliverDeployment | Step::DeliverSet, _) => 1,
        (Step::Manage(_), _) => 2,
        (Step::Report(_), _) => 3,
        (Step::Ready(_), Schedule::OperatorLast) => 4,
        (Step::Begin, _) => 5,
        _ => 6,
    }
}

/// The template that should run: the present one, the one that is pinned (FP-11), or, after an abort, the last good one
/// (FP-6). None: nothing is rolled out, since no revision is good.
fn runs(state: &State) -> Option<u8> {
    let wanted = &state.deployment;
    let has_failed = state.declared().is_some_and(|set| set.verdict() == Some(Verdict::Aborted));
    match wanted.pin {
        None if has_failed => rules::fallback(&state.sets, wanted.template),
        pin => Some(pin.unwrap_or(wanted.template)),
    }
}

/// LV-1: all pods are of the template that should run, as many as wanted, and the status reports that. The operator has
/// handled a request to abort the declared revision (FP-9).
fn right(model: &Model, state: &State) -> Result<(), String> {
    let wanted = &state.deployment;
    let replicas = wanted.replicas;
    let count = i64::from(replicas);
    let status = model.reconciles.statuses.get(wanted.status);
    let told = status.ours.target.as_ref().map(|target| target.because.as_str());
    let has = |template: u8| state.sets.iter().any(|set| set.template == template);
    let is_heard = |set: &Set| {
        wanted.abort != Some(set.revision) || set.memory.is_some_and(|memory| memory.abort == wanted.abort)
    };
    if wanted.pin.is_none() && !state.declared().is_none_or(is_heard) {
        return Err(format!("FP-9: an abort was not heard: {state:?}"));
    }
    let Some(runs) = runs(state) else {
        let is_told = rules::lacks_good(&status);
        return if is_told {
            Ok(())
        } else {
            Err(format!("FP-6: nothing is good, and that is not reported: {status:?}"))
        };
    };
    if wanted.pin.is_some() && !has(runs) {
        let is_told = told == Some("PinTargetMissing");
        return if is_told { Ok(()) } else { Err(format!("FP-11: {told:?} of a pin without a set")) };
    }
    let sizes_are_right =
        state.sets.iter().all(|set| set.size == if set.template == runs { replicas } else { 0 });
    let has_new = has(wanted.template);
    let is_new = runs == wanted.template;
    let is_told = status.observed_generation == i64::from(wanted.generation)
        && told == if is_new { None } else { Some(if wanted.pin.is_some() { "Pinned" } else { "Aborted" }) }
        && status.updated_replicas == if is_new { count } else { 0 }
        && [status.replicas, status.ready_replicas, status.available_replicas] == [count; 3];
    if sizes_are_right && has_new && is_told && state.available() == replicas {
        Ok(())
    } else {
        Err(format!("LV-1: at rest, and not as wanted: {state:?}, {status:?}"))
    }
}
