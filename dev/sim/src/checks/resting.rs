//! LV-1 at a step: a rollout that waits for somebody, or for a Job, has the sizes of the step, and the status reports it.

use plan::{Checkpoint, Until};

use crate::checks::steps::{has_sizes, says_resting};
use crate::checks::{Verdict, jobs};
use crate::truth::Truth;
use crate::verdict::{Running, running};
use crate::walk::{ceiling, end, is_skipped, step_of, steps, word};

/// LV-1 where somebody has to promote it: the sizes of the step, all available, and the status reports that.
pub(super) fn rests(truth: &Truth, is_alone: bool) -> Option<Verdict> {
    let workload = truth.workload.as_deref()?;
    let (steps, new) = (steps(workload)?, truth.new_set()?);
    let sets = truth.owned().map(|truth| &*truth.set);
    let runs = matches!(running(workload, sets, &new.set), Running::Set(set) if set.uid == new.set.uid);
    let step = step_of(&new.set, steps).filter(|_| runs && !is_skipped(workload, &new.set))?;
    let until = &steps.get(step).filter(|_| step < end(steps))?.until;
    let replicas = workload.replicas;
    let most = ceiling(steps, step, replicas);
    let sizes = || truth.owned().map(|set| (set.set.uid == new.set.uid, set.set.size));
    // Where somebody took away what is kept, the rollout rests without those pods.
    let kept = word(&new.set, "kept");
    let has_kept = truth.owned().any(|set| Some(&set.set.name) == kept.as_ref());
    let all = if has_kept { replicas } else { most };
    let bound = truth.bounds.bound.as_ref().filter(|bound| is_alone && !bound.is_lost && !bound.is_unheard);
    // A gate may have been edited once its Job had succeeded.
    let is_gated = steps.iter().any(|step| step.gate.is_some());
    let is_behind = bound.is_some_and(|bound| bound.step != step) && !is_gated;
    let text = format!("at rest at step {} with {most} of {replicas} pods", step + 1);
    if truth.owned().any(|set| set.set.uid != new.set.uid && set.set.status.available < set.set.size) {
        // The pods of what is kept cannot start either, so the new one may keep more than its step has (S6.4).
        let is_ready = workload.status.condition("Ready").is_some_and(|known| known.status == "True");
        return Some(if is_ready { Err(format!("{text}, and is ready")) } else { Ok(()) });
    }
    let is_stuck = until.contains(&Until::Gate) && truth.is_stuck(&new.set.uid, Checkpoint::Step(step));
    Some(if replicas > 0 && !until.contains(&Until::Promoted) && !is_stuck {
        Err(format!("{text}, and nothing holds it: {until:?}"))
    } else if !has_sizes(sizes(), most, all) {
        Err(format!("{text}, and sizes are {:?}", sizes().collect::<Vec<_>>()))
    } else if new.available != most {
        Err(format!("{text}, {} of them available", new.available))
    } else if !(says_resting(&workload.status) || is_stuck && jobs::waits(&workload.status))
        || workload.status.observed_generation != workload.generation
    {
        Err(format!("{text}, and the status does not say so"))
    } else if is_behind && replicas > 0 {
        Err(format!("{text}, and it may be at {:?}", bound.map(|bound| bound.step + 1)))
    } else {
        Ok(())
    })
}
