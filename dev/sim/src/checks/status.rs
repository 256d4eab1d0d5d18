//! ST-1: the status makes sense.

use plan::Action;
use plan::keys::condition::AVAILABLE;
use world::{Object, Resource};

use crate::checks::{Accepted, Verdict};

fn number(object: &Object, field: &str) -> i64 {
    object.status_number(field).unwrap_or(0)
}

/// Counters are possible, belong to the generation that they name, and never go back.
pub(super) fn makes_sense(write: &Accepted<'_>) -> Verdict {
    let Some(Action::WriteStatus(status)) = write.action() else { return Ok(()) };
    let Some(after) = write.after.filter(|after| after.resource != Resource::ReplicaSets) else {
        return Ok(());
    };
    for field in ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"]
    {
        if number(after, field) < 0 {
            return Err(format!("{field} is {}", number(after, field)));
        }
    }
    if number(after, "updatedReplicas") > number(after, "replicas") {
        return Err("more updated pods than pods".to_owned());
    }
    let (observed, generation) = (number(after, "observedGeneration"), write.view().workload.generation);
    if observed > after.generation() || observed > generation {
        return Err(format!("observedGeneration {observed}, and generation {generation} was seen"));
    }
    if write.before.is_some_and(|before| number(before, "observedGeneration") > observed) {
        return Err(format!("observedGeneration went back to {observed}"));
    }
    if write.before.is_some_and(|before| number(before, "observedGeneration") < observed) {
        counters_belong(write, &status.status)?;
    }
    available_is_true(write, &status.status)
}

/// Counters under a new generation are those that the reconcile of that generation saw.
fn counters_belong(write: &Accepted<'_>, status: &plan::Status) -> Verdict {
    let sum = |count: fn(&plan::SetStatus) -> i64| {
        write.view().owned().map(|set| count(&set.set.status)).sum::<i64>()
    };
    let seen = (sum(|set| set.replicas), sum(|set| set.ready), sum(|set| set.available));
    let told = (status.replicas, status.ready_replicas, status.available_replicas);
    if seen == told {
        Ok(())
    } else {
        Err(format!("counters {told:?} of a generation in which {seen:?} were seen"))
    }
}

/// The condition agrees with the counters.
fn available_is_true(write: &Accepted<'_>, status: &plan::Status) -> Verdict {
    let view = write.view();
    let before = &view.workload.status;
    let Some(condition) = status.condition(AVAILABLE) else { return Ok(()) };
    // A status after a refusal carries the conditions of before.
    if view.workload.deleting || before.condition(AVAILABLE) == Some(condition) {
        return Ok(());
    }
    let floor = view.minimum();
    let available = view.available();
    if (condition.status == "True") != (available >= floor) {
        return Err(format!("Available={}, with {available} of at least {floor} pods", condition.status));
    }
    Ok(())
}
